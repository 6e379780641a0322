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
    ("pattern", "path"),
    [("**/" + "*a" * 40 + "x", "a" * 300), ("**/a/" * 40 + "x", "a/" * 2_000), ("**/" * 3 + "*?" * 40, "/" * 2_000)],
)
def test_no_pattern_takes_long(pattern: str, path: str) -> None:
    assert not compile_glob(pattern).matches(path)  # it would take longer than anybody waits for a test


@pytest.mark.parametrize("pattern", ["{a,b}" * 10, "{a,b}" * 9 + "c" * 3_000, "{" * 60 + "a" + "}" * 60])
def test_braces_that_stand_for_too_much_are_an_error(pattern: str) -> None:
    with pytest.raises(SearchError, match="braces"):
        compile_glob(pattern)


_PARTS = st.lists(st.sampled_from(["a", "b", "*", "**", "?", "[!a]"]), min_size=1, max_size=4).map("".join)
_PATHS = st.lists(st.sampled_from(["a", "b", "ab", "aab", ""]), min_size=1, max_size=5).map("/".join)


@given(st.lists(_PARTS, min_size=1, max_size=4), _PATHS)
def test_a_glob_matches_what_its_meaning_says(parts: list[str], path: str) -> None:
    said = fits(["**", *parts], path.split("/"))

    assert compile_glob("/".join(parts)).matches(path) == said


def fits(parts: list[str], names: list[str]) -> bool:
    """Whether parts of a glob fit parts of a path, tried in all ways."""
    if not parts:
        return not names
    if set(parts[0]) == {"*"} and len(parts[0]) > 1:
        if len(parts) == 1:
            return "/".join(names) != ""
        return any(fits(parts[1:], names[start:]) for start in range(len(names) + 1))
    return bool(names) and name_fits(parts[0], names[0]) and fits(parts[1:], names[1:])


def name_fits(part: str, name: str) -> bool:
    if not part:
        return not name
    if part[0] == "*":
        return any(name_fits(part[1:], name[start:]) for start in range(len(name) + 1))
    size = 4 if part[0] == "[" else 1
    return (
        bool(name)
        and (part[0] in ("?", name[0]) or (size == 4 and name[0] != "a"))
        and name_fits(part[size:], name[1:])
    )


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
