"""Settings are written whole or not at all, for their owner, and not over somebody's mistake."""

import json
import threading
from pathlib import Path

import pytest

from kaa.shell.settings import SettingsError
from kaa.shell.settings_file import SettingsFile


def test_a_new_file_is_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "home" / "settings.json"

    SettingsFile(path).set({"theme": "light"})

    assert json.loads(path.read_text()) == {"theme": "light"}
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [each.name for each in path.parent.iterdir()] == ["settings.json"]


def test_the_rest_of_the_file_and_its_mode_stay(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{\n  // of another program\n  "unknown": [1,2],\n}\n')
    path.chmod(0o644)

    SettingsFile(path).set({"theme": "light"})

    assert path.read_text() == '{\n  // of another program\n  "unknown": [1,2],\n  "theme": "light",\n}\n'
    assert path.stat().st_mode & 0o777 == 0o644


def test_what_a_killed_kaa_left_beside_it_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    for name in (".settings.json.0123456789abcdef", ".settings.json.backup"):
        (tmp_path / name).write_text("{")

    SettingsFile(path).set({"theme": "light"})

    assert {each.name for each in tmp_path.iterdir()} == {"settings.json", ".settings.json.backup"}


def test_behind_a_link_the_file_itself_is_changed(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "kaa.json"
    real.parent.mkdir()
    real.write_text("{}")
    link = tmp_path / "settings.json"
    link.symlink_to(real)

    SettingsFile(link).set({"theme": "light"})

    assert link.is_symlink()
    assert json.loads(real.read_text()) == {"theme": "light"}


@pytest.mark.parametrize("content", [b'{"theme": ', b"[]", b'{"a": "\xff"}', b"// nothing else"])
def test_a_file_with_a_mistake_is_not_touched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(content)

    with pytest.raises(SettingsError, match=r"settings\.json was not changed, because it has a mistake"):
        SettingsFile(path).set({"theme": "light"})

    assert path.read_bytes() == content


def test_an_empty_file_is_no_mistake(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("\n")

    SettingsFile(path).set({"theme": "light"})

    assert json.loads(path.read_text()) == {"theme": "light"}


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(SettingsError, match=r"settings\.json cannot be changed: "):
        SettingsFile(tmp_path / "file" / "settings.json").set({"theme": "light"})


def test_two_at_a_time_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"

    def write(writer: int) -> None:
        for number in range(10):
            SettingsFile(path).set({f"key{writer}": number, f"only{writer}_{number}": 1})

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(json.loads(path.read_text())) == 33
