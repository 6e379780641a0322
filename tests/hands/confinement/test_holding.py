"""Holding protected names while commands exchange what is at them. In a mount namespace of a process of its own."""

import subprocess
from pathlib import Path

import pytest

from tests.support.warm_start import HandsProgram

pytestmark = pytest.mark.usefixtures("mounts")

_BEGIN = """
import ctypes, os, sys
from kaa.hands.confinement import mounts
from kaa.hands.confinement.holding import ReadOnlyMounts

os.chdir(sys.argv[1])
asking, answering = os.pipe(), os.pipe()
if not os.fork():  # another program, in the namespace of the host
    os.close(asking[1])
    while os.read(asking[0], 1):
        with open("new", "w"):
            pass
        os.rename("new", "project/.cargo/config.toml")
        os.write(answering[1], b"!")
    os._exit(0)
ids = os.getuid(), os.getgid()
if ctypes.CDLL(None, use_errno=True).unshare(0x10000000 | 0x20000):  # CLONE_NEWUSER, CLONE_NEWNS
    raise OSError(ctypes.get_errno(), "unshare")
for name, text in (("setgroups", "deny"), ("uid_map", f"0 {ids[0]} 1"), ("gid_map", f"0 {ids[1]} 1")):
    with open(f"/proc/self/{name}", "w") as file:
        file.write(text)
mounts.make_private()
mounts.share()
mounts.tmpfs(os.path.abspath("secret"), 0o700)
path = os.path.abspath("project/.cargo/config.toml")
holding = ReadOnlyMounts([path])
holding.hold()


def writable(path):
    return not os.statvfs(path).f_flag & os.ST_RDONLY


assert not writable(path)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".cargo").mkdir(parents=True)
    (tmp_path / "project" / ".cargo" / "config.toml").write_text("")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("canary")
    return tmp_path


def _run(folder: Path, script: str) -> None:
    with HandsProgram(Path("script"), str(folder), code=_BEGIN + script, stderr=subprocess.PIPE) as process:
        _, errors = process.communicate()
    assert process.returncode == 0, errors.decode()


@pytest.mark.parametrize("link", [".cargo", ".cargo/config.toml"])
def test_a_link_to_a_hidden_directory_uncovers_nothing(folder: Path, link: str) -> None:
    target = "../secret" if link == ".cargo" else "../../secret"
    _run(
        folder,
        f"""
os.rename("project/.cargo", "project/moved")
if {link!r} != ".cargo":
    os.mkdir("project/.cargo")
os.symlink({target!r}, "project/{link}")
os.symlink("/", "secret/config.toml")
assert os.listdir("secret") == ["config.toml"]
holding.release()
assert os.listdir("secret") == ["config.toml"], "uncovered"
assert writable("project/moved/config.toml"), "not released"
""",
    )


def test_what_was_replaced_many_times_is_released(folder: Path) -> None:
    _run(
        folder,
        """
files = len(os.listdir("/proc/self/fd"))
for _ in range(5):
    os.write(asking[1], b"!")
    os.read(answering[0], 1)
    assert writable(path)
    holding.hold()
    assert not writable(path)
assert len(os.listdir("/proc/self/fd")) == files
holding.release()
assert writable(path)
assert len(os.listdir("/proc/self/fd")) == files - 1
""",
    )


def test_what_hides_a_held_directory_stays(folder: Path) -> None:
    _run(
        folder,
        """
path = os.path.abspath("project/.cargo")
other = ReadOnlyMounts([path])
other.hold()
mounts.tmpfs(path, 0o700)
other.release()
assert os.listdir(path) == []
""",
    )


def test_a_new_directory_is_held_once_it_is_filled(folder: Path) -> None:
    _run(
        folder,
        """
holding = ReadOnlyMounts([], [os.path.abspath("project/.zed")])
os.makedirs("project/.zed/snippets")
holding.hold()
assert writable("project/.zed")
open("project/.zed/snippets/a", "x").close()
holding.hold()
assert not writable("project/.zed")
""",
    )
