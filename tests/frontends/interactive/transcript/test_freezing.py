"""What has left the screen stays as it was, whatever happens afterwards, and how things ended is always said."""

from hypothesis import given
from hypothesis import strategies as st

from kaa.core.events import (
    AutoRetryEnd,
    AutoRetryStart,
    BudgetUpdate,
    Event,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ModelFallback,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallStart,
    UserCommandEnd,
    UserCommandStart,
    UserCommandUpdate,
)
from kaa.core.messages import ThinkingContent, ToolCall
from kaa.tui.document import Block
from kaa.tui.width import plain
from tests.frontends.interactive.transcript.conversations import (
    Session,
    begins,
    ends,
    prints,
    reply,
    result,
    says,
    streams,
)

WIDTH = 30
TEXTS = st.text("ab \n", max_size=60)
CALLS = [ToolCall("0", "bash", {"command": "make"}), ToolCall("1", "write", {"path": "a", "content": "1\n" * 9})]
RETRY = AutoRetryStart(1, 3, 1000, "Overloaded.")
FALLBACK = ModelFallback("a/one", "b/two", "No credit is left at this vendor.")
BUDGET = BudgetUpdate("warning", "run", "turns", 8, 10, "8 of the 10 requests for this run are used")
COMMAND_END = UserCommandEnd("ls", True, "a\nb\n" * 9, 1, False, False, None, 5)

_events = st.one_of(
    st.builds(lambda text: MessageUpdate(TextDelta(0, text)), TEXTS),
    st.builds(lambda text: MessageUpdate(ThinkingDelta(1, text)), TEXTS),
    st.builds(lambda text: MessageUpdate(TextDelta(2, text)), TEXTS),
    st.sampled_from([MessageUpdate(ToolCallStart(3, "0", "bash")), MessageUpdate(ToolCallStart(4, "1", "write"))]),
    st.builds(lambda text: MessageUpdate(ToolCallDelta(3, text)), TEXTS),
    st.sampled_from(
        [MessageStart(reply()), MessageEnd(reply(*CALLS, stop="toolUse")), MessageEnd(reply(stop="error"))]
    ),
    st.builds(begins, st.sampled_from(CALLS)),
    st.builds(prints, st.sampled_from(CALLS), TEXTS),
    st.builds(
        lambda call, text, error: ends(call, result(call, text, error=error))[-1],
        st.sampled_from(CALLS),
        TEXTS,
        st.booleans(),
    ),
    st.sampled_from([RETRY, AutoRetryEnd(success=False, attempt=1), FALLBACK, BUDGET]),
    st.sampled_from([UserCommandStart("ls", True), UserCommandUpdate("a\nb\n"), COMMAND_END]),
)
_leaving = st.integers(1, 6)
_steps = st.lists(st.one_of(_events, _leaving, st.sampled_from(["tools", "thinking"])), min_size=5, max_size=30)


def begun() -> Session:
    """A session in which there is something of every kind that may change."""
    start = MessageStart(reply())
    thinks, says = MessageUpdate(ThinkingDelta(1, "Hm. ")), MessageUpdate(TextDelta(2, "I will "))
    return Session().show(start, thinks, *map(begins, CALLS), says, RETRY, UserCommandStart("ls", True))


