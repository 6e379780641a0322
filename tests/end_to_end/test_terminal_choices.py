"""Lists and keys that change how the conversation goes on, and what happens when that is done while the agent works."""

import base64
import json
import os
import re
from io import BytesIO

import pytest

from tests.end_to_end.seat import Seat, answer, enter, is_idle, pausing
from tests.support.model_server import MODEL_ID, SERVER_ERROR, call, rate_limited, say
from tests.support.screen import Screen


@pytest.fixture
def two_models(seat: Seat) -> Seat:
    """A seat with another model."""
    models = json.loads((seat.home / "models.json").read_text())
    models["providers"]["test"]["models"].append({"id": "other-model"})
    (seat.home / "models.json").write_text(json.dumps(models))
    return seat


def test_models_are_cycled_through(two_models: Seat) -> None:
    with two_models.open("--model", f"test/{MODEL_ID}", script=[say("Hello.")]) as program:
        program.press("ctrl+p")
        program.wait_for("test/other-model is now the model")
        program.press("ctrl+shift+p")
        program.wait_for(f"test/{MODEL_ID} is now the model")
        program.press("ctrl+p")
        program.wait_for("test/other-model is now the model")
        enter(program, "hello")
        program.wait_for("Hello.")

    assert two_models.model.requests[0].json["model"] == "other-model"


def test_models_to_cycle_through_are_kept(two_models: Seat) -> None:
    with two_models.open("--model", f"test/{MODEL_ID}") as program:
        enter(program, "/scoped-models")
        program.wait_for("Models to cycle through")
        program.type("other")
        program.wait_for(
            lambda screen: "[ ] test/other-model" in screen.text() and "[ ] test/test" not in screen.text()
        )
        program.press("space", "ctrl+s")
        program.wait_for("saved in the settings")

    assert json.loads((two_models.home / "settings.json").read_text())["enabledModels"] == ["test/other-model"]


def test_a_model_that_does_not_exist_is_refused_and_the_command_stays(seat: Seat) -> None:
    with seat.open(script=[say("Hello.")]) as program:
        enter(program, "/model nonsense")
        program.wait_for("no model is called 'nonsense'")
        program.wait_for(re.compile("^/model nonsense", re.MULTILINE))
        program.press("ctrl+c")
        enter(program, "hello")
        program.wait_for("Hello.")


def test_thinking_goes_round_by_key(seat: Seat) -> None:
    seat.use(seat.model, "openai-completions", reasoning=True)

    with seat.open("--thinking", "off") as program:
        program.press("alt+l")
        program.wait_for("thinking: minimal")
        enter(program, "/thinking")
        program.wait_for("Which thinking level?")
        program.type("medium")
        program.press("enter")
        program.wait_for("thinking: medium")


def test_a_model_that_cannot_think_says_so(seat: Seat) -> None:
    with seat.open() as program:
        program.press("alt+l")
        program.wait_for("think")
        program.wait_for(is_idle)


def test_approvals_are_chosen_from_a_list(seat: Seat) -> None:
    with seat.open(script=[call("bash", command="echo hi"), say("Unasked.")]) as program:
        enter(program, "/approvals")
        program.wait_for("denies every call")
        program.type("never")
        program.press("enter")
        program.wait_for("full access • never")
        enter(program, "do it")
        program.wait_for("Unasked.")
        assert "Yes, this time" not in program.screen.text()
        enter(program, "/approvals nonsense")
        program.wait_for("invalid approval mode 'nonsense'")


@pytest.mark.usefixtures("mounts")
def test_shift_tab_cycles_what_tools_can_do(seat: Seat) -> None:
    script = [
        call("write", path="made", content="x"),
        say("Refused."),
        call("bash", command="touch made"),
        say("Made."),
    ]

    with seat.open(script=script, sandbox="workspace-write", screen=Screen(columns=80, rows=24)) as program:
        program.wait_for("auto • net off")
        program.press("shift+tab")
        program.wait_for("plan • net off")
        enter(program, "make it")
        program.wait_for("Refused.")
        assert not (seat.project / "made").exists()
        program.press("shift+tab")
        program.wait_for("ask • net off")
        program.press("shift+tab")
        program.wait_for("auto • net off")
        enter(program, "make it now")
        program.wait_for("Made.")

    assert (seat.project / "made").exists()


