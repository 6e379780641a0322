from pathlib import Path

import pytest

from kaa.session.errors import SessionWriteError
from kaa.session.file.append_file import DiskSync

_NOT_OPEN = 2**30  # more than a process may have open


def test_a_flush_that_fails_is_reported(tmp_path: Path) -> None:
    sync = DiskSync(_NOT_OPEN, tmp_path / "session.jsonl")
    sync.request()

    with pytest.raises(SessionWriteError, match=r"session\.jsonl.*Bad file descriptor"):
        sync.close()
    with pytest.raises(SessionWriteError):
        sync.request()
