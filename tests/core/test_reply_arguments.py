"""What becomes of the arguments of a tool call that are not quite JSON."""

import pytest

from kaa.core import provider
from kaa.core.messages import StopReason, ToolCall
from kaa.core.provider import Model
from kaa.core.reply import ReplyBuilder


def _call(arguments: str, stop_reason: StopReason = "toolUse") -> ToolCall:
    builder = ReplyBuilder(Model(id="m", provider="p", api="a"))
    for event in (provider.CallChunkStart(0, "c1", "write"), provider.ArgumentsChunk(0, arguments)):
        builder.fold(event)
    (call,) = builder.message(stop_reason).tool_calls
    return call


def test_slips_are_mended_and_stored_as_they_were_meant() -> None:
    assert _call("{'path': 'a', 'all': True,}") == ToolCall("c1", "write", {"path": "a", "all": True})


def test_what_cannot_be_mended_says_where_it_broke() -> None:
    error = _call('{"path": "a" "b"}').arguments_error

    assert error is not None
    assert "expected a comma or } at character 14" in error


@pytest.mark.parametrize(("reason", "usable"), [("toolUse", True), ("stop", True), ("length", False), ("error", False)])
def test_missing_brackets_are_forgiven_only_where_nothing_was_cut_off(reason: StopReason, usable: bool) -> None:
    call = _call('{"path": "a", "edits": [{"old": "b"}', reason)

    assert call.arguments == {"path": "a", "edits": [{"old": "b"}]}
    assert (call.arguments_error is None) == usable


def test_a_list_is_no_set_of_arguments() -> None:
    assert "found a list" in (_call("['a',]").arguments_error or "")
