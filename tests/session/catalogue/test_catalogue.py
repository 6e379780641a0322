"""The catalogue: what it tells, and that it never tells what the files do not say."""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kaa.session.catalogue import database
from kaa.session.catalogue.catalogue import Catalogue
from kaa.session.catalogue.places import SessionFile, SessionRoot
from kaa.session.catalogue.records import SearchHit, SessionScope, SessionSummary, UsageRow
from kaa.session.entries import MessageEntry, SessionInfo
from kaa.session.naming import folder_name
from tests.support.agents import say
from tests.support.sessions import HEADER, JsonObject, entry, opened, user_entry, write_session

HERE = "/home/u/p"


class Shelf:
    """Session files, and their catalogue."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "sessions"
        self.cache = folder / "cache" / "sessions.sqlite3"
        self.roots = [SessionRoot(self.root, "kaa"), SessionRoot(folder / "pi", "pi")]

    def session(self, session_id: str, *entries: JsonObject, cwd: str = HERE, root: Path | None = None) -> Path:
        folder = (root or self.root) / folder_name(cwd)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"2026-11-20T07-49-44-305Z_{session_id}.jsonl"
        return write_session(path, *entries, header={**HEADER, "id": session_id, "cwd": cwd})

    def open(self, cache: Path | None = None) -> Catalogue:
        return Catalogue(cache or self.cache, self.roots, HERE)

    def list(
        self, scope: SessionScope = "everywhere", progress: Callable[[int, int], None] | None = None
    ) -> list[SessionSummary]:
        with self.open() as catalogue:
            return catalogue.summaries(scope, progress)

    def search(self, text: str, limit: int = 50) -> "Sequence[SearchHit]":
        with self.open() as catalogue:
            return catalogue.search(text, "everywhere", limit)

    def usage(self) -> "Sequence[UsageRow]":
        with self.open() as catalogue:
            return catalogue.usage("everywhere")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def reply_entry(
    entry_id: str, parent: str, text: str = "", *, at_ms: int = 1795160990000, **fields: object
) -> JsonObject:
    content = [{"type": "text", "text": text}, *fields.pop("calls", ())]  # type: ignore[misc]  # test data
    usage = {"input": 10, "output": 2, "cacheRead": 5, "cacheWrite": 1, "totalTokens": 18, "cost": {"total": 0.25}}
    message = {"role": "assistant", "content": content, "provider": "lab", "model": "m", "usage": usage}
    return entry("message", entry_id, parent, message={**message, "timestamp": at_ms, **fields})


class TestSummaries:
    def test_tell_what_a_list_shows(self, shelf: Shelf) -> None:
        path = shelf.session(
            "one",
            entry("model_change", "m", None, provider="lab", modelId="m"),
            user_entry("a", "m", "fix\nthe parser"),
            reply_entry("b", "a", "done"),
            entry("session_info", "i", "b", name=" first name "),
            entry("session_info", "j", "i", name="my work"),
        )

        (summary,) = shelf.list()

        assert summary == SessionSummary(
            path,
            "one",
            HERE,
            "my work",
            "fix\nthe parser",
            1795160984305,
            1795160990000,
            2,
            None,
            path.stat().st_size,
            "kaa",
        )
        assert summary.title == "my work"

    def test_a_session_that_begins_with_a_command_is_called_by_its_message(self, shelf: Shelf) -> None:
        command = entry(
            "custom_message", "a", None, customType="kaa.command", content="Review the changes", display=True
        )
        shelf.session("one", command, user_entry("b", "a", "thanks"))

        assert [summary.title for summary in shelf.list()] == ["Review the changes"]

    def test_a_session_that_begins_with_a_file_is_called_by_the_words_about_it(self, shelf: Shelf) -> None:
        shelf.session("one", user_entry("a", None, '<file name="/p/a.log">\nlong\n</file>\n\nwhy does it fail?'))
        shelf.session("two", user_entry("a", None, '<file name="/p/a.log">\nlong\n</file>'))

        assert {summary.title for summary in shelf.list()} == {"why does it fail?", "@a.log"}

    def test_are_in_the_order_of_what_was_said_last(self, shelf: Shelf) -> None:
        shelf.session("early", user_entry("a", None, "x"))
        shelf.session("late", user_entry("a", None, "x"), reply_entry("b", "a", at_ms=1795170000000))
        os.utime(shelf.session("named", user_entry("a", None, "x"), entry("label", "l", "a", targetId="a")))

        assert shelf.list()[0].id == "late"

    def test_are_of_this_directory_or_of_all(self, shelf: Shelf) -> None:
        shelf.session("here", user_entry("a", None, "x"))
        shelf.session("there", user_entry("a", None, "x"), cwd="/elsewhere")
        colliding = shelf.root / folder_name(HERE) / "x_colliding.jsonl"
        write_session(colliding, header={**HEADER, "id": "colliding", "cwd": "/home/u-p"})
        unknown = shelf.root / folder_name(HERE) / "x_unknown.jsonl"
        write_session(unknown, header={**HEADER, "id": "unknown", "cwd": ""})

        assert {summary.id for summary in shelf.list("here")} == {"here", "unknown"}
        assert {summary.id for summary in shelf.list("everywhere")} == {"here", "unknown", "colliding", "there"}

    def test_a_directory_reached_by_a_link_is_the_same(self, tmp_path: Path) -> None:
        shelf = Shelf(tmp_path)
        (tmp_path / "project").mkdir()
        (tmp_path / "link").symlink_to("project")
        folder = shelf.root / folder_name(str(tmp_path / "project"))
        folder.mkdir(parents=True)
        write_session(folder / "x_a.jsonl", header={**HEADER, "cwd": str(tmp_path / "link")})

        with Catalogue(shelf.cache, shelf.roots, str(tmp_path / "project")) as catalogue:
            assert len(catalogue.summaries("here")) == 1

    def test_one_folder_for_all_projects_is_told_apart_by_headers(self, tmp_path: Path) -> None:
        for name, cwd in (("a", HERE), ("b", "/elsewhere"), ("c", "")):
            write_session(tmp_path / f"x_{name}.jsonl", header={**HEADER, "id": name, "cwd": cwd})

        with Catalogue(tmp_path / "c.sqlite3", [SessionRoot(tmp_path, "kaa", is_flat=True)], HERE) as catalogue:
            assert {summary.id for summary in catalogue.summaries("here")} == {"a"}
            assert {summary.id for summary in catalogue.summaries("everywhere")} == {"a", "b", "c"}

    def test_pis_own_sessions_are_among_them(self, shelf: Shelf) -> None:
        shelf.session("pis", user_entry("a", None, "x"), root=shelf.folder / "pi")

        assert [(summary.id, summary.origin) for summary in shelf.list("here")] == [("pis", "pi")]

    def test_what_is_no_session_is_passed_over(self, shelf: Shelf) -> None:
        path = shelf.session("one", user_entry("a", None, "x"))
        (path.parent / "notes.jsonl").write_text("notes")
        (path.parent / "empty.jsonl").touch()
        (path.parent / "link.jsonl").symlink_to("nowhere")
        os.mkfifo(path.parent / "pipe.jsonl")

        for _ in range(2):
            assert [summary.id for summary in shelf.list()] == ["one"]

    def test_damage_costs_only_what_it_hit(self, shelf: Shelf) -> None:
        odd = {"role": "user", "content": [{"type": "text", "text": "odd"}, {"type": "hologram"}], "timestamp": "soon"}
        path = shelf.session("one", entry("message", "a", None, message=odd), reply_entry("b", "a"))
        with path.open("ab") as file:
            file.write(b'rubbish\n{"type":"message","id":"t","par')
            file.write(json.dumps(user_entry("c", "b", "x"), separators=(",", ":")).encode() + b"\n")
            file.write(b'{"type":"message","id":"torn"')

        (summary,) = shelf.list()

        assert (summary.first_message, summary.message_count, summary.modified_ms) == ("odd", 3, 1795160990000)

    def test_times_and_counts_beyond_all_calendars_are_survived(self, shelf: Shelf) -> None:
        for number, value in enumerate((2**80, -5, 1e300, 0)):
            shelf.session(f"s{number}", reply_entry("a", "x", at_ms=value, usage={"input": value, "output": value}))  # type: ignore[arg-type]  # hostile

        assert len(shelf.list()) == 4
        assert len(shelf.usage()) == 4
        assert all(row.input >= 0 and row.output >= 0 and 0 <= row.cost < 1e9 for row in shelf.usage())

    def test_only_files_that_changed_are_read_and_told_of(self, shelf: Shelf) -> None:
        paths = [shelf.session(f"s{number}", user_entry("a", None, "x")) for number in range(120)]
        told: list[tuple[int, int]] = []

        shelf.list(progress=lambda done, of: told.append((done, of)))
        first, told = told, []
        shelf.list(progress=lambda done, of: told.append((done, of)))
        assert told == []
        with opened(paths[3]) as store:
            store.append(MessageEntry(message=say("more")))
        shelf.list(progress=lambda done, of: told.append((done, of)))

        assert first[0] == (0, 120)
        assert first[-1] == (120, 120)
        assert told == [(0, 1), (1, 1)]

    def test_names_that_are_not_utf_8_are_no_obstacle(self, shelf: Shelf) -> None:
        shelf.session("one", user_entry("a", None, "x"))
        path = os.fsencode(shelf.root / folder_name(HERE)) + b"/x_\xff.jsonl"
        Path(os.fsdecode(path)).write_text(json.dumps({**HEADER, "id": "odd"}) + "\n")

        for _ in range(2):
            assert {summary.id for summary in shelf.list()} == {"one", "odd"}
        assert [summary.path for summary in shelf.list() if summary.id == "odd"] == [Path(os.fsdecode(path))]


class TestSearch:
    @pytest.fixture(autouse=True)
    def sessions(self, shelf: Shelf) -> None:
        call = {
            "type": "toolCall",
            "id": "c",
            "name": "bash",
            "arguments": {"command": "make foo.bar", "n": [1, {"x": "deep"}]},
        }
        printed = {
            "role": "toolResult",
            "toolCallId": "c",
            "content": [{"type": "text", "text": "line\n" * 5000 + "late"}],
        }
        shelf.session(
            "one",
            user_entry("a", None, "please look at read_head in Ärger 中文字符 50%_done"),
            reply_entry("b", "a", "I call it", calls=[call]),
            entry("message", "c", "b", message={**printed, "timestamp": 1}),
            entry("message", "d", "c", message={"role": "bashExecution", "command": "ls mine", "output": "out.txt"}),
            entry("session_info", "e", "d", name="a lasting name"),
            entry("compaction", "f", "e", summary="it was condensed", firstKeptEntryId="a"),
        )

    @pytest.mark.parametrize(
        ("text", "where"),
        [
            ("read_head", "a"), ("ead_h", "a"), ("READ_HEAD", "a"), ("ärger", "a"), ("är", "a"), ("中文", "a"),
            ("文字符", "a"),
            ("%_", "a"), ("50% look", "a"), ('"look at"', "a"), ('"LOOK  at read"', "a"), ("re:read_\\w+", "a"),
            ("foo.bar", "b"), ("o.b", "b"), ("deep", "b"), ("bash", "b"), ("mine", "d"), ("out.txt", "d"),
            ("lasting", "e"), ("condensed", "f"), ("line", "c"),
        ],
    )  # fmt: skip
    def test_finds_words_parts_of_names_and_any_language(self, shelf: Shelf, text: str, where: str) -> None:
        assert [hit.entry_id for hit in shelf.search(text)] == [where]

    @pytest.mark.parametrize(
        "text", ["readhead", "foo?bar", '"at look"', "look mine", "late", "re:^nothing$", "50_", ""]
    )
    def test_finds_nothing_else(self, shelf: Shelf, text: str) -> None:
        assert shelf.search(text) == []

    def test_looks_behind_characters_that_end_a_text_elsewhere(self, shelf: Shelf) -> None:
        shelf.session("odd", user_entry("z", None, "before\0behind \ud800 afar"))

        for text in ("behind", "be", "afar", "re:b\\w+d", '"before behind"'):
            assert "z" in [hit.entry_id for hit in shelf.search(text)]

    def test_shows_what_stands_around(self, shelf: Shelf) -> None:
        (hit,) = shelf.search("READ_head")

        assert (hit.before, hit.match) == ("please look at ", "read_head")
        assert hit.after.startswith(" in Ärger")
        assert hit.session.id == "one"

    def test_escapes_of_json_are_no_obstacle(self, shelf: Shelf) -> None:
        path = shelf.session("escaped")
        said = 'say "hi" C:\\\\tmp\\t\\u0074ab \\u00c4rger \\ud83d\\udc0d a\\/b'
        with path.open("a") as file:
            file.write(
                '{"type":"message","id":"q","message":{"role":"user","content":"' + said.replace('"', '\\"') + '"}}\n'
            )

        for text in ('"say "', 'say "hi', '"hi"', "C:\\tmp", "tab", "ärger", "\U0001f40d", "a/b", "re:\\ttab"):
            assert "q" in [hit.entry_id for hit in shelf.search(text)], text

    def test_a_line_that_is_still_being_written_waits(self, shelf: Shelf) -> None:
        path = shelf.session("torn")
        with path.open("ab") as file:
            file.write(json.dumps(user_entry("t", None, "unfinished business")).encode())
        assert shelf.search("unfinished") == []

        with path.open("ab") as file:
            file.write(b"\n")
        assert [hit.entry_id for hit in shelf.search("unfinished")] == ["t"]

    def test_gives_the_newest_first_and_some_of_each(self, shelf: Shelf) -> None:
        entries = [user_entry(f"e{number}", None, f"common {number}") for number in range(20)]
        shelf.session("many", *entries, reply_entry("z", "e1", at_ms=1795170000000))
        shelf.session("old", user_entry("o", None, "common too"))

        assert [hit.session.id for hit in shelf.search("common")] == ["many"] * 5 + ["old"]
        assert len(shelf.search("common", limit=2)) == 2

    def test_forgets_what_is_no_longer_there(self, shelf: Shelf) -> None:
        path = shelf.session("two", user_entry("a", None, "temporary words"))
        assert len(shelf.search("temporary")) == 1

        shelf.session("two", user_entry("a", None, "other words than those before"))
        assert shelf.search("temporary") == []
        assert len(shelf.search("other words")) == 1

        path.unlink()
        assert shelf.search("other words") == []


class TestUsage:
    def test_is_told_by_session_model_and_day(self, shelf: Shelf) -> None:
        day = 86_400_000
        path = shelf.session(
            "one",
            reply_entry("a", "x"),
            reply_entry("b", "a"),
            reply_entry("c", "a", model="n"),
            reply_entry("d", "a", at_ms=1795160990000 + 3 * day),
        )

        rows = shelf.usage()

        assert [(row.model, row.replies, row.input, row.cost) for row in rows] == [
            ("m", 2, 20, 0.5), ("n", 1, 10, 0.25), ("m", 1, 10, 0.25),
        ]  # fmt: skip
        assert {row.session for row in rows} == {path}
        assert rows[0].day < rows[2].day

    def test_summaries_and_titles_count_for_who_wrote_them_or_spoke_last(self, shelf: Shelf) -> None:
        usage = {"input": 3, "output": 1, "cost": {"total": 0.1}}
        shelf.session(
            "one",
            reply_entry("a", "x"),
            entry("compaction", "b", "a", summary="s", usage=usage),
            entry("branch_summary", "c", "b", summary="s", usage=usage, details={"model": "lab/small"}),
            entry("custom", "d", "c", customType="kaa.title", data={"usage": usage, "model": "lab/small"}),
            entry("custom", "e", "d", customType="other", data={"usage": usage}),
        )

        assert [(row.model, row.replies, row.input) for row in shelf.usage()] == [("m", 1, 13), ("small", 0, 6)]

    def test_what_a_copy_brought_along_counts_in_its_source_only(self, shelf: Shelf) -> None:
        header = {**HEADER, "cwd": HERE, "parentSession": "/x.jsonl", "timestamp": "2026-11-21T00:00:00.000Z"}
        late = {**reply_entry("b", "a"), "timestamp": "2026-11-22T00:00:00.000Z"}
        folder = shelf.root / folder_name(HERE)
        folder.mkdir(parents=True)
        write_session(folder / "x_copy.jsonl", reply_entry("a", "x"), late, header=header)

        assert [row.replies for row in shelf.usage()] == [1]
        assert shelf.list()[0].parent == Path("/x.jsonl")


class TestCache:
    def test_is_private(self, shelf: Shelf) -> None:
        shelf.session("one", user_entry("a", None, "x"))
        shelf.search("x")

        assert {file.stat().st_mode & 0o077 for file in shelf.cache.parent.iterdir()} == {0}

    @pytest.mark.parametrize(
        "harm",
        [
            lambda path: path.write_bytes(b"no database at all" * 500),
            lambda path: path.write_bytes(path.read_bytes()[:5000]),
            lambda path: _execute(path, "PRAGMA user_version = 99"),
            lambda path: _execute(path, "DROP TABLE sessions"),
            lambda path: _execute(path, "UPDATE sessions SET digest = x'00'"),
            lambda path: path.unlink(),
        ],
        ids=["rubbish", "torn", "another version", "a table missing", "a row wrong", "gone"],
    )
    def test_is_built_anew_when_something_is_wrong_with_it(self, shelf: Shelf, harm: Callable[[Path], object]) -> None:
        shelf.session("one", user_entry("a", None, "some words"))
        assert len(shelf.search("some words")) == 1
        harm(shelf.cache)

        assert [summary.id for summary in shelf.list()] == ["one"]
        assert len(shelf.search("some words")) == 1
        told: list[int] = []
        shelf.list(progress=lambda done, _: told.append(done))
        assert told == [], "and kept"

    def test_is_done_without_where_none_can_be_kept(self, shelf: Shelf) -> None:
        shelf.session("one", user_entry("a", None, "some words"))
        shelf.cache.parent.write_text("a file where a folder should be")

        assert [summary.id for summary in shelf.list()] == ["one"]
        assert len(shelf.search("some words")) == 1

    def test_is_done_without_while_another_process_holds_it(
        self, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(database, "_BUSY_SECONDS", 0.01)
        shelf.list()
        shelf.session("one", user_entry("a", None, "some words"))
        holder = sqlite3.connect(shelf.cache, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")

        try:
            assert len(shelf.search("some words")) == 1
        finally:
            holder.close()

    def test_is_shared_by_processes_that_use_it_at_once(self, shelf: Shelf) -> None:
        for number in range(60):
            shelf.session(f"s{number}", user_entry("a", None, f"some words {number}"))
        program = """
