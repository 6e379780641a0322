"""A fresh `kaa` per test, with a project and a home of its own."""

from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa


@pytest.fixture
def kaa(tmp_path: Path) -> Kaa:
    return Kaa(tmp_path)
