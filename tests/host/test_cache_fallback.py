"""Where caches go if the home cannot be written: a private folder, or nowhere."""

import os
from pathlib import Path

import pytest

from kaa.host.cache_fallback import fall_back


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home in which nothing can be made, not even by root."""
    (tmp_path / "home").write_text("no directory")
    return tmp_path / "home"


def test_a_home_that_can_be_written_keeps_them(tmp_path: Path) -> None:
    environ: dict[str, str] = {}

    assert fall_back(environ, str(tmp_path)) == ""
    assert environ == {}


def test_they_go_to_a_private_folder_of_the_session(tmp_path: Path, home: Path) -> None:
    environ = {"XDG_RUNTIME_DIR": str(tmp_path)}

    told = fall_back(environ, str(home))

    folder = tmp_path / f"kaa-{os.getuid()}"
    assert environ["XDG_CACHE_HOME"] == str(folder)
    assert told.startswith(f"{home}/.cache/kaa cannot be written")
    assert str(folder) in told
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_prepared_is_not_used(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    environ = {"XDG_RUNTIME_DIR": str(tmp_path)}
    folder = tmp_path / f"kaa-{os.getuid()}"
    folder.symlink_to(tmp_path)
    assert fall_back(environ, str(home)) == ""
    folder.unlink()
    folder.mkdir()
    folder.chmod(0o777)
    assert fall_back(environ, str(home)) == ""

    assert "XDG_CACHE_HOME" not in environ


def test_what_the_user_named_stays(tmp_path: Path, home: Path) -> None:
    environ = {"XDG_RUNTIME_DIR": str(tmp_path), "XDG_CACHE_HOME": "/proc/none"}

    assert fall_back(environ, str(home)) == ""
    assert environ["XDG_CACHE_HOME"] == "/proc/none"
