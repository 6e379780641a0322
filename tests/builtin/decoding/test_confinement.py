"""A decoder that an image has taken over can do nothing: it is Pillow's double here, which tries."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from kaa.builtin.decoding import decoder
from kaa.hands.confinement import landlock

_SCRIPT = Path(decoder.__file__).with_name("__main__.py")

# Loaded instead of Pillow. Decoding is an attempt; what comes of it is told as what is wrong with the image.
_IMAGE = """
class Names:
    def __getattr__(self, name): return name
Transpose = Names()
def preinit(): pass
class Image: pass
"""
_PLUGIN = """
import os, resource, signal, socket
def attempt():
    {attempt}
class PngImageFile:
    def __init__(self, stream):
        stream.read()
        try:
            outcome = attempt()
        except (OSError, MemoryError) as error:
            raise ValueError("refused: " + type(error).__name__)
        raise ValueError("done: " + str(outcome))
"""


def outcome(folder: Path, attempt: str) -> str:
    """What the process says after an attempt; empty if it was killed."""
    fake = folder / "fake" / "PIL"
    fake.mkdir(parents=True)
    (fake / "__init__.py").touch()
    for name in ("ImageFile", "ImageOps", "ImageColor", "ImagePalette", "JpegImagePlugin"):
        (fake / f"{name}.py").write_text("ImageFile = object\n")
    (fake / "TiffImagePlugin.py").touch()
    (fake / "Image.py").write_text(_IMAGE)
    (fake / "PngImagePlugin.py").write_text(_PLUGIN.format(attempt=attempt))
    done = subprocess.run(
        [sys.executable, "-I", "-S", _SCRIPT, "image/png", fake.parent, *filter(os.path.isabs, sys.path)],
        input=b"image",
        capture_output=True,
        check=False,
    )
    return str(msgspec.json.decode(done.stdout)["error"]) if done.returncode == 0 else ""


def test_the_double_is_what_decodes(tmp_path: Path) -> None:
    assert "done: 3" in outcome(tmp_path, "return 1 + 2")


@pytest.mark.parametrize(
    "attempt",
    [
        "return open('/etc/passwd').read()",
        "return os.listdir('/')",
        "return open('{folder}/canary', 'w')",
        "return os.unlink('{folder}/victim')",
        "return os.execv('/bin/sh', ['sh', '-c', 'echo > {folder}/canary'])",
        "return socket.socket(socket.AF_INET)",
        "return socket.socket(socket.AF_UNIX)",
    ],
)
@pytest.mark.skipif(not landlock.abi(), reason="the kernel has no Landlock")
def test_it_reaches_nothing(tmp_path: Path, attempt: str) -> None:
    (tmp_path / "victim").touch()

    said = outcome(tmp_path, attempt.format(folder=tmp_path))

    assert "refused: PermissionError" in said
    assert not (tmp_path / "canary").exists()
    assert (tmp_path / "victim").exists()


def test_its_memory_is_limited(tmp_path: Path) -> None:
    assert "too large to be decoded safely" in outcome(tmp_path, "raise OverflowError")
    assert "done: 671088640" in outcome(tmp_path / "limit", "return resource.getrlimit(resource.RLIMIT_AS)[1]")
    assert "refused: MemoryError" in outcome(tmp_path / "take", "return bytearray(2 << 30)")


def test_its_time_is_limited(tmp_path: Path) -> None:
    assert "done: 20" in outcome(tmp_path, "return resource.getrlimit(resource.RLIMIT_CPU)[0]")
    assert outcome(tmp_path / "spent", "os.kill(os.getpid(), signal.SIGXCPU)") == ""
