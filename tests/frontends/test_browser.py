"""Addresses are opened where there is a screen, by the desktop's own program, and nothing else is opened."""

import os
import sys
from pathlib import Path

import pytest

from kaa.frontends.browser import open_in_browser

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="the program that opens addresses is another one")

_ADDRESS = "https://login.example/?a=b&c=$(d)"


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pipe that tells what the desktop was asked to open."""
    told = tmp_path / "told"
    os.mkfifo(told)
    program = tmp_path / "xdg-open"
    program.write_text(f"#!/bin/sh\nprintf '%s' \"$1\" > '{told}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return told


@pytest.mark.parametrize("screen", ["DISPLAY", "WAYLAND_DISPLAY"])
def test_an_address_is_handed_over_as_it_is(opened: Path, screen: str) -> None:
    assert open_in_browser(_ADDRESS, {**os.environ, screen: ":0"})

    assert opened.read_text() == _ADDRESS


@pytest.mark.parametrize("address", ["file:///etc/passwd", "javascript:alert(1)", "--help", ""])
def test_only_addresses_of_the_web_are_opened(opened: Path, address: str) -> None:
    assert not open_in_browser(address, {**os.environ, "DISPLAY": ":0"})


def test_without_a_screen_nothing_is_opened(opened: Path) -> None:
    assert not open_in_browser(_ADDRESS, {})


def test_without_the_program_nothing_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert not open_in_browser(_ADDRESS, {**os.environ, "DISPLAY": ":0"})
