"""Commands that give something a protected name at the top of the project, which no mount can hold before it exists.

The canary is what stands there when they have ended.
"""

import os

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.security.attacks.play import play

pytestmark = pytest.mark.usefixtures("confined")

_MAKE = "mkdir $x; echo evil > $x/tasks.json; "
_EXCHANGE = "import ctypes, os; ctypes.CDLL(None).renameat2(-100, os.environb[b'x'], -100, b'.kiro', 2)"
_ATTACKS = {
    ".vscode": "mkdir .vscode; echo evil > .vscode/tasks.json",
    ".zed": _MAKE + "mv -T $x .zed",
    ".cursor": _MAKE + "mkdir .cursor; rmdir .cursor; mv $x .cursor",
    ".claude": "mkdir .claude; mv -T .claude $x; mkdir .claude; echo evil > .claude/settings.json",
    ".kiro": _MAKE + f'mkdir .kiro; python3 -c "{_EXCHANGE}"',
    ".mise": _MAKE + "ln -sfnT $x .mise",
    ".envrc": "echo evil > $x; ln $x .envrc",
    ".roo": "(sleep 0.2; mkdir .roo; echo evil > .roo/mcp.json) & sleep 0.4",
}


def test_nothing_stays_under_a_protected_name_however_it_came_there(kaa: Kaa) -> None:
    (kaa.project / "main.c").touch()
    commands = (f"(export x=x{number}; {attack}) 2>/dev/null; true" for number, attack in enumerate(_ATTACKS.values()))

    _, told = play(kaa, *commands)

    left = os.listdir(kaa.project)
    assert not _ATTACKS.keys() & set(left)
    assert {f"{name}.kaa-blocked" for name in _ATTACKS} <= set(left)
    assert all(f"{name}.kaa-blocked" in told for name in _ATTACKS)
