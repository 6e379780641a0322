"""A run's home has the user's models and keys, the settings of the variant, and nothing else of the user."""

import json
from pathlib import Path

import pytest

from kaa.frontends.lab.attempt import furnish
from kaa.shell.home import Home
from kaa.shell.settings import SettingsError


@pytest.fixture
def user(tmp_path: Path) -> Path:
    folder = tmp_path / "user"
    folder.mkdir()
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def private(path: Path, content: object) -> None:
    path.write_text(json.dumps(content))
    path.chmod(0o600)


def test_choices_of_models_are_kept_and_everything_else_is_left(user: Path, folder: Path) -> None:
    mine = {"defaultModel": "m", "defaultProvider": "p", "features": {"briefing": False}, "extensions": ["/x.py"]}
    (user / "settings.json").write_text(f"// mine\n{json.dumps(mine)}")
    (user / "AGENTS.md").write_text("Speak French.")
    (user / "models.json").write_text('{"providers": {}}')

    furnish(folder, Home(user), {"defaultModel": "other"}, (Path("/tasks"),))

    settings = json.loads((folder / "settings.json").read_text())
    assert settings == {"defaultModel": "other", "defaultProvider": "p", "sandbox": {"hidden": ["/tasks"]}}
    assert sorted(path.name for path in folder.iterdir()) == ["models.json", "settings.json"]
    assert (folder / "settings.json").stat().st_mode & 0o777 == 0o600


def test_what_a_variant_hides_stays_hidden(user: Path, folder: Path) -> None:
    furnish(folder, Home(user), {"sandbox": {"hidden": ["/mine"], "network": "off"}}, (Path("/tasks"),))

    sandbox = json.loads((folder / "settings.json").read_text())["sandbox"]
    assert sandbox == {"hidden": ["/mine", "/tasks"], "network": "off"}


def test_keys_are_copied_and_logins_stay_where_they_are(user: Path, folder: Path) -> None:
    key = {"type": "api_key", "key": "k"}
    private(user / "auth.json", {"one": key, "two": {"type": "oauth", "access": "a", "refresh": "r"}, "three": 3})

    furnish(folder, Home(user), {}, ())

    assert json.loads((folder / "auth.json").read_text()) == {"one": key}
    assert (folder / "auth.json").stat().st_mode & 0o777 == 0o600


def test_files_that_cannot_be_relied_on_are_refused(user: Path, folder: Path) -> None:
    private(user / "auth.json", {})
    (user / "auth.json").chmod(0o644)

    with pytest.raises(SettingsError, match=r"auth\.json"):
        furnish(folder, Home(user), {}, ())


def test_broken_settings_are_named(user: Path, folder: Path) -> None:
    (user / "settings.json").write_text("{")

    with pytest.raises(SettingsError, match=r"settings\.json"):
        furnish(folder, Home(user), {}, ())
