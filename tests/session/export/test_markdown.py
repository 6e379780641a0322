"""The transcript as Markdown."""

import io
from pathlib import Path

from markdown_it import MarkdownIt

from kaa.session.compaction.undoing import WHOLE
from kaa.session.export.markdown import write_markdown
from kaa.session.export.selection import ExportSelection
from kaa.session.export.source import SnapshotFile
from tests.support.rich_session import call, reply, result, text, user, write_rich_session
from tests.support.sessions import write_session

ALL_OF_IT = ExportSelection()


def transcript(path: Path, selection: ExportSelection = ALL_OF_IT) -> str:
    out = io.BytesIO()
    with SnapshotFile.open(path) as source:
        write_markdown(source, selection, out)
    return out.getvalue().decode()


def test_it_reads_in_the_order_of_the_branch(tmp_path: Path) -> None:
    text = transcript(write_rich_session(tmp_path))

    parts = ["# The pendulum", "The test of the pendulum fails", "I look at what fails", "pytest -q", "AssertionError",
             "+6 ", "2π·√", "Summary of a branch", "git diff --stat", "has to divide"]  # fmt: skip
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "Now write it in Rust" not in text


def test_thinking_and_tools_can_be_left_out(tmp_path: Path) -> None:
    text = transcript(write_rich_session(tmp_path), ExportSelection(thinking=False, tools=False))

    assert "First see what" not in text
    assert "AssertionError" not in text
    assert "I look at what fails" in text


def test_a_compaction_that_was_taken_back_is_no_summary(tmp_path: Path) -> None:
    condensed = {"type": "compaction", "id": "c", "parentId": "a", "timestamp": "", "summary": "In short.",
                 "firstKeptEntryId": "c", "tokensBefore": 9}  # fmt: skip
    back = {**condensed, "id": "d", "parentId": "c", "summary": WHOLE, "details": {"uncompacted": "c"}}
    path = write_session(tmp_path / "s.jsonl", user("a", None, "Go."), condensed, back)

    said = transcript(path)

    assert "In short." in said
    assert WHOLE not in said


def test_output_with_fences_stays_in_its_fence(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl",
        user("a", None, "go"),
        reply("b", "a", call("1", "bash", command="cat README")),
        result("c", "b", "1", "bash", "```\n</details># no heading\n````"),
        reply("d", "c", text("done")),
    )

    tokens = MarkdownIt().parse(transcript(path))

    headings = [tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"]
    assert headings == ["go", "You", "claude-sonnet", "claude-sonnet"]


def test_each_call_has_its_own_result_although_ids_repeat(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl",
        reply("a", None, call("1", "bash", command="first")),
        result("b", "a", "1", "bash", "output of the first"),
        reply("c", "b", call("1", "bash", command="second")),
        result("d", "c", "1", "bash", "output of the second"),
    )

    text = transcript(path)

    assert text.index("bash: first") < text.index("output of the first") < text.index("bash: second")
    assert text.index("bash: second") < text.index("output of the second")


def test_output_reads_as_on_a_terminal(tmp_path: Path) -> None:
    shown = "\x1b[1;31mred\x1b[0m\x1b]0;title\x07 10%\r 100%\r\nnext\x07"
    path = write_session(
        tmp_path / "s.jsonl",
        reply("a", None, call("1", "bash", command="make")),
        result("b", "a", "1", "bash", shown),
    )

    assert "\n 100%\nnext\n" in transcript(path)
