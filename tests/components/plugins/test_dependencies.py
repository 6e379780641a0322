"""Which plugins a plugin needs, and which versions of them will do."""

from kaa.components.plugins.dependencies import Dependency, dependencies_in, fits, range_in, version_in
from kaa.core.messages import Json
from tests.support.tables import each


@each(
    ("written", "expected"),
    [
        ("base", Dependency("base")),
        ("base@other", Dependency("base", "other")),
        ("base@other@^1.2", Dependency("base", "other", "^1.2")),
        ({"name": "base"}, Dependency("base")),
        ({"name": "base", "version": "~2.1.0"}, Dependency("base", "", "~2.1.0")),
        ({"name": "base", "marketplace": "other", "version": ">=1 <3"}, Dependency("base", "other", ">=1 <3")),
    ],
)
def test_entries_have_three_forms(written: Json, expected: Dependency) -> None:
    assert dependencies_in([written]) == ((expected,), [])


@each(
    "written",
    [
        "",
        "../x",
        "a b",
        "a@../b",
        "a@b@one",
        {"name": 1},
        {"version": "1"},
        {"name": "a", "version": "\x1b[1"},
        3,
        [[]],
    ],
)
def test_entries_that_say_nothing_clear_are_named(written: Json) -> None:
    found, notes = dependencies_in([written, "good"])

    assert found == (Dependency("good"),)
    assert len(notes) == 1


def test_a_thousand_dependencies_are_not_all_read() -> None:
    found, notes = dependencies_in([f"p{number}" for number in range(1000)])

    assert len(found) == 50
    assert notes == ["only the first 50 of `dependencies` are used"]


@each(
    ("wanted", "good", "bad"),
    [
        ("^1.2", "1.2.0 1.9.3", "1.1.9 2.0.0 2.0.0-beta 1.3.0-beta"),
        ("^0.2.3", "0.2.3 0.2.9", "0.2.2 0.3.0 1.0.0"),
        ("^0.0.3", "0.0.3", "0.0.4"),
        ("~2.1.0", "2.1.0 2.1.7", "2.2.0 2.0.9"),
        ("~2", "2.0.0 2.9.0", "3.0.0"),
        (">=1.4", "1.4.0 7.0.0", "1.3.9"),
        ("=2.1.0", "2.1.0 v2.1.0+build", "2.1.1"),
        ("1.x", "1.0.0 1.7.2", "2.0.0 0.9.0"),
        ("1.2 - 2", "1.2.0 2.9.9", "1.1.9 3.0.0"),
        (">1.2", "1.3.0", "1.2.9"),
        ("<=1.2", "1.2.9 0.1.0", "1.3.0"),
        ("<1 || >= 3", "0.9.0 3.0.0", "1.0.0 2.9.9"),
        (">=2.0.0-rc.1", "2.0.0-rc.1 2.0.0-rc.11 2.0.0", "2.0.0-beta.9 2.1.0-rc.1"),
        ("*", "0.0.1", "1.0.0-beta"),
        ("", "1.0.0 none", ""),
    ],
)
def test_ranges_are_those_of_npm(wanted: str, good: str, bad: str) -> None:
    assert [version for version in good.split() if not fits(version, wanted)] == []
    assert [version for version in bad.split() if fits(version, wanted)] == []


@each("text", ["one", "^", ">=", "1.2.3.4", "1..2", "a || 1", "01.2.3", "1" * 300, "9" * 40])
def test_what_is_no_range_is_none(text: str) -> None:
    assert range_in(text) is None


def test_versions_compare_as_numbers() -> None:
    written = [
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-alpha.beta",
        "1.0.0-rc.2",
        "1.0.0-rc.11",
        "1.0.0",
        "1.9.0",
        "1.10.0",
    ]

    found = [version for text in reversed(written) if (version := version_in(text)) is not None]

    assert sorted(found) == found[::-1]
    assert version_in("1.0") is None
