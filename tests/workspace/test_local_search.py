"""Searches of the local workspace: what only ripgrep and real directories have."""

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kaa.hands.policy import Policy
from kaa.workspace.commands import CommandRunner
from kaa.workspace.hands import Hands
from kaa.workspace.protocol import FileInfo, FindResult, SearchLine, SearchQuery, SearchResult
from kaa.workspace.ripgrep import Ripgrep, find_ripgrep

if TYPE_CHECKING:
    from tests.workspace.conftest import RunLocal
else:
    RunLocal = Any

_UNCONFINED = Policy(tier="none", mode="full-access")


def _fill(project: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _paths(result: SearchResult) -> list[str]:
    return [line.path for line in result.lines]


@pytest.mark.parametrize("glob", [None, "*.js", "**/*.js", "node_modules/**", "*"])
def test_ignored_files_are_not_searched_whatever_the_glob(local: RunLocal, project: Path, glob: str | None) -> None:
    _fill(project, {".gitignore": "node_modules\n*.min.js\n", "node_modules/a.js": "foo", "b.min.js": "foo"})
    if glob != "node_modules/**":
        _fill(project, {"c.js": "foo"})

    found = local(lambda w: w.search(SearchQuery("foo", glob=glob)))
    files = local(lambda w: w.find(glob or "*.js"))

    assert _paths(found) == ([] if glob == "node_modules/**" else ["c.js"])
    assert [path for path in files.paths if path != ".gitignore"] == _paths(found)


def test_rules_of_a_parent_directory_apply(local: RunLocal, project: Path) -> None:
    _fill(project, {".gitignore": "*.log\n", "sub/a.log": "foo", "sub/a.txt": "foo"})

    assert _paths(local(lambda w: w.search(SearchQuery("foo", "sub")))) == ["a.txt"]


def test_a_pattern_that_looks_like_an_option_is_a_pattern(local: RunLocal, project: Path) -> None:
    _fill(project, {"a": "run --files now\n", "-e": "--files\n"})

    result = local(lambda w: w.search(SearchQuery("--files")))

    assert _paths(result) == ["-e", "a"]


def test_a_file_whose_name_looks_like_an_option_is_a_file(local: RunLocal, project: Path) -> None:
    _fill(project, {"--help": "foo\n"})

    assert _paths(local(lambda w: w.search(SearchQuery("foo", "--help")))) == ["--help"]


def test_a_line_is_cut_where_it_gets_unreasonable(local: RunLocal, project: Path) -> None:
    _fill(project, {"min.js": "foo" + "x" * 5_000_000 + "\nfoo\n"})

    result = local(lambda w: w.search(SearchQuery("foo")))

    assert result.matches == 2
    assert result.lines[0].text.startswith("fooxxx")
    assert len(result.lines[0].text) < 3000
    assert result.lines[1] == SearchLine("min.js", 2, "foo", is_match=True)


def test_text_and_names_that_are_not_utf8_are_made_readable(local: RunLocal, project: Path) -> None:
    (project / os.fsdecode(b"caf\xe9")).write_bytes(b"foo \xff\n")

    result = local(lambda w: w.search(SearchQuery("foo")))

    assert result.lines == (SearchLine("caf\ufffd", 1, "foo \ufffd", is_match=True),)


def test_the_users_ripgrep_settings_do_not_matter(local: RunLocal, project: Path, tmp_path: Path) -> None:
    _fill(project, {"a": "foo\n"})
    (tmp_path / "ripgreprc").write_text("--invert-match\n--files-with-matches\n")

    result = local(lambda w: w.search(SearchQuery("foo")), RIPGREP_CONFIG_PATH=str(tmp_path / "ripgreprc"))

    assert result.lines == (SearchLine("a", 1, "foo", is_match=True),)


def test_an_unreadable_or_dangling_file_does_not_spoil_a_search(local: RunLocal, project: Path) -> None:
    _fill(project, {"a": "foo\n", "b": "foo\n"})
    (project / "dangling").symlink_to("nowhere")
    (project / "b").chmod(0)

    assert "a" in _paths(local(lambda w: w.search(SearchQuery("foo"))))


def test_a_flood_of_matches_is_cut_off_early_and_in_order(local: RunLocal, project: Path) -> None:
    for number in range(40):
        _fill(project, {f"{number:02}.txt": "foo\n" * 20_000})

    first = local(lambda w: w.search(SearchQuery("foo", limit=30_000)))
    second = local(lambda w: w.search(SearchQuery("foo", limit=30_000)))

    assert first == second
    assert (first.matches, first.limit_reached) == (30_000, True)
    assert set(_paths(first)) == {"00.txt", "01.txt"}


def test_an_invalid_expression_is_explained(local: RunLocal) -> None:
    with pytest.raises(ValueError, match="unclosed group") as caught:
        local(lambda w: w.search(SearchQuery("foo(")))

    assert "rg:" not in str(caught.value)


def test_names_with_line_feeds_are_found(local: RunLocal, project: Path) -> None:
    _fill(project, {"a\nb.txt": ""})

    assert local(lambda w: w.find("*.txt")) == FindResult(("a\nb.txt",))


def test_a_search_that_takes_too_long_gives_what_it_has(project: Path) -> None:
    slow = project / "slow-rg"
    slow.write_text("#!/bin/sh\nprintf './a\\0007:found\\n'\nexec sleep 1000\n")
    slow.chmod(0o755)

    async def scenario() -> SearchResult:
        hands = Hands(str(project), "/", _UNCONFINED)
        ripgrep = Ripgrep(CommandRunner(hands), dict(os.environ), program=str(slow), seconds=0.5)
        try:
            return await ripgrep.search(SearchQuery("x"), FileInfo(str(project), str(project), "directory", 0, 0, 0))
        finally:
            await hands.close()

    result = asyncio.run(scenario())

    assert result == SearchResult((SearchLine("a", 7, "found", is_match=True),), matches=1, timed_out=True)


def test_a_ripgrep_that_fails_is_an_error_and_not_an_empty_result(project: Path) -> None:
    broken = project / "broken-rg"
    broken.write_text("#!/bin/sh\nexit 101\n")
    broken.chmod(0o755)

    async def scenario() -> None:
        hands = Hands(str(project), "/", _UNCONFINED)
        try:
            await Ripgrep(CommandRunner(hands), dict(os.environ), program=str(broken)).find("*", ".", 10)
        finally:
            await hands.close()

    with pytest.raises(OSError, match="not complete"):
        asyncio.run(scenario())


def test_ripgrep_comes_with_kaa() -> None:
    assert os.access(find_ripgrep(), os.X_OK)