def test_background_jobs_are_counted_and_a_failing_one_is_told_at_once(seat: Seat) -> None:
    os.mkfifo(seat.project / "go")
    script = [call("bash", command="read _ < go; exit 3", background=True), say("It waits.")]

    with seat.open("--approvals", "auto", "start", script=script, screen=Screen(columns=80, rows=24)) as program:
        program.wait_for("It waits.")
        program.wait_for("net on • 1 job")
        (seat.project / "go").write_text("\n")
        program.wait_for("background job 1 failed: read _ < go; exit 3")
        program.wait_for(lambda screen: "1 job" not in screen.text())


def test_leaving_asks_first_where_a_background_job_ends_with_it(seat: Seat) -> None:
    os.mkfifo(seat.project / "go")
    script = [call("bash", command="read _ < go", background=True), say("It waits.")]

    with seat.open("--approvals", "auto", "start", script=script, screen=Screen(columns=80, rows=24)) as program:
        program.wait_for("net on • 1 job")
        program.wait_for(is_idle)
        program.press("ctrl+d")
        program.wait_for("1 background process ends with kaa")
        program.press("s")
        program.wait_for(is_idle)
        enter(program, "/exit")
        program.wait_for("1 background process ends with kaa")
        program.press("q")
        program.wait_for_end()


def test_a_list_that_is_left_changes_nothing(seat: Seat) -> None:
    with seat.open() as program:
        for command, title in (("/approvals", "Which tool calls"), ("/model", "Which model?"), ("/theme", "Theme")):
            enter(program, command)
            program.wait_for(f"─ {title}")
            program.press("escape")
            program.wait_for(is_idle)

        assert "full access • ask" in program.screen.text()


def test_tools_are_shown_at_length_and_in_short(seat: Seat) -> None:
    with seat.open("count", script=[call("bash", command="seq 1 60"), say("Counted.")]) as program:
        answer(program, "y")
        program.wait_for("Counted.")
        program.wait_for(is_idle)
        assert "\n  1\n" not in program.screen.text()
        program.press("ctrl+o")
        program.wait_for("tool output is expanded")
        program.press("ctrl+o")
        program.wait_for("tool output is collapsed")


def test_the_question_about_an_edit_shows_the_lines_around_it(seat: Seat) -> None:
    (seat.project / "a.txt").write_text("".join(f"line {number}\n" for number in range(1, 21)))
    edit = call("edit", path="a.txt", edits=[{"oldText": "line 10\n", "newText": "ten\n"}])

    with seat.open("--approvals", "ask", script=[edit, say("Done.")]) as program:
        enter(program, "change it")
        program.wait_for("+10 ten")
        for number in (7, 8, 9, 11, 12, 13):
            assert re.search(rf" {number} line {number}\b", program.screen.text())
        assert "line 6" not in program.screen.text()
        answer(program, "y")
        program.wait_for("Done.")


def test_a_long_paste_is_folded_after_it_was_sent(seat: Seat) -> None:
    paste = "\n".join(f"row {number}" for number in range(240))

    with seat.open(script=[say("I see.")]) as program:
        program.type("look at ")
        program.paste(paste)
        program.wait_for("[paste #1 +240 lines]")
        program.press("enter")
        program.wait_for("I see.")
        program.wait_for("look at [pasted 240 lines]")
        program.press("ctrl+o")
        program.wait_for("row 239")

    assert seat.heard() == [("user", f"look at {paste}")]


def test_a_new_session_while_it_works_stops_the_work(seat: Seat) -> None:
    with seat.open(script=[pausing("Half an ", "answer."), say("Fresh.")]) as program:
        enter(program, "explain")
        program.wait_for("Half an")
        enter(program, "/new")
        program.wait_for("Started a new session.")
        program.wait_for(is_idle)
        enter(program, "hello")
        program.wait_for("Fresh.")

    assert seat.heard() == [("user", "hello")]


