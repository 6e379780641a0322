"""After a kill, what was shown becomes part of the session: whole, and once."""

import json
import shutil
from pathlib import Path

import pytest

from kaa.core.events import (
    AssistantMessageEvent,
    MessageEnd,
    MessageUpdate,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    ToolExecutionStart,
    ToolExecutionUpdate,
)
from kaa.core.messages import AssistantMessage, TextContent, ThinkingContent, ToolCall, ToolResultMessage
from kaa.session.context import SessionContext, build_context
from kaa.session.errors import SessionReadError
from kaa.session.file.file_store import FileStore, journal_path
from kaa.session.file.journal import TOOL_OUTPUT_LIMIT
from kaa.session.recorder import SessionRecorder
from kaa.session.store import new_header
from tests.support.agents import run
from tests.support.sessions import opened, prompt, record_all, reply, result, running, streamed, texts


class Killed:
    """A session whose process was killed: what lay on disk at some moment."""

    def __init__(self, folder: Path) -> None:
        self._live = folder / "live.jsonl"
        self.path = folder / "killed.jsonl"
        self.store = FileStore.create(self._live, new_header("/p"))
        self.recorder = SessionRecorder(self.store, SessionContext())
        record_all(self.recorder, prompt("go"))

    def kill(self) -> None:
        shutil.copy(self._live, self.path)
        if journal_path(self._live).exists():
            shutil.copy(journal_path(self._live), journal_path(self.path))
        run(self.recorder.close())


def stream(killed: Killed, *changes: AssistantMessageEvent) -> None:
    record_all(killed.recorder, [*streamed(), *(MessageUpdate(change) for change in changes)])


def last_reply(path: Path) -> AssistantMessage:
    with opened(path) as store:
        message = build_context(store).messages[-1]
    assert isinstance(message, AssistantMessage)
    return message


def last_result(path: Path) -> ToolResultMessage:
    with opened(path) as store:
        message = build_context(store).messages[-1]
    assert isinstance(message, ToolResultMessage)
    return message


def test_a_partial_answer_becomes_an_aborted_message(tmp_path: Path) -> None:
    killed = Killed(tmp_path)
    record_all(killed.recorder, streamed("Hello, ", "wörld"))
    killed.kill()

    message = last_reply(killed.path)

    assert message.content == (TextContent("Hello, wörld"),)
    assert (message.stop_reason, message.model) == ("aborted", "m")
    assert "interrupted" in str(message.error_message)


def test_thinking_and_text_and_calls_come_back_in_order(tmp_path: Path) -> None:
    whole = ToolCall("c1", "bash", {"command": "ls"}, thought_signature="s")
    killed = Killed(tmp_path)
    stream(
        killed,
        ThinkingStart(0),
        ThinkingDelta(0, "hm"),
        ThinkingDelta(0, "m"),
        TextStart(1),
        TextDelta(1, "I look"),
        TextEnd(1),
        ToolCallStart(2, "c1", "bash"),
        ToolCallDelta(2, '{"command":"ls"}'),
        ToolCallEnd(2, whole),
        ToolCallStart(3, "c2", "write"),
        ToolCallDelta(3, '{"path":"a.py","content":"import o'),
    )
    killed.kill()

    *blocks, unfinished = last_reply(killed.path).content

    assert blocks == [ThinkingContent("hmm"), TextContent("I look"), whole]
    assert isinstance(unfinished, ToolCall)
    assert (unfinished.id, unfinished.name) == ("c2", "write")
    assert unfinished.arguments == {"path": "a.py", "content": "import o"}
    assert unfinished.arguments_error is not None


def test_a_call_whose_arguments_had_all_come_is_whole(tmp_path: Path) -> None:
    killed = Killed(tmp_path)
    stream(killed, ToolCallStart(0, "c", "ls"), ToolCallDelta(0, '{"path"'), ToolCallDelta(0, ':"."}'))
    killed.kill()

    assert last_reply(killed.path).content == (ToolCall("c", "ls", {"path": "."}),)


def test_a_reply_of_which_nothing_was_shown_leaves_no_message(tmp_path: Path) -> None:
    killed = Killed(tmp_path)
    stream(killed, TextStart(0))
    killed.kill()

    with opened(killed.path) as store:
        assert texts(store) == ["go"]


def test_the_recovered_message_is_in_the_file_once_however_often_it_is_opened(tmp_path: Path) -> None:
    killed = Killed(tmp_path)
    record_all(killed.recorder, streamed("Hello"))
    killed.kill()

    for _ in range(3):
        with opened(killed.path) as store:
            assert texts(store) == ["go", "Hello"]

    assert not journal_path(killed.path).exists()


def test_a_recovery_that_was_killed_before_it_removed_the_journal_is_not_repeated(tmp_path: Path) -> None:
    killed = Killed(tmp_path)
    record_all(killed.recorder, streamed("Hello"))
    killed.kill()
    journal = journal_path(killed.path).read_bytes()
    with opened(killed.path):
        pass
    journal_path(killed.path).write_bytes(journal)

    with opened(killed.path) as store:
        assert texts(store) == ["go", "Hello"]


def test_a_recovery_that_was_torn_is_done_again(tmp_path: Path) -> None:
    killed = Killed(tmp_path)
    record_all(killed.recorder, streamed("Hello"))
    killed.kill()
    journal, before = journal_path(killed.path).read_bytes(), len(killed.path.read_bytes())
    with opened(killed.path):
        pass
    whole = killed.path.read_bytes()

    for cut in range(before, len(whole)):
        killed.path.write_bytes(whole[:cut])
        journal_path(killed.path).write_bytes(journal)
        with opened(killed.path) as store:
            assert texts(store) == ["go", "Hello"]


