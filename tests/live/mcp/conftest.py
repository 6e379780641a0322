"""A kaa whose MCP servers run in sandboxes, and the model that it asks."""

from collections.abc import Iterator

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_server import ModelServer


@pytest.fixture
def kaa(tier: str) -> Iterator[Kaa]:
    """Elsewhere: a server in a sandbox sees nothing of temporary directories."""
    if tier == "none":
        pytest.skip("nothing confines servers on this machine: kaa doctor says why")
    with folder_elsewhere() as folder:
        yield Kaa(folder)


@pytest.fixture
def server(kaa: Kaa) -> Iterator[ModelServer]:
    # A home is closed as a whole, and the project must not be in it.
    person = kaa.home.parent / "person"
    person.mkdir()
    kaa.setenv(HOME=str(person))
    with ModelServer() as server:
        kaa.use(server, "openai-completions", input=["text", "image"])
        yield server
