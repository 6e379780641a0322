"""The read tool on text: slices, notes, encodings, and everything that is not text."""

import codecs

import pytest

from kaa.core.messages import Json
from kaa.workspace.memory import MemoryWorkspace
from tests.support.agents import run
from tests.support.tables import each
from tests.support.toolbox import Toolbox, text_of


def read(data: bytes, **arguments: Json) -> str:
    return run(Toolbox(MemoryWorkspace({"file": data})).text("read", path="file", **arguments))


def failure(files: dict[str, bytes], **arguments: Json) -> str:
    return run(Toolbox(MemoryWorkspace(files)).failure("read", **arguments))


def numbered(count: int) -> bytes:
    return "".join(f"line {number}\n" for number in range(1, count + 1)).encode()


def test_a_small_file_is_read_whole_without_notes() -> None:
    assert read(b"one\n\n  two\t\n") == "one\n\n  two\t"


def test_a_long_file_is_cut_at_2000_lines_with_the_offset_to_continue() -> None:
    text = read(numbered(3001))

    assert text.endswith("line 2000\n\n[Lines 1-2000 of 3001. Continue with offset=2001.]")


def test_a_large_file_is_cut_at_whole_lines_within_50_kb() -> None:
    result = run(Toolbox(MemoryWorkspace({"big": (b"x" * 1023 + b"\n") * 60})).call("read", path="big"))

    assert text_of(result).endswith("x\n\n[Lines 1-50 of 60. Continue with offset=51.]")
    assert result.details["truncation"] == {
        "truncated": True,
        "truncatedBy": "bytes",
        "outputLines": 50,
        "outputBytes": 51200,
        "totalLines": 60,
        "totalBytes": 61440,
        "maxLines": 2000,
        "maxBytes": 51200,
    }


def test_offset_and_limit_select_lines() -> None:
    assert read(numbered(10), offset=4, limit=2) == "line 4\nline 5\n\n[Lines 4-5 of 10. Continue with offset=6.]"
    assert read(numbered(10), offset=9, limit=5) == "line 9\nline 10"
    assert read(numbered(3), offset=0) == "line 1\nline 2\nline 3"


def test_a_limit_of_the_model_is_no_truncation() -> None:
    result = run(Toolbox(MemoryWorkspace({"file": numbered(10)})).call("read", path="file", limit=2))

    assert result.details is None


def test_a_limit_above_2000_changes_nothing() -> None:
    assert "[Lines 1-2000 of 3000." in read(numbered(3000), limit=2500)


def test_an_offset_beyond_the_end_is_answered_with_the_number_of_lines() -> None:
    assert failure({"f": numbered(7)}, path="f", offset=9) == "offset 9 is beyond the end of f, which has 7 lines."


def test_nonsense_ranges_are_refused() -> None:
    assert "tail" in failure({"f": b"x"}, path="f", offset=-5)
    assert "limit" in failure({"f": b"x"}, path="f", limit=0)


def test_a_line_longer_than_the_limit_is_not_shown_but_how_to_read_a_part_of_it() -> None:
    text = read(b"short\n" + b"x" * 60_000 + b"\n", offset=2)

    assert text == "[Line 2 is longer than 50.0 KB. Read a part by a command: sed -n 2p file | cut -c 1-10000]"


def test_an_empty_file_says_so() -> None:
    assert read(b"") == "[The file is empty.]"


@pytest.mark.parametrize(
    "data",
    [
        "naïve → “x”\nnext".encode(),
        codecs.BOM_UTF8 + "naïve → “x”\nnext".encode(),
        "naïve → “x”\nnext".encode("utf-16"),
        codecs.BOM_UTF16_BE + "naïve → “x”\nnext".encode("utf-16-be"),
        "naïve → “x”\r\nnext\r\n".encode(),
    ],
)
def test_text_is_shown_whatever_its_encoding_and_line_endings(data: bytes) -> None:
    assert read(data) == "naïve → “x”\nnext"


def test_one_byte_per_character_is_understood() -> None:
    assert read("naïve “x”\n".encode("cp1252")) == "naïve “x”"
    assert read("naïve\n".encode("latin-1")) == "naïve"


def test_lines_of_utf16_are_counted_in_characters_not_bytes() -> None:
    text = "".join(f"\u0a0a line {number}\n" for number in range(1, 6))

    assert read(text.encode("utf-16"), offset=2, limit=2) == (
        "\u0a0a line 2\n\u0a0a line 3\n\n[Lines 2-3 of 5. Continue with offset=4.]"
    )


def test_broken_bytes_become_replacement_characters() -> None:
    assert read("ééé ".encode() + b"\xff\n") == "ééé \ufffd"


@pytest.mark.parametrize("data", [b"\x7fELF\0\0\0\0", b"text\n" * 1000 + b"\0\0\n"])
def test_binary_files_are_named_and_not_shown(data: bytes) -> None:
    text = read(data)

    assert text.startswith("[file is a binary file of ")
    assert "strings or xxd" in text


def test_a_line_of_a_binary_file_is_not_shown_either() -> None:
    assert read(b"text\n\0\0\n", limit=1).startswith("[file is a binary file of ")


def test_a_missing_file_is_answered_with_similar_names() -> None:
    files = {"src/parser.py": b"", "src/lexer.py": b""}

    assert failure(files, path="src/parse.py") == "src/parse.py does not exist. Similar names there: src/parser.py."
    assert failure(files, path="src/zzz") == "src/zzz does not exist, nor a similar name in its directory."
    assert failure(files, path="lib/parser.py") == (
        "lib/parser.py does not exist, nor does its directory lib. Files of this name: src/parser.py."
    )


def test_a_directory_is_not_read() -> None:
    assert failure({"src/a": b""}, path="src") == "src is a directory, not a file."


def test_a_file_used_as_a_directory_is_said() -> None:
    assert "a" in failure({"a": b""}, path="a/b")


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_paths_that_cannot_be_are_refused(path: str) -> None:
    assert "path must be" in failure({}, path=path)


@each(
    ("name", "asked"),
    [
        ("notes.md", "@notes.md"),
        ("a b.md", "a\u00a0b.md"),
        ("Screenshot 9.41.00\u202fAM.txt", "Screenshot 9.41.00 AM.txt"),
        ("cafe\u0301.md", "caf\u00e9.md"),
        ("caf\u00e9.md", "cafe\u0301.md"),
        ("it\u2019s.md", "it's.md"),
        ("my a\u00a0b.md".replace(" ", "\u00a0"), "my a b.md"),
        ("c\u2009d.md", "c d.md"),
    ],
)
def test_a_path_spelled_as_models_do_is_found(name: str, asked: str) -> None:
    assert run(Toolbox(MemoryWorkspace({name: b"found"})).text("read", path=asked)) == "found"


def test_the_literal_path_comes_first() -> None:
    files = {"@a": b"literal", "a": b"other"}

    assert run(Toolbox(MemoryWorkspace(files)).text("read", path="@a")) == "literal"


def test_the_home_directory_is_understood() -> None:
    workspace = MemoryWorkspace({"/home/user/x": b"home"})

    assert run(Toolbox(workspace).text("read", path="~/x")) == "home"
