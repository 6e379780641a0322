"""The project of these tests, which is no directory, is a repository with a remote at a host."""

from collections.abc import Iterator

import pytest

from kaa.hands.git_config import ConfigEntry
from kaa.shell.approvals import remotes
from tests.shell.approvals.judging import ROOT


@pytest.fixture(autouse=True)
def repository(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have git know `origin`."""
    real = remotes.configuration_of

    def configuration_of(root: str) -> Iterator[ConfigEntry]:
        if root != ROOT:
            return real(root)
        return iter([ConfigEntry("remote", "origin", "url", "git@example.com:x/y.git")])

    monkeypatch.setattr(remotes, "configuration_of", configuration_of)
