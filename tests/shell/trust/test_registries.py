"""Trust in a project and the package registries in one answer, where the project's files show that they are needed."""

import json
import os
from contextlib import suppress
from pathlib import Path

import pytest

from kaa.llm.models.registry import NoModelError
from kaa.shell.home import Home
from kaa.shell.host import Host
from kaa.shell.options import ConversationOptions, HostOptions
from kaa.shell.safety import SandboxFlags, start_workspace
from kaa.shell.trust.decisions import TrustDecisions
from tests.shell.trust.test_nested import Answering
from tests.support.agents import run

_HOSTS = ("pypi.org", "registry.npmjs.org")


class Project:
    """A project with instructions and a manifest."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.root.mkdir()
        (self.root / "AGENTS.md").write_text("Use tabs.")
        (self.root / "package.json").write_text("{}")
        self.home = Home(folder / "agent")
        self.home.path.mkdir()
        self.flags = SandboxFlags()

    def asked(self, asker: Answering) -> list[bool]:
        """Ask about trust. Returns for some registries whether commands may reach them afterwards."""

        async def decide() -> list[bool]:
            workspace = start_workspace(str(self.root), self.flags, self.home, os.environ)
            try:
                await TrustDecisions(self.home).decided(workspace, None, asker)
                return list(map(workspace.sandbox.network.allows, _HOSTS))
            finally:
                await workspace.close()

        return run(decide())


@pytest.fixture
def project(tmp_path: Path, tier: str) -> Project:
    if tier in ("none", "landlock"):
        pytest.skip("this machine's sandbox permits no single hosts")
    return Project(tmp_path)


def test_one_answer_trusts_the_project_and_permits_the_registries(project: Project) -> None:
    asker = Answering(registries=True)

    assert project.asked(asker) == [True, True]
    assert asker.asked[0].manifests == ("package.json",)


def test_trust_alone_permits_no_host(project: Project) -> None:
    assert project.asked(Answering()) == [False, False]


def test_who_does_not_trust_the_project_permits_no_host(project: Project) -> None:
    assert project.asked(Answering("no", registries=True)) == [False, False]


def test_they_are_not_offered_where_no_file_shows_a_need(project: Project) -> None:
    (project.root / "package.json").unlink()
    asker = Answering(registries=True)

    assert project.asked(asker) == [False, False]
    assert asker.asked[0].manifests == ()


@pytest.mark.parametrize("rules", [{"deny": ["host: pypi.org"]}, {"allow": ["host: registries"]}])
def test_rules_about_hosts_decide_for_themselves(project: Project, rules: dict[str, list[str]]) -> None:
    (project.home.path / "approvals.json").write_text(json.dumps(rules))
    (project.home.path / "approvals.json").chmod(0o600)
    asker = Answering(registries=True)

    project.asked(asker)

    assert asker.asked[0].manifests == ()


def test_what_is_permitted_is_not_offered(project: Project) -> None:
    project.flags = SandboxFlags(network="registries")
    asker = Answering()

    assert project.asked(asker) == [True, True]
    assert asker.asked[0].manifests == ()


@pytest.mark.parametrize(("network", "is_offered"), [(None, True), ("off", False), ("example.org", False)])
def test_they_are_not_offered_where_net_decides(project: Project, network: str | None, *, is_offered: bool) -> None:
    asker = Answering()

    async def opened() -> None:
        environ = {"HOME": str(project.root.parent), "PATH": "/usr/bin:/bin", "KAA_LOCAL_SERVERS": "none"}
        host = Host(HostOptions(), project.home, environ, lambda _: None, asker)
        try:
            workspace = host.workspaces.open(str(project.root), SandboxFlags(network=network))
            with suppress(NoModelError):  # which ends it behind the question
                await host.open(ConversationOptions(trust=None), workspace)
        finally:
            await host.close()

    run(opened())

    assert (asker.asked[0].manifests == ("package.json",)) == is_offered
