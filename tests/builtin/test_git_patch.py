"""Patches of what a session changed, applied by git."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kaa.builtin.git_patch import GitPatch, git_patch
from kaa.workspace.checkpoints.plans import FileDifference

_FILE = (0o644, 0o644)
_NEW, _GONE = (None, 0o644), (0o644, None)
_LONG = "".join(f"{number}\n" for number in range(5_000))


def applied(folder: Path, *differences: FileDifference) -> GitPatch:
    """The patch, applied by git in a folder that has what was there before."""
    for one in differences:
        path = folder / one.path
        if one.before is None:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if one.modes[0] is None:
            path.symlink_to(one.before.decode())
        else:
            path.write_bytes(one.before)
            path.chmod(one.modes[0])
    patch = git_patch(differences)
    if not patch.text:  # git takes none for a mistake
        return patch
    command = ["git", "apply", "--whitespace=nowarn", "-"]
    done = subprocess.run(command, cwd=folder, input=patch.text.encode(), capture_output=True, check=False)
    assert done.returncode == 0, f"{done.stderr.decode()}\n{patch.text}"
    return patch


@pytest.mark.parametrize(
    "difference",
    [
        FileDifference("a", b"one\ntwo\n", b"one\n2\n3\n", _FILE),
        FileDifference("a", b"one\ntwo", b"one\ntwo\n", _FILE),
        FileDifference("a", b"one\r\ntwo\x0c\r\n", b"one\r\n2\x0c\r\n", _FILE),
        FileDifference("a", _LONG.encode(), _LONG.replace("2500", "x").encode(), _FILE),
        FileDifference("a", _LONG.encode(), (f"new\n{_LONG.replace('1', 'x')}new\n").encode(), _FILE),
        FileDifference("sub/a b", None, b"one\n", _NEW),
        FileDifference("a", None, b"", _NEW),
        FileDifference("a", b"one\n", None, _GONE),
        FileDifference("a", b"", None, _GONE),
        FileDifference("a", b"", b"x", _FILE),
        FileDifference("a", b"x\n", b"x\n", (0o644, 0o755)),
        FileDifference("a", b"x\n", b"y\n", (0o755, 0o644)),
        FileDifference("a", b"x\0" * 200, bytes(range(256)) * 9, _FILE),
        FileDifference("a", None, b"\0", (None, 0o755)),
        FileDifference("a", b"caf\xe9\n", b"caf\xe8\n", _FILE),
        FileDifference("a", b"caf\xc3\xa9\n", None, _GONE),
        FileDifference('tab\tq"uote \\', b"one\n", b"two\n", _FILE),
        FileDifference("line\nbreak", None, b"one\n", _NEW),
        FileDifference("\u00e9", b"one\n", b"two\n", _FILE),
        FileDifference("link", None, b"target", (None, None)),
        FileDifference("link", b"target", b"content\n", (None, 0o644)),
    ],
)
def test_git_makes_of_a_file_what_the_session_made_of_it(tmp_path: Path, difference: FileDifference) -> None:
    patch = applied(tmp_path, difference)

    path = tmp_path / difference.path
    assert patch.left_out == ()
    assert os.path.lexists(path) == (difference.after is not None)
    if difference.after is not None and path.is_symlink():
        assert str(path.readlink()).encode() == difference.after
    elif difference.after is not None:
        assert path.read_bytes() == difference.after
        assert bool(path.stat().st_mode & 0o100) == bool((difference.modes[1] or 0) & 0o100)


_TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "\n", "c"]), max_size=12).map(lambda lines: "".join(lines).encode())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(_TEXTS, _TEXTS), min_size=8, max_size=8))
def test_git_takes_any_change_of_text(tmp_path: Path, contents: list[tuple[bytes, bytes]]) -> None:
    differences = [FileDifference(f"{number}", *both, _FILE) for number, both in enumerate(contents)]

    applied(tmp_path, *differences)

    assert [(tmp_path / one.path).read_bytes() for one in differences] == [one.after for one in differences]


def test_a_link_that_a_deleted_file_replaces_is_no_target_of_a_rename(tmp_path: Path) -> None:
    applied(
        tmp_path,
        FileDifference("link", b"target", b"content\n", (None, 0o644)),
        FileDifference("old", b"content\n", None, _GONE),
    )

    assert [path.name for path in tmp_path.iterdir()] == ["link"]
    assert (tmp_path / "link").read_bytes() == b"content\n"


def test_a_file_that_is_moved_is_renamed(tmp_path: Path) -> None:
    patch = applied(tmp_path, FileDifference("new/a b", None, b"x\n", _NEW), FileDifference("old", b"x\n", None, _GONE))

    assert "rename from old\nrename to new/a b\n" in patch.text
    assert (tmp_path / "new/a b").read_bytes() == b"x\n"
    assert not (tmp_path / "old").exists()


def test_what_a_patch_cannot_have_is_named(tmp_path: Path) -> None:
    outside = FileDifference("/elsewhere/a", b"x\n", b"y\n", _FILE)
    unknown = FileDifference("large", None, b"y\n", _FILE)

    patch = git_patch([outside, unknown])

    assert patch.text == ""
    assert patch.left_out == ("/elsewhere/a: it is not in the project", "large: its content is not kept")
