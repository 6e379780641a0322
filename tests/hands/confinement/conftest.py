import os
import sys
from collections.abc import Iterator

import pytest

from tests.hands.confinement.arena import Arena, arena


@pytest.fixture(params=["root", "user"])
def someone(request: pytest.FixtureRequest) -> Iterator[Arena]:
    """An arena for each kind of user that we can be."""
    as_root = request.param == "root"
    if as_root and os.geteuid() != 0:
        pytest.skip("only root can act as root")
    with arena(as_root) as prepared:
        yield prepared


@pytest.fixture
def root() -> Iterator[Arena]:
    """An arena for root."""
    if os.geteuid() != 0:
        pytest.skip("only root can act as root")
    with arena(as_root=True) as prepared:
        yield prepared


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is confined here is Linux."""
    if sys.platform != "linux":
        for item in items:
            if "confinement" in item.nodeid and {"someone", "root"} & set(getattr(item, "fixturenames", ())):
                item.add_marker(pytest.mark.skip(reason="needs Linux"))
