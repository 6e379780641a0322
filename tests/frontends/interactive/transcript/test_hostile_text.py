"""Whatever models, tools and files say, lines are lines: within the width, and without anything a terminal acts on."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kaa.core.events import AutoRetryStart, BudgetUpdate, ModelFallback, UserCommandEnd, UserCommandStart
from kaa.core.messages import ImageContent, Json, TextContent, ThinkingContent, ToolCall
from kaa.frontends.interactive.transcript.header import StartHeader
from kaa.frontends.interactive.transcript.summaries import SummaryBlock
from tests.frontends.interactive.transcript.conversations import (
    Session,
    begins,
    ends,
    prints,
    reply,
    result,
    run_of,
    says,
    streams,
)
from tests.support.painted import STYLES, assert_well_formed

BACKGROUNDS = {
    "toolPendingBg": "48;5;1",
    "toolSuccessBg": "48;5;2",
    "toolErrorBg": "48;5;3",
    "customMessageBg": "48;5;4",
}
TEXTS = st.text(st.one_of(st.sampled_from("ab \n\r\t\x1b[;m\x07\x9b\u202e界👩‍🔬*`#-|>"), st.characters()), max_size=80)
TOOLS = st.sampled_from(["bash", "edit", "find", "grep", "ls", "process", "read", "write", "unknown"])


def everything(tool: str, text: str, *, expanded: bool, linear: bool, is_error: bool) -> Session:
    """A session in which this text is everywhere."""
    arguments: dict[str, Json] = dict.fromkeys(("command", "path", "pattern", "content", "action", "glob"), text)
    call = ToolCall("1", tool, arguments)
    session = Session(styles=STYLES | BACKGROUNDS, expanded=expanded, linear=linear)
    session.document.blocks.append(StartHeader(session.view, "kaa", "1", text, [("app.tools.expand", "expands")], text))
    session.document.blocks.append(SummaryBlock(session.view, text, text))
    session.show(*says(text), *streams(reply(ThinkingContent(text), TextContent(text))))
    session.show(begins(call), prints(call, text))
    session.painted()
    details = {"diff": text, "blocked": [{"kind": "network", "what": text}]}
    session.show(*ends(call, result(call, f"{text}\n\n[sandbox] {text}", error=is_error, details=details)))
    session.show(UserCommandStart(text, True), UserCommandEnd(text, True, text, 1, False, True, text, 5))
    session.show(AutoRetryStart(1, 2, 3, text), ModelFallback(text, text, text))
    session.show(BudgetUpdate("warning", "run", "cost", 1, 2, text))
    return session.show(*run_of(reason="error", error=text))


@example("unknown", "half \udc80 of a pair", 40, True, False, False)
@given(TOOLS, TEXTS, st.integers(1, 90), st.booleans(), st.booleans(), st.booleans())
def test_any_text_becomes_well_formed_lines(
    tool: str, text: str, width: int, expanded: bool, linear: bool, is_error: bool
) -> None:
    session = everything(tool, text, expanded=expanded, linear=linear, is_error=is_error)

    assert_well_formed(session.painted(width), width)


@pytest.mark.parametrize("tool", ["bash", "grep", "read", "unknown"])
@pytest.mark.parametrize("text", ["x" * 5_000_000, "x\n" * 2_500_000, "[sandbox] x\n" * 400_000])
def test_megabytes_take_few_lines(tool: str, text: str) -> None:
    call = ToolCall("1", tool, {"command": text, "path": text, "pattern": text})
    session = Session().show(begins(call), *ends(call, result(call, text)))

    assert len(session.painted(80)) < 60


def test_broken_images_do_not_matter() -> None:
    call = ToolCall("1", "read", {"path": "a.png"})
    image = ImageContent("no base64 at all", "image/png")

    session = Session().show(*ends(call, result(call, "[image/png, 1x1 pixels]", images=(image,))))

    assert "image" in session.text()
