"""The edit tool: what it accepts, what it answers, and what happens when others change the file."""

import pytest

from kaa.core.arguments import ArgumentError
from kaa.core.messages import Json
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.protocol import Expected, FileContent, FileInfo
from tests.support.agents import run
from tests.support.tables import each
from tests.support.toolbox import Toolbox, text_of

SOURCE = b"one\r\ntwo  \r\nthree\r\n"
EDIT = {"oldText": "two", "newText": "2"}


def edited(**arguments: Json) -> bytes:
    workspace = MemoryWorkspace({"a.txt": SOURCE})
    run(Toolbox(workspace).text("edit", **arguments))
    return workspace.files["/project/a.txt"]


def failure(data: bytes, **arguments: Json) -> str:
    workspace = MemoryWorkspace({"a.txt": data})
    message = run(Toolbox(workspace).failure("edit", **{"path": "a.txt", **arguments}))
    assert workspace.files == {"/project/a.txt": data}
    return message


def test_the_answer_is_short_and_the_diff_is_for_people() -> None:
    workspace = MemoryWorkspace({"a.txt": SOURCE})

    result = run(Toolbox(workspace).call("edit", path="a.txt", edits=[EDIT, {"oldText": "three\n", "newText": ""}]))

    assert text_of(result) == "Applied 2 edits to a.txt, the first in line 2.\nIt now reads:\none\n2  "
    assert result.details == {"diff": " 1 one\n-2 two  \n+2 2  \n-3 three", "firstChangedLine": 2}
    assert workspace.files == {"/project/a.txt": b"one\r\n2  \r\n"}


@each(
    "arguments",
    [
        {"path": "a.txt", "edits": [EDIT]},
        {"path": "a.txt", "edits": EDIT},
        {"path": "a.txt", "edits": '[{"oldText": "two", "newText": "2"}]'},
        {"path": "a.txt", "edits": '{"old_string": "two", "new_string": "2"}'},
        {"path": "a.txt", "edits": [{"old_text": "two", "new_text": "2"}]},
        {"path": "a.txt", "edits": [{"old_string": "two", "new_string": "2", "replace_all": False}]},
        {"path": "a.txt", "oldText": "two", "newText": "2"},
        {"path": "a.txt", "edits": None, "old_text": "two", "new_text": "2"},
        {"path": "a.txt", "edits": [], "old_string": "two", "new_string": "2"},
        {"file_path": "a.txt", "old_string": "two", "new_string": "2"},
        {"filePath": "@a.txt", "edits": [EDIT]},
    ],
)
def test_usual_mistakes_of_models_are_understood(arguments: dict[str, Json]) -> None:
    assert edited(**arguments) == b"one\r\n2  \r\nthree\r\n"


def test_arguments_beyond_repair_are_refused_with_a_path() -> None:
    tools = Toolbox(MemoryWorkspace({"a.txt": SOURCE}))

    with pytest.raises(ArgumentError, match=r"newText.*\$\.edits\[0\]"):
        run(tools.call("edit", path="a.txt", edits=[{"oldText": "two"}]))
    with pytest.raises(ArgumentError, match="missing required argument: edits"):
        run(tools.call("edit", path="a.txt"))
    with pytest.raises(ArgumentError, match=r"\$\.edits\[0\]"):
        run(tools.call("edit", path="a.txt", edits="two -> 2"))


def test_an_edit_is_answered_with_its_lines_and_three_around_them() -> None:
    source = "".join(f"line {number}\n" for number in range(1, 31))
    tools = Toolbox(MemoryWorkspace({"a.txt": source.encode()}))
    edits = [{"oldText": "line 5\n", "newText": "five\nand more\n"}, {"oldText": "line 25\n", "newText": ""}]

    around = "line 2\nline 3\nline 4\nfive\nand more\nline 6\nline 7\nline 8\n…\n"
    around += "line 22\nline 23\nline 24\nline 26\nline 27\nline 28"
    assert run(tools.text("edit", path="a.txt", edits=edits)) == (
        f"Applied 2 edits to a.txt, the first in line 5.\nIt now reads:\n{around}"
    )


def test_of_a_long_change_the_answer_has_the_beginning_and_the_end() -> None:
    tools = Toolbox(MemoryWorkspace({"a.txt": b"x\n"}))
    new = "".join(f"line {number}\n" for number in range(1000))

    text = run(tools.text("edit", path="a.txt", edits=[{"oldText": "x\n", "newText": new}]))

    assert len(text) < 800
    assert "line 19\n… (960 more lines)\nline 980\n" in text


def test_no_edits_are_no_success() -> None:
    assert "edits is empty" in failure(SOURCE, edits=[])


def test_a_failure_says_that_nothing_was_changed_and_why() -> None:
    message = failure(SOURCE, edits=[{"oldText": "tow", "newText": "2"}])

    assert message.startswith("a.txt was not changed. oldText of the edit was not found.")


def test_a_missing_file_is_said_with_similar_names() -> None:
    assert "Similar names there: a.txt" in failure(SOURCE, path="b.txt", edits=[EDIT])


def test_a_directory_cannot_be_edited() -> None:
    tools = Toolbox(MemoryWorkspace({"src/a": b""}))

    assert "is a directory" in run(tools.failure("edit", path="src", edits=[EDIT]))


def test_a_large_file_is_edited_as_exactly_as_a_small_one() -> None:
    data = b"".join(b"line %d\r\n" % number for number in range(40_000))
    workspace = MemoryWorkspace({"a.txt": data})

    run(Toolbox(workspace).text("edit", path="a.txt", edits=[{"oldText": "line 30000\nline 30001", "newText": "x\ny"}]))

    assert workspace.files == {"/project/a.txt": data.replace(b"line 30000\r\nline 30001\r\n", b"x\r\ny\r\n")}


def test_a_file_too_large_to_edit_is_refused_with_an_alternative() -> None:
    assert "sed" in failure(b"\n" * (33 * 1024 * 1024), edits=[EDIT])


class BusyWorkspace(MemoryWorkspace):
    """Another program changes the file after each of the first reads."""

    def __init__(self, changes: int) -> None:
        super().__init__({"a.txt": SOURCE})
        self._changes = changes

    async def read(self, path: str, offset: int = 0, length: int | None = None) -> FileContent:
        content = await super().read(path, offset, length)
        if self._changes > 0:
            self._changes -= 1
            await super().write(path, content.data + b"more\r\n")
        return content

    async def write(self, path: str, data: bytes, expected: Expected = None, *, executable: bool = False) -> FileInfo:
        assert expected is not None, "an edit must never overwrite what it has not seen"
        return await super().write(path, data, expected, executable=executable)


def test_a_change_by_another_program_is_kept() -> None:
    workspace = BusyWorkspace(changes=1)

    run(Toolbox(workspace).text("edit", path="a.txt", edits=[EDIT]))

    assert workspace.files == {"/project/a.txt": b"one\r\n2  \r\nthree\r\nmore\r\n"}


def test_a_file_that_keeps_changing_is_left_alone() -> None:
    workspace = BusyWorkspace(changes=2)

    message = run(Toolbox(workspace).failure("edit", path="a.txt", edits=[EDIT]))

    assert "keeps changing" in message
    assert workspace.files == {"/project/a.txt": SOURCE + b"more\r\n" * 2}