import sys
from pathlib import Path
from kaa.session.catalogue.catalogue import Catalogue
from kaa.session.catalogue.places import SessionFile, SessionRoot
with Catalogue(Path(sys.argv[1]), [SessionRoot(Path(sys.argv[2]), "kaa")], "/") as catalogue:
    print(len(catalogue.summaries("everywhere")), len(catalogue.search("some words", "everywhere", 500)))
"""
        command = [sys.executable, "-c", program, str(shelf.cache), str(shelf.root)]

        processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]

        assert [process.communicate()[0].split() for process in processes] == [["60", "60"]] * 3
        assert len(shelf.search("some words", limit=500)) == 60

    def test_another_process_may_be_quicker(self, shelf: Shelf) -> None:
        path = shelf.session("one", user_entry("a", None, "the old text"))

        def meanwhile(done: int, of: int) -> None:
            if done < of:
                assert shelf.search("old text")
                path.unlink()
                shelf.session("one", user_entry("a", None, "another, which is new"))

        shelf.list(progress=meanwhile)

        assert shelf.search("old text") == []
        assert [hit.before for hit in shelf.search("which")] == ["another, "]

    def test_threads_can_use_it_at_once(self, shelf: Shelf) -> None:
        for number in range(60):
            shelf.session(f"s{number}", user_entry("a", None, f"some words {number}"))
        found: list[int] = []

        threads = [threading.Thread(target=lambda: found.append(len(shelf.search("words", 99)))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert found == [60] * 4


def _execute(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(statement)
    connection.close()


_FILES = st.sampled_from(["a", "b", "c"])
_STEPS = st.one_of(
    st.tuples(st.just("say"), _FILES, st.text("wörd 中文_.", min_size=1, max_size=12)),
    st.tuples(st.just("reply"), _FILES, st.text("abc ", max_size=6)),
    st.tuples(st.just("name"), _FILES, st.text("nam", max_size=5)),
    st.tuples(st.just("cut"), _FILES, st.integers(0, 2000)),
    st.tuples(st.just("rubbish"), _FILES, st.binary(max_size=20)),
    st.tuples(st.just("replace"), _FILES, st.text("xyz ", max_size=10)),
    st.tuples(st.just("move"), _FILES, _FILES),
    st.tuples(st.just("remove"), _FILES, st.none()),
    st.tuples(st.just("list"), _FILES, st.none()),
    st.tuples(st.just("search"), _FILES, st.none()),
)


@example([("say", "a", "_"), ("say", "b", "_"), ("list", "a", None), ("move", "a", "b")])  # they end alike
@given(st.lists(_STEPS, max_size=25))
def test_whatever_happens_to_the_files_the_catalogue_tells_what_a_new_one_would(
    steps: list[tuple[str, str, object]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shelf = Shelf(Path(folder))
        for number, (what, name, value) in enumerate(steps):
            _take_step(shelf, number, what, name, value)

        warm, new = shelf.open(), shelf.open(shelf.folder / "new.sqlite3")
        with warm, new:
            for catalogue in (warm, new):
                catalogue.search("word", "everywhere", 100)
            assert _sorted(warm.summaries("everywhere")) == _sorted(new.summaries("everywhere"))
            assert _sorted(warm.usage("everywhere")) == _sorted(new.usage("everywhere"))
            for text in ("wörd", "ö", "中文_", "a b", "nam", "xyz"):
                assert _sorted(warm.search(text, "everywhere", 100)) == _sorted(new.search(text, "everywhere", 100))


def _sorted(records: Sequence[object]) -> list[str]:
    return sorted(map(repr, records))


def _take_step(shelf: Shelf, number: int, what: str, name: str, value: object) -> None:
    path = shelf.root / folder_name(HERE) / f"x_{name}.jsonl"
    match what, value:
        case "list", _:
            shelf.list()
        case "search", _:
            shelf.search("word")
        case "remove", _:
            path.unlink(missing_ok=True)
        case "move", str(other) if path.exists():
            path.rename(path.with_name(f"x_{other}.jsonl"))
        case "replace", str(text):
            shelf.session(name, user_entry("r", None, text))
            shelf.session(name, user_entry("r", None, text)).rename(path)
        case "cut", int(length) if path.exists():
            os.truncate(path, min(length, path.stat().st_size))
        case "rubbish", bytes(data) if path.exists():
            with path.open("ab") as file:
                file.write(data)
        case (("say" | "reply" | "name"), str(text)):
            lines = {
                "say": user_entry(f"e{number}", None, text),
                "reply": reply_entry(f"e{number}", "x", text),
                "name": entry("session_info", f"e{number}", None, name=text),
            }
            _append(shelf, path, name, lines[what])
        case _:
            pass
    if path.exists():
        # Two changes within the resolution of the file system's clock are told apart by it only if the size differs.
        os.utime(path, ns=(number, 1_795_160_000_000_000_000 + number))


def _append(shelf: Shelf, path: Path, name: str, line: JsonObject) -> None:
    if not path.exists():
        shelf.session(name).rename(path)
    with path.open("ab") as file:
        file.write(json.dumps(line).encode() + b"\n")


def test_names_given_by_kaa_are_seen_at_once(shelf: Shelf) -> None:
    path = shelf.session("one", user_entry("a", None, "x"))
    assert shelf.list()[0].name is None

    with opened(path) as store:
        store.append(SessionInfo(name="my work"))
        assert shelf.list()[0].name == "my work"


def test_numbers_and_directories_that_no_system_has_cost_no_list(shelf: Shelf) -> None:
    far = shelf.session("far", user_entry("a", None, "hello"))
    os.utime(far, ns=(13_569_465_600 * 10**9,) * 2)  # the year 2400: more nanoseconds than SQLite's integers hold
    strange = shelf.root / folder_name(HERE) / "2026-11-20T07-49-44-305Z_strange.jsonl"
    write_session(strange, user_entry("a", None, "hello"), header={**HEADER, "id": "strange", "cwd": "/home\0/p"})

    assert {found.id for found in shelf.list()} == {"far", "strange"}
    assert {found.id for found in shelf.list("here")} == {"far"}
    assert {hit.session.id for hit in shelf.search("hello")} == {"far", "strange"}
    with shelf.open() as catalogue:
        assert catalogue.summary(far)[0].id == "far"


def test_inodes_may_need_all_bits(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.touch()
    status = os.stat_result((0o100600, 2**64 - 1, *path.stat()[2:]), {"st_mtime_ns": 0})

    assert SessionFile.of(str(path), "kaa", status).inode < 2**63
