"""A seat before a terminal for attacks that need what the user answers and does meanwhile."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.seat import Seat
from tests.support.model_server import ModelServer


@pytest.fixture
def seat(tmp_path: Path) -> Iterator[Seat]:
    with ModelServer() as model:
        yield Seat(tmp_path, model)
