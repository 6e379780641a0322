"""A project like others: a repository with files, edited under the default settings, in the strongest sandbox."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.elsewhere import folder_elsewhere

FUNCTIONS = "".join(f"def function_{n}(value):\n    return value + {n}\n\n\n" for n in range(60))
DATA = json.dumps({f"key_{n}": 1 for n in range(60)}, indent=2)


@pytest.fixture(scope="module")
def make_kaa(tier: str) -> Iterator[Callable[[], Kaa]]:
    """Makes a home and a project."""
    if tier != "full":
        pytest.skip(f"the budgets are those of the tier full, and this machine has {tier}")

    def make() -> Kaa:
        folder = Path(top, str(len(os.listdir(top))))
        folder.mkdir()
        return _kaa(folder)

    with folder_elsewhere() as top:
        yield make


def _kaa(folder: Path) -> Kaa:
    kaa = Kaa(folder)
    # No measuring of coverage in the process that is counted, and no language servers of this machine.
    kaa.environ = {name: value for name, value in kaa.environ.items() if not name.startswith("COVERAGE")}
    kaa.setenv(PATH=os.defpath)
    git = ("git", "init", "--quiet", "--template=", str(kaa.project))
    subprocess.run(git, env=os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}, check=True)
    # A busy machine takes longer than the default waits, and kaa would go on without what it waits for.
    kaa.settings(features={"briefingWaitMs": 30_000, "diagnosticsWaitMs": 30_000})
    for name in ("file_0.py", "file_1.py", "file_2.py", "module.py"):
        (kaa.project / name).write_text(FUNCTIONS)
    (kaa.project / "data.json").write_text(DATA)
    return kaa
