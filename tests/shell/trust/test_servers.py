"""One question: trust in a project permits its servers that can do no more than read it and fetch their package."""

import json
from contextlib import suppress
from pathlib import Path

import pytest

from kaa.ext.choices import TrustAnswer
from kaa.llm.models.registry import NoModelError
from kaa.shell.home import Home
from kaa.shell.host import Host
from kaa.shell.mcp.approvals import Approvals
from kaa.shell.mcp.config.entry import ConfiguredServer
from kaa.shell.mcp.config.reading import configured
from kaa.shell.options import ConversationOptions, HostOptions, McpOptions
from kaa.shell.safety import SandboxFlags
from tests.shell.trust.test_nested import Answering
from tests.support.agents import run

_SCRIPT = b"print('hello')\n"


class Project:
    """A project with servers, and a user who opens it."""

    def __init__(self, folder: Path, **servers: object) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        (self.folder / "server.py").write_bytes(_SCRIPT)
        (folder / "other").mkdir()
        self.home = Home(folder / "agent")
        self.data = json.dumps({"mcpServers": servers}).encode()
        self.enabled = True
        self.lines: tuple[tuple[str, ...], ...] = ()

    def open(self, choice: TrustAnswer = "stored") -> None:
        """Start kaa, and answer its question."""

        async def opened() -> None:
            asker, root = Answering(choice), str(self.folder)
            (self.folder / ".mcp.json").write_bytes(self.data)
            environ = {"HOME": str(self.folder.parent), "PATH": "/usr/bin:/bin", "KAA_LOCAL_SERVERS": "none"}
            options = HostOptions(mcp=McpOptions(enabled=self.enabled))
            host = Host(options, self.home, environ, lambda _: None, asker)
            try:
                with suppress(NoModelError):  # which ends it before a server starts
                    await host.open(ConversationOptions(trust=None), host.workspaces.open(root, SandboxFlags()))
            finally:
                await host.close()
            self.lines = asker.asked[0].servers if asker.asked else ()

        run(opened())

    def servers(self) -> dict[str, ConfiguredServer]:
        found = configured(self.home, str(self.folder), [(".mcp.json", self.data)]).servers
        return {server.name: server for server in found}

    def approved(self) -> set[str]:
        return {name for name, server in self.servers().items() if Approvals(self.home).is_approved(server)}


def test_a_yes_permits_the_servers_that_it_showed_with_their_code(tmp_path: Path) -> None:
    project = Project(
        tmp_path,
        own={"command": "python3", "args": ["server.py"], "env": {"LEVEL": "debug"}},
        clock={"command": "uvx", "args": ["mcp-server-time"]},
    )

    project.open()

    own, clock = ("\n".join(lines) for lines in project.lines)
    assert "own runs: LEVEL=debug python3 server.py" in own
    assert "In its own sandbox, it can read the files of the project." in own
    assert str(project.folder / "server.py") in own
    assert "clock runs: uvx mcp-server-time" in clock
    assert "connect to pypi.org" in clock
    assert "mcp-server-time in the newest version" in clock
    assert project.approved() == {"own", "clock"}
    code = Approvals(project.home).code(project.servers()["own"], str(project.folder), {})
    assert str(project.folder / "server.py") in code


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_another_answer_permits_none(tmp_path: Path, answer: TrustAnswer) -> None:
    project = Project(tmp_path, own={"command": "python3", "args": ["server.py"]})

    project.open(answer)

    assert project.lines
    assert project.approved() == set()


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "python3", "args": ["server.py"], "env": {"TOKEN": "${GITHUB_TOKEN}"}},
        {"command": "python3", "args": ["server.py"], "permissions": {"project": "read", "hosts": ["example.com"]}},
        {"command": "python3", "args": ["server.py"], "permissions": {"project": "read", "models": True}},
        {"command": "python3", "args": ["server.py", "OTHER"]},
        {"command": "python3", "args": ["server.py"], "enabled": False},
        {"url": "https://example.com/mcp"},
    ],
)
def test_a_server_that_can_do_more_has_a_question_of_its_own(tmp_path: Path, entry: dict[str, object]) -> None:
    written = json.loads(json.dumps(entry).replace("OTHER", str(tmp_path / "other")))
    project = Project(tmp_path, own=written)

    project.open()

    assert project.lines == ()
    assert project.approved() == set()


def test_an_entry_that_changed_is_not_what_was_permitted(tmp_path: Path) -> None:
    project = Project(tmp_path, own={"command": "python3", "args": ["server.py"]})
    project.open()

    project.data = project.data.replace(b"server.py", b"other.py")

    assert project.approved() == set()


def test_without_servers_none_are_shown(tmp_path: Path) -> None:
    project = Project(tmp_path, own={"command": "python3", "args": ["server.py"]})
    project.enabled = False

    project.open()

    assert project.lines == ()
    assert project.approved() == set()
