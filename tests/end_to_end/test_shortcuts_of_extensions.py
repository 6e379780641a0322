"""Keys that extensions bind, and completion of the arguments of their commands, at the terminal."""

import json
from pathlib import Path

import pytest

from tests.end_to_end.seat import Seat, enter, is_idle
from tests.support.screen import Screen

_KEYS = """
from kaa.ext.api import Reply, Suggestion


def extend(kaa):
    @kaa.shortcut("ctrl+alt+t", "Show the to-do list")
    async def show_todos(context):
        context.show.notice(f"todos of {context.conversation_id}")
        return Reply("nothing to do")

    @kaa.shortcut("ctrl+t", "Take a key of kaa")
    async def taken(context):
        return Reply("never by ctrl+t")

    async def pick(arguments, context):
        return Reply(f"picked {arguments}")

    def complete(typed, context):
        return [Suggestion(one, f"about {one}") for one in ("apple", "apricot") if one.startswith(typed)]

    kaa.register_command("pick", "Pick a fruit", pick, argument_hint="FRUIT", complete=complete)
"""


@pytest.fixture
def extension(tmp_path: Path) -> str:
    """The path of an extension with shortcuts."""
    path = tmp_path / "todo.py"
    path.write_text(_KEYS)
    return str(path)


def test_a_key_runs_the_function_and_leaves_what_is_typed(seat: Seat, extension: str) -> None:
    with seat.open("-e", extension) as program:
        program.type("half a senten")
        program.press("ctrl+alt+t")
        program.wait_for("todos of 1")
        program.wait_for("nothing to do")

        assert "half a senten" in program.screen.text()


def test_the_function_is_a_slash_command_too(seat: Seat, extension: str) -> None:
    with seat.open("-e", extension) as program:
        enter(program, "/show-todos")
        program.wait_for("nothing to do")


def test_a_key_of_kaa_stays_and_that_is_told(seat: Seat, extension: str) -> None:
    with seat.open("-e", extension) as program:
        program.wait_for("Ctrl+T means app.thinking.toggle, not ext.taken")
        program.press("ctrl+t")
        enter(program, "/taken")
        program.wait_for("never by ctrl+t")

        assert program.screen.text().count("never by ctrl+t") == 1


def test_the_file_of_the_user_goes_before_all(seat: Seat, extension: str) -> None:
    bindings = {"ext.taken": "ctrl+t", "ext.show-todos": "f8", "app.thinking.toggle": []}
    (seat.home / "keybindings.json").write_text(json.dumps(bindings))
    with seat.open("-e", extension) as program:
        program.press("ctrl+t")
        program.wait_for("never by ctrl+t")
        program.press("f8")
        program.wait_for("nothing to do")
        program.wait_for(is_idle)

        assert "not ext.taken" not in program.screen.text()
        (seat.home / "keybindings.json").write_text('{"ext.show-todos": "f9"}')
        enter(program, "/reload")
        program.wait_for("not ext.taken")
        program.press("f9")
        program.wait_for(lambda screen: screen.text().count("nothing to do") == 2)


def test_the_help_lists_them(seat: Seat, extension: str) -> None:
    with seat.open("-e", extension) as program:
        program.press("f1")
        program.wait_for("Working with the agent")
        program.type("to-do list")
        program.wait_for("Ctrl+Alt+T")


def test_arguments_of_a_command_that_was_loaded_live_are_completed(seat: Seat) -> None:
    path = seat.home / "extensions" / "fruit.py"
    path.parent.mkdir()
    path.write_text("def extend(kaa): pass\n")
    with seat.open() as program:
        path.write_text(_KEYS)
        enter(program, "/reload")
        program.wait_for("not ext.taken")
        program.type("/pick ap")
        program.wait_for("about apricot")
        program.press("tab")
        program.wait_for("/pick apple")


def _in_one_line(screen: Screen) -> str:
    """What the screen shows; the path of an extension may be longer than a row."""
    return " ".join(screen.text().split())


def test_a_command_that_is_written_while_the_terminal_idles_is_completed(seat: Seat) -> None:
    path = seat.home / "extensions" / "fruit.py"
    path.parent.mkdir()
    with seat.open() as program:
        program.wait_for(is_idle)
        path.write_text("def extend(kaa): pass\n")
        program.wait_for(lambda screen: "was loaded" in _in_one_line(screen))
        path.write_text(_KEYS)
        program.wait_for(lambda screen: "was loaded again" in _in_one_line(screen))
        program.type("/pick ap")
        program.wait_for("about apricot")
