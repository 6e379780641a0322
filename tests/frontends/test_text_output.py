import io
from pathlib import Path

import pytest

from kaa.builtin.mcp.results import framed
from kaa.core.events import (
    AgentEnd,
    AutoRetryStart,
    BudgetUpdate,
    Event,
    MessageEnd,
    MessageUpdate,
    ModelFallback,
    TextDelta,
    ToolArgumentsReplaced,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
)
from kaa.core.messages import AssistantMessage, TextContent, ToolResultMessage, Usage
from kaa.frontends.text_output import TextOutput
from kaa.llm.models.registry import NoModelError


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


REPLY = AssistantMessage((TextContent("x"),), "api", "provider", "model", Usage(), "stop")


def text(delta: str) -> Event:
    return MessageUpdate(TextDelta(0, delta))


def show(*events: Event, terminal: bool = False, verbose: bool = False) -> tuple[str, str]:
    out, err = (Terminal() if terminal else io.StringIO()), io.StringIO()
    output = TextOutput(out, err, verbose=verbose)
    for event in events:
        output.event(event)
    return out.getvalue(), err.getvalue()


def result(answer: str, *, is_error: bool) -> Event:
    message = ToolResultMessage("c", "bash", (TextContent(answer),), is_error)
    return ToolExecutionEnd("c", "bash", message, is_error, 5)


def test_the_answer_goes_to_stdout_and_nothing_else_does() -> None:
    out, err = show(
        text("Hel"), text("lo"), MessageEnd(REPLY), ToolExecutionStart("c", "bash", {"command": "make  test\n"})
    )

    assert out == "Hello\n"
    assert err == "> bash make test\n"


def test_an_answer_that_ends_its_line_gets_no_second_end() -> None:
    assert show(text("Hello\n"), MessageEnd(REPLY))[0] == "Hello\n"


def test_failures_of_tools_show_their_last_line() -> None:
    _, err = show(result("lots\nof output\n\nCommand exited with code 1\n", is_error=True))

    assert err == "  bash failed: Command exited with code 1\n"


def test_failures_of_tools_do_not_show_what_kaa_adds_behind() -> None:
    content = (TextContent("out\nCommand exited with code 1"), TextContent("[briefing by kaa]\nGit: branch main"))
    message = ToolResultMessage("c", "bash", content, is_error=True)
    end = ToolExecutionEnd("c", "bash", message, is_error=True, duration_ms=5)

    assert show(end)[1] == "  bash failed: Command exited with code 1\n"


def test_failures_of_server_tools_show_what_the_server_said() -> None:
    content = (TextContent(framed("weather", "no\nsuch city")), TextContent('Its parameters: {"city": "string"}'))
    message = ToolResultMessage("c", "mcp", content, is_error=True)

    assert show(ToolExecutionEnd("c", "mcp", message, is_error=True, duration_ms=5))[1] == "  mcp failed: such city\n"


def test_a_failure_that_names_its_tool_is_not_said_twice() -> None:
    assert show(result("bash failed: no", is_error=True))[1] == "  bash failed: no\n"
    assert show(result("bash was not run: no", is_error=True))[1] == "  bash was not run: no\n"


def test_success_of_tools_is_not_news() -> None:
    assert show(result("fine", is_error=False)) == ("", "")


def test_live_output_is_shown_when_asked_for() -> None:
    update = ToolExecutionUpdate("c", "bash", "one\n")

    assert show(update) == ("", "")
    assert show(update, verbose=True) == ("", "one\n")


def test_progress_behind_unfinished_live_output_begins_a_line() -> None:
    _, err = show(ToolExecutionUpdate("c", "bash", "50 %"), result("no", is_error=True), verbose=True)

    assert err == "50 %\n  bash failed: no\n"


def test_retries_say_why_and_when() -> None:
    assert show(AutoRetryStart(1, 5, 500, "busy"))[1] == "  busy (retry 1 of 5 in 1 s)\n"


def test_who_goes_on_in_whose_place_is_told_with_the_reason() -> None:
    _, err = show(ModelFallback("a/one", "b/two", "no credit"))

    assert err == "  no credit\n  a/one was abandoned; b/two continues\n"


def test_limits_are_told_of_until_they_end_the_run() -> None:
    near = BudgetUpdate("warning", "run", "tokens", 80, 100, "80 of 100 tokens are used")
    over = BudgetUpdate("reached", "run", "tokens", 110, 100, "110 of 100 tokens are used")

    assert show(near)[1] == "  budget: 80 of 100 tokens are used\n"
    assert show(over)[1] == ""


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (AgentEnd("done", ()), ""),
        (AgentEnd("error", (), "no"), "kaa: no\n"),
        (
            AgentEnd("denied", (), "not permitted: bash: a; edit: b", ("bash: a", "edit: b")),
            "kaa: not permitted: bash: a\nkaa: not permitted: edit: b\n",
        ),
        (
            AgentEnd("max_turns", (), "stopped", ("bash: a",), ("bash: 2 tests failed",)),
            "kaa: stopped\nkaa: not permitted: bash: a\nkaa: failed last: bash: 2 tests failed\n",
        ),
    ],
)
def test_only_a_bad_end_is_told(end: AgentEnd, expected: str) -> None:
    assert show(end)[1] == expected


def test_a_terminal_gets_no_control_characters_and_a_pipe_gets_every_byte() -> None:
    hostile = "\x1b]0;owned\x07 \x9b31m ok\n"

    assert show(text(hostile), terminal=True)[0] == "\\x1b]0;owned\\x07 \\x9b31m ok\n"
    assert show(text(hostile))[0] == hostile


def test_progress_never_has_control_characters() -> None:
    _, err = show(ToolExecutionStart("c", "bash", {"command": "echo \x1b[2J"}))

    assert err == "> bash echo \\x1b[2J\n"


def test_without_a_model_the_screen_says_how_to_get_going(tmp_path: Path) -> None:
    err = io.StringIO()
    error = NoModelError(
        "there is no key",
        suggestions=("openai/gpt-5",),
        auth_file=tmp_path / "auth.json",
        models_file=tmp_path / "models.json",
        problems=("models.json: line 3",),
    )

    TextOutput(io.StringIO(), err).no_model(error)

    for expected in ("there is no key", "ANTHROPIC_API_KEY", str(tmp_path / "models.json"), "kaa demo", "openai/gpt-5"):
        assert expected in err.getvalue()
    assert "models.json: line 3" in err.getvalue()


def test_a_call_that_an_extension_changed_is_shown_as_it_runs() -> None:
    _, err = show(ToolArgumentsReplaced("c", "bash", {"command": "true"}, "quiet"))

    assert err == "> bash true (changed by extension quiet)\n"
