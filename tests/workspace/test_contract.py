"""What every workspace does. The same tests run against the local one and the one in memory."""

import asyncio
import errno
import os
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pytest

from kaa.hands.digest import new_digest
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.protocol import (
    Absent,
    CommandRequest,
    ContentChangedError,
    DirEntry,
    FileContent,
    FileDigest,
    FindResult,
    LineSlice,
    SearchError,
    SearchLine,
    SearchQuery,
    SearchResult,
    Workspace,
)
from kaa.workspace.sandbox.options import SandboxOptions

if TYPE_CHECKING:
    from tests.workspace.conftest import RunAny
else:
    RunAny = Any

_TREE = {
    "README.md": b"# Title\n\nfoo\n",
    "src/app.py": b"import os\n\ndef foo():\n    return os\n\n\ndef bar():\n    return foo()\n",
    "src/deep/er/mod.py": b"foo = 1\r\nbar = 2\r\n",
    "src/deep/data.bin": b"foo\0bar",
    "src-gen/app.py": b"Foo\n",
    ".hidden/config.toml": b"foo = true\n",
    ".git/config": b"foo\n",
    "empty.txt": b"",
}


T = TypeVar("T")


class Look(Protocol):
    """Runs a scenario that changes nothing in a workspace that holds `_TREE`."""

    def __call__(self, scenario: Callable[[Workspace], Awaitable[T]]) -> T: ...


@pytest.fixture(scope="module", params=["memory", "local", "sandboxed"])
def look(request: pytest.FixtureRequest, tier: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Look]:
    if request.param == "sandboxed" and tier == "none":
        pytest.skip("nothing confines commands on this machine: kaa doctor says why")
    home = tmp_path_factory.mktemp("home")
    project = home / "project"
    for name, data in _TREE.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_bytes(data)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
    sandbox = SandboxOptions() if request.param == "sandboxed" else SandboxOptions(mode="full-access")

    async def start() -> LocalWorkspace:
        return LocalWorkspace.start(str(project), env=environment, sandbox=sandbox)

    async def awaited(awaitable: Awaitable[T]) -> T:
        return await awaitable

    with asyncio.Runner() as runner:
        if request.param == "memory":
            memory = MemoryWorkspace(_TREE, root=str(project))
            yield lambda scenario: runner.run(awaited(scenario(memory)))
            return
        local = runner.run(start())
        try:
            yield lambda scenario: runner.run(awaited(scenario(local)))
        finally:
            runner.run(local.close())


def _digest(data: bytes) -> str:
    return new_digest(data).hexdigest()


def test_a_whole_file_comes_with_its_digest(any_workspace: RunAny) -> None:
    content = any_workspace(lambda w: w.read("a.txt"), {"a.txt": b"hello"})

    assert content == FileContent(b"hello", 5, _digest(b"hello"))


@pytest.mark.parametrize(
    ("offset", "length", "expected"),
    [(1, None, b"ello"), (0, 2, b"he"), (3, 100, b"lo"), (99, None, b""), (0, 0, b"")],
)
def test_a_slice_comes_without_digest(any_workspace: RunAny, offset: int, length: int | None, expected: bytes) -> None:
    content = any_workspace(lambda w: w.read("a.txt", offset, length), {"a.txt": b"hello"})

    assert content == FileContent(expected, 5, None)


@pytest.mark.parametrize("length", [5, 6])
def test_a_slice_that_is_the_whole_file_has_its_digest(any_workspace: RunAny, length: int) -> None:
    content = any_workspace(lambda w: w.read("a.txt", 0, length), {"a.txt": b"hello"})

    assert content.digest == _digest(b"hello")


@pytest.mark.parametrize(
    ("path", "error", "number"),
    [
        ("missing", FileNotFoundError, errno.ENOENT),
        ("src", IsADirectoryError, errno.EISDIR),
        ("README.md/x", NotADirectoryError, errno.ENOTDIR),
        ("", FileNotFoundError, errno.ENOENT),
        ("a\0b", OSError, errno.EINVAL),
    ],
)
def test_errors_are_those_of_the_system_and_name_the_path_as_it_was_given(
    look: Look, path: str, error: type[OSError], number: int
) -> None:
    async def scenario(workspace: Workspace) -> None:
        for attempt in (workspace.read(path), workspace.read_lines(path, 1, 10, 100)):
            with pytest.raises(error) as caught:
                await attempt
            assert (caught.value.errno, caught.value.filename) == (number, path)

    look(scenario)


def test_negative_positions_are_refused(look: Look) -> None:
    async def scenario(workspace: Workspace) -> None:
        for attempt in (workspace.read("README.md", -1), workspace.read_lines("README.md", -1, 1, 1)):
            with pytest.raises(OSError, match="negative") as caught:
                await attempt
            assert caught.value.errno == errno.EINVAL

    look(scenario)


