"""What extensions show, in every mode: the terminal, line by line, print, JSON and rpc mode."""

import json
import re
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.end_to_end.seat import Seat, enter, is_idle
from tests.support.model_server import ModelServer, call, say
from tests.support.rpc_client import rpc
from tests.support.screen import Screen

_SHOWING = """
from kaa.ext.api import Fields, Markdown, Reply, Table, Text


async def show(arguments, context):
    show = context.show
    told = {
        "notice": show.notice("The build is red.", "warning"),
        "status": show.status("build", "build red", "error"),
        "widget": show.widget("list", [Markdown("**3** open"), Table(("id", "title"), (("1", "a|b"),))]),
        "below": show.widget("facts", [Fields((("branch", "main"), ("ci", "red")))], "below"),
        "title": show.title("CI is red"),
        "working": show.working("Waiting for CI"),
    }
    return Reply("visible: " + ", ".join(name for name, visible in told.items() if visible))


async def hide(arguments, context):
    context.show.status("build", "")
    context.show.widget("list", "")
    context.show.widget("facts", [])
    context.show.title("")
    return Reply("hidden")


async def draft(arguments, context):
    if context.show.editor_text("one "):
        context.show.insert_text("two")


async def flood(arguments, context):
    for number in range(20_000):
        context.show.widget("list", f"update {number}")
    return Reply("flooded")


def extend(kaa):
    kaa.register_command("show", "Show everything", show)
    kaa.register_command("hide", "Hide it", hide)
    kaa.register_command("draft", "Write into the editor", draft)
    kaa.register_command("flood", "Update a widget often", flood)
"""

_BOARD = """
import msgspec

from kaa.ext.api import Diff, Markdown, Table, TypedTool, display_result


class Nothing(msgspec.Struct):
    pass


async def board(arguments, context):
    rows = tuple((str(number), f"task {number}") for number in range(30))
    return display_result("30 tasks", [Markdown("**The board**"), Table(("id", "title"), rows)])


def extend(kaa):
    kaa.register_tool(TypedTool("board", "Show the board", Nothing, board), risk="read")
"""


@pytest.fixture
def extension(tmp_path: Path) -> str:
    """The path of an extension that shows everything."""
    path = tmp_path / "ci.py"
    path.write_text(_SHOWING)
    return str(path)


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
def test_the_terminal_shows_and_removes_everything(seat: Seat, extension: str, size: tuple[int, int]) -> None:
    with seat.open("-e", extension, screen=Screen(*size)) as program:
        enter(program, "/show")
        program.wait_for("visible: notice, status, widget, below, title, working")
        program.wait_for("build red")
        program.wait_for(is_idle)

        text = program.screen.text()
        order = ["! ci: The build is red.", "3 open", "a|b", "Ask kaa to do something", "branch", "build red"]
        places = [text.index(one) for one in order]
        assert places == sorted(places)
        assert program.screen.title == "CI is red"
        enter(program, "/hide")
        program.wait_for(lambda screen: "build red" not in screen.text())
        program.wait_for(lambda screen: screen.title.startswith("kaa: "))
        program.wait_for(lambda screen: "a|b" not in screen.text() and "branch" not in screen.text())


def test_a_reload_removes_what_the_previous_version_showed(seat: Seat, extension: str) -> None:
    with seat.open("-e", extension) as program:
        enter(program, "/show")
        program.wait_for("build red")
        Path(extension).write_text(_SHOWING.replace("build red", "build blue"))
        enter(program, "/reload")
        program.wait_for(lambda screen: "build red" not in screen.text())


def test_a_new_session_does_not_show_what_belonged_to_the_one_before(seat: Seat, extension: str) -> None:
    with seat.open("-e", extension) as program:
        enter(program, "/show")
        program.wait_for("build red")
        enter(program, "/new")
        program.wait_for("Started a new session.")
        program.wait_for(lambda screen: "build red" not in screen.text())


def test_an_extension_writes_into_the_editor(seat: Seat, extension: str) -> None:
    with seat.open("-e", extension) as program:
        enter(program, "/draft")
        program.wait_for("one two")


