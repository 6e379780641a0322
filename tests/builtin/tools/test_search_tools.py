"""grep, find and ls: what they show, and what they say of what they do not."""

import pytest

from kaa.core.messages import Json
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.protocol import FindResult, SearchQuery, SearchResult
from tests.support.agents import run
from tests.support.toolbox import Toolbox

FILES = {
    "README.md": b"the needle is here\n",
    "src/a.py": b"one\nneedle = 1\nthree\nNeedle\n",
    "src/deep/b.py": b"needle\n",
    ".hidden/c.py": b"",
}


def call(name: str, **arguments: Json) -> str:
    return run(Toolbox(MemoryWorkspace(FILES)).text(name, **arguments))


def failure(name: str, **arguments: Json) -> str:
    return run(Toolbox(MemoryWorkspace(FILES)).failure(name, **arguments))


def test_grep_names_file_and_line_of_every_match() -> None:
    assert call("grep", pattern="needle").splitlines() == [
        "README.md:1: the needle is here",
        "src/a.py:2: needle = 1",
        "src/deep/b.py:1: needle",
    ]


def test_grep_gives_paths_that_read_understands() -> None:
    assert call("grep", pattern="^needle", path="src").splitlines() == [
        "src/a.py:2: needle = 1",
        "src/deep/b.py:1: needle",
    ]
    assert call("grep", pattern="three", path="src/a.py") == "src/a.py:3: three"
    assert call("grep", pattern="three", path="./src/") == "./src/a.py:3: three"


def test_grep_tells_a_directory_from_a_file_of_the_same_name_in_it() -> None:
    tools = Toolbox(MemoryWorkspace({"x/x": b"needle\n"}))

    assert run(tools.text("grep", pattern="needle", path="x")) == "x/x:1: needle"


def test_grep_shows_context_and_takes_all_options() -> None:
    found = call("grep", pattern="NEEDLE = ", glob="*.py", ignoreCase=True, literal=True, context=1)

    assert found.splitlines() == ["src/a.py-1- one", "src/a.py:2: needle = 1", "src/a.py-3- three"]


def test_grep_says_when_there_are_more_matches() -> None:
    found = call("grep", pattern="needle", limit=1)

    assert found == ("README.md:1: the needle is here\n\n[stopped at 1 matches: refine the pattern or set limit=2]")


def test_grep_cuts_long_lines_and_says_so() -> None:
    tools = Toolbox(MemoryWorkspace({"min.js": b"x" * 800}))

    found = run(tools.text("grep", pattern="x"))

    assert found == (f"min.js:1: {'x' * 500}... [cut]\n\n[long lines cut to 500 characters: read shows them whole]")


def test_grep_keeps_within_50_kb() -> None:
    tools = Toolbox(MemoryWorkspace({"f": (b"x" * 400 + b"\n") * 400}))

    result = run(tools.call("grep", pattern="x", limit=400))

    assert result.details["truncation"]["truncatedBy"] == "bytes"
    assert "[125 of 400 lines shown, 50.0 KB at most: narrow it]" in str(result.content)


def test_grep_without_matches_says_so() -> None:
    assert call("grep", pattern="nowhere") == "No matches found"


def test_grep_explains_a_broken_pattern_and_a_missing_path() -> None:
    assert "literal" in failure("grep", pattern="(")
    assert "Similar names there: src" in failure("grep", pattern="x", path="srcs")


class SlowWorkspace(MemoryWorkspace):
    """Every search takes too long."""

    async def search(self, query: SearchQuery) -> SearchResult:
        return SearchResult((), 0, timed_out=True)

    async def find(self, pattern: str, path: str = ".", limit: int = 1000) -> FindResult:
        return FindResult(("a",), timed_out=True)


def test_searches_that_were_stopped_say_so() -> None:
    tools = Toolbox(SlowWorkspace())

    assert run(tools.text("grep", pattern="x")).startswith("No matches found\n\n[the search took too long")
    assert run(tools.text("find", pattern="x")).startswith("a\n\n[the search took too long")


def test_find_gives_paths_that_read_understands() -> None:
    assert call("find", pattern="*.py").splitlines() == [".hidden/c.py", "src/a.py", "src/deep/b.py"]
    assert call("find", pattern="*.py", path="src/deep") == "src/deep/b.py"


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("src/*.py", ".", "src/a.py"),
        ("./src/**", ".", "src/a.py\nsrc/deep/b.py"),
        ("deep/*.py", "src", "src/deep/b.py"),
        ("**/b.py", ".", "src/deep/b.py"),
        ("deep/*.py", ".", "src/deep/b.py\n\n[nothing matches from . on: these match further down]"),
    ],
)
def test_a_pattern_with_a_slash_begins_at_the_searched_directory(pattern: str, path: str, found: str) -> None:
    tools = Toolbox(MemoryWorkspace({"src/a.py": b"", "src/deep/b.py": b"", "other/src/c.py": b""}))

    assert run(tools.text("find", pattern=pattern, path=path)) == found


def test_find_says_when_there_is_more_or_nothing() -> None:
    assert call("find", pattern="*.py", limit=1) == (
        ".hidden/c.py\n\n[stopped at 1 files: refine the pattern or set limit=2]"
    )
    assert call("find", pattern="*.rs") == "No files found"


def test_find_explains_a_missing_directory() -> None:
    assert "does not exist" in failure("find", pattern="*", path="nowhere")
    assert "is not a directory" in failure("find", pattern="*", path="README.md")


def test_ls_sorts_without_regard_to_case_and_marks_directories() -> None:
    tools = Toolbox(MemoryWorkspace({"b": b"", "A": b"", "a": b"", "C/x": b"", ".git/x": b""}))

    assert run(tools.text("ls")).splitlines() == [".git/", "A", "a", "b", "C/"]


def test_ls_says_when_there_is_more_or_nothing() -> None:
    tools = Toolbox(MemoryWorkspace({f"f{number:03}": b"" for number in range(600)}))

    assert run(tools.text("ls")).endswith("f499\n\n[500 of 600 names shown: set limit=600 for all]")
    assert run(Toolbox(MemoryWorkspace()).text("ls")) == "(empty directory)"


def test_ls_explains_what_is_no_directory() -> None:
    assert failure("ls", path="README.md") == "README.md is a file, not a directory."
    assert "does not exist" in failure("ls", path="nowhere")