@pytest.mark.usefixtures("mounts")
def test_relative_absolute_and_home_paths_mean_what_they_say(any_workspace: RunAny) -> None:
    async def scenario(workspace: Workspace) -> None:
        written = await workspace.write("~/note.txt", b"n")
        assert (await workspace.read(written.path)).data == b"n"
        assert (await workspace.read(f"{workspace.root}/src/../README.md")).data == _TREE["README.md"]
        assert (await workspace.read("./src//app.py")).data == _TREE["src/app.py"]

    any_workspace(scenario, _TREE)


def test_lines_are_whole_and_counted(any_workspace: RunAny) -> None:
    lines = any_workspace(lambda w: w.read_lines("a", 2, 2, 100), {"a": b"one\ntwo\r\nthree\nfour"})

    assert lines == LineSlice(b"two\r\nthree\n", 2, 4, 19, end_of_file=False)


def test_the_last_line_may_be_unterminated(any_workspace: RunAny) -> None:
    lines = any_workspace(lambda w: w.read_lines("a", 2, 10, 100), {"a": b"one\ntwo"})

    assert lines == LineSlice(b"two", 1, 2, 7, end_of_file=True)


def test_a_first_line_that_is_too_long_is_reported_and_not_cut(any_workspace: RunAny) -> None:
    lines = any_workspace(lambda w: w.read_lines("a", 2, 10, 5), {"a": b"one\n" + b"x" * 50 + b"\nlast\n"})

    assert lines == LineSlice(b"", 0, 3, 60, end_of_file=False, first_line_cut=True)


def test_lines_beyond_the_end_are_none(any_workspace: RunAny) -> None:
    lines = any_workspace(lambda w: w.read_lines("a", 9, 10, 100), {"a": b"one\n"})

    assert lines == LineSlice(b"", 0, 1, 4, end_of_file=True)


def test_only_existing_regular_files_are_read_in_bulk(look: Look) -> None:
    paths = ["README.md", "missing", "src", "empty.txt", "src/app.py"]

    found = look(lambda w: w.read_existing(paths, 8))

    assert found == {"README.md": b"# Title\n", "empty.txt": b"", "src/app.py": b"import o"}


def test_writing_creates_directories_and_the_file_can_be_read(any_workspace: RunAny) -> None:
    async def scenario(workspace: Workspace) -> None:
        info = await workspace.write("new/dir/file.txt", b"data")

        assert (info.path, info.kind, info.size) == (f"{workspace.root}/new/dir/file.txt", "file", 4)
        assert await workspace.stat("new/dir/file.txt") == info
        assert (await workspace.read("new/dir/file.txt")).data == b"data"

    any_workspace(scenario, {})


def test_a_directory_cannot_be_overwritten(any_workspace: RunAny) -> None:
    async def scenario(workspace: Workspace) -> None:
        with pytest.raises(IsADirectoryError):
            await workspace.write("src", b"x")
        with pytest.raises(NotADirectoryError):
            await workspace.write("README.md/x", b"x")

    any_workspace(scenario, _TREE)


def test_a_file_expected_to_be_absent_is_not_overwritten(any_workspace: RunAny) -> None:
    async def scenario(workspace: Workspace) -> None:
        await workspace.write("new.txt", b"1", Absent())
        with pytest.raises(ContentChangedError, match="already exists") as caught:
            await workspace.write("new.txt", b"2", Absent())
        assert caught.value.filename == "new.txt"
        assert (await workspace.read("new.txt")).data == b"1"

    any_workspace(scenario, {})


def test_a_file_that_changed_meanwhile_is_not_overwritten(any_workspace: RunAny) -> None:
    async def scenario(workspace: Workspace) -> None:
        await workspace.write("a", b"two", FileDigest(_digest(b"one")))
        with pytest.raises(ContentChangedError, match="changed"):
            await workspace.write("a", b"three", FileDigest(_digest(b"one")))
        assert (await workspace.read("a")).data == b"two"

    any_workspace(scenario, {"a": b"one"})


def test_a_file_that_vanished_is_not_created_again(any_workspace: RunAny) -> None:
    async def scenario(workspace: Workspace) -> None:
        with pytest.raises(ContentChangedError, match="no longer exists"):
            await workspace.write("gone/a", b"x", FileDigest(_digest(b"one")))
        assert await workspace.stat("gone") is None

    any_workspace(scenario, {})