def test_a_flood_of_updates_writes_little_and_does_not_change_what_left_the_screen(seat: Seat, extension: str) -> None:
    with seat.open("-e", extension, script=[say("\n\n".join(f"line {n}" for n in range(60)))]) as program:
        enter(program, "hello")
        program.wait_for("line 59")
        program.wait_for(is_idle)
        before, received = program.screen.scrollback(), program.received
        enter(program, "/flood")
        program.wait_for("update 19999")
        program.wait_for("flooded")

        assert program.screen.scrollback()[: len(before)] == before
        assert program.screen.wipes == 0
        assert program.received - received < 200_000


def test_line_by_line_everything_is_written_once(seat: Seat, extension: str) -> None:
    with seat.start("--plain", "-e", extension, screen=Screen(100, 60, answers="none")) as program:
        program.wait_for(re.compile("^>$"))
        program.write(b"/show\n")
        program.wait_for("visible: notice, status, widget, below, title")
        program.wait_for("[build red]")
        program.wait_for("ci: The build is red.")
        program.wait_for("which are not visible in this mode")

        assert program.screen.text().count("build red]") == 1


def test_print_mode_writes_notices_to_stderr(kaa: Kaa, extension: str) -> None:
    with ModelServer() as model:
        kaa.use(model, "openai-completions")
        done = kaa.run("-e", extension, "-p", "/show")

    assert done.out == "visible: notice\n"
    assert "ci: The build is red.\n" in done.err
    assert "shows status sections, which are not visible in this mode" in done.err


def test_json_mode_writes_events(kaa: Kaa, extension: str) -> None:
    with ModelServer() as model:
        kaa.use(model, "openai-completions")
        done = kaa.run("-e", extension, "--mode", "json", "/show")

    lines = [json.loads(line) for line in done.out.splitlines()]
    events = {line["kind"]: line for line in lines if line["type"] == "extension_display"}
    assert events["status"] == {
        "type": "extension_display",
        "extension": extension,
        "conversation": "1",
        "kind": "status",
        "key": "build",
        "text": "build red",
        "role": "error",
    }
    assert events["widget"]["content"] == [{"type": "fields", "fields": [["branch", "main"], ["ci", "red"]]}]
    assert next(line for line in lines if line["type"] == "notice" and "level" in line)["text"] == "The build is red."
    assert lines[-1]["type"] == "agent_end"


def test_rpc_mode_sends_the_requests_of_pi(kaa: Kaa, extension: str) -> None:
    with ModelServer() as model:
        kaa.use(model, "openai-completions")
        with rpc(kaa, "-e", extension) as client:
            client.ask("prompt", message="/show")
            client.ask("prompt", message="/draft")

            client.end()
            requests = [line for line in client.seen if line["type"] == "extension_ui_request"]

            def request(**fields: object) -> dict[str, object]:
                found = next(line for line in requests if line["method"] == fields["method"])
                return {name: found.get(name) for name in fields}

            notify = {"method": "notify", "message": "The build is red.", "notifyType": "warning"}
            assert request(**notify) == notify
            status = {"method": "setStatus", "statusKey": "ci:build", "statusText": "build red"}
            assert request(**status) == status
            widget = {
                "method": "setWidget",
                "widgetKey": "ci:list",
                "widgetLines": ["**3** open", "id | title", "1 | a|b"],
                "widgetPlacement": "aboveEditor",
            }
            assert request(**widget) == widget
            assert request(method="setTitle", title="")["title"] == "CI is red"
            assert request(method="set_editor_text", text="")["text"] == "one "


def test_results_are_display_values_also_in_a_resumed_session(seat: Seat, tmp_path: Path) -> None:
    path = tmp_path / "board.py"
    path.write_text(_BOARD)
    with seat.open("-e", str(path), script=[call("board"), say("Thirty.")]) as program:
        enter(program, "show the board")
        program.wait_for("Thirty.")
        program.wait_for(is_idle)
        shown = program.screen.text()
        assert "The board" in shown
        assert "task 0" in shown
        assert "the rest is hidden (Ctrl+O shows all)" in shown
        assert "task 29" not in shown
        program.press("ctrl+o")
        program.wait_for("task 29")

    assert seat.heard()[-1] == ("tool", "30 tasks")
    with seat.open("-c") as program:  # without the extension
        program.wait_for("The board")
        program.wait_for("task 0")
