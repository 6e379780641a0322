"""Events become entries: one per message, when it is complete."""

from pathlib import Path

import pytest

from kaa.core.events import MessageEnd, MessageStart, MessageUpdate, TextDelta, ToolExecutionStart, ToolExecutionUpdate
from kaa.core.messages import ToolCall
from kaa.llm import scripted
from kaa.session.context import ModelRef, SessionContext, build_context
from kaa.session.entries import Custom
from kaa.session.errors import SessionWriteError
from kaa.session.file.file_store import FileStore, journal_path
from kaa.session.library.finding import SessionLibrary
from kaa.session.recorder import SessionRecorder
from kaa.session.store import MemoryStore
from tests.support.agents import Scene, run, say
from tests.support.full_disk import files_limited_to
from tests.support.sessions import opened, prompt, record_all, reply, result, running, streamed, texts


def begin(tmp_path: Path) -> tuple[FileStore, SessionRecorder]:
    store = SessionLibrary("/home/u/p", tmp_path).create()
    return store, SessionRecorder(store, SessionContext())


def kinds(store: FileStore | MemoryStore) -> list[str]:
    return [node.type for node in store.tree.nodes]


def test_a_real_run_is_recorded_as_the_agent_remembers_it(tmp_path: Path) -> None:
    store, recorder = begin(tmp_path)
    scene = Scene([scripted.reply("let me see", tool_calls=[("echo", {"text": "hi"})]), scripted.reply("done")])
    scene.agent.subscribe(recorder.record)

    run(scene.agent.run(say("please echo")))
    run(recorder.close())

    with opened(store.path) as again:
        assert build_context(again).messages == tuple(scene.agent.messages)