def test_stat_tells_files_directories_and_nothing_apart(look: Look) -> None:
    async def scenario(workspace: Workspace) -> None:
        file, directory = await workspace.stat("README.md"), await workspace.stat("src")
        assert file is not None
        assert directory is not None
        assert (file.kind, file.size, directory.kind) == ("file", 13, "directory")
        assert await workspace.stat("missing") is None
        assert await workspace.stat("README.md/below") is None

    look(scenario)


def test_a_listing_has_names_and_kinds(look: Look) -> None:
    entries = look(lambda w: w.list("src"))

    assert sorted(entries, key=lambda entry: entry.name) == [DirEntry("app.py", "file"), DirEntry("deep", "directory")]


@pytest.mark.parametrize(("path", "error"), [("README.md", NotADirectoryError), ("missing", FileNotFoundError)])
def test_only_directories_are_listed(look: Look, path: str, error: type[OSError]) -> None:
    async def scenario(workspace: Workspace) -> None:
        with pytest.raises(error):
            await workspace.list(path)
        with pytest.raises(error):
            await workspace.find("*", path)

    look(scenario)


def test_a_search_finds_lines_in_hidden_but_not_in_binary_or_git_files(look: Look) -> None:
    result = look(lambda w: w.search(SearchQuery("fo+")))

    assert result == SearchResult(
        (
            SearchLine(".hidden/config.toml", 1, "foo = true", is_match=True),
            SearchLine("README.md", 3, "foo", is_match=True),
            SearchLine("src/app.py", 3, "def foo():", is_match=True),
            SearchLine("src/app.py", 8, "    return foo()", is_match=True),
            SearchLine("src/deep/er/mod.py", 1, "foo = 1", is_match=True),
        ),
        matches=5,
    )


def test_a_search_gives_context_without_repeating_lines(look: Look) -> None:
    result = look(lambda w: w.search(SearchQuery("return", "src/app.py", context=1)))

    numbers = [(line.line_number, line.is_match) for line in result.lines]
    assert numbers == [(3, False), (4, True), (5, False), (7, False), (8, True)]
    assert {line.path for line in result.lines} == {"app.py"}


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        (SearchQuery("foo", glob="*.py"), ["src/app.py", "src/deep/er/mod.py"]),
        (SearchQuery("foo", glob="!*.py"), [".hidden/config.toml", "README.md"]),
        (SearchQuery("foo", glob="deep/**/*.py"), ["src/deep/er/mod.py"]),
        (SearchQuery("foo", glob="!src/**"), [".hidden/config.toml", "README.md"]),
        (SearchQuery("foo", "src", glob="app.py"), ["app.py"]),
        (SearchQuery("FOO", ignore_case=True, glob="app.py"), ["src/app.py", "src-gen/app.py"]),
        (SearchQuery("foo()", literal=True), ["src/app.py"]),
        (SearchQuery("-> nothing"), []),
        (SearchQuery("foo$", "README.md"), ["README.md"]),
        (SearchQuery("1$"), ["src/deep/er/mod.py"]),
    ],
)
def test_a_search_can_be_narrowed(look: Look, query: SearchQuery, paths: list[str]) -> None:
    result = look(lambda w: w.search(query))

    assert list(dict.fromkeys(line.path for line in result.lines)) == paths
    assert not result.limit_reached


def test_a_search_stops_at_its_limit_with_the_first_matches_in_order(look: Look) -> None:
    result = look(lambda w: w.search(SearchQuery("foo", limit=3, context=1)))

    assert [(line.path, line.line_number) for line in result.lines if line.is_match] == [
        (".hidden/config.toml", 1),
        ("README.md", 3),
        ("src/app.py", 3),
    ]
    assert [line.line_number for line in result.lines if line.path == "src/app.py"] == [2, 3, 4]
    assert (result.matches, result.limit_reached) == (3, True)


def test_as_many_matches_as_the_limit_do_not_reach_it(look: Look) -> None:
    result = look(lambda w: w.search(SearchQuery("foo", limit=5)))

    assert (result.matches, result.limit_reached) == (5, False)


@pytest.mark.parametrize("query", [SearchQuery("("), SearchQuery("x", glob="[a"), SearchQuery("x", glob="{a")])
def test_a_malformed_pattern_is_a_search_error(look: Look, query: SearchQuery) -> None:
    with pytest.raises(SearchError):
        look(lambda w: w.search(query))


