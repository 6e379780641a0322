"""A fresh `kaa` per test, over every wire format where a test asks for `wire`; or one at a terminal."""

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.end_to_end.seat import Seat
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_server import ModelServer, Wire


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """Have `kaa` not in a temporary directory: the sandbox shows nothing of these."""
    with folder_elsewhere() as folder:
        yield folder


@pytest.fixture
def kaa(request: pytest.FixtureRequest, tmp_path: Path, tier: str) -> Kaa:
    """The command with a project and a home of its own; without a sandbox, it would run and write nothing."""
    if "elsewhere" in request.fixturenames:
        return Kaa(request.getfixturevalue("elsewhere"))
    if tier == "none":
        pytest.skip("nothing confines commands on this machine: kaa doctor says why")
    return Kaa(tmp_path)


@pytest.fixture
def server(kaa: Kaa) -> Iterator[ModelServer]:
    """A model that follows a script, and is the one of `kaa`."""
    with ModelServer() as server:
        kaa.use(server, "openai-completions")
        yield server


@pytest.fixture
def full_access(request: pytest.FixtureRequest) -> None:
    """Confine nothing, in tests that are not about the sandbox: a run with a command costs half as much."""
    kaa: Kaa = request.getfixturevalue("seat" if "seat" in request.fixturenames else "kaa")
    kaa.usual_settings["sandbox"] = {"mode": "full-access"}
    kaa.settings()


@pytest.fixture
def unasked(request: pytest.FixtureRequest, full_access: None) -> None:
    """Confine nothing, and ask nobody who could be asked."""
    kaa: Kaa = request.getfixturevalue("seat" if "seat" in request.fixturenames else "kaa")
    kaa.usual_settings["approvals"] = {"policy": "auto"}
    kaa.settings()


@pytest.fixture(params=get_args(Wire))
def wire(request: pytest.FixtureRequest) -> Wire:
    """The wire format."""
    chosen: Wire = request.param
    return chosen


@pytest.fixture
def seat(tmp_path: Path) -> Iterator[Seat]:
    """A place before a terminal, with a model that follows a script."""
    with ModelServer() as model:
        yield Seat(tmp_path, model)
