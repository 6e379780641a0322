"""What the guard moves away is kept where commands cannot change it."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from kaa.workspace.blocked import Blocked
from kaa.workspace.sandbox.saved_content import Copies, SavedDirectory, save_content
from kaa.workspace.sandbox.watch import GuardFinding


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

    copies, place = Copies(str(folder)), (str(project / ".vscode"), str(kept), "")
    copies.save(GuardFinding(*place, content=b"mine", mode=0o644, below="settings.json"))
    blocked = copies.save(GuardFinding(*place, content=b"mine, too", mode=0o755, below="snippets/a"))
    subprocess.run(["sh", "-c", blocked.way_back], check=True)

    assert (project / ".vscode" / "settings.json").read_text() == "mine"
    assert (project / ".vscode" / "snippets" / "a").read_text() == "mine, too"
    assert (tmp_path / "elsewhere").read_text() == "theirs"
    assert "What comes back is settings.json, snippets/a;" in blocked.text


def test_what_was_moved_to_the_same_place_before_does_not_come_back(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".vscode").mkdir(parents=True)
    place = str(project / ".vscode"), str(project / ".vscode.kaa-blocked"), ""
    copies = Copies(str(tmp_path / "home"))

    copies.save(GuardFinding(*place, content=b"a command's", below="tasks.json"))
    copies.close_directories()
    copies.save(GuardFinding(*place, content=b"older", below="settings.json"))
    blocked = copies.save(GuardFinding(*place, content=b"mine", below="settings.json"))
    subprocess.run(["sh", "-c", blocked.way_back], check=True)

    assert [(path.name, path.read_text()) for path in (project / ".vscode").iterdir()] == [("settings.json", "mine")]
    assert {path.read_text() for path in (tmp_path / "home").rglob("*") if path.is_file()} == {
        "a command's",
        "older",
        "mine",
    }


def test_a_way_back_that_was_told_brings_what_it_names(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".vscode").mkdir(parents=True)
    place = str(project / ".vscode"), str(project / ".vscode.kaa-blocked"), ""
    copies = Copies(str(tmp_path / "home"))
    first = copies.save(GuardFinding(*place, content=b"mine", below="settings.json"))

    copies.end_telling()
    copies.save(GuardFinding(*place, content=b"a command's", below="tasks.json"))
    second = copies.save(GuardFinding(*place, content=b"newer", below="settings.json"))

    subprocess.run(["sh", "-c", first.way_back], check=True)
    assert [(path.name, path.read_text()) for path in (project / ".vscode").iterdir()] == [("settings.json", "mine")]
    subprocess.run(["sh", "-c", second.way_back], check=True)
    assert sorted(path.read_text() for path in (project / ".vscode").iterdir()) == ["a command's", "newer"]
    assert second.includes(first)
    assert second.is_same_move(first)


def test_without_a_copy_one_file_of_a_directory_comes_back(tmp_path: Path) -> None:
    project = tmp_path / "project"
    kept = project / ".vscode.kaa-blocked"
    (kept / "snippets").mkdir(parents=True)
    (kept / "tasks.json").write_text("an earlier command's")
    (kept / "snippets" / "a").write_text("mine")
    (tmp_path / "file").touch()
    copies = Copies(str(tmp_path / "file"))

    blocked = copies.save(GuardFinding(str(project / ".vscode"), str(kept), "", content=b"mine", below="snippets/a"))
    subprocess.run(["sh", "-c", blocked.way_back], check=True)

    assert blocked.saved == ""
    assert [str(path.relative_to(project)) for path in (project / ".vscode").rglob("a")] == [".vscode/snippets/a"]
    assert (kept / "tasks.json").exists()


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


def test_directories_are_removed_with_the_rest(tmp_path: Path) -> None:
    old = SavedDirectory(str(tmp_path), ".vscode.kaa-blocked")
    old.save("settings.json", b"old", 0o644)
    os.utime(old.path, (0, 0))

    save_content(str(tmp_path), "/p/.envrc", b"new", 0o644)

    assert not Path(old.path).exists()


def test_a_file_gives_way_to_a_directory_and_a_directory_to_a_file(tmp_path: Path) -> None:
    directory = SavedDirectory(str(tmp_path), ".vscode.kaa-blocked")

    for path, content in (("snippets", b"file"), ("snippets/a", b"in a directory"), ("snippets", b"again")):
        assert directory.save(path, content, 0o644)

    assert directory.files == ["snippets"]
    assert [path.read_bytes() for path in Path(directory.path).iterdir()] == [b"again"]
    kept = {path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert kept == {b"file", b"in a directory", b"again"}
