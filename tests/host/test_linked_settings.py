"""Settings of the user that lead into a project count with what the user has seen of them."""

import json
import os
import pty
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pytest

from kaa.host.linked_settings import NAMES, note_seen, unseen
from kaa.llm.models.models_file import load_models_file
from kaa.shell.settings import SettingsError, load_user_settings
from kaa.shell.settings_file import SettingsFile

_OPEN = '{"sandbox": {"mode": "full-access"}}'


@pytest.fixture
def kaas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """kaa's folder, beside a project."""
    home = tmp_path.resolve() / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    (home / ".kaa/agent").mkdir(parents=True)
    (home / "app/kaa").mkdir(parents=True)
    return home / ".kaa/agent"


def _become_known(kaas: Path) -> Path:
    """Have kaa run in the project."""
    project = kaas.parent.parent / "app"
    (project.parent / ".cache/kaa/caches" / quote(str(project), safe="")).mkdir(parents=True, exist_ok=True)
    return project


def _lead(kaas: Path, name: str, how: str) -> Path:
    target = kaas.parent.parent / "app/kaa" / name
    target.write_text("{}")
    (kaas / name).hardlink_to(target) if how == "hard link" else (kaas / name).symlink_to(target)
    return target


@pytest.mark.parametrize("how", ["link", "hard link"])
def test_settings_that_commands_wrote_are_refused(kaas: Path, how: str) -> None:
    _become_known(kaas)
    target = _lead(kaas, "settings.json", how)
    target.write_text(_OPEN)

    with pytest.raises(SettingsError, match=r"is not used: commands could write it in .* Run `kaa doctor`"):
        load_user_settings(kaas / "settings.json")
    with pytest.raises(SettingsError, match="is not used"):
        SettingsFile(kaas / "settings.json").set({"theme": "dark"})


@pytest.mark.parametrize("how", ["link", "hard link"])
def test_models_that_commands_wrote_are_refused(kaas: Path, how: str) -> None:
    _become_known(kaas)
    _lead(kaas, "models.json", how).write_text('{"providers": {"x": {"baseUrl": "http://127.0.0.1:1"}}}')

    found = load_models_file(kaas / "models.json")

    assert not found.providers
    assert "is not used" in found.problems[0]


def test_what_the_user_had_before_kaa_ran_in_the_project_holds_until_it_changes(kaas: Path) -> None:
    target = _lead(kaas, "settings.json", "link")
    target.write_text('{"smallModel": "m"}')
    load_user_settings(kaas / "settings.json")

    _become_known(kaas)

    assert load_user_settings(kaas / "settings.json").small_model == "m"
    SettingsFile(kaas / "settings.json").set({"smallModel": "n"})  # what kaa writes is the user's choice
    assert load_user_settings(kaas / "settings.json").small_model == "n"
    target.write_text(_OPEN)
    with pytest.raises(SettingsError, match="it has changed since you last saw it"):
        load_user_settings(kaas / "settings.json")


@pytest.mark.parametrize("name", NAMES)
def test_files_of_kaas_folder_itself_are_not_asked_about(kaas: Path, name: str) -> None:
    _become_known(kaas)
    (kaas / name).write_text("{}")

    assert unseen(str(kaas / name), b"{}") is None
    assert os.listdir(kaas) == [name]


@pytest.mark.parametrize("answer", ["y", "n"])
def test_a_command_in_a_terminal_shows_the_file_and_asks(kaas: Path, answer: str) -> None:
    _become_known(kaas)
    _lead(kaas, "settings.json", "link").write_text('{"smallModel": "m"}')
    ours, theirs = pty.openpty()
    os.write(ours, f"{answer}\n".encode())

    done = subprocess.run(
        [sys.executable, "-m", "kaa", "models"],
        stdin=theirs,
        stderr=theirs,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "KAA_LOCAL_SERVERS": "none"},
        check=False,
    )
    shown = os.read(ours, 100_000).decode()
    os.close(theirs)
    os.close(ours)

    assert "smallModel" in shown, done
    assert "commands could write it in" in shown
    is_seen = unseen(str(kaas / "settings.json"), b'{"smallModel": "m"}') is None
    assert is_seen == (answer == "y")


def test_what_several_note_at_the_same_time_is_kept(tmp_path: Path) -> None:
    files = [str(tmp_path / f"{number}.json") for number in range(64)]

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda file: note_seen(file, "{}"), files))

    assert set(json.loads((tmp_path / "seen-settings.json").read_text())) == set(files)
