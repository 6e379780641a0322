"""The stage that conversations play on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.model_server import ModelServer
from tests.support.stage import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with ModelServer() as server:
        yield Stage(server, tmp_path / "home")
