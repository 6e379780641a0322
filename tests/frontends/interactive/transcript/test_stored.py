from collections.abc import Sequence
from pathlib import Path
from typing import overload

import pytest

from kaa.core.events import Event, MessageEnd, MessageStart
from kaa.core.messages import (
    AssistantMessage,
    ExtensionNote,
    Message,
    Origin,
    TextContent,
    ThinkingContent,
    ToolCall,
    user_message,
)
from kaa.frontends.interactive.transcript.stored import EarlierBlocks, StoredBlocks
from kaa.frontends.interactive.transcript.transcript_view import RECENT
from kaa.session.compaction.undoing import WHOLE
from kaa.session.entries import (
    BashExecution,
    BranchSummary,
    Compaction,
    CustomMessage,
    CustomNote,
    MessageEntry,
    ModelChange,
    StoredMessage,
)
from kaa.session.errors import SessionReadError
from kaa.session.transcript import DisplayEntry, Unreadable
from tests.frontends.interactive.transcript.conversations import (
    Session,
    reply,
    result,
    run_of,
    runs,
    says,
    streams,
    text_of,
)

LIST = ToolCall("1", "bash", {"command": "ls"})
READ = ToolCall("2", "read", {"path": "a.py"})


class Entries(Sequence[DisplayEntry]):
    """Entries that count how often they are read."""

    def __init__(self, entries: Sequence[DisplayEntry], broken: int | None = None) -> None:
        self._entries = entries
        self._broken = broken
        self.read = 0

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> DisplayEntry: ...
    @overload
    def __getitem__(self, index: slice) -> list[DisplayEntry]: ...
    def __getitem__(self, index: int | slice) -> DisplayEntry | list[DisplayEntry]:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(len(self)))]
        if index == self._broken:
            raise SessionReadError(Path("s"), OSError("the disk failed"))
        self.read += 1
        return self._entries[index]


def stored(*messages: StoredMessage) -> Entries:
    return Entries([MessageEntry(message=message) for message in messages])


def shown(entries: Sequence[DisplayEntry]) -> str:
    session = Session()
    session.transcript.load(entries)
    return session.text()


def test_a_resumed_conversation_looks_as_it_did_live() -> None:
    first = reply(ThinkingContent("\nHm.\n\n"), TextContent("I **look**.\n\n- a\n- b"), LIST, READ, stop="toolUse")
    listed, read = result(LIST, "a\nb\n\nCommand exited with code 1", error=True), result(READ, "x")
    last = reply(TextContent("Done."))
    live = Session().show(
        *run_of(*says("list"), *streams(first), *runs(READ, read), *runs(LIST, listed), *streams(last))
    )

    resumed = shown(stored(user_message("list"), first, read, listed, last))

    assert resumed == live.text()
    assert "✗ $ ls\n  a\n  b\n  Command exited with code 1\n\n✓ read a.py  1 line\n\nDone." in resumed


@pytest.mark.parametrize("stop", ["aborted", "length", "error"])
def test_a_reply_that_ended_badly_says_so_as_it_did_live(stop: str) -> None:
    error = None if stop == "length" else "The server is gone."
    broken = AssistantMessage((TextContent("I lo"),), "a", "p", "m", reply().usage, stop, error_message=error)  # type: ignore[arg-type]  # a parameter of the test
    told = "the reply reached the model's output limit before it was complete" if stop == "length" else error
    live = Session().show(*run_of(*streams(broken), reason=stop, error=told))  # type: ignore[arg-type]  # as above

    assert shown(stored(broken)) == live.text()


def test_calls_without_a_result_were_not_run() -> None:
    assert shown(stored(reply(LIST, stop="toolUse"), user_message("go on"))) == "✗ $ ls  not run\n\n› go on"


def test_results_without_a_call_are_shown_too() -> None:
    assert shown(stored(result(LIST, "a"))) == "✓ $ …\n  a"


def test_everything_else_in_a_session_is_shown() -> None:
    command = BashExecution(command="pwd", output="/p", exit_code=0, cancelled=False, truncated=False)
    entries: list[DisplayEntry] = [
        ModelChange(provider="a", model_id="b"),
        MessageEntry(message=command),
        MessageEntry(message=CustomNote("seen", "note")),
        MessageEntry(message=CustomNote("unseen", "note", display=False)),
        CustomMessage(custom_type="plan", content="First this.", display=True),
        Compaction(summary="We did things."),
        BranchSummary(summary="We tried things."),
        Unreadable(id="x"),
    ]

    assert shown(entries) == (
        "✓ ! pwd\n  /p\n\n[note]\n  seen\n\n[plan]\n  First this.\n\n"
        "[summary of the conversation before]\n  We did things.\n\n[summary of another branch]\n  We tried things.\n\n"
        "! This version of kaa cannot show this entry."
    )


