from pathlib import Path

import pytest

from kaa.shell.home import Home
from kaa.shell.trust.configuration import ConfigurationFile, ProjectConfiguration
from kaa.shell.trust.store import TrustStore
from kaa.shell.trust.verdict import judge


def _configuration(content: bytes) -> ProjectConfiguration:
    return ProjectConfiguration("/project", (ConfigurationFile(".kaa/settings.json", "file", content),))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    TrustStore(home).trust(_configuration(b"{}"))
    return home


def test_a_stored_yes_counts_where_somebody_is_there_and_not_in_a_run_nobody_watches(home: Home) -> None:
    assert judge("stored", _configuration(b"{}"), home).configuration
    assert not judge("instructions", _configuration(b"{}"), home).configuration
    assert not judge("no", _configuration(b"{}"), home).configuration


def test_a_run_that_nobody_watches_names_what_counts_there(home: Home) -> None:
    notice = judge("instructions", _configuration(b"{}"), home).notice or ""

    assert ".kaa/settings.json" in notice
    assert "--trust uses it" in notice
    assert "not trusted" not in notice
    assert "/trust" not in notice


def test_a_change_ends_trust_and_is_told(home: Home) -> None:
    verdict = judge("stored", _configuration(b'{"retry": {}}'), home)

    assert not verdict.configuration
    assert verdict.notice is not None
    assert "changed since you trusted it" in verdict.notice


def test_what_is_not_trusted_is_named(tmp_path: Path) -> None:
    verdict = judge("no", _configuration(b"{}"), Home(tmp_path))

    assert ".kaa/settings.json" in (verdict.notice or "")
    assert "--trust" in (verdict.notice or "")


def test_without_configuration_there_is_nothing_to_tell(tmp_path: Path) -> None:
    assert judge("no", ProjectConfiguration("/project", ()), Home(tmp_path)).notice is None
