"""What a question about a change shows of the file: the lines around it, with their numbers, and all of the change."""

import asyncio

import pytest

from kaa.builtin.change_preview import change_preview
from kaa.core.messages import Json
from kaa.workspace.memory import MemoryWorkspace
from tests.support.tables import each

LINES = "".join(f"line {number}\n" for number in range(1, 41))


def preview(tool: str, content: bytes, arguments: dict[str, Json]) -> list[str]:
    """The lines of the preview of a call on the file `a.txt`."""
    workspace = MemoryWorkspace({"a.txt": content})
    return asyncio.run(change_preview(workspace, tool, {"path": "a.txt", **arguments})).splitlines()


def test_an_edit_has_three_lines_around_each_change() -> None:
    edits: list[Json] = [
        {"oldText": "line 10\n", "newText": "ten\n"},
        {"oldText": "line 30\n", "newText": "thirty\nand more\n"},
    ]

    assert preview("edit", LINES.encode(), {"edits": edits}) == [
        "    ...",
        *(f" {number:>2} line {number}" for number in (7, 8, 9)),
        "-10 line 10",
        "+10 ten",
        *(f" {number:>2} line {number}" for number in (11, 12, 13)),
        "    ...",
        *(f" {number:>2} line {number}" for number in (27, 28, 29)),
        "-30 line 30",
        "+30 thirty",
        "+31 and more",
        *(f" {number:>2} line {number}" for number in (31, 32, 33)),
        "    ...",
    ]


def test_a_file_that_is_overwritten_is_compared() -> None:
    shown = preview("write", LINES.encode(), {"content": LINES.replace("line 20", "twenty")})

    assert [line for line in shown if line[:1] in "+-"] == ["-20 line 20", "+20 twenty"]
    assert len(shown) == 2 + 6 + 2


def test_other_agents_names_of_arguments_are_understood() -> None:
    shown = preview("edit", b"one\n", {"old_string": "one", "new_string": "two"})

    assert shown == ["-1 one", "+1 two"]


def test_a_long_line_is_shown_to_its_end() -> None:
    shown = preview("edit", b"one\n", {"edits": [{"oldText": "one", "newText": "x" * 5_000 + "; rm -rf ~"}]})

    assert shown[-1].endswith("; rm -rf ~")


@pytest.mark.parametrize("content", [b"one\rtwo\r", b"\xff\xfe\x00binary", b"x" * 2_000_000])
def test_what_cannot_be_compared_line_by_line_has_no_preview(content: bytes) -> None:
    hostile = "two\n 9 harmless\n@@ -1 +1 @@"

    assert preview("write", content, {"content": hostile}) == []
    assert preview("edit", content, {"edits": [{"oldText": "two", "newText": hostile}]}) == []


@each(
    ("tool", "arguments"),
    [
        ("edit", {"edits": [{"oldText": "absent", "newText": "x"}]}),
        ("edit", {"edits": "nonsense"}),
        ("edit", {"path": "absent.txt", "edits": [{"oldText": "a", "newText": "b"}]}),
        ("write", {"path": "new.txt", "content": "new"}),
        ("write", {"content": LINES}),
        ("patch", {"content": "x"}),
    ],
)
def test_a_call_that_changes_no_file_has_no_preview(tool: str, arguments: dict[str, Json]) -> None:
    assert preview(tool, LINES.encode(), arguments) == []
