"""What the guard moves away is kept where commands cannot change it."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from kaa.workspace.blocked import Blocked
from kaa.workspace.sandbox.saved_content import save_below, save_content


def test_the_copy_is_the_owners_and_stays_for_some_days(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "moved-files"
    old = Path(save_content(str(folder), "/p/.envrc", b"old", 0o644))
    os.utime(old, (0, 0))

    copy = Path(save_content(str(folder), "/p/hooks/pre-commit", b"new", 0o777))

    assert not old.exists()
    assert copy.read_bytes() == b"new"
    assert copy.stat().st_mode & 0o777 == 0o700
    assert copy.name.endswith("-pre-commit")


@pytest.mark.parametrize(("age", "left"), [(0, 600), (2 * 24 * 3600, 512)])
def test_of_many_only_those_of_another_day_go(tmp_path: Path, age: int, left: int) -> None:
    for number in range(599):
        path = tmp_path / f"copy{number}"
        path.touch()
        os.utime(path, (time.time() - age,) * 2)

    save_content(str(tmp_path), "/p/.envrc", b"new", 0o644)

    assert len(os.listdir(tmp_path)) == left


def test_where_nothing_can_be_written_there_is_no_copy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert save_content(str(tmp_path / "file" / "moved-files"), "/p/.envrc", b"x", 0o644) == ""


def test_the_files_of_a_directory_are_kept_together_and_come_back_together(tmp_path: Path) -> None:
    folder, project = tmp_path / "home" / "moved-files", tmp_path / "my project"
    kept = project / ".vscode.kaa-blocked"
    kept.mkdir(parents=True)
    (kept / "settings.json").write_text("a command's")
    (project / ".vscode").mkdir()
    (tmp_path / "elsewhere").write_text("theirs")
    (project / ".vscode" / "settings.json").symlink_to(tmp_path / "elsewhere")

    tops = {
        save_below(str(folder), str(kept), "settings.json", b"mine", 0o644),
        save_below(str(folder), str(kept), "snippets/a", b"mine, too", 0o755),
    }
    [top] = tops
    blocked = Blocked("protected", str(project / ".vscode"), str(kept), top)
    subprocess.run(["sh", "-c", blocked.way_back], check=True)

    assert (project / ".vscode" / "settings.json").read_text() == "mine"
    assert (project / ".vscode" / "snippets" / "a").read_text() == "mine, too"
    assert (tmp_path / "elsewhere").read_text() == "theirs"


@pytest.mark.parametrize(
    "name", [b"new\nline", b"\x1b]0;t\x07esc", "bidi\u202e'gnp\\".encode(), b"bad\xff$(x)", b"a'b c"]
)
def test_the_way_back_that_is_shown_works_for_every_name(tmp_path: Path, name: bytes) -> None:
    project = tmp_path / os.fsdecode(name)
    project.mkdir()
    copy = save_content(str(tmp_path / "home"), str(project / ".envrc"), b"mine", 0o644)
    (project / ".envrc.kaa-blocked").write_text("a command's")

    for saved, content in ((copy, "mine"), ("", "a command's")):
        blocked = Blocked("protected", str(project / ".envrc"), str(project / ".envrc.kaa-blocked"), saved)
        shown = blocked.text.rpartition(" (")[2].removesuffix(" puts it back, outside the sandbox.)")
        subprocess.run(["bash", "-c", shown], check=True)

        assert shown.isprintable()
        assert (project / ".envrc").read_text() == content


def test_what_was_kept_of_a_directory_of_the_same_name_stays(tmp_path: Path) -> None:
    first, second = (
        save_below(str(tmp_path), "/p/.vscode.kaa-blocked", "settings.json", content, 0o644)
        for content in (b"first", b"second")
    )

    top = Path(second)
    assert first == second
    assert {path.read_bytes() for path in top.iterdir()} == {b"first", b"second"}
    assert (top / "settings.json").read_bytes() == b"second"


def test_directories_are_removed_with_the_rest(tmp_path: Path) -> None:
    old = Path(save_below(str(tmp_path), "/p/.vscode.kaa-blocked", "settings.json", b"old", 0o644))
    os.utime(old, (0, 0))

    save_content(str(tmp_path), "/p/.envrc", b"new", 0o644)

    assert not old.exists()


def test_a_file_gives_way_to_a_directory_and_a_directory_to_a_file(tmp_path: Path) -> None:
    kept = "/p/.vscode.kaa-blocked"
    save_below(str(tmp_path), kept, "snippets", b"file", 0o644)

    save_below(str(tmp_path), kept, "snippets/a", b"in a directory", 0o644)
    top = Path(save_below(str(tmp_path), kept, "snippets", b"again", 0o644))

    kept_contents = {path.read_bytes() for path in top.rglob("*") if path.is_file()}
    assert kept_contents == {b"file", b"in a directory", b"again"}
    assert (top / "snippets").read_bytes() == b"again"
