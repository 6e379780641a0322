"""A folder for what confined commands have to see as it is: the sandbox has temporary directories of its own."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

_REPOSITORY = Path(__file__).parents[2]
_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")


def in_memory() -> tuple[Path, ...]:
    """The folder in memory that `scripts/all_tests.sh` made for this, if it could: everybody may enter it."""
    return tuple(map(Path, filter(None, [os.environ.get("KAA_TESTS_MEMORY")])))


@contextmanager
def folder_elsewhere() -> Iterator[Path]:
    """A folder that is not below a temporary directory, even if this checkout is; gone at the end."""
    for place in (*in_memory(), _REPOSITORY, Path.home(), Path("/var/lib")):
        real = place.resolve()
        if os.access(real, os.W_OK) and not any(real.is_relative_to(temporary) for temporary in _TEMPORARY):
            with TemporaryDirectory(prefix=".kaa-test-", dir=real) as folder:
                yield Path(folder)
            return
    pytest.skip("there is no directory to write in but temporary ones, of which the sandbox has its own")
