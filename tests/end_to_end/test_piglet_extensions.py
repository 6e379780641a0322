"""Piglet's own extensions, unmodified: its example in TypeScript, and one in Go.

Opt-in: KAA_PIGLET names a folder outside /tmp and the home with `examples/` and `sdk/` of Piglet's repository, and
`gitcontext/` with the built program and its manifest. `bun` must be on the PATH.
"""

import os
import shutil
from collections.abc import Iterator

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.model_script import Answer, Call
from tests.support.model_server import ModelServer, say
from tests.support.rpc_client import rpc

_FOLDER = os.environ.get("KAA_PIGLET", "")
_EXTENSIONS = (f"{_FOLDER}/examples/extensions/ts-hello", f"{_FOLDER}/gitcontext")
_FLAGS = [argument for folder in _EXTENSIONS for argument in ("-e", folder)]
_GREET = Answer(calls=(Call("hello_world", '{"name":"Ann"}'),))

pytestmark = pytest.mark.skipif(
    not _FOLDER or shutil.which("bun") is None, reason="needs bun, and Piglet's extensions in KAA_PIGLET"
)


@pytest.fixture
def server(kaa: Kaa) -> Iterator[ModelServer]:
    for folder in _EXTENSIONS:
        assert kaa.run("ext", "permit", "--yes", folder).code == 0
    with ModelServer() as server:
        kaa.use(server, "openai-completions")
        yield server


def test_print_mode_has_their_commands_tools_and_prompt(kaa: Kaa, server: ModelServer) -> None:
    server.begin([_GREET, say("Greeted.")])

    waved = kaa.run(*_FLAGS, "-p", "/wave Bob")
    kaa.setenv(KAA_LOG=str(kaa.home / "log"))
    done = kaa.run(*_FLAGS, "-p", "greet Ann")

    assert "Waving at Bob!" in waved.err
    assert done.code == 0, done.err
    assert "gitcontext: gitcontext 0.1.0 is ready" in (kaa.home / "log").read_text()
    assert "Hello, Ann! Welcome to piglet." in str(server.requests[-1].json)


def test_rpc_mode_has_their_tools(kaa: Kaa, server: ModelServer) -> None:
    server.begin([_GREET, say("Greeted.")])

    with rpc(kaa, *_FLAGS) as client:
        client.data("prompt", message="greet Ann")
        client.event("agent_settled")

    assert "Hello, Ann! Welcome to piglet." in str(server.requests[-1].json)
