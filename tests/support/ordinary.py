"""An ordinary user, for whom directories can be closed: root reads all of them."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ORDINARY_UID = 54321  # owns nothing on any machine


def own(*paths: Path) -> None:
    """Give files and directories to the ordinary user."""
    for path in paths if os.geteuid() == 0 else ():
        os.lchown(path, ORDINARY_UID, ORDINARY_UID)


@contextmanager
def as_ordinary_user() -> Iterator[None]:
    """Do something as an ordinary user, in this process."""
    former = os.geteuid()
    if former == 0:
        os.seteuid(ORDINARY_UID)
    try:
        yield
    finally:
        os.seteuid(former)


@contextmanager
def open_directory() -> Iterator[Path]:
    """Make a directory of the ordinary user, unlike those of pytest, which are closed to others."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = Path(os.path.realpath(folder)) / "place"
        path.mkdir()
        own(path)
        yield path
        for directory, names, _ in os.walk(folder):
            for name in names:
                os.chmod(os.path.join(directory, name), 0o755)
