"""A conversation on the screen: what is typed reaches the model, and what it says and does is seen."""

import json
from pathlib import Path

from tests.end_to_end.seat import READY, Seat, answer, enter, is_idle, pausing
from tests.support.model_server import MODEL_ID, Answer, Call, call, say


def test_what_is_typed_before_kaa_is_ready_is_kept_and_answered(seat: Seat) -> None:
    with seat.start(script=[say("Good morning.")]) as program:
        program.wait_for("Ask kaa")
        enter(program, "good morning")
        program.type("and half of the next")

        program.wait_for("Good morning.")
        program.wait_for("and half of the next")

    assert seat.heard() == [("user", "good morning")]


def test_keys_pressed_before_the_first_frame_are_kept(seat: Seat) -> None:
    with seat.start() as program:
        program.write(b"early bird")

        program.wait_for(READY)
        program.wait_for("early bird")


def test_a_task_is_done_with_a_yes_for_each_call(seat: Seat) -> None:
    script = [
        call("bash", command="echo first > made.txt"),
        call("bash", command="cat made.txt"),
        say("It says first."),
    ]
    with seat.open("make a file", script=script) as program:
        program.wait_for("echo first > made.txt")
        program.wait_for("Yes, this time")
        assert not (seat.project / "made.txt").exists()
        answer(program, "y")
        program.wait_for("cat made.txt")
        program.wait_for("Yes, this time")
        program.press("enter")

        program.wait_for("It says first.")

    assert (seat.project / "made.txt").read_text() == "first\n"
    assert ("tool", "first") in seat.heard()


def test_yes_for_the_session_is_asked_once(seat: Seat) -> None:
    script = [call("bash", command="echo same"), call("bash", command="echo same"), say("Twice.")]
    with seat.open("do it twice", script=script) as program:
        program.wait_for("Yes, for the session: bash: echo same")
        answer(program, "s")

        program.wait_for("Twice.")

    assert [text for who, text in seat.heard() if who == "tool"] == ["same", "same"]


def test_yes_for_good_keeps_the_rule_as_it_was_changed(seat: Seat) -> None:
    script = [call("bash", command="ls -a"), call("bash", command="ls -l"), say("Listed.")]
    with seat.open("list", script=script) as program:
        program.wait_for("Yes, always")
        answer(program, "a")
        program.wait_for("Rules, one per line:")
        program.press("ctrl+a", "ctrl+k")
        program.type("bash: ls *")
        program.wait_for("bash: ls *")
        program.press("enter")

        program.wait_for("Listed.")

    assert "bash: ls *" in (seat.home / "approvals.json").read_text()


def test_a_rule_that_is_none_is_asked_for_again(seat: Seat) -> None:
    with seat.open("list", script=[call("bash", command="ls -a"), say("Listed.")]) as program:
        program.wait_for("Yes, always")
        answer(program, "a")
        program.wait_for("Rules, one per line:")
        program.press("ctrl+a", "ctrl+k")
        enter(program, "bash(ls *)")
        program.wait_for("is no rule")
        answer(program, "y")

        program.wait_for("Listed.")

    assert not (seat.home / "approvals.json").exists()


def test_no_with_a_reason_tells_the_model(seat: Seat) -> None:
    with seat.open("install it", script=[call("bash", command="make install"), say("I will not.")]) as program:
        program.wait_for("No, and tell the model why")
        answer(program, "n")
        program.wait_for("Reason, or what to do instead")
        enter(program, "use a virtual environment")

        program.wait_for("I will not.")

    assert "use a virtual environment" in seat.heard()[-1][1]


def test_no_and_stop_ends_the_run(seat: Seat) -> None:
    with seat.open("install it", script=[call("bash", command="make install")]) as program:
        program.wait_for("No, and stop the run")
        answer(program, "x")

        program.wait_for(is_idle)

    assert len(seat.model.requests) == 1


def test_words_said_meanwhile_reach_the_model_after_the_tool(seat: Seat) -> None:
    wait = "until test -e go; do sleep 0.02; done; echo waited"
    with seat.open("paint it red", script=[call("bash", command=wait), say("All right, blue.")]) as program:
        program.wait_for("Yes, this time")
        answer(program, "y")
        program.wait_for("Running bash")
        enter(program, "no, blue")
        program.wait_for("steering: no, blue")
        (seat.project / "go").touch()

        program.wait_for("All right, blue.")

    assert seat.heard()[-2:] == [("tool", "waited"), ("user", "no, blue")]


def test_words_for_afterwards_wait_until_it_is_done(seat: Seat) -> None:
    with seat.open(script=[pausing("Working on ", "it."), say("Now the tests.")]) as program:
        enter(program, "fix it")
        program.wait_for("Working on")
        program.type("then the tests")
        program.press("alt+enter")
        program.wait_for("afterwards: then the tests")
        seat.model.release()

        program.wait_for("Now the tests.")
        program.wait_for(is_idle)

    assert seat.heard()[-2:] == [("assistant", "Working on it."), ("user", "then the tests")]


