import fcntl
import os
import sys
from pathlib import Path

import pytest

from kaa.session.file.lock import holders, lock


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists locks")
def test_the_holder_is_found_behind_locks_of_another_kind(tmp_path: Path) -> None:
    session, other = tmp_path / "session.jsonl", tmp_path / "other"
    everywhere = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(everywhere)})  # the list has the newest lock of a processor first
    try:
        with session.open("wb") as file, other.open("wb") as newer:
            lock(file.fileno(), session)
            fcntl.lockf(newer, fcntl.LOCK_EX)

            assert holders().get(session.stat().st_ino) == os.getpid()
    finally:
        os.sched_setaffinity(0, everywhere)
