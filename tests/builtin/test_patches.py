"""Patches: reading them, finding their lines, and replacements that occur once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.builtin.patches import AddFile, DeleteFile, UpdateFile, parse_patch, replacements
from kaa.builtin.replacement import EditError
from kaa.builtin.text_edit import edit_bytes
from kaa.session.changed_paths import changed_paths
from tests.support.tables import each


def patched(before: str, body: str) -> str:
    """A file after the hunks in `body`."""
    [change] = parse_patch(f"*** Begin Patch\n*** Update File: a\n{body}\n*** End Patch")
    assert isinstance(change, UpdateFile)
    edited = edit_bytes(before.encode(), replacements(before, change.hunks))
    return edited.data.decode()


def test_a_patch_adds_deletes_updates_and_moves() -> None:
    patch = (
        "*** Begin Patch\n*** Add File: new.py\n+one\n+\n+two\n*** Delete File: old.py\n"
        "*** Update File: a.py\n*** Move to: b/a.py\n@@ class A\n@@ def f\n x\n-y\n+z\n*** End Patch"
    )

    added, deleted, updated = parse_patch(patch)

    assert added == AddFile("new.py", "one\n\ntwo\n")
    assert deleted == DeleteFile("old.py")
    assert isinstance(updated, UpdateFile)
    assert (updated.path, updated.target) == ("a.py", "b/a.py")
    [hunk] = updated.hunks
    assert hunk.anchors == ("class A", "def f")
    assert hunk.lines == ((" ", "x"), ("-", "y"), ("+", "z"))
    assert changed_paths("apply_patch", {"input": patch}) == ("new.py", "old.py", "a.py", "b/a.py")


@pytest.mark.parametrize("odd", ["\x0c", "\x0b", "\x1c", "\x85", "\u2028"])
def test_characters_that_only_unicode_takes_for_line_ends_are_characters(odd: str) -> None:
    before = f"k\na{odd}b\nk\nc{odd}d\n{odd}\nk\n"

    assert patched(before, "@@\n-k\n+K") == f"K{before[1:]}"
    assert patched(before, f"@@\n {odd}\n-k\n+K") == f"{before[:-2]}K\n"


@pytest.mark.parametrize(
    "wrapped",
    [
        "{}",
        "apply_patch <<'EOF'\n{}\nEOF",
        "```\n{}\n```",
        "{}\n\n",
        "Here it is:\n{}",
    ],
)
def test_what_models_put_around_a_patch_does_not_matter(wrapped: str) -> None:
    patch = wrapped.format("*** Begin Patch\n*** Delete File: a\n*** End Patch")

    assert parse_patch(patch) == (DeleteFile("a"),)


def test_the_first_and_the_last_line_may_be_missing() -> None:
    assert parse_patch("*** Add File: a\n+x") == (AddFile("a", "x\n"),)


@each(
    ("patch", "problem"),
    [
        ("", "the patch is empty"),
        ("*** Begin Patch\nhello\n*** End Patch", "line 1 of the patch begins no file: 'hello'"),
        ("*** Begin Patch\n*** Update File: \n*** End Patch", "names no file"),
        ("*** Begin Patch\n*** Update File: a\n*** End Patch", "changes nothing in a"),
        ("*** Begin Patch\n*** Update File: a\n@@\n x\n*** End Patch", "changes nothing: mark lines"),
        ("*** Begin Patch\n*** Update File: a\n@@\nx\n+y\n*** End Patch", "neither a blank, + nor -: 'x'"),
    ],
)
def test_what_is_no_patch_is_refused_with_the_line(patch: str, problem: str) -> None:
    with pytest.raises(EditError, match=r".") as raised:
        parse_patch(patch)

    assert problem in str(raised.value)


@each(
    ("before", "body", "after"),
    [
        ("a\nb\nc\n", "@@\n a\n-b\n+B\n c", "a\nB\nc\n"),
        # Lines that occur several times: the first behind the anchor, or behind the hunk before.
        ("def f:\n  x\ndef g:\n  x\n", "@@ def g:\n-  x\n+  y", "def f:\n  x\ndef g:\n  y\n"),
        ("x\nx\nx\n", "@@\n-x\n+1\n@@\n-x\n+2", "1\n2\nx\n"),
        ("x\n" * 9, "@@\n x\n-x\n+y\n x", "x\ny\n" + "x\n" * 7),
        # Loosely quoted context stays as it is in the file.
        ("if a:  \n\tb\n", "@@\n if a:\n-    b\n+\tc", "if a:  \n\tc\n"),
        # Without old lines: behind the anchor, or at the end.
        ("a\nb\n", "@@ a\n+new", "a\nnew\nb\n"),
        ("a\nb\n", "@@\n+new", "a\nb\nnew\n"),
        ("a\nb", "@@\n+new", "a\nb\nnew"),
        ("a\nb", "@@\n-b\n+c", "a\nc"),
        # The end of the file, where the lines are in it before, too.
        ("x\ny\nx\ny\n", "@@\n x\n-y\n+z\n*** End of File", "x\ny\nx\nz\n"),
        # An empty line before the next hunk is no line of the file.
        ("a\nb\n", "@@\n-a\n+A\n\n@@\n-b\n+B", "A\nB\n"),
        # Not in the order of the file, side by side, and at line numbers of another tool.
        ("a\nb\nc\n", "@@ -7,1 +7,1 @@\n-c\n+C\n@@\n-a\n+A", "A\nb\nC\n"),
        ("a\nb\nc\n", "@@\n-a\n+A\n@@\n-b\n+B", "A\nB\nc\n"),
        ("a\r\nb\r\nc\r\n", "@@\n a\n-b\n+B\n+BB\n c", "a\r\nB\r\nBB\r\nc\r\n"),
    ],
)
def test_hunks_find_their_lines(before: str, body: str, after: str) -> None:
    assert patched(before, body) == after


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("@@\n-nothing\n+x", "the file has no such lines:\nnothing"),
        ("@@ nowhere\n-a\n+x", "the file has no line 'nowhere'"),
        ("@@\n-a\n+x\n@@\n-a\n-b\n+y", "two hunks of the patch are about the same lines"),
    ],
)
def test_hunks_that_do_not_fit_are_refused(body: str, problem: str) -> None:
    with pytest.raises(EditError, match=r".") as raised:
        patched("a\nb\n", body)

    assert problem in str(raised.value)


_LINES = st.lists(st.sampled_from(["a", "b", "", "  c", "end"]), min_size=1, max_size=12)


@given(lines=_LINES, data=st.data())
def test_a_hunk_with_all_lines_changes_exactly_its_own(lines: list[str], data: st.DataObject) -> None:
    """Whatever repeats in a file: a hunk that quotes all of it says exactly what becomes of each line."""
    signs = [data.draw(st.sampled_from(" -+")) for _ in lines]
    body = [(sign, line) for sign, line in zip(signs, lines, strict=True)]
    before = "".join(f"{line}\n" for sign, line in body if sign != "+")
    after = "".join(f"{line}\n" for sign, line in body if sign != "-")
    if not before or before == after:
        return

    assert patched(before, "\n".join(["@@", *(f"{sign}{line}" for sign, line in body)])) == after
