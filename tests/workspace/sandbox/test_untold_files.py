"""What was moved away and told to nobody: the next kaa in the project tells it once, if the first was killed."""

import os
from pathlib import Path

import msgspec
import pytest

from kaa.workspace.blocked import Blocked
from kaa.workspace.sandbox.untold_files import UntoldFiles, take_untold


@pytest.fixture
def moved(tmp_path: Path) -> Blocked:
    kept = tmp_path / ".envrc.kaa-blocked"
    kept.write_text("mine")
    return Blocked("protected", str(tmp_path / ".envrc"), str(kept))


def _taken(folder: Path, root: Path) -> list[Blocked]:
    return list(take_untold(str(folder), os.listdir(folder), str(root)))


def _noted_by_a_kaa_that_is_killed(folder: Path, root: Path, moved: Blocked) -> None:
    if (child := os.fork()) == 0:
        UntoldFiles(str(folder), str(root)).add([moved, moved, Blocked("more")])
        os._exit(0)
    os.waitpid(child, 0)


def test_what_a_killed_kaa_noted_is_taken_once(tmp_path: Path, moved: Blocked) -> None:
    folder = tmp_path / "notes"
    _noted_by_a_kaa_that_is_killed(folder, tmp_path, moved)

    assert _taken(folder, tmp_path.with_name("elsewhere")) == []
    assert _taken(folder, tmp_path) == [moved]
    assert _taken(folder, tmp_path) == []


def test_a_name_that_is_not_utf8_is_noted(tmp_path: Path) -> None:
    folder, kept = tmp_path / "notes", tmp_path / os.fsdecode(b"odd\xff.kaa-blocked")
    kept.write_text("mine")
    moved = Blocked("protected", str(tmp_path / os.fsdecode(b"odd\xff")), str(kept))

    _noted_by_a_kaa_that_is_killed(folder, tmp_path, moved)

    assert _taken(folder, tmp_path) == [moved]


def test_what_was_kept_of_it_later_is_taken_with_it(tmp_path: Path, moved: Blocked) -> None:
    folder = tmp_path / "notes"
    saved = msgspec.structs.replace(moved, saved=str(tmp_path / "saved"))
    if (child := os.fork()) == 0:
        untold = UntoldFiles(str(folder), str(tmp_path))
        untold.add([saved])
        untold.add([msgspec.structs.replace(moved, later="later")])
        os._exit(0)
    os.waitpid(child, 0)

    assert _taken(folder, tmp_path) == [msgspec.structs.replace(saved, later="later")]


@pytest.mark.parametrize("how", ["gone", "put back"])
def test_what_nobody_misses_is_not_taken(tmp_path: Path, moved: Blocked, how: str) -> None:
    folder = tmp_path / "notes"
    _noted_by_a_kaa_that_is_killed(folder, tmp_path, moved)
    kept = Path(moved.kept_as)
    if how == "gone":
        kept.rename(moved.what)
    else:
        Path(moved.what).write_bytes(kept.read_bytes())

    assert _taken(folder, tmp_path) == []


def test_what_a_kaa_noted_that_lives_is_its_own_and_goes_with_its_end(tmp_path: Path, moved: Blocked) -> None:
    folder = tmp_path / "notes"
    untold = UntoldFiles(str(folder), str(tmp_path))
    untold.add([moved])

    assert _taken(folder, tmp_path) == []
    untold.close()
    assert os.listdir(folder) == []
