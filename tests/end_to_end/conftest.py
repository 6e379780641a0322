"""A fresh `kaa` per test, over both wire formats where a test asks for `wire`."""

from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.model_server import Wire


@pytest.fixture
def kaa(tmp_path: Path) -> Kaa:
    """The command with a project and a home of its own."""
    return Kaa(tmp_path)


@pytest.fixture(params=["openai-completions", "anthropic-messages"])
def wire(request: pytest.FixtureRequest) -> Wire:
    """The wire format."""
    chosen: Wire = request.param
    return chosen
