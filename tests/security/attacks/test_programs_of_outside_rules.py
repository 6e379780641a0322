"""A rule lets a program leave the sandbox by its name: a command puts another program of that name on the PATH."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Finished, Kaa
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_server import ModelServer, call, say

pytestmark = pytest.mark.usefixtures("confined")


class Attacked(Kaa):
    """A project whose `.venv/bin` is the first directory of PATH, and a program `deploy` outside."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.canaries = folder / "canaries"
        self.canaries.mkdir()
        (self.project / ".venv" / "bin").mkdir(parents=True)
        outside = folder / "bin"
        outside.mkdir()
        self.deploy = outside / "deploy"
        self.program(self.deploy, f"touch {self.canaries}/deployed\nhelper\n")
        self.program(outside / "helper", f"touch {self.canaries}/helped\n")
        self.setenv(PATH=f"{self.project}/.venv/bin:{outside}:{self.environ['PATH']}")

    @staticmethod
    def program(path: Path, lines: str) -> None:
        path.write_text(f"#!/bin/sh\n{lines}")
        path.chmod(0o755)

    def planted(self, name: str) -> str:
        """A command that plants a program."""
        path = f".venv/bin/{name}"
        return f"printf '#!/bin/sh\\ntouch {self.canaries}/evil\\n' > {path}; chmod +x {path}"

    def work(self, rule: str, *commands: str) -> tuple[Finished, str]:
        """Let the model run commands; how it ended, and what the model was sent last."""
        self.settings(approvals={"policy": "auto", "allow": [rule]}, retry={"baseDelayMs": 1})
        with ModelServer([*(call("bash", command=command) for command in commands), say("Done.")]) as server:
            self.use(server, "openai-completions")
            return self.run("-p", "work"), str(server.requests[-1].json)

    @property
    def caught(self) -> list[str]:
        """What was executed outside."""
        return sorted(os.listdir(self.canaries))


@pytest.fixture
def kaa() -> Iterator[Attacked]:
    with folder_elsewhere() as folder:
        yield Attacked(folder)


def test_a_program_of_the_project_does_not_take_the_name(kaa: Attacked) -> None:
    done, told = kaa.work("outside bash: deploy", kaa.planted("deploy"), "deploy")

    assert kaa.caught == []
    assert f"deploy is {kaa.project}/.venv/bin/deploy, which commands in the sandbox can write" in told
    assert done.code == 3


def test_what_the_program_starts_is_not_of_the_project_either(kaa: Attacked) -> None:
    done, _ = kaa.work("outside bash: deploy", kaa.planted("helper"), "deploy")

    assert kaa.caught == ["deployed", "helped"]
    assert done.code == 0, done.err


def test_a_rule_with_the_path_of_the_program_still_runs_it(kaa: Attacked) -> None:
    done, _ = kaa.work(f"outside bash: {kaa.deploy}", kaa.planted("deploy"), str(kaa.deploy))

    assert kaa.caught == ["deployed", "helped"]
    assert done.code == 0, done.err


def test_a_rule_with_a_path_in_the_project_does_not_run_what_commands_put_there(kaa: Attacked) -> None:
    done, told = kaa.work("outside bash: .venv/bin/tool", kaa.planted("tool"), ".venv/bin/tool")

    assert kaa.caught == []
    assert f"{kaa.project}/.venv/bin/tool, which commands in the sandbox can write" in told
    assert done.code == 3
