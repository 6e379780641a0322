"""What patterns mean is what `glob` says, without links on the way."""

import glob
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.hands.confinement.contract import ConfinementError
from kaa.hands.confinement.expansion import Expansion
from kaa.hands.confinement.layout import concealment
from kaa.hands.policy import Policy
from tests.support.ordinary import as_ordinary_user, open_directory

_NAMES = (".netrc", ".a_history", ".b_history", "key", "keys", "k*y", "[k]", "sub/key", "sub/.hidden", "sub/deep/key")
_PARTS = st.text("ke.ysub*?[]!-", min_size=1, max_size=6).filter(lambda part: part not in (".", ".."))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("tree") / "[top]"
    for name in _NAMES:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).touch()
    (top / "linked").symlink_to("sub")
    (top / "dangling").symlink_to("nowhere")
    (top / "loop").symlink_to("loop")
    (top / "to-key").symlink_to("sub/key")
    return top


def _as_glob_has_it(pattern: str) -> list[str]:
    return sorted(os.path.realpath(one) for one in glob.glob(pattern, include_hidden=True) if os.path.exists(one))


@given(parts=st.lists(_PARTS, min_size=1, max_size=3))
def test_any_pattern_means_what_glob_finds(tree: Path, parts: list[str]) -> None:
    pattern = "/".join([glob.escape(str(tree)), *parts])

    assert sorted(Expansion().existing([pattern])) == _as_glob_has_it(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        ".*_history",
        ".*",
        "*",
        "k*y*",
        "**",
        "*/key",
        "linked/*",
        "l*/deep/*",
        "dangling",
        "loop/x",
        "to-*",
        "sub/",
        "s*/",
    ],
)
def test_links_are_followed(tree: Path, pattern: str) -> None:
    whole = f"{glob.escape(str(tree))}/{pattern}"

    assert sorted(Expansion().existing([whole])) == _as_glob_has_it(whole)


def test_paths_that_are_no_pattern_are_looked_for_as_they_are(tree: Path) -> None:
    names = ["key", "missing", "linked/key", "sub/../key", "sub/.", "nul\0"]

    found = Expansion().existing(f"{tree.parent}/[top]/{name}".replace("[", "[[]") for name in names)

    assert list(found) == [f"{tree}/{name}" for name in ("key", "sub/key", "key", "sub")]


def test_what_comes_later_is_found_by_another_one(tree: Path) -> None:
    expansion = Expansion()
    patterns = [f"{glob.escape(str(tree))}/late*"]
    assert list(expansion.existing(patterns)) == []

    (tree / "later").touch()

    assert list(Expansion().existing(patterns)) == [f"{tree}/later"]
    (tree / "later").unlink()


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory of an ordinary user with secrets."""
    with open_directory() as path, as_ordinary_user():
        for name in ("docs/x/key.txt", "top/key.txt"):
            (path / name).parent.mkdir(parents=True)
            (path / name).touch()
        yield path


def test_a_pattern_means_the_same_in_a_directory_that_may_not_be_listed(place: Path) -> None:
    for name in ("docs/x", "docs", "top"):
        (place / name).chmod(0o311)
    expansion = Expansion()

    found = expansion.existing([f"{place}/docs/*/*.txt", f"{place}/top/*.txt"])

    assert list(found) == [f"{place}/docs/x/key.txt", f"{place}/top/key.txt"]
    assert not expansion.closed
    assert (place / "top").stat().st_mode & 0o777 == 0o311


@pytest.mark.parametrize("mode", [0o000, 0o444, 0o600], ids=oct)
@pytest.mark.parametrize("pattern", ["docs/*/key.txt", "docs/x/key.txt", "docs/x/*"])
def test_a_directory_that_may_not_be_entered_is_closed(place: Path, mode: int, pattern: str) -> None:
    (place / "docs").chmod(mode)
    expansion = Expansion()

    assert list(expansion.existing([f"{place}/{pattern}", f"{place}/missing/x/*", f"{place}/top/key.txt/x"])) == []
    assert list(expansion.closed) == [f"{place}/docs"]


def test_what_may_be_hidden_in_a_closed_directory_hides_it(place: Path) -> None:
    (place / "docs").chmod(0o600)
    policy = Policy("bwrap", "workspace-write", (str(place),), hidden=(f"{place}/docs/*/key.txt", f"{place}/top/*"))

    assert concealment(policy)[0] == (f"{place}/top/key.txt", f"{place}/docs")


def test_a_place_to_work_in_whose_secrets_are_not_known_is_refused(place: Path) -> None:
    policy = Policy("bwrap", "workspace-write", (f"{place}/docs",), hidden=(f"{place}/docs/*/key.txt",))
    (place / "docs").chmod(0o600)

    with pytest.raises(ConfinementError, match=r"cannot find out what is hidden in .*/docs"):
        concealment(policy)


def test_a_directory_of_another_user_that_may_not_be_listed_is_closed_unless_it_may_not_be_entered(place: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("a directory of another user takes root")
    os.seteuid(0)
    for name, mode in (("theirs", 0o711), ("private", 0o700)):
        (place / name).mkdir()
        (place / name).chmod(mode)
    with as_ordinary_user():
        expansion = Expansion()

        assert list(expansion.existing([f"{place}/theirs/*", f"{place}/private/*", f"{place}/private/x"])) == []
        assert list(expansion.closed) == [f"{place}/theirs"]