def test_a_new_session_while_a_tool_runs_ends_the_tool(seat: Seat) -> None:
    with seat.open(
        script=[call("bash", command="echo begun > begun; sleep 1000; touch late"), say("Fresh.")]
    ) as program:
        enter(program, "wait")
        answer(program, "y")
        program.wait_for(lambda _: (seat.project / "begun").exists())
        enter(program, "/clear")
        program.wait_for("Started a new session.")
        program.wait_for(is_idle)
        enter(program, "hello")
        program.wait_for("Fresh.")

    assert seat.heard() == [("user", "hello")]


def test_going_back_while_it_works_is_refused_in_words(seat: Seat) -> None:
    with seat.open(script=[say("One."), pausing("Half an ", "answer.")]) as program:
        enter(program, "first")
        program.wait_for("One.")
        program.wait_for(is_idle)
        enter(program, "second")
        program.wait_for("Half an")
        enter(program, "/rewind")
        program.wait_for("Rewind to before which message?")
        program.press("enter")
        program.wait_for("working")
        seat.model.release()
        program.wait_for("Half an answer.")


def test_nothing_to_go_back_to_is_told(seat: Seat) -> None:
    with seat.open() as program:
        program.press("escape", "escape")

        program.wait_for("there is no message to go back to")


def test_the_model_switched_while_it_works_answers_next(two_models: Seat) -> None:
    script = [pausing("From ", "one."), say("From the other.")]
    with two_models.open("--model", f"test/{MODEL_ID}", script=script) as program:
        enter(program, "hello")
        program.wait_for("From")
        enter(program, "/model test/other-model")
        program.wait_for("test/other-model is now the model")
        two_models.model.release()
        program.wait_for("From one.")
        program.wait_for(is_idle)
        enter(program, "again")
        program.wait_for("From the other.")

    assert [request.json["model"] for request in two_models.model.requests] == [MODEL_ID, "other-model"]


def test_refusals_of_the_server_are_tried_again_and_told(seat: Seat) -> None:
    seat.settings(retry={"baseDelayMs": 1, "maxRetries": 1})
    with seat.open(script=[rate_limited(), say("At last."), SERVER_ERROR, SERVER_ERROR, say("Better.")]) as program:
        enter(program, "hello")
        program.wait_for("At last.")
        program.wait_for(is_idle)
        enter(program, "again")
        program.wait_for("500")
        program.wait_for(is_idle)
        enter(program, "and again")
        program.wait_for("Better.")


def test_an_image_of_the_clipboard_goes_along(seat: Seat) -> None:
    from PIL import Image

    seat.use(seat.model, "openai-completions", input=["text", "image"])
    buffer = BytesIO()
    Image.new("RGB", (8, 8), "red").save(buffer, "png")
    (seat.project / "red.png").write_bytes(buffer.getvalue())
    programs = seat.project.with_name("bin")
    programs.mkdir()
    (programs / "wl-paste").write_text(f"#!/bin/sh\nexec cat {seat.project}/red.png\n")
    (programs / "wl-paste").chmod(0o755)
    seat.setenv(PATH=f"{programs}:{seat.environ['PATH']}", WAYLAND_DISPLAY="wayland-0")

    with seat.open(script=[say("Red, twice.")]) as program:
        program.press("ctrl+v")
        program.wait_for("[image #1]")
        program.paste(f"{seat.project}/red.png")
        program.wait_for("[image #2]")
        enter(program, "what is it?")
        program.wait_for("Red, twice.")

    (message,) = (message for message in seat.model.requests[0].json["messages"] if message["role"] == "user")
    images = [part["image_url"]["url"] for part in message["content"] if part["type"] == "image_url"]
    assert len(images) == 2
    assert Image.open(BytesIO(base64.b64decode(images[0].partition(",")[2]))).size == (8, 8)


