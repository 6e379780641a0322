import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.workspace.globs import compile_glob, path_order
from kaa.workspace.protocol import SearchError


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("*.py", ["a.py", "x/y/a.py", ".py"], ["a.pyc", "py/a"]),
        ("src/*.py", ["src/a.py", "lib/src/a.py"], ["src/x/a.py", "mysrc/a.py"]),
        ("/src/*", ["src/a"], ["x/src/a"]),
        ("src/**", ["src/a", "src/a/b", "x/src/a"], ["src"]),
        ("src/**/b", ["src/b", "src/a/b", "src/a/c/b"], ["srcb", "src/xb"]),
        ("**/**/b", ["b", "x/b"], ["xb"]),
        ("a**b", ["ab", "axxb"], ["a/b"]),
        ("a?c", ["abc"], ["ac", "a/c"]),
        ("[ab].c", ["a.c", "b.c"], ["c.c", "ab.c"]),
        ("[!ab].c", ["c.c"], ["a.c", "/.c"]),
        ("[]x].c", ["].c", "x.c"], ["[.c"]),
        ("[a-c].c", ["b.c"], ["d.c", "-.c"]),
        ("[&&].c", ["&.c"], ["a.c"]),
        ("*.{ts,tsx}", ["a.ts", "a.tsx"], ["a.js", "a.{ts,tsx}"]),
        ("{a,{b,c}}/x", ["a/x", "b/x", "c/x"], ["d/x"]),
        ("\\*.{a\\,b,c}", ["*.a,b", "*.c"], ["x.c"]),
        ("a+(b).c", ["a+(b).c"], ["aab.c"]),
    ],
)
def test_what_a_glob_matches(pattern: str, matching: list[str], other: list[str]) -> None:
    glob = compile_glob(pattern)

    assert [path for path in matching if not glob.matches(path)] == []
    assert [path for path in other if glob.matches(path)] == []


@given(st.text(alphabet="ab*?[]{},!/\\-^.", max_size=12), st.text(alphabet="ab/.-", max_size=8))
def test_any_pattern_compiles_or_is_a_search_error(pattern: str, path: str) -> None:
    try:
        glob = compile_glob(pattern)
    except SearchError:
        return

    assert glob.matches(path) in (True, False)


@pytest.mark.parametrize(
    ("pattern", "name", "says_all"),
    [
        ("*.py", "*.py", True),
        ("{a,b}.py", "{a,b}.py", True),
        ("src/*.py", "*.py", False),
        ("/a", "a", False),
        ("**", None, False),
        ("src/**", None, False),
        ("{a/b,c}/d", None, False),
    ],
)
def test_the_part_about_the_name_is_known(pattern: str, name: str | None, says_all: bool) -> None:
    glob = compile_glob(pattern)

    assert (glob.name_pattern, glob.name_only) == (name, says_all)


def test_paths_are_ordered_directory_by_directory() -> None:
    assert sorted(["a-b/x", "a/x", "a.py", "a/b/c"], key=path_order) == ["a/b/c", "a/x", "a-b/x", "a.py"]
