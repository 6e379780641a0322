"""What is hidden is remembered as long as it stays the same, and not longer."""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kaa.hands.confinement.layout import concealment
from kaa.hands.confinement.upkeep import RememberedConcealment
from kaa.hands.policy import Policy
from tests.support.ordinary import as_ordinary_user, open_directory, own

_COARSE_CLOCK = 5


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    for name in ("work", ".config/gh", ".tool/a", ".empty", "elsewhere/deep"):
        (home / name).mkdir(parents=True)
    (home / ".tool/a/settings.xml").touch()
    (home / ".linked").symlink_to("elsewhere")
    return home


@pytest.fixture
def policy(home: Path) -> Policy:
    names = (
        ".config/gh",
        ".config/gh-other",
        ".netrc",
        ".tool/*/settings*.xml",
        ".linked/deep/token",
        ".*_history",
        ".empty/*",
    )
    return Policy(
        tier="full",
        mode="workspace-write",
        writable=(str(home / "work"),),
        hidden=tuple(str(home / name) for name in names),
        shown=(str(home / ".config/gh/shown"),),
    )


def _settle() -> None:
    """Wait until the coarse clock of the kernel is past everything so far: the times of files can be ahead of it."""
    now = time.time_ns()
    while time.clock_gettime_ns(_COARSE_CLOCK) <= now:
        time.sleep(0.001)


def _keeps(remembered: RememberedConcealment) -> bool:
    """Whether it gives the same object again. Other processes change directories above the home, such as /tmp."""
    for _ in range(100):
        _settle()
        if remembered.hidden() is remembered.hidden():
            return True
    return False


def _remembered(policy: Policy) -> RememberedConcealment:
    remembered = RememberedConcealment(policy)
    assert _keeps(remembered)
    return remembered


def test_what_has_not_changed_is_not_looked_for_again(home: Path, policy: Policy) -> None:
    remembered = _remembered(policy)

    (home / "work/file").touch()
    (home / "elsewhere/deep/other").mkdir()
    (home / ".config/gh/hosts.yml").touch()

    assert set(remembered.hidden()) == {str(home / ".config/gh"), str(home / ".tool/a/settings.xml")}
    assert _keeps(remembered)


def _link_to_what_comes_later(home: Path) -> None:
    (home / "elsewhere/deep/token").symlink_to(home.parent / "later/token")


def _exchange_directory(home: Path) -> None:
    os.rename(home / ".tool", home / ".tool-before")
    (home / ".tool/b").mkdir(parents=True)
    (home / ".tool/b/settings-2.xml").touch()


def _turn_link(home: Path) -> None:
    (home / "other/deep").mkdir(parents=True)
    (home / "other/deep/token").touch()
    (home / ".linked").unlink()
    (home / ".linked").symlink_to(home / "other")


def _link_directory(home: Path) -> None:
    os.rename(home / ".config", home / "real")
    (home / ".config").symlink_to("real")


_CHANGES: dict[str, Callable[[Path], object]] = {
    "a name appears": lambda home: (home / ".netrc").touch(),
    "a name appears in a lower directory": lambda home: (home / ".config/gh-other").touch(),
    "a pattern fits": lambda home: (home / ".python_history").touch(),
    "a pattern fits below": lambda home: (home / ".tool/a/settings.2.xml").touch(),
    "a directory with one appears": lambda home: shutil.copytree(home / ".tool/a", home / ".tool/b"),
    "the first name appears in a directory": lambda home: (home / ".empty/one").touch(),
    "something is removed": lambda home: (home / ".config/gh").rmdir(),
    "a name appears behind a link": lambda home: (home / "elsewhere/deep/token").touch(),
    "a directory is exchanged": _exchange_directory,
    "a link is turned": _turn_link,
    "an exception appears": lambda home: (home / ".config/gh/shown").touch(),
    "a directory becomes a link": _link_directory,
}


@pytest.mark.parametrize("change", _CHANGES.values(), ids=_CHANGES)
def test_each_change_is_seen(home: Path, policy: Policy, change: Callable[[Path], object]) -> None:
    remembered = _remembered(policy)

    change(home)

    assert remembered.hidden() == concealment(policy)[0]
    assert remembered.hidden() == concealment(policy)[0]


def test_what_a_link_leads_to_is_seen_when_it_appears(home: Path, policy: Policy) -> None:
    (home.parent / "later").mkdir()
    _link_to_what_comes_later(home)
    remembered = _remembered(policy)
    assert str(home.parent / "later/token") not in remembered.hidden()

    (home.parent / "later/token").touch()

    assert str(home.parent / "later/token") in remembered.hidden()


def test_a_change_in_the_same_moment_is_seen(home: Path, policy: Policy) -> None:
    """Two changes within a tick of the kernel's clock can leave the same time."""
    for number in range(50):
        name = home / f".{number}_history"
        remembered = RememberedConcealment(policy)
        remembered.hidden()
        name.touch()

        assert str(name) in remembered.hidden()


def test_times_that_a_program_sets_hide_no_change(home: Path, policy: Policy) -> None:
    remembered = _remembered(policy)
    before = os.stat(home)

    (home / ".netrc").touch()
    os.utime(home, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert str(home / ".netrc") in remembered.hidden()


def test_what_is_in_a_closed_directory_is_not_remembered() -> None:
    with open_directory() as place:
        for name in ("docs/a", "docs/b"):
            (place / name).mkdir(parents=True)
            own(place / "docs", place / name)
        policy = Policy("full", "workspace-write", hidden=(f"{place}/docs/a/*.txt", f"{place}/docs/b/key"))
        with as_ordinary_user():
            remembered = _remembered(policy)
            (place / "docs").chmod(0)

            assert remembered.hidden() == concealment(policy)[0]

            (place / "docs").chmod(0o700)
            (place / "docs/a/1.txt").touch()
            (place / "docs").chmod(0)

            assert remembered.hidden() == concealment(policy)[0] == (f"{place}/docs",)


_NAMES = st.sampled_from(("a", "b", "key"))
_PATHS = st.lists(_NAMES, min_size=1, max_size=3).map("/".join)
_STEPS = st.tuples(st.sampled_from(("file", "directory", "link", "remove", "move")), _PATHS, _PATHS)


def _take(top: Path, step: tuple[str, str, str]) -> None:
    """Change a tree somehow, as far as it can be changed so."""
    what, one, other = step
    path = top / one
    with contextlib.suppress(OSError, shutil.Error):
        match what:
            case "file":
                path.touch()
            case "directory":
                path.mkdir()
            case "link":
                path.symlink_to(top / other)
            case "remove" if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            case "remove":
                path.unlink()
            case _:
                os.rename(path, top / other)


@given(steps=st.lists(_STEPS, max_size=12))
@settings(deadline=None)
def test_whatever_happens_the_same_is_hidden_as_without_a_memory(steps: list[tuple[str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(os.path.realpath(folder))
        for name in ("a/b", "b/a"):
            (top / name).mkdir(parents=True)
        patterns = ("key", "a/key", "a/*/key", "*/b", "b/a/key", "a/b/*")
        policy = Policy("full", "workspace-write", hidden=tuple(f"{top}/{one}" for one in patterns))
        remembered = RememberedConcealment(policy)
        for step in steps:
            _take(top, step)

            assert remembered.hidden() == concealment(policy)[0]
            _settle()
            remembered.hidden()  # it is remembered from here on
