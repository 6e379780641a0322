import os
import stat
import time
from pathlib import Path

from kaa.workspace.logs import open_log


def test_a_log_is_for_the_user_alone(tmp_path: Path) -> None:
    descriptor, path = open_log(str(tmp_path))
    os.close(descriptor)

    assert Path(path).parent == tmp_path
    assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600


def test_logs_of_last_week_are_removed_and_nothing_else(tmp_path: Path) -> None:
    names = ["output-old.log", "output-new.log", "precious.txt"]
    for name in names:
        (tmp_path / name).write_text("x")
    month_ago = time.time() - 30 * 24 * 3600
    for name in ("output-old.log", "precious.txt"):
        os.utime(tmp_path / name, (month_ago, month_ago))

    descriptor, path = open_log(str(tmp_path))
    os.close(descriptor)

    left = {entry.name for entry in tmp_path.iterdir()} - {Path(path).name}
    assert left == {"output-new.log", "precious.txt"}