@pytest.mark.parametrize("origin", ["hook", "extension", "command", "agent"])
def test_what_kaa_writes_for_the_model_says_so(origin: Origin) -> None:
    message = user_message("Run the tests.", origin=origin)
    entry = CustomMessage(custom_type=f"kaa.{origin}", content="Run the tests.", display=True)

    live = Session().show(MessageStart(message), MessageEnd(message)).text()

    assert live == shown([entry]) == "[to the model]\n  Run the tests."


def test_the_report_of_an_agent_is_not_headed_by_the_module_that_sent_it() -> None:
    message = user_message("[agent a] Done.", origin="extension", note=ExtensionNote("kaa.builtin.skills"))
    entry = CustomMessage(custom_type="kaa.builtin.skills", content="[agent a] Done.", display=True)

    live = Session().show(MessageStart(message), MessageEnd(message)).text()

    assert live == shown([entry]) == "[to the model]\n  [agent a] Done."


def test_a_compaction_that_was_taken_back_is_no_summary() -> None:
    back = Compaction(summary=WHOLE, tokens_before=4_000, details={"uncompacted": "a"})

    assert shown([Compaction(summary="We did things."), back]) == (
        "[summary of the conversation before]\n  We did things.\n\n• The compaction was undone: nothing is left out."
    )


def test_of_a_long_session_the_end_is_read_and_the_rest_announced() -> None:
    entries = stored(*(user_message(f"message {number}") for number in range(10_000)))
    session = Session()

    session.transcript.load(entries)
    text = session.text()

    assert entries.read <= RECENT + 1000
    assert text.startswith("• 9800 earlier messages (Ctrl+Shift+T shows all)\n\n› message 9800\n\n")
    assert text.endswith("\n\n› message 9999")


def test_earlier_messages_are_made_when_they_are_looked_at_and_a_bounded_number_is_kept() -> None:
    entries = stored(*(user_message(f"message {number}") for number in range(10_000)))
    session = Session()
    session.transcript.load(entries)
    read = entries.read

    earlier = session.document.earlier
    assert len(earlier) == 9800
    assert text_of([earlier[-1]]) == "› message 9799"
    assert entries.read - read <= 3

    blocks = [earlier[index] for index in range(1000)]
    assert earlier[999] is blocks[999]
    assert earlier[0] is not blocks[0]


def test_every_entry_by_itself_shows_the_same_as_all_together() -> None:
    first, second = reply(TextContent("I look."), LIST, READ, stop="toolUse"), reply(READ, stop="toolUse")
    entries = stored(
        user_message("list"),
        first,
        result(READ, "x"),
        result(LIST, "a"),
        second,
        result(READ, "y"),
        result(LIST, "orphan"),
    )
    session = Session()

    together = text_of(StoredBlocks(session.view, entries).make(0, len(entries)))
    apart = text_of(EarlierBlocks(session.view, entries, len(entries)))

    assert apart == together
    assert "orphan" in together


def test_what_the_user_said_can_be_found() -> None:
    entries = stored(user_message("list"), reply(TextContent("No.")))

    earlier = EarlierBlocks(Session().view, entries, 2)

    assert [getattr(block, "is_prompt", False) for block in earlier] == [True, False]


def test_a_message_that_cannot_be_read_does_not_hide_the_others() -> None:
    entries = Entries([MessageEntry(message=user_message(text)) for text in "abc"], broken=1)

    text = text_of(EarlierBlocks(Session().view, entries, 3))

    assert text == (
        "› a\n\n✗ This message cannot be read: cannot read the session s:\n"
        "  the disk failed. Check the path and its mode.\n\n› c"
    )


def test_the_last_answer_of_a_resumed_session_is_known() -> None:
    session = Session()
    session.transcript.load(stored(reply(TextContent("One.")), reply(LIST, stop="toolUse"), user_message("x")))

    assert session.transcript.last_answer() == "One."


def test_a_conversation_goes_on_behind_a_resumed_one() -> None:
    session = Session()
    session.transcript.load(stored(user_message("a")))
    events: list[Event] = [*says("b"), *streams(reply(TextContent("c")))]

    assert session.show(*events).text() == "› a\n\n› b\n\nc"


def test_messages_of_a_session_may_be_plain_strings() -> None:
    message: Message = type(user_message("x"))("old")

    assert shown(stored(message)) == "› old"


def test_another_session_leaves_nothing_of_the_one_before_to_be_read() -> None:
    session = Session()
    session.transcript.load(stored(*(user_message("x") for _ in range(300))))

    session.transcript.load([])

    assert len(session.document.earlier) == 0
