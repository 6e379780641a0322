"""What attacks need: a seat before a terminal, and a program whose execution outside leaves a canary."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.end_to_end.seat import Seat
from tests.support.model_server import ModelServer


@pytest.fixture
def seat(tmp_path: Path) -> Iterator[Seat]:
    """What the user answers and does meanwhile."""
    with ModelServer() as model:
        yield Seat(tmp_path, model)


@pytest.fixture
def canary(kaa: Kaa) -> Path:
    """The file that a program leaves when it is run outside. The program is the `evil` beside it."""
    program = Path(kaa.environ["HOME"], "evil")
    program.write_text(f'#!/bin/sh\n: > "{program.parent}/canary"\n')
    program.chmod(0o755)
    return program.with_name("canary")
