"""What patterns mean is what `glob` says, without links on the way."""

import glob
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.hands.confinement.expansion import Expansion

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
