"""What goes wrong around kaa at a terminal, and who would like to act on that terminal."""

import json
import sys
from pathlib import Path

from tests.end_to_end.seat import Seat, answer, enter, is_idle
from tests.support.known_sequences import KnownSequences
from tests.support.model_server import call, say
from tests.support.program import Program
from tests.support.screen import Screen

# Sets the title and the clipboard, clears the screen, and hides and reorders text.
HOSTILE = "\x1b]2;PWNED\x07\x1b]52;c;UFdORUQ=\x07\x1b[2J\x9b3J\u202e\u200b\U000e0041"
# The same for a file's name.
NAME = HOSTILE + "\n\t.txt"

_SLOW = """
import sys, time

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "kaa.frontends.interactive.engine":
            time.sleep(1000)

sys.meta_path.insert(0, Slow())
"""


_EXTENSION = f"""
from kaa.ext.api import Reply

async def mine(arguments, context):
    return Reply("replied " + {HOSTILE!r})

def extend(api):
    api.register_command("mine", {HOSTILE!r}, mine)
"""


class Recorder(Screen):
    """Keeps what it gets."""

    def __init__(self, columns: int = 100, rows: int = 30) -> None:
        super().__init__(columns, rows)
        self.written = b""

    def feed(self, data: bytes | str) -> None:
        self.written += data.encode() if isinstance(data, str) else data
        super().feed(data)

    def assert_unharmed(self) -> KnownSequences:
        """Nothing foreign acted on it."""
        known = KnownSequences()
        known.feed(self.written.decode())
        assert not self.unknown
        assert not any("PWNED" in title and not title.startswith("kaa: ") for title in known.titles)
        assert "PWNED" not in known.copied
        return known


def test_one_can_leave_while_it_still_starts(seat: Seat, tmp_path: Path) -> None:
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow" / "sitecustomize.py").write_text(_SLOW)
    seat.setenv(PYTHONPATH=str(tmp_path / "slow"))  # which the installed command ignores

    command = [sys.executable, "-m", "kaa", "--sandbox", "full-access"]
    with Program.start(command, env=seat.environ, cwd=seat.project) as program:
        program.wait_for("Ask kaa")
        program.type("half a thought")
        program.wait_for("half a thought")
        program.press("ctrl+c")
        program.wait_for("Ask kaa")
        program.press("ctrl+d")

        assert program.wait_for_end() == 0
        assert not program.is_raw


def test_what_models_tools_and_files_say_does_not_act_on_the_terminal(seat: Seat) -> None:
    (seat.project / NAME).write_text(f"{HOSTILE}\nneedle\n")
    (seat.project / "AGENTS.md").write_text(HOSTILE)
    script = [
        call("bash", command=f"printf '%s' '{HOSTILE}'; cat ./*.txt; ls"),
        call("read", path=NAME),
        call("grep", pattern="needle"),
        call("ls", path="."),
        call("edit", path=NAME, edits=[{"oldText": "needle", "newText": HOSTILE}]),
        call("write", path=f"new {NAME}", content=HOSTILE),
        call(f"unknown{HOSTILE}", what=HOSTILE),
        say(f"Done. {HOSTILE} [link](http://example.org/{HOSTILE}) `{HOSTILE}`\n\n```{HOSTILE}\n{HOSTILE}\n```\n"),
    ]
    recorder = Recorder()

    with seat.start("--approvals", "auto", script=script, screen=recorder) as program:
        program.wait_for("Do you trust this project?")
        answer(program, "n")
        program.wait_for(is_idle)
        program.paste(f"go {HOSTILE}")
        program.press("enter")
        while "Done." not in recorder.text():
            program.wait_for(lambda screen: "Done." in screen.text() or "Yes, this time" in screen.text())
            if "Yes, this time" in recorder.text():
                answer(program, "y")
                program.wait_for(lambda screen: "Yes, this time" not in screen.text())
        program.wait_for(is_idle)
        program.press("ctrl+o")
        enter(program, "/redraw")
        enter(program, f"!printf '%s' '{HOSTILE}'; ls")
        program.wait_for("! printf")
        program.press("f3")
        program.press("f3")
        program.press("ctrl+d")
        assert program.wait_for_end() == 0

    recorder.assert_unharmed()


def test_names_of_directories_branches_models_and_commands_do_not_act_on_the_terminal(seat: Seat) -> None:
    seat.project = seat.project.rename(seat.project.with_name(f"project{HOSTILE}\n"))
    (seat.project / ".git").mkdir()
    (seat.project / ".git" / "HEAD").write_text(f"ref: refs/heads/x{HOSTILE}\n")
    (seat.home / "extensions").mkdir()
    (seat.home / "extensions" / "mine.py").write_text(_EXTENSION)
    (seat.home / "models.json").write_text(_with_another_model((seat.home / "models.json").read_text()))
    (seat.home / "keybindings.json").write_text(json.dumps({HOSTILE: HOSTILE, "app.help": HOSTILE}))
    (seat.home / "history.jsonl").write_text(json.dumps(HOSTILE) + "\n")
    seat.settings(theme=HOSTILE, editorPaddingX=HOSTILE)
    recorder = Recorder()

    with seat.open(script=[say("Hello.")], screen=recorder) as program:
        enter(program, "/model")
        program.wait_for("Which model?")
        program.press("escape")
        program.wait_for(is_idle)
        program.press("up")
        program.wait_for("PWNED")
        program.press("ctrl+c")
        program.wait_for(is_idle)
        program.type("/mi")
        program.wait_for("› mine")
        program.press("enter")
        program.wait_for("replied")
        enter(program, "/help mine")
        program.wait_for("Search: mine")
        program.press("escape")
        program.wait_for(is_idle)
        enter(program, "hi")
        program.wait_for("Hello.")
        program.wait_for(is_idle)
        program.press("ctrl+d")
        assert program.wait_for_end() == 0

    known = recorder.assert_unharmed()
    assert known.titles


def _with_another_model(models: str) -> str:
    file = json.loads(models)
    file["providers"]["test"]["models"].append({"id": f"other{HOSTILE}", "name": HOSTILE})
    return json.dumps(file)


def test_what_cannot_be_said_comes_back_into_the_editor(seat: Seat) -> None:
    with seat.open(script=[say("Splendid."), say("Splendid again.")]) as program:
        enter(program, "hello")
        program.wait_for("Splendid.")
        program.wait_for(is_idle)
        (session,) = seat.session_files
        session.unlink()

        enter(program, "precious words")
        program.wait_for("deleted while in use")
        program.wait_for("precious words")
        program.press("ctrl+u")
        enter(program, "/new")
        program.wait_for("Started a new session")
        enter(program, "hello again")
        program.wait_for("Splendid again.")

    assert seat.heard()[-1] == ("user", "hello again")