def test_what_waits_can_be_taken_back(seat: Seat) -> None:
    with seat.open(script=[pausing("Working on ", "it.")]) as program:
        enter(program, "fix it")
        program.wait_for("Working on")
        enter(program, "first thought")
        program.wait_for("steering: first thought")
        enter(program, "second thought")
        program.wait_for("steering: second thought")
        program.press("alt+up")
        program.wait_for(lambda screen: "steering: second" not in screen.text() and "second thought" in screen.text())
        program.press("alt+up")
        program.wait_for(lambda screen: "steering:" not in screen.text() and "first thought" in screen.text())
        seat.model.release()
        program.wait_for("Working on it.")

    assert len(seat.model.requests) == 1


def test_escape_stops_and_gives_back_what_waited(seat: Seat) -> None:
    with seat.open(script=[pausing("Half an ", "answer."), say("Shorter.")]) as program:
        enter(program, "explain")
        program.wait_for("Half an")
        enter(program, "shorter please")
        program.wait_for("steering: shorter please")
        program.press("escape")
        program.wait_for(lambda screen: "steering:" not in screen.text() and "stops it" not in screen.text())
        program.wait_for("shorter please")
        program.press("enter")

        program.wait_for("Shorter.")

    heard = seat.heard()
    assert heard[0] == ("user", "explain")
    assert heard[1][1].startswith("Half an")
    assert heard[-1] == ("user", "shorter please")


def test_going_back_to_a_message_shortens_what_the_model_sees(seat: Seat) -> None:
    with seat.open(script=[say("One."), say("Two."), say("Three.")]) as program:
        enter(program, "first")
        program.wait_for("One.")
        enter(program, "second")
        program.wait_for("Two.")
        program.wait_for(is_idle)
        program.press("escape", "escape")
        program.wait_for("Rewind to before which message?")
        program.press("enter")
        program.wait_for("continues from before that message")
        program.type(" thoughts")
        program.wait_for("second thoughts")
        program.press("enter")

        program.wait_for("Three.")

    assert seat.heard() == [("user", "first"), ("assistant", "One."), ("user", "second thoughts")]


def test_own_commands_are_told_to_the_model_unless_they_are_private(seat: Seat) -> None:
    with seat.open(script=[say("I see.")]) as program:
        enter(program, "!echo for $((40 + 2)) all")
        program.wait_for("for 42 all")
        program.wait_for(is_idle)
        enter(program, "!!echo for $((40 + 3)) me")
        program.wait_for("for 43 me")
        program.wait_for(is_idle)
        enter(program, "what did I do?")
        program.wait_for("I see.")

    heard = "".join(text for _, text in seat.heard())
    assert "for 42 all" in heard
    assert "43" not in heard


def test_own_commands_that_run_are_stopped_by_escape(seat: Seat) -> None:
    with seat.open() as program:
        enter(program, "!echo begun; sleep 1000")
        program.wait_for(lambda screen: "begun" in screen.text().replace("echo begun", ""))
        program.press("escape")

        program.wait_for(is_idle)


def test_another_model_answers_once_it_is_chosen(seat: Seat) -> None:
    models = json.loads((seat.home / "models.json").read_text())
    models["providers"]["test"]["models"].append({"id": "other-model"})
    (seat.home / "models.json").write_text(json.dumps(models))

    with seat.open("--model", f"test/{MODEL_ID}", script=[say("From one."), say("From the other.")]) as program:
        enter(program, "hello")
        program.wait_for("From one.")
        program.press("ctrl+l")
        program.wait_for("test/other-model")
        program.type("other")
        program.press("enter")
        program.wait_for("test/other-model is now the model")
        enter(program, "hello again")
        program.wait_for("From the other.")

    assert [request.json["model"] for request in seat.model.requests] == [MODEL_ID, "other-model"]


def test_thinking_is_set_by_command(seat: Seat) -> None:
    seat.use(seat.model, "openai-completions", reasoning=True)

    with seat.open(script=[Answer(text=("Deep.",), thinking=("Let me ", "think."))]) as program:
        enter(program, "/thinking high")
        program.wait_for("thinking: high")
        enter(program, "why?")
        program.wait_for("Deep.")
        program.wait_for("Let me think.")
        program.press("ctrl+t")
        program.wait_for(lambda screen: "Let me think." not in screen.text())

    assert seat.model.requests[0].json["reasoning_effort"] == "high"


def test_two_tools_at_once_ask_one_after_the_other(seat: Seat) -> None:
    calls = Answer(calls=(Call("bash", '{"command": "echo left"}'), Call("bash", '{"command": "echo right"}')))
    with seat.open("both", script=[calls, say("Both.")]) as program:
        for side in ("left", "right"):
            program.wait_for(lambda screen, side=side: f"$ echo {side}" in _dialog(screen.lines()))  # type: ignore[misc]
            answer(program, "y")

        program.wait_for("Both.")

    assert [text for who, text in seat.heard() if who == "tool"] == ["left", "right"]


def _dialog(lines: list[str]) -> str:
    """What stands in the frame."""
    return "\n".join(line for line in lines if line.startswith("│"))


def test_tab_completes_a_file_outside_the_project_and_a_missing_one_is_said(seat: Seat, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "report.txt").write_text("all is well")
    with seat.open(script=[say("I see.")]) as program:
        program.type(f"see @{outside}/rep")
        program.press("tab")
        program.wait_for("report.txt")
        enter(program, "and @missing.txt")
        program.wait_for("I see.")
        program.wait_for("@missing.txt does not exist")

    assert "all is well" in seat.heard()[0][1]
