"""A program that drives kaa and accepts every question: what lies outside the project must survive.

One such client lost the files of a machine. Here the model runs a script that leaves a canary outside, and deletes a
folder of canaries.
"""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pytest

from tests.end_to_end.kaa_process import Kaa, conversation
from tests.support.elsewhere import folder_elsewhere
from tests.support.mcp_client import serving
from tests.support.model_server import ModelServer, call, say
from tests.support.rpc_client import Line, rpc

pytestmark = pytest.mark.usefixtures("confined")

_AWAITED = ("extension_ui_request", "agent_settled")


class Scene(NamedTuple):
    """A kaa whose model runs destructive commands.

    Attributes:
        kaa: the program.
        server: the model.
        made: what the script makes outside.
        kept: what is in the folder that the model deletes.
    """

    kaa: Kaa
    server: ModelServer
    made: Path
    kept: Path

    @property
    def told(self) -> str:
        """What the model was told of its commands."""
        return "\n".join(text for _, text in conversation(self.server.requests[-1]))


@pytest.fixture
def scene() -> Iterator[Scene]:
    with folder_elsewhere() as folder, ModelServer() as server:  # what is below /tmp is private inside anyway
        kaa = Kaa(folder)
        subprocess.run(["git", "init", "-q"], cwd=kaa.project, check=True)
        kaa.use(server, "openai-completions")
        made, kept = folder / "places" / "made", folder / "canaries" / "kept"
        for path in (made, kept):
            path.parent.mkdir()
        kept.touch()
        script = kaa.project / "wipe.sh"
        script.write_text(f"#!/bin/sh\ntouch '{made}'\n")
        script.chmod(0o755)
        commands = ("./wipe.sh", f"rm -r '{kept.parent}'", "cat wipe.sh; ./wipe.sh", f"chmod -R 777 '{kept.parent}'")
        request = call("request_permission", kind="command", value=commands[1], reason="it is in the way")
        calls = [*(call("bash", command=one) for one in commands), request, call("bash", command=commands[1])]
        server.begin([*calls, say("All is gone.")])
        yield Scene(kaa, server, made, kept)


Drive: TypeAlias = Callable[..., None]


def accept(form: Line) -> Line:
    """Accept a form, with the first of its values."""
    fields = form["requestedSchema"]["properties"]
    return {"action": "accept", "content": {name: field.get("enum", [True])[0] for name, field in fields.items()}}


def drive_by_mcp(scene: Scene, *arguments: str) -> None:
    with serving(scene.kaa, "--agent", "--approvals", "auto", *arguments, forms=True) as client:
        client.call("kaa", accept, prompt="clean up")


def drive_by_rpc(scene: Scene, *arguments: str) -> None:
    with rpc(scene.kaa, *arguments) as client:
        client.data("prompt", message="clean up")
        while (line := client.wait(lambda line: line["type"] in _AWAITED))["type"] != "agent_settled":
            client.send({"type": "extension_ui_response", "id": line["id"], "value": line["options"][0]})


@pytest.mark.parametrize("drive", [drive_by_mcp, drive_by_rpc])
class TestAnAcceptingClient:
    def test_it_lets_nothing_be_changed_outside(self, scene: Scene, drive: Drive) -> None:
        drive(scene)

        assert scene.kept.exists()
        assert not scene.made.exists()
        assert "the user can start kaa with --person-answers" in scene.told

    def test_a_person_may_allow_one_directory_and_no_removal(self, scene: Scene, drive: Drive) -> None:
        drive(scene, "--person-answers")

        assert scene.kept.exists()
        assert scene.made.exists()
        assert "The user can type it behind `!`" in scene.told