def test_searching_what_does_not_exist_is_an_error(look: Look) -> None:
    with pytest.raises(FileNotFoundError):
        look(lambda w: w.search(SearchQuery("foo", "missing")))


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("*.py", ["src/app.py", "src/deep/er/mod.py", "src-gen/app.py"]),
        ("app.*", ["src/app.py", "src-gen/app.py"]),
        ("src/*.py", ["src/app.py"]),
        ("src/**/*.py", ["src/app.py", "src/deep/er/mod.py"]),
        ("er/*", ["src/deep/er/mod.py"]),
        ("/*.md", ["README.md"]),
        ("/*.py", []),
        ("**/*.md", ["README.md"]),
        ("./src/*.py", ["src/app.py"]),
        ("{README,empty}.*", ["README.md", "empty.txt"]),
        ("{src,src-gen}/app.py", ["src/app.py", "src-gen/app.py"]),
        ("[a-m]*.[tp][xy]*", ["empty.txt", "src/app.py", "src/deep/er/mod.py", "src-gen/app.py"]),
        ("[!a-m]*.md", ["README.md"]),
        ("???.py", ["src/app.py", "src/deep/er/mod.py", "src-gen/app.py"]),
        ("deep/**", ["src/deep/data.bin", "src/deep/er/mod.py"]),
        ("*.toml", [".hidden/config.toml"]),
        ("config", []),
        ("\\*.py", []),
    ],
)
def test_files_are_found_by_name_or_path(look: Look, pattern: str, paths: list[str]) -> None:
    result = look(lambda w: w.find(pattern))

    assert result == FindResult(tuple(paths))


def test_finding_stops_at_its_limit_with_the_first_in_order(look: Look) -> None:
    async def scenario(workspace: Workspace) -> None:
        assert await workspace.find("*.py", "src", 1) == FindResult(("app.py",), limit_reached=True)
        assert await workspace.find("*.py", "src", 2) == FindResult(("app.py", "deep/er/mod.py"))

    look(scenario)


@pytest.mark.parametrize("pattern", ["", "[a", "{a,b", "/"])
def test_a_malformed_glob_is_a_search_error(look: Look, pattern: str) -> None:
    with pytest.raises(SearchError):
        look(lambda w: w.find(pattern))


def test_a_program_that_does_not_exist_ends_as_in_a_shell(any_workspace: RunAny) -> None:
    shown: list[bytes] = []

    result = any_workspace(lambda w: w.run(CommandRequest(["no-such-program"]), shown.append), {})

    assert (result.exit_code, result.signal) == (127, None)
    assert result.tail == b"no-such-program: command not found\n"
    assert b"".join(shown) == result.tail
    assert (result.output_bytes, result.output_lines) == (len(result.tail), 1)


@pytest.mark.parametrize(("cwd", "error"), [("missing", FileNotFoundError), ("README.md", NotADirectoryError)])
def test_a_command_needs_a_directory_to_run_in(any_workspace: RunAny, cwd: str, error: type[OSError]) -> None:
    async def scenario(workspace: Workspace) -> None:
        with pytest.raises(error) as caught:
            await workspace.run(CommandRequest(["true"], cwd=cwd))
        assert caught.value.filename == cwd

    any_workspace(scenario, _TREE)


def test_many_calls_at_once_each_get_their_own_answer(any_workspace: RunAny) -> None:
    async def scenario(workspace: Workspace) -> None:
        contents = await asyncio.gather(*(workspace.read(f"f{number}") for number in range(50)))
        assert [content.data for content in contents] == [b"%d" % number for number in range(50)]

    any_workspace(scenario, {f"f{number}": b"%d" % number for number in range(50)})


def test_the_root_is_absolute(any_workspace: RunAny) -> None:
    async def scenario(workspace: Workspace) -> None:
        assert os.path.isabs(workspace.root)
        info = await workspace.stat(".")
        assert info is not None
        assert info.path == workspace.root

    any_workspace(scenario, {})


def test_a_kept_output_can_be_read(any_workspace: RunAny) -> None:
    async def scenario(workspace: Workspace) -> bytes:
        path = await workspace.keep("much\n")
        assert path is not None
        return (await workspace.read(path)).data

    assert any_workspace(scenario, {}) == b"much\n"


def test_kept_bytes_stay_as_they_are_under_their_suffix(any_workspace: RunAny) -> None:
    async def scenario(workspace: Workspace) -> tuple[bytes, bool]:
        path = await workspace.keep(b"\xff\x00RIFF", ".wav")
        assert path is not None
        return (await workspace.read(path)).data, path.endswith(".wav")

    assert any_workspace(scenario, {}) == (b"\xff\x00RIFF", True)


def test_a_file_can_be_written_so_that_it_can_be_executed(any_workspace: RunAny) -> None:
    async def scenario(workspace: Workspace) -> list[int]:
        written = [
            await workspace.write("new", b"x", executable=True),
            await workspace.write("a.txt", b"x", executable=True),
            await workspace.write("plain", b"x"),
        ]
        return [info.mode & 0o100 for info in written]

    assert any_workspace(scenario, {"a.txt": b"hello"}) == [0o100, 0o100, 0]