def test_a_message_that_was_written_before_the_kill_is_not_written_again(tmp_path: Path) -> None:
    killed = Killed(tmp_path)
    record_all(killed.recorder, streamed("Hello"))
    journal = journal_path(killed.store.path).read_bytes()
    killed.recorder.record(MessageEnd(reply("Hello")))
    killed.kill()
    journal_path(killed.path).write_bytes(journal)

    with opened(killed.path) as store:
        assert texts(store) == ["go", "Hello"]


def test_a_journal_cut_at_any_byte_gives_what_its_whole_lines_say(tmp_path: Path) -> None:
    killed = Killed(tmp_path)
    record_all(killed.recorder, streamed("a", "b"))
    killed.kill()
    session, journal = killed.path.read_bytes(), journal_path(killed.path).read_bytes()

    seen = set()
    for cut in range(len(journal)):
        killed.path.write_bytes(session)
        journal_path(killed.path).write_bytes(journal[:cut])
        with opened(killed.path) as store:
            seen.add("".join(texts(store)[1:]))

    assert seen == {"", "a", "ab"}


def test_a_new_try_replaces_the_reply_before(tmp_path: Path) -> None:
    killed = Killed(tmp_path)
    record_all(killed.recorder, streamed("first try"))
    record_all(killed.recorder, streamed("second"))
    killed.kill()

    with opened(killed.path) as store:
        assert texts(store) == ["go", "second"]


def test_live_output_of_a_running_tool_becomes_its_result(tmp_path: Path) -> None:
    killed = Killed(tmp_path)
    record_all(killed.recorder, running("c1"))
    for line in ("compiling\n", "linking\n"):
        killed.recorder.record(ToolExecutionUpdate("c1", "bash", line))
    killed.kill()

    message = last_result(killed.path)

    assert (message.tool_call_id, message.tool_name, message.is_error) == ("c1", "bash", True)
    assert message.text.startswith("compiling\nlinking\n")
    assert "interrupted" in message.text


def test_a_tool_that_had_shown_nothing_has_a_result_too(tmp_path: Path) -> None:
    killed = Killed(tmp_path)
    record_all(killed.recorder, running("c1"))
    killed.kill()

    assert "interrupted" in last_result(killed.path).text


def test_only_tools_that_had_not_finished_are_recovered(tmp_path: Path) -> None:
    killed = Killed(tmp_path)
    record_all(killed.recorder, [*running("a"), ToolExecutionStart("b", "bash", {})])
    killed.recorder.record(ToolExecutionUpdate("a", "bash", "half"))
    killed.recorder.record(MessageEnd(result("b", "done")))
    killed.kill()

    with opened(killed.path) as store:
        *_, finished, interrupted = texts(store)
        assert finished == "done"
        assert interrupted.startswith("half\n")


@pytest.mark.parametrize(("size", "updates"), [(1, 60_000), (1000, 2000), (TOOL_OUTPUT_LIMIT + 10, 40)])
def test_of_much_output_the_end_survives_and_the_rest_is_counted(tmp_path: Path, size: int, updates: int) -> None:
    killed = Killed(tmp_path)
    record_all(killed.recorder, running("c1"))
    for _ in range(updates):
        killed.recorder.record(ToolExecutionUpdate("c1", "bash", "é" * size, skipped_bytes=5))
    killed.recorder.record(ToolExecutionUpdate("c1", "bash", "the last line\n"))
    killed.kill()

    text = last_result(killed.path).text

    assert "the last line\n" in text
    assert "bytes of earlier output were not kept" in text
    assert len(text) < TOOL_OUTPUT_LIMIT + 300


def test_a_journal_of_garbage_does_not_keep_a_session_shut(tmp_path: Path) -> None:
    killed = Killed(tmp_path)
    killed.kill()
    journal_path(killed.path).write_bytes(
        b'garbage\n{"type":"text_delta","contentIndex":0,"delta":"x"}\n\xff\n' + b"[" * 9999
    )

    with opened(killed.path) as store:
        assert texts(store) == ["go"]


def test_a_journal_that_cannot_be_read_is_reported_and_kept(tmp_path: Path) -> None:
    killed = Killed(tmp_path)
    killed.kill()
    journal_path(killed.path).mkdir()

    with pytest.raises(SessionReadError, match="partial"):
        FileStore.open(killed.path)

    assert journal_path(killed.path).is_dir()


def test_the_conversation_goes_on_after_the_recovered_message(tmp_path: Path) -> None:
    killed = Killed(tmp_path)
    record_all(killed.recorder, streamed("Hello"))
    killed.kill()

    with opened(killed.path) as store:
        recorder = SessionRecorder(store, build_context(store))
        record_all(recorder, prompt("go on"))
        assert texts(store) == ["go", "Hello", "go on"]
    lines = [json.loads(line) for line in killed.path.read_text().splitlines()]
    assert lines[-1]["parentId"] == lines[-2]["id"]


def test_a_reply_that_the_disk_had_no_room_for_is_recovered_later(tmp_path: Path) -> None:
    killed = Killed(tmp_path)
    record_all(killed.recorder, streamed("Hello"))
    run(killed.recorder.close())

    with opened(killed.store.path) as store:
        assert texts(store) == ["go", "Hello"]


def test_a_journal_half_rewritten_when_killed_is_cleared_away(tmp_path: Path) -> None:
    killed = Killed(tmp_path)
    record_all(killed.recorder, streamed("Hello"))
    killed.kill()
    journal = journal_path(killed.path)
    journal.with_name(f"{journal.name}.new").write_text('{"type":"tool"')

    with opened(killed.path) as store:
        assert texts(store) == ["go", "Hello"]

    assert sorted(file.name for file in tmp_path.glob("killed*")) == ["killed.jsonl"]