def test_an_image_that_is_named_goes_along_and_is_left_out_for_a_model_that_sees_none(seat: Seat) -> None:
    from PIL import Image

    url = f"{seat.model.url}/v1"
    see: dict[str, object] = {"baseUrl": url, "apiKey": "k", "models": [{"id": "see", "input": ["text", "image"]}]}
    blind: dict[str, object] = {"baseUrl": url, "apiKey": "k", "models": [{"id": "blind"}]}
    (seat.home / "models.json").write_text(json.dumps({"providers": {"eyes": see, "dark": blind}}))
    Image.new("RGB", (8, 8), "red").save(seat.project / "red.png")

    with seat.start("--model", "eyes/see", script=[say("Red."), say("I see none.")]) as program:
        program.wait_for("eyes/see")
        enter(program, "@red.png what is it?")
        program.wait_for("Red.")
        enter(program, "/model dark/blind")
        program.wait_for("dark/blind is now")
        enter(program, "and now?")
        program.wait_for("I see none.")

    seen, unseen = (request.body.decode() for request in seat.model.requests)
    assert "data:image/png;base64," in seen
    assert "data:image" not in unseen
    assert "image omitted" in unseen


def test_a_dropped_image_that_cannot_be_read_stays_a_path(seat: Seat) -> None:
    with seat.open() as program:
        program.paste("/nowhere/at/all.png")

        program.wait_for("its path was inserted")
        program.wait_for("/nowhere/at/all.png")


def test_a_file_outside_the_project_is_read_when_it_is_named(
    seat: Seat, tmp_path_factory: pytest.TempPathFactory
) -> None:
    log = tmp_path_factory.mktemp("logs") / "app.log"
    log.write_text("ERROR 42")

    with seat.open(script=[say("An error."), say("None.")]) as program:
        enter(program, f"what is in @{log} ?")
        program.wait_for("An error.")
        program.wait_for(is_idle)
        enter(program, f"and in @{log.parent}/none.log ?")
        program.wait_for("none.log does not exist; only its name is sent")

    assert "ERROR 42" in seat.model.requests[0].body.decode()


def test_the_footer_follows_the_branch(seat: Seat) -> None:
    (seat.project / ".git").mkdir()
    for folder in ("objects", "refs"):
        (seat.project / ".git" / folder).mkdir()
    (seat.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")

    with seat.open(script=[say("Hello.")]) as program:
        program.wait_for("(main)")
        (seat.project / ".git" / "HEAD").write_text("ref: refs/heads/topic\n")
        enter(program, "hello")
        program.wait_for("(topic)")


def test_broken_files_of_the_user_are_told_and_do_not_stop_it(seat: Seat) -> None:
    (seat.home / "keybindings.json").write_text("{nonsense")
    (seat.home / "themes").mkdir()
    (seat.home / "themes" / "mine.json").write_text("[]")
    seat.settings(theme="mine", ui={"screen": "sideways"})

    with seat.open(script=[say("Hello.")]) as program:
        program.wait_for("keybindings.json")
        program.wait_for("mine.json")
        program.wait_for("ui.screen")
        enter(program, "hello")
        program.wait_for("Hello.")


def test_settings_that_keep_it_from_starting_can_be_mended(seat: Seat) -> None:
    seat.settings(approvals="auto")

    with seat.start(script=[say("Hello.")]) as program:
        program.wait_for("settings.json")
        assert "bug in kaa" not in program.screen.text()
        enter(program, "hello")
        program.wait_for(lambda screen: screen.text().count("settings.json") == 2)
        program.wait_for("hello")
        seat.settings()
        program.press("enter")

        program.wait_for("Hello.")


def test_a_model_is_found_by_its_name_and_nothing_else_is(seat: Seat) -> None:
    models = json.loads((seat.home / "models.json").read_text())
    named = {"id": "opus-4-5", "name": "Opus 4.5", "cost": {"input": 5, "output": 25}}
    models["providers"]["test"]["models"] += [named, {"id": "o-p-u-s-4-8-and-5-more"}]
    (seat.home / "models.json").write_text(json.dumps(models))

    with seat.open("--model", f"test/{MODEL_ID}") as program:
        enter(program, "/model")
        program.wait_for("Which model?")
        program.type("opus 4.5")
        program.wait_for("$5 in, $25 out per million")
        program.wait_for(lambda screen: "test/opus-4-5" in screen.text() and "o-p-u-s" not in screen.text())
        program.press("ctrl+u")
        program.type("ops48")
        program.wait_for("$? per million")
        program.wait_for("test/o-p-u-s-4-8")
