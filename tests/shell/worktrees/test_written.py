"""What is on disk is what git was to write there, byte for byte."""

import os
import subprocess
from pathlib import Path

import pytest

from kaa.shell.worktrees.written import Written, has_content


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_a_content_is_that_of_its_name_in_git(tmp_path: Path, form: str) -> None:
    subprocess.run(["git", "init", "-q", f"--object-format={form}", tmp_path], check=True)
    for name, content in (("empty", b""), ("dos", b"a\r\nb\r\n"), ("long", b"x" * 3_000_000)):
        (tmp_path / name).write_bytes(content)
        done = subprocess.run(
            ["git", "hash-object", "--no-filters", name], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        file = Written("A", name, "100644", done.stdout.strip())

        assert has_content(str(tmp_path), file)
        (tmp_path / name).write_bytes(content.replace(b"\r", b"") + b"\n")
        assert not has_content(str(tmp_path), file)


def test_what_is_no_file_or_link_of_this_content_is_something_else(tmp_path: Path) -> None:
    blob = "2e65efe2a145dda7ee51d1741299f848e5bf752e"  # "a"
    file, link = Written("A", "file", "100644", blob), Written("A", "link", "120000", blob)
    (tmp_path / "a").write_text("a")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "file").symlink_to("a")

    assert has_content(str(tmp_path), link)
    assert not has_content(str(tmp_path), file)
    (tmp_path / "file").unlink()
    assert not has_content(str(tmp_path), file)
    os.mkfifo(tmp_path / "file")
    assert not has_content(str(tmp_path), file)
    (tmp_path / "link").unlink()
    (tmp_path / "link").write_text("a")
    assert not has_content(str(tmp_path), link)
