"""A command makes a repository with a hook under a name that is not UTF-8: the run reports it and goes on."""

import os
from collections.abc import Iterator

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_server import ModelServer, call, say

_SCRIPT = r"""
import os, subprocess
name = b"odd\xff\xc3"
subprocess.run([b"git", b"init", b"-q", name], check=True)
os.makedirs(name + b"/.git/hooks", exist_ok=True)
with open(name + b"/.git/hooks/pre-commit", "w") as hook:
    hook.write("#!/bin/sh\n")
os.chmod(name + b"/.git/hooks/pre-commit", 0o755)
os.write(1, name + b" made\n")
os.write(2, b"cat: /etc/" + name + b": Read-only file system\n")
raise SystemExit(1)
"""


@pytest.fixture
def kaa() -> Iterator[Kaa]:
    with folder_elsewhere() as folder:
        yield Kaa(folder)


@pytest.mark.usefixtures("confined")
def test_a_finding_whose_name_is_not_utf8_ends_no_run(kaa: Kaa) -> None:
    (kaa.project / "odd.py").write_text(_SCRIPT)
    with ModelServer([call("bash", command="python3 odd.py"), say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("--mode", "json", "-p", "work")

    assert done.code == 3  # nobody could be asked whether the command may run outside the sandbox
    assert "Traceback" not in done.err
    assert [event["reason"] for event in done.events if event["type"] == "agent_end"] == ["denied"]
    assert any(os.fsencode(name).startswith(b"pre-commit.kaa-blocked") for name in os.listdir(_hooks(kaa)))
    assert "kaa-blocked" in done.out


def _hooks(kaa: Kaa) -> str:
    return os.fsdecode(os.fsencode(kaa.project) + b"/odd\xff\xc3/.git/hooks")
