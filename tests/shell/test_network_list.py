"""/net as a list to check: hosts, groups of registries, and what was answered in the session."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from kaa.ext.errors import CommandError
from kaa.ext.questions import Answer, Chosen, Dismissed
from kaa.hands.policy import Tier
from kaa.shell.containment import Contained
from kaa.shell.home import Home
from kaa.shell.host import Host
from kaa.shell.options import ConversationOptions, HostOptions
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.network.allow_list import NetworkState
from kaa.workspace.sandbox import sandbox as sandbox_module
from kaa.workspace.sandbox.options import SandboxOptions
from tests.shell.test_permissions import told
from tests.support.elsewhere import folder_elsewhere
from tests.support.hosts import conversing
from tests.support.model_server import ModelServer
from tests.support.person import Person


def _net(
    *answers: Answer, network: str = "off", granted: Sequence[str] = (), typed: str = ""
) -> tuple[str, Person, NetworkState]:
    """What /net replies, what it asked, and what can be reached then."""

    async def scenario(folder: Path, server: ModelServer) -> tuple[str, Person, NetworkState]:
        environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "OPENAI_BASE_URL": f"{server.url}/v1"}
        options = SandboxOptions(network=NetworkState.parse(network))
        workspace = LocalWorkspace.start(str(folder / "project"), env=environ, sandbox=options)
        person = Person(*answers)
        try:
            for rule in granted:
                workspace.sandbox.network.allow(rule)
            host = Host(HostOptions(), Home(folder / "home"), environ, lambda _: None, person)
            async with conversing(host, ConversationOptions(model="m"), workspace) as conversation:
                reply = await told(conversation, f"/net {typed}".strip())
                return reply, person, workspace.sandbox.network.state
        finally:
            await workspace.close()

    with folder_elsewhere() as folder, ModelServer([]) as server:
        (folder / "project").mkdir()
        return asyncio.run(scenario(folder, server))


def test_groups_are_checked_one_after_the_other() -> None:
    reply, person, _ = _net(Chosen("[ ] registries/python"), Chosen("[ ] registries/go"), Dismissed())

    assert reply == "network: registries/python,registries/go"
    first, _, last = person.questions
    assert first.options[:3] == ("off", "on", "[ ] registries/python")
    assert first.descriptions[2] == "pypi.org, files.pythonhosted.org"
    assert first.current == "off"
    assert "[x] registries/python" in last.options


def test_what_was_answered_in_the_session_can_be_unchecked_and_checked_again() -> None:
    reply, person, state = _net(
        Chosen("[x] a.example"), Chosen("[ ] a.example"), Dismissed(), network="b.example", granted=["a.example"]
    )

    assert reply == "network: b.example,a.example"
    assert list(person.questions[1].options[-2:]) == ["[x] b.example", "[ ] a.example"]
    assert [str(rule) for rule in state.rules] == ["b.example"]
    assert [str(rule) for rule in state.granted] == ["a.example"]  # still at public addresses only


def test_a_name_that_the_person_types_after_an_answer_is_a_rule() -> None:
    reply, _, state = _net(granted=["a.example", "b.example"], typed="a.example")

    assert reply == "network: a.example"
    assert ([str(rule) for rule in state.rules], state.granted) == (["a.example"], ())


def test_off_and_on_end_the_list() -> None:
    assert _net(Chosen("on"))[0] == "network: on"
    assert _net(Chosen("off"), network="registries,a.example")[0] == "network: off"


def test_closing_the_list_changes_nothing() -> None:
    assert _net(Dismissed(), network="registries")[0] == "network: registries"


def test_no_list_is_taken_where_hosts_cannot_be_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    tiers: tuple[Tier, ...] = ("landlock", "none")
    monkeypatch.setattr(sandbox_module, "tiers_to_try", lambda: tiers)

    async def scenario(folder: Path) -> None:
        workspace = LocalWorkspace.start(str(folder / "project"), env={"PATH": os.environ["PATH"], "HOME": str(folder)})
        try:
            if (await workspace.sandbox.status()).tier != "landlock":
                pytest.skip("this machine has no Landlock")
            contained = Contained(workspace)

            with pytest.raises(CommandError, match="/net on gives commands its whole network"):
                contained.set_network("pypi.org")
            assert contained.network == "off"
            assert contained.set_network("on") == "on"
        finally:
            await workspace.close()

    with folder_elsewhere() as folder:
        (folder / "project").mkdir()
        asyncio.run(scenario(folder))
