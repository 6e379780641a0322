import pytest

from kaa.shell.trust.configuration import ConfigurationFile
from kaa.shell.trust.difference import Difference, difference, known


def test_files_that_are_the_same_are_no_difference() -> None:
    file = ConfigurationFile(".kaa/settings.json", "file", b"{}")

    assert difference({file.path: known(file)}, (file,)) == Difference()


def test_an_empty_file_that_is_gone_is_named_only() -> None:
    before = ConfigurationFile("__init__.py", "file", b"")

    assert difference({before.path: known(before)}, ()) == Difference(removed=("__init__.py",))


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (b"a\n", b"b\n", ["@@ -1 +1 @@", "-a", "+b"]),
        (b"a\n", b"a", ["@@ -1,2 +1 @@", " a", "-"]),
        (b"a\n\n", b"a\n", ["@@ -1,2 +1 @@", " a", "-"]),
        (b"\n", b"a\n", ["@@ -1,2 +1,2 @@", "+a", " ", "-"]),
    ],
)
def test_lines_are_compared_with_their_ends(before: bytes, after: bytes, shown: list[str]) -> None:
    was = ConfigurationFile("AGENTS.md", "file", before)

    found = difference({was.path: known(was)}, (ConfigurationFile("AGENTS.md", "file", after),))

    assert found.diff.split("\n")[2:] == shown


def test_a_byte_that_looks_like_its_escape_is_told() -> None:
    rest = b"# the same\n" * 10
    before = ConfigurationFile("check.sh", "file", b"cu\\x00rl\n" + rest)

    found = difference({before.path: known(before)}, (ConfigurationFile("check.sh", "file", b"cu\0rl\n" + rest),))

    assert found.diff.split("\n")[3:5] == ["-cu\\x00rl", "+cu\\x00rl"]


@pytest.mark.parametrize(
    ("now", "shown"),
    [
        (b"echo hi\n\0\ntouch made\n", ["+\\x00", "+touch made"]),
        (b"caf\xe9 \xff\n", ["+caf\\xe9 \\xff"]),
        (bytes(range(256)), ["not text"]),
    ],
)
def test_a_null_byte_hides_nothing_and_a_picture_is_no_text(now: bytes, shown: list[str]) -> None:
    before = ConfigurationFile("check.sh", "file", b"echo hi\n")

    text = difference({before.path: known(before)}, (ConfigurationFile("check.sh", "file", now),)).diff

    assert [line for line in shown if line not in text] == []