class Scrollback:
    """What has left the screen of each block, checked whenever more leaves."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._left: dict[Block, list[str]] = {}

    def leave(self, count: int) -> None:
        """The next lines of the document leave the screen."""
        for block in self._session.document.blocks:
            lines = block.render(WIDTH)
            left = self._left.get(block, [])
            assert lines[: len(left)] == left
            leaving = min(len(lines) - len(left), count)
            count -= leaving
            if leaving:
                self._left[block] = lines[: len(left) + leaving]
                block.freeze(len(left) + leaving)


@given(_steps)
def test_lines_that_have_left_never_change(steps: list[Event | int | str]) -> None:
    session = begun()
    scrollback = Scrollback(session)
    for step in steps:
        if isinstance(step, int):
            scrollback.leave(step)
        elif step == "tools":
            session.view.toggle_tools()
        elif step == "thinking":
            session.view.toggle_thinking()
        elif not isinstance(step, str):
            session.show(step)
        scrollback.leave(0)


@given(_steps)
def test_a_document_that_is_painted_anew_forgets_what_had_left(steps: list[Event | int | str]) -> None:
    session, untouched = begun(), begun()
    scrollback = Scrollback(session)
    for step in steps:
        if isinstance(step, int):
            scrollback.leave(step)
        elif not isinstance(step, str):
            session.show(step)
            untouched.show(step)

    session.document.reset()

    assert session.text(WIDTH + 5) == untouched.text(WIDTH + 5)


@given(st.integers(0, 12), st.integers(0, 12))
def test_how_a_call_ended_is_said_once_whatever_has_left_before(first: int, second: int) -> None:
    call = CALLS[0]
    session = Session().show(begins(call), prints(call, "1\n2\n3\n4\n5\n"))
    scrollback = Scrollback(session)
    scrollback.leave(first)

    session.show(*ends(call, result(call, "Command exited with code 2", error=True, details={"exitCode": 2})))
    scrollback.leave(second)
    scrollback.leave(0)

    assert session.text(WIDTH).count("Command exited with code 2") == 1


def test_the_rest_goes_on_where_the_screen_ended() -> None:
    call = CALLS[0]
    session = Session().show(begins(call), prints(call, "1\n2\n3\n"))
    Scrollback(session).leave(3)  # the distance, the title, and the first line

    session.show(*ends(call, result(call, "1\n2\n3\n4")))

    assert session.text() == "• $ make\n  1\n  2\n  3\n  4"


def test_a_title_that_has_left_leaves_figures_to_the_end() -> None:
    call = ToolCall("0", "read", {"path": "a"})
    session = Session().show(begins(call))
    Scrollback(session).leave(2)

    session.show(*ends(call, result(call, "x")))

    assert session.text() == "• read a\n✓ read a\n  1 line"


def test_calls_that_left_while_they_ran_say_below_how_they_ended() -> None:
    calls = [ToolCall(name, "agent", {"task": name}) for name in ("one", "two")]
    session = Session().show(*map(begins, calls))
    scrollback = Scrollback(session)
    scrollback.leave(4)  # a dialog below pushes both off the screen
    running = session.text()

    session.show(*ends(calls[0], result(calls[0], "Fine.")))
    session.show(*ends(calls[1], result(calls[1], "Bad.", error=True)))

    ended = session.text().removeprefix(running)
    assert "✓ agent" in ended
    assert "✗ agent" in ended


def test_a_finished_block_is_settled_and_an_unfinished_one_is_not() -> None:
    call = CALLS[0]
    session = Session().show(MessageUpdate(TextDelta(0, "a")), MessageUpdate(ThinkingDelta(1, "b\n\nc")), begins(call))
    blocks = session.document.blocks
    heights = [len(block.render(WIDTH)) for block in blocks]
    assert all(block.settled < height for block, height in zip(blocks, heights, strict=True))

    session.show(MessageEnd(reply()), *ends(call, result(call, "x")))
    heights = [len(block.render(WIDTH)) for block in blocks]

    assert [block.settled for block in blocks] == heights


def test_what_was_hidden_when_its_beginning_had_left_stays_hidden() -> None:
    session = Session().show(*streams(reply(ThinkingContent("a\n\nb\n\nc"))), *says("go on"))
    document = session.document
    document.tail(WIDTH)
    document.leave(2)

    session.view.toggle_thinking()
    document.tail(WIDTH)
    document.leave(1)  # the beginning of what is behind it
    document.tail(WIDTH)
    session.view.toggle_thinking()

    left = sum(len(block.render(WIDTH)) for block in document.blocks[:1])
    assert left == 2
    assert [plain(line).strip() for line in document.tail(WIDTH).lines] == ["› go on"]
