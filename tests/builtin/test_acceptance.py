"""The options of slash commands that run commands of the user's, and how long these may run."""

import time
from collections.abc import Sequence
from math import inf
from typing import cast

import pytest

from kaa.builtin.acceptance import checks_in, options_in, run_check
from kaa.core.budget import LimitUsage
from kaa.core.messages import Json
from kaa.core.tool import ToolResult
from kaa.ext.api import ConversationContext
from kaa.ext.errors import CommandError
from tests.support.agents import run
from tests.support.tables import each


@each(
    ("typed", "text", "options"),
    [
        ("Fix it", "Fix it", []),
        (" Fix it --check make test ", "Fix it", ["make test"]),
        ("Fix it\n--check a --check  b c", "Fix it", ["a", "b c"]),
        ("Fix it --check", "Fix it", [""]),
        ("--check a", "", ["a"]),
        ("Say --checked and x--check y", "Say --checked and x--check y", []),
        ('Fix it --check "ruff format --check ." --check true', "Fix it", ["ruff format --check .", "true"]),
        ("Fix it --check 'a --check b' --check 'c'", "Fix it", ["a --check b", "c"]),
        ('Fix it --check "my prog" --flag --check b', "Fix it", ['"my prog" --flag', "b"]),
        ("Fix it --check 'a' && 'b'", "Fix it", ["'a' && 'b'"]),
        ("Fix it --check 'a --check b", "Fix it", ["'a", "b"]),
        ("Fix it --check '", "Fix it", ["'"]),
        ("Fix it --check ''", "Fix it", [""]),
    ],
)
def test_commands_are_read(typed: str, text: str, options: list[str]) -> None:
    assert options_in(typed, "check") == (text, [("check", one) for one in options])


def test_options_have_names() -> None:
    assert options_in("2 Do it --models a,b --check x --models y", "check", "models") == (
        "2 Do it",
        [("models", "a,b"), ("check", "x"), ("models", "y")],
    )


@pytest.mark.parametrize(("values", "error"), [([""], "has no command"), (["x"] * 9, "At most 8 commands")])
def test_checks_are_refused(values: list[str], error: str) -> None:
    with pytest.raises(CommandError, match=error):
        checks_in([("check", one) for one in values])


class Commands:
    """A conversation whose commands all succeed; it keeps how long they may run."""

    active_tools = ("bash",)

    def __init__(self, limits: Sequence[LimitUsage] = ()) -> None:
        self.limits = limits
        self.timeouts: list[float] = []

    async def call_tool(self, name: str, arguments: dict[str, Json]) -> ToolResult:
        timeout = arguments["timeout"]
        assert isinstance(timeout, int | float)
        self.timeouts.append(timeout)
        return ToolResult(())


@pytest.mark.parametrize(
    ("limits", "seconds", "most"),
    [
        ((), inf, 600),
        ((), 40, 40),
        ((LimitUsage("run", "seconds", 25, 30),), inf, 5),
        ((LimitUsage("run", "seconds", 25, 30),), 3, 3),
    ],
)
def test_commands_get_no_more_time_than_is_left(limits: Sequence[LimitUsage], seconds: float, most: float) -> None:
    commands = Commands(limits)

    run(run_check("make test", cast("ConversationContext", commands), time.monotonic() + seconds))

    [timeout] = commands.timeouts
    assert 0 < timeout <= most


def test_no_command_is_run_when_the_time_is_used_up() -> None:
    commands = Commands()

    ran = run(run_check("make test", cast("ConversationContext", commands), time.monotonic()))

    assert ran.result == "timedOut"
    assert "the time for this run is used up" in ran.missing
    assert commands.timeouts == []
