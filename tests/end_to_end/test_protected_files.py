"""Files that other programs execute: a question shows the content, and kaa writes exactly that, or nothing."""

import subprocess

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.end_to_end.seat import Seat, answer
from tests.support.model_server import ModelServer, call, say
from tests.support.screen import Screen

pytestmark = pytest.mark.usefixtures("confined")


@pytest.mark.parametrize("yes", [True, False], ids=["yes", "no"])
def test_a_command_that_makes_such_a_file_ends_in_a_question(seat: Seat, yes: bool) -> None:
    script = [call("bash", command="mkdir sub; printf 'export A=1\\n' > sub/.envrc"), say("All done.")]
    environment = seat.project / "sub" / ".envrc"

    with seat.open("--approvals", "auto", "make it", script=script, screen=Screen(rows=60), sandbox="") as terminal:
        terminal.wait_for("kaa moved this away: put it back?")
        terminal.wait_for("+1 export A=1")
        answer(terminal, "y" if yes else "n")
        if not yes:
            terminal.wait_for("Enter denies the call")
            terminal.press("enter")
        terminal.wait_for("All done.")

    assert environment.exists() is yes
    if yes:
        assert environment.read_text() == "export A=1\n"


def test_a_program_that_drives_kaa_is_not_asked(kaa: Kaa) -> None:
    (kaa.project / "sub").mkdir()

    with ModelServer([call("bash", command="echo a > sub/.envrc"), say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        finished = kaa.run("--approvals", "auto", "-p", "work")

    assert finished.code != 0
    assert not (kaa.project / "sub" / ".envrc").exists()


@pytest.mark.parametrize(
    ("path", "content"),
    [(".vscode/settings.json", "{}\n"), (".envrc", "a\n"), (".git/hooks/pre-push", "#!/bin/sh\n")],
)
def test_the_write_tool_asks_before_and_shows_the_content(seat: Seat, path: str, content: str) -> None:
    subprocess.run(["git", "init", "-q", str(seat.project)], check=True)
    (seat.project / "main.py").touch()  # kaa keeps `.vscode` in no empty project
    script = [call("bash", command="true"), call("write", path=path, content=content), say("All done.")]

    with seat.open("--approvals", "auto", "make it", script=script, screen=Screen(rows=60), sandbox="") as terminal:
        terminal.wait_for("Outside the sandbox: allow write?")
        terminal.wait_for(f"+1 {content.strip()}")
        answer(terminal, "y")
        terminal.wait_for("All done.")

    assert (seat.project / path).read_text() == content
    assert bool((seat.project / path).stat().st_mode & 0o111) is content.startswith("#!")
