import os
import stat
import time
from pathlib import Path

import pytest

from kaa.workspace.logs import open_log


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path / f"kaa-{os.getuid()}"


def test_logs_and_their_directory_are_for_the_user_alone(place: Path) -> None:
    descriptor, path = open_log()
    os.close(descriptor)

    assert Path(path).parent == place
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600


def test_logs_of_last_week_are_removed_and_nothing_else(place: Path) -> None:
    place.mkdir(mode=0o700)
    names = ["output-old.log", "output-new.log", "precious.txt"]
    for name in names:
        (place / name).write_text("x")
    month_ago = time.time() - 30 * 24 * 3600
    for name in ("output-old.log", "precious.txt"):
        os.utime(place / name, (month_ago, month_ago))

    descriptor, path = open_log()
    os.close(descriptor)

    left = {entry.name for entry in place.iterdir()} - {Path(path).name}
    assert left == {"output-new.log", "precious.txt"}


@pytest.mark.parametrize("kind", ["open to others", "symlink", "file"])
def test_a_directory_that_somebody_else_may_have_prepared_is_refused(place: Path, tmp_path: Path, kind: str) -> None:
    match kind:
        case "open to others":
            place.mkdir()
            place.chmod(0o777)
        case "symlink":
            (tmp_path / "elsewhere").mkdir(mode=0o700)
            place.symlink_to(tmp_path / "elsewhere")
        case _:
            place.write_text("")

    with pytest.raises(PermissionError, match="this user alone"):
        open_log()