def test_every_message_is_in_the_file_as_soon_as_it_has_ended(tmp_path: Path) -> None:
    store, recorder = begin(tmp_path)

    for count, event in enumerate([*prompt("one"), *prompt("two")], start=1):
        recorder.record(event)
        written = store.path.read_bytes().count(b"\n") if store.path.exists() else 0
        assert written == (0 if count == 1 else 1 + count // 2)

    run(recorder.close())


def test_results_are_recorded_in_the_order_in_which_tools_finish(tmp_path: Path) -> None:
    store, recorder = begin(tmp_path)
    record_all(recorder, prompt("go"))
    recorder.record(MessageEnd(reply(ToolCall("a", "bash", {}), ToolCall("b", "bash", {}))))

    recorder.record(MessageEnd(result("b", "second first")))
    recorder.record(MessageEnd(result("a", "first second")))

    assert texts(store)[-2:] == ["second first", "first second"]
    run(recorder.close())


def test_the_journal_grows_with_the_reply_and_is_emptied_by_its_end(tmp_path: Path) -> None:
    store, recorder = begin(tmp_path)
    journal = journal_path(store.path)
    record_all(recorder, prompt("go"))
    assert not journal.exists()

    sizes = []
    for event in streamed("a", "b", "c"):
        recorder.record(event)
        sizes.append(journal.stat().st_size)
    assert sizes == sorted(set(sizes))

    recorder.record(MessageEnd(reply("abc")))
    assert journal.stat().st_size == 0
    run(recorder.close())
    assert not journal.exists()


def test_the_journal_is_kept_until_the_last_of_several_tools_has_ended(tmp_path: Path) -> None:
    store, recorder = begin(tmp_path)
    journal = journal_path(store.path)
    record_all(recorder, [*prompt("go"), *running("a"), ToolExecutionStart("b", "bash", {})])

    recorder.record(MessageEnd(result("b", "done")))
    assert journal.stat().st_size > 0

    recorder.record(MessageEnd(result("a", "done")))
    assert journal.stat().st_size == 0
    run(recorder.close())


def test_endless_output_of_a_tool_does_not_grow_the_journal_without_bound(tmp_path: Path) -> None:
    store, recorder = begin(tmp_path)
    record_all(recorder, [*prompt("go"), *running("a")])

    largest = 0
    for _ in range(200):
        recorder.record(ToolExecutionUpdate("a", "bash", "x" * 32 * 1024))
        largest = max(largest, journal_path(store.path).stat().st_size)

    assert largest < 2 * 1024 * 1024
    run(recorder.close())


def test_updates_without_a_beginning_are_passed_over(tmp_path: Path) -> None:
    store, recorder = begin(tmp_path)
    record_all(recorder, prompt("go"))

    recorder.record(MessageUpdate(TextDelta(0, "stray")))
    recorder.record(ToolExecutionUpdate("stray", "bash", "x"))

    assert not journal_path(store.path).exists()
    run(recorder.close())


def test_several_changes_of_the_model_leave_one_entry(tmp_path: Path) -> None:
    store, recorder = begin(tmp_path)
    for model in ("a", "b", "c"):
        recorder.model_change("p", model)
    record_all(recorder, prompt("go"))
    recorder.model_change("p", "d")
    recorder.model_change("p", "c")
    record_all(recorder, prompt("on"))

    assert kinds(store) == ["model_change", "message", "message"]
    assert build_context(store).model == ModelRef("p", "c")
    run(recorder.close())


def test_a_change_that_no_message_followed_is_kept_in_a_session_that_exists(tmp_path: Path) -> None:
    store, recorder = begin(tmp_path)
    record_all(recorder, prompt("go"))
    recorder.model_change("p", "new")
    recorder.thinking_level_change("low")
    run(recorder.close())

    with opened(store.path) as again:
        context = build_context(again)
    assert (context.model, context.thinking_level) == (ModelRef("p", "new"), "low")


def test_resuming_with_the_same_model_and_level_writes_no_change(tmp_path: Path) -> None:
    store, recorder = begin(tmp_path)
    recorder.model_change("fake", "m")
    recorder.thinking_level_change("high")
    record_all(recorder, [*prompt("go"), MessageEnd(reply("ok"))])
    run(recorder.close())

    with opened(store.path) as again:
        before = len(again.tree)
        resumed = SessionRecorder(again, build_context(again))
        resumed.model_change("fake", "m")
        resumed.thinking_level_change("high")
        record_all(resumed, prompt("on"))
        assert len(again.tree) == before + 1
        run(resumed.close())


def test_a_session_in_memory_is_recorded_alike() -> None:
    store = MemoryStore("/p")
    recorder = SessionRecorder(store, SessionContext())
    record_all(recorder, [*prompt("go"), *streamed("o"), MessageEnd(reply("ok")), *running("a")])
    recorder.record(ToolExecutionUpdate("a", "bash", "x"))
    recorder.record(MessageEnd(result("a", "done")))

    assert texts(store) == ["go", "ok", "", "done"]
    run(recorder.close())


def test_the_start_of_a_users_message_is_no_reply(tmp_path: Path) -> None:
    store, recorder = begin(tmp_path)

    recorder.record(MessageStart(say("go")))

    assert not store.path.parent.exists()
    run(recorder.close())


def test_a_switch_while_a_reply_is_written_is_the_last_word(tmp_path: Path) -> None:
    store, recorder = begin(tmp_path)
    recorder.model_change("fake", "m")
    record_all(recorder, prompt("go"))
    record_all(recorder, streamed("I think"))

    recorder.model_change("fake", "other")
    recorder.record(MessageEnd(reply("I think so")))

    assert build_context(store).model == ModelRef("fake", "other")
    run(recorder.close())


class TestAFullDisk:
    def test_a_reply_that_could_not_be_written_is_written_before_what_follows(self, tmp_path: Path) -> None:
        store, recorder = begin(tmp_path)
        record_all(recorder, [*prompt("go" * 1000), *streamed("the ", "answer")])

        with files_limited_to(store.path.stat().st_size), pytest.raises(SessionWriteError):
            recorder.record(MessageEnd(reply("the answer")))
        recorder.note(Custom(custom_type="a", data=None))
        record_all(recorder, prompt("more"))

        assert texts(store)[1:] == ["the answer", "more"]
        run(recorder.close())
        assert not journal_path(store.path).exists()

    def test_a_reply_that_the_journal_could_not_take_is_kept_as_far_as_it_was_shown(self, tmp_path: Path) -> None:
        store, recorder = begin(tmp_path)
        record_all(recorder, [*prompt("go"), *streamed("shown")])

        with files_limited_to(journal_path(store.path).stat().st_size), pytest.raises(SessionWriteError):
            recorder.record(MessageUpdate(TextDelta(0, "not shown")))
        caught_up = recorder.catch_up()

        assert caught_up is not None
        assert caught_up.messages == build_context(store).messages
        assert texts(store) == ["go", "shown"]
        assert recorder.catch_up() is None
        run(recorder.close())

    def test_results_of_tools_are_written_in_order_and_once(self, tmp_path: Path) -> None:
        store, recorder = begin(tmp_path)
        record_all(recorder, [*prompt("go" * 1000), *running("a"), ToolExecutionStart("b", "bash", {})])
        recorder.record(ToolExecutionUpdate("b", "bash", "half"))

        with files_limited_to(store.path.stat().st_size), pytest.raises(SessionWriteError):
            recorder.record(MessageEnd(result("a", "done")))
        recorder.catch_up()

        assert texts(store)[2] == "done"
        assert texts(store)[3].startswith("half\n")
        assert len(texts(store)) == 4
        run(recorder.close())

    def test_closing_writes_what_is_owed(self, tmp_path: Path) -> None:
        store, recorder = begin(tmp_path)
        record_all(recorder, prompt("go" * 1000))
        with files_limited_to(store.path.stat().st_size), pytest.raises(SessionWriteError):
            recorder.record(MessageEnd(reply("the answer")))

        run(recorder.close())

        with opened(store.path) as again:
            assert texts(again)[1:] == ["the answer"]
