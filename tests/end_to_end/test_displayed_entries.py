"""Messages and entries of extensions with display values: in every mode, after a resume, and in exports."""

import json
import re
from pathlib import Path

import pytest

from kaa.ext.places import ExtensionId
from tests.end_to_end.kaa_process import Kaa
from tests.end_to_end.seat import Seat, enter, is_idle
from tests.support.model_server import ModelServer, call, say
from tests.support.rpc_client import rpc
from tests.support.screen import Screen

pytestmark = pytest.mark.usefixtures("full_access")

_REPORTING = """
from kaa.ext.api import Code, Fields, Markdown, Table


def extend(kaa):
    @kaa.command
    async def report(arguments, context):
        "Report the builds."
        session = context.session
        session.add_message("two builds are red", "builds", display=Table(("build", "state"), (("unit", "red"),)))
        session.append({"seen": 2}, "seen", display=[Fields((("branch", "main"),)), Markdown("**kept**")])
        session.append({"hidden": 1})

    @kaa.tool(risk="read")
    async def note(context) -> str:
        "Note something."
        context.session.append(1, display="noted meanwhile")
        return "the note is kept"
"""


@pytest.fixture
def extension(tmp_path: Path) -> str:
    path = tmp_path / "ci.py"
    path.write_text(_REPORTING)
    return str(path)


def _is_shown(text: str) -> bool:
    """Whether the display values are there, in their order, and the text for the model is not."""
    parts = ["ci:builds", "build", "state", "unit", "red", "ci:seen", "branch", "main", "kept"]
    place = 0
    for part in parts:
        if (place := text.find(part, place)) < 0:
            return False
        place += len(part)
    return "two builds are red" not in text and "hidden" not in text


def test_the_terminal_shows_them_live_and_after_a_resume(seat: Seat, extension: str) -> None:
    with seat.open("-e", extension, script=[say("I see.")]) as program:
        enter(program, "/report")
        program.wait_for("kept")
        enter(program, "go on")
        program.wait_for("I see.")
        program.wait_for(is_idle)
        assert _is_shown(program.screen.text())

    assert ("user", "two builds are red") in seat.heard()
    with seat.open("-c") as program:  # without the extension
        program.wait_for("I see.")
        assert _is_shown(program.screen.text())


def test_an_entry_between_a_call_and_its_result_separates_neither(seat: Seat, extension: str) -> None:
    with seat.open("-e", extension, script=[call("note"), say("Noted.")]) as program:
        enter(program, "note it")
        program.wait_for("Noted.")
        program.wait_for(is_idle)
        live = program.screen.text()

    assert all(live.count(part) == 1 for part in ("noted meanwhile", "the note is kept"))
    with seat.open("-c") as program:
        program.wait_for("Noted.")
        resumed = program.screen.text()
        assert all(resumed.count(part) == 1 for part in ("noted meanwhile", "the note is kept"))
        assert "not run" not in resumed


def test_line_by_line_they_are_written_once(seat: Seat, extension: str) -> None:
    with seat.start("--plain", "-e", extension, screen=Screen(100, 60, answers="none")) as program:
        program.wait_for(re.compile("^>$"))
        program.write(b"/report\n")
        program.wait_for("kept")
        assert program.screen.text().count("unit") == 1
        assert _is_shown(program.screen.text())


def test_json_mode_writes_the_message_as_pi_does_and_the_entry(kaa: Kaa, extension: str) -> None:
    with ModelServer() as model:
        kaa.use(model, "openai-completions")
        done = kaa.run("-e", extension, "--mode", "json", "/report")

    (message,) = [event["message"] for event in done.events if event["type"] == "message_end"]
    key = ExtensionId.at(Path(extension)).key
    table = {"type": "table", "columns": ["build", "state"], "rows": [["unit", "red"]]}
    assert {name: message[name] for name in ("role", "customType", "display", "details")} == {
        "role": "custom",
        "customType": f"{key}:builds",
        "display": True,
        "details": {"display": [table]},
    }
    (shown,) = [event for event in done.events if event["type"] == "extension_entry"]
    appended = [event["entry"] for event in done.events if event["type"] == "entry_appended"]
    (entry,) = [one for one in appended if one["id"] == shown["entryId"]]
    assert (shown["extension"], shown["kind"]) == (key, "seen")
    assert shown["display"] == entry["display"]
    assert (entry["customType"], entry["data"]) == (f"{key}:seen", {"seen": 2})


def test_rpc_mode_lists_the_message_as_pi_does(kaa: Kaa, extension: str) -> None:
    with ModelServer() as model:
        kaa.use(model, "openai-completions")
        with rpc(kaa, "-e", extension) as client:
            client.ask("prompt", message="/report")
            (message,) = client.data("get_messages")["messages"]

    assert message["role"] == "custom"
    assert message["details"]["display"][0]["rows"] == [["unit", "red"]]


def test_exports_have_the_display_values(seat: Seat, extension: str) -> None:
    with seat.open("-e", extension, script=[say("I see.")]) as program:
        enter(program, "/report")
        program.wait_for("kept")
        enter(program, "go on")
        program.wait_for("I see.")
        program.wait_for(is_idle)
        enter(program, "/export out.md")
        program.wait_for("out.md")
        program.wait_for(is_idle)

    text = (seat.project / "out.md").read_text()
    assert "## ci:builds\n\n| build | state |\n| --- | --- |\n| unit | red |" in text
    assert "## ci:seen\n\n- branch: main\n\n**kept**" in text
    assert "two builds are red" not in text


def test_damaged_display_values_are_not_shown(seat: Seat, extension: str) -> None:
    with seat.open("-e", extension, script=[say("I see.")]) as program:
        enter(program, "/report")
        program.wait_for("kept")
        enter(program, "go on")
        program.wait_for("I see.")
        program.wait_for(is_idle)

    (session,) = seat.session_files
    lines = [json.loads(line) for line in session.read_text().splitlines()]
    for line in lines:
        for holder in (line, line.get("details") or {}):
            if isinstance(holder.get("display"), list):
                holder["display"] = [{"type": "odd"}]
    session.write_text("".join(json.dumps(line) + "\n" for line in lines))

    with seat.open("-c") as program:
        program.wait_for("I see.")
        shown = program.screen.text()
        assert "two builds are red" in shown
        assert "ci:seen" not in shown
