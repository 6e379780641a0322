"""Where the user's folder is."""

import os
from pathlib import Path

import pytest

from kaa.shell.home import Home, expanded
from kaa.shell.settings import SettingsError


def test_it_is_in_the_user_s_home_unless_kaa_dir_moves_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    assert Home.of({}).path == tmp_path / ".kaa/agent"
    assert Home.of({"KAA_DIR": ""}).path == tmp_path / ".kaa/agent"
    assert Home.of({"KAA_DIR": "~/own"}).path == tmp_path / "own"
    assert Home.of({"KAA_DIR": "rel"}).path == Path("rel")


def test_a_home_inside_the_project_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", os.path.join("some", "project"))

    with pytest.raises(SettingsError, match="set HOME or KAA_DIR"):
        Home.of({})


def test_the_home_of_a_user_nobody_knows_is_left_as_it_is() -> None:
    assert expanded("~nobody-of-this-name/x") == Path("~nobody-of-this-name/x")
