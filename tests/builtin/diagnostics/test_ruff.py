"""What the project's ruff finds in an edited file."""

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.builtin.diagnostics.conftest import AtDesk, Desk

_USED = "[tool.ruff]\nline-length = 100\n"
_BEFORE = "import os\n\n\ndef f():\n    return old_name\n"


@pytest.fixture(autouse=True)
def ruff_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Path(__file__).parents[3] / ".venv" / "bin"
    if not (here / "ruff").exists() and shutil.which("ruff") is None:
        pytest.skip("there is no ruff")
    monkeypatch.setenv("PATH", f"{here}:{os.environ['PATH']}")


def test_only_mistakes_that_are_new_are_named(at_desk: "AtDesk") -> None:
    async def scene(desk: "Desk") -> None:
        assert await desk.edit(
            "a.py", "import os\n\n\ndef f():\n    x = new_name\n    return old_name\n", is_full=True
        ) == ["a.py:5:9: Undefined name `new_name` (ruff F821)"]

    at_desk(scene, {"pyproject.toml": _USED, "a.py": _BEFORE})


def test_a_project_without_ruff_s_configuration_does_not_use_it(at_desk: "AtDesk") -> None:
    async def scene(desk: "Desk") -> None:
        assert await desk.edit("a.py", "new_name\n", is_full=True) == []

    at_desk(scene, {"pyproject.toml": "[project]\n"})


def test_the_stage_syntax_runs_no_linter(at_desk: "AtDesk") -> None:
    async def scene(desk: "Desk") -> None:
        assert await desk.edit("a.py", "new_name\n") == []

    at_desk(scene, {"ruff.toml": ""})


def test_its_own_configuration_ignores_files(at_desk: "AtDesk") -> None:
    async def scene(desk: "Desk") -> None:
        assert await desk.edit("a.py", "new_name\n", is_full=True) == []

    at_desk(scene, {"ruff.toml": '[lint.per-file-ignores]\n"a.py" = ["F821"]\n'})


def test_the_project_s_own_ruff_comes_first_and_changes_nothing(at_desk: "AtDesk") -> None:
    fake = (
        "#!/bin/sh\necho x > written\ncat > /dev/null\n"
        """echo '[{"code": null, "message": "own", "location": {"row": 2, "column": 3}}]'\n"""
    )

    async def scene(desk: "Desk") -> None:
        assert await desk.edit("a.py", "x = 1\n", is_full=True) == ["a.py:2:3: own (ruff)"]
        assert not (desk.root / "written").exists()

    at_desk(scene, {"ruff.toml": "", ".venv/bin/ruff": fake})


@pytest.mark.parametrize("output", ["echo nonsense", "exit 3", "echo '[{\"message\": 3}]'", "yes | head -c 3000000"])
def test_a_linter_that_answers_with_nonsense_is_ignored(at_desk: "AtDesk", output: str) -> None:
    async def scene(desk: "Desk") -> None:
        assert await desk.edit("a.py", "x = 1\n", is_full=True) == []

    at_desk(scene, {"ruff.toml": "", ".venv/bin/ruff": f"#!/bin/sh\ncat > /dev/null\n{output}\n"})
