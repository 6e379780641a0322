"""A file that the guard cannot judge, and what comes after: it must neither end the guard nor be what the next trusts.

The canary is a program that the user's next git runs.
"""

import subprocess
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.model_server import ModelServer, call, say

pytestmark = pytest.mark.usefixtures("confined")

_PREPARE = "printf '#!/bin/sh\\ntouch {canary}\\n' > monitor; chmod +x monitor; "
_DEADLY = {
    "a null character in a .git file": (
        "mkdir s; printf 'gitdir: ../.git/modules/x\\0y' > s/.git",
        "mv s/.git s/gone",
    ),
    "a key of 3,000 dots": (
        "mkdir -p s/.cargo; python3 -c \"print('.'.join(['a'] * 3000) + '=1')\" > s/.cargo/config.toml",
        "mv s/.cargo s/gone",
    ),
}


def _git(kaa: Kaa, *arguments: str) -> None:
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    subprocess.run(["git", *identity, *arguments], cwd=kaa.project, env=kaa.environ, check=False, capture_output=True)


@pytest.mark.parametrize("deadly", _DEADLY)
def test_a_file_that_cannot_be_judged_hides_nothing(kaa: Kaa, tmp_path: Path, deadly: str) -> None:
    canary = tmp_path / "canary"
    plant, undo = _DEADLY[deadly]
    evil = "mkdir .vscode; echo evil > .vscode/tasks.json; git init -q tool"
    evil += "; git -C tool config core.fsmonitor $PWD/monitor"
    command = f"{_PREPARE.format(canary=canary)}{plant}; sleep 1; {evil}; {undo}; sleep 1"
    _git(kaa, "init", "-q")

    with ModelServer([call("bash", command=command), call("bash", command="ls"), say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        kaa.run("--approvals", "auto", "-p", "work")

    _git(kaa, "-C", "tool", "status")
    assert not canary.exists()
    assert not (kaa.project / ".vscode" / "tasks.json").exists()
