"""A project like others: a repository with files, edited under the default settings, in the strongest sandbox."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.elsewhere import folder_elsewhere
from tests.support.ordinary_project import ordinary_kaa


@pytest.fixture(scope="module")
def make_kaa(tier: str) -> Iterator[Callable[[], Kaa]]:
    """Makes a home and a project."""
    if tier != "full":
        pytest.skip(f"the budgets are those of the tier full, and this machine has {tier}")

    def make() -> Kaa:
        folder = Path(top, str(len(os.listdir(top))))
        folder.mkdir()
        return ordinary_kaa(folder)

    with folder_elsewhere() as top:
        yield make
