"""What the guard moves away is kept where commands cannot change it."""

import os
import subprocess
from pathlib import Path

from kaa.workspace.blocked import Blocked
from kaa.workspace.sandbox.saved_content import save_below, save_content


def test_the_copy_is_the_owners_and_there_are_some_hundred_for_some_days(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "moved-files"
    old = Path(save_content(str(folder), "/p/.envrc", b"old", 0o644))
    os.utime(old, (0, 0))

    copies = [Path(save_content(str(folder), "/p/hooks/pre-commit", b"%d" % one, 0o777)) for one in range(600)]

    assert not old.exists()
    assert copies[-1].read_bytes() == b"599"
    assert copies[-1].stat().st_mode & 0o777 == 0o700
    assert copies[-1].name.endswith("-pre-commit")
    assert len(os.listdir(folder)) == 512


def test_where_nothing_can_be_written_there_is_no_copy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert save_content(str(tmp_path / "file" / "moved-files"), "/p/.envrc", b"x", 0o644) == ""


def test_the_files_of_a_directory_are_kept_together_and_come_back_together(tmp_path: Path) -> None:
    folder, project = tmp_path / "home" / "moved-files", tmp_path / "my project"
    kept = project / ".vscode.kaa-blocked"
    (kept / "snippets").mkdir(parents=True)
    (kept / "settings.json").write_text("a command's")
    (kept / "snippets" / "large").write_text("large")

    tops = {
        save_below(str(folder), str(kept), "settings.json", b"mine", 0o644),
        save_below(str(folder), str(kept), "snippets/a", b"mine, too", 0o755),
        save_below(str(folder), str(kept), "snippets/large", b"", 0o644),
    }
    [top] = tops
    blocked = Blocked("protected", str(project / ".vscode"), str(kept), top)
    subprocess.run(["sh", "-c", blocked.way_back], check=True)

    assert (project / ".vscode" / "settings.json").read_text() == "mine"
    assert (project / ".vscode" / "snippets" / "a").read_text() == "mine, too"
    assert (project / ".vscode" / "snippets" / "large").read_text() == "large"


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
