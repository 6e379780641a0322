"""What is known of the rights that the process that decodes images has."""

import subprocess
import sys

import pytest

from kaa.builtin.decoding.decoder import weakness
from kaa.hands.confinement import landlock

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not landlock.abi(), reason="needs a kernel that confines the process"
)

# The kernel takes 16 rulesets one upon the other, LANDLOCK_MAX_NUM_LAYERS: these allow all files, and leave no room.
_WITHOUT_ROOM = """
from kaa.builtin.decoding.decoder import weakness
from kaa.hands.confinement import kernel, landlock

kernel.forbid_new_privileges()
for _ in range(16):
    ruleset = landlock.Ruleset(1, network=True, scopes=0)
    ruleset.allow("/", landlock.handled_access(1))
    ruleset.impose()
print(weakness())
"""


def test_there_is_none_where_the_kernel_confines_it() -> None:
    assert weakness() == ""


def test_a_kernel_that_refuses_is_reported() -> None:
    done = subprocess.run([sys.executable, "-c", _WITHOUT_ROOM], capture_output=True, text=True, check=True)

    assert "Argument list too long" in done.stdout  # E2BIG
