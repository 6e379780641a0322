import os
from pathlib import Path

import pytest

from kaa.frontends.interactive import image_input
from kaa.frontends.interactive.image_input import NoClipboardError, read_clipboard_image
from tests.support.agents import run


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of all programs there are."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def _install(programs: Path, name: str, script: str) -> None:
    (programs / name).write_text(f"#!/bin/sh\n{script}\n")
    (programs / name).chmod(0o755)


def test_each_kind_of_desktop_has_its_program(programs: Path) -> None:
    _install(programs, "wl-paste", 'echo "wayland $*"')
    _install(programs, "xclip", 'echo "x11 $*"')

    assert run(
        read_clipboard_image({"PATH": os.environ["PATH"], "WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"})
    ).startswith(b"wayland ")
    assert b"image/png" in run(read_clipboard_image({"PATH": os.environ["PATH"], "DISPLAY": ":0"}))
    assert run(read_clipboard_image({"PATH": os.environ["PATH"], "DISPLAY": ":0"})).startswith(b"x11 ")


def test_another_program_is_asked_when_one_has_nothing(programs: Path) -> None:
    _install(programs, "wl-paste", "exit 1")
    _install(programs, "xclip", "echo x11")

    assert (
        run(read_clipboard_image({"PATH": os.environ["PATH"], "WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}))
        == b"x11\n"
    )


def test_an_empty_clipboard_is_said(programs: Path) -> None:
    _install(programs, "xclip", "echo 'Error: target image/png not available' >&2; exit 1")

    with pytest.raises(NoClipboardError, match="no image in the clipboard"):
        run(read_clipboard_image({"PATH": os.environ["PATH"], "DISPLAY": ":0"}))


@pytest.mark.usefixtures("programs")
def test_what_to_install_is_said() -> None:
    with pytest.raises(NoClipboardError, match="install wl-clipboard"):
        run(read_clipboard_image({"PATH": os.environ["PATH"], "DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0"}))


def test_a_program_that_hangs_is_given_up(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_input, "_TIMEOUT_SECONDS", 0.05)
    _install(programs, "pngpaste", "exec /bin/sleep 1000")

    with pytest.raises(NoClipboardError, match="no image in the clipboard"):
        run(read_clipboard_image({"PATH": os.environ["PATH"]}))
