"""The record of what the user approved is parsed once, and again when another process has changed it."""

import os
from pathlib import Path

import msgspec
import pytest

from kaa.builtin.mcp.host import ServerUnavailableError
from kaa.ext.asking import NOBODY
from kaa.mcp.manifest import ToolInfo
from kaa.shell.home import Home
from kaa.shell.mcp.approvals import ApprovalRecordsError, Approvals
from kaa.shell.mcp.config.entry import ConfiguredServer, ServerEntry, Source
from kaa.shell.mcp.manifests import ServerManifests
from kaa.shell.mcp.offer import Offer
from tests.support.loops import in_loop
from tests.support.mcp_host import manifest
from tests.support.person import yes_or_no


def configured(name: str, digest: str = "first") -> ConfiguredServer:
    return ConfiguredServer(name, ServerEntry(command="x"), Source("/project/.mcp.json", "project"), digest)


def tool(name: str, description: str) -> ToolInfo:
    return ToolInfo(name, description=description, digest=description)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_what_another_process_approves_holds_at_once(home: Home) -> None:
    ours, theirs = Approvals(home), Approvals(home)
    assert not ours.is_approved(configured("one"))

    theirs.approve(configured("one"))
    assert ours.is_approved(configured("one"))
    theirs.approve(configured("one", "second"))

    assert not ours.is_approved(configured("one"))
    assert ours.was_approved(configured("one"))


def test_a_changed_tool_is_held_with_the_difference_until_somebody_accepts_it(home: Home) -> None:
    ours, theirs = Approvals(home), Approvals(home)
    server, after = configured("one"), manifest(tool("a", "New words."), tool("b", "As before."))
    assert ours.held(server, manifest(tool("a", "Old words."), tool("b", "As before."))) == {}

    held = ours.held(server, after)
    theirs.accept(server, after)

    assert list(held) == ["a"]
    assert "-Old words." in held["a"]
    assert "+New words." in held["a"]
    assert ours.held(server, after) == {}


def test_a_damaged_entry_of_one_server_is_no_problem_of_another(home: Home) -> None:
    approvals = Approvals(home)
    approvals.approve(configured("good"))
    path = home.path / "mcp-approvals.json"
    record = msgspec.json.decode(path.read_bytes())
    record["servers"]["/project/.mcp.json#bad"] = {"digest": 7}
    path.write_bytes(msgspec.json.encode(record))
    os.utime(path, ns=(1, 1))

    assert approvals.is_approved(configured("good"))
    with pytest.raises(ApprovalRecordsError, match=r"mcp-approvals\.json: .*Correct it"):
        approvals.is_approved(configured("bad"))


def test_code_that_was_approved_in_one_project_is_approved_in_all(home: Home) -> None:
    approvals, server = Approvals(home), configured("one")
    before, now = {"/a/server.py": "old", "/a/lib.py": "old"}, {"/a/server.py": "new", "/a/lib.py": "old"}
    approvals.accept_code(server, "/a", before)

    assert approvals.code(server, "/b", before) == before
    assert approvals.code(server, "/b", now) == before  # the question shows the difference
    assert approvals.code(server, "/b", {"/b/server.py": "new"}) == {}


@in_loop
async def test_changed_code_that_can_do_little_starts_unasked_only_where_nobody_can_be_asked(home: Home) -> None:
    server, approvals, code = configured("one"), Approvals(home), {"server.py": "first"}
    approvals.approve(server, "/project", code)
    is_attended = True
    offer = Offer(
        *(server, approvals, ServerManifests(home), lambda: "It runs x.", lambda _: "read", lambda: None, "/project"),
        executed=lambda: {"server.py": "second"},
        is_like_a_command=lambda _: True,
        is_attended=lambda: is_attended,
    )

    with pytest.raises(ServerUnavailableError, match="changed since you approved it"):
        await offer.admit(NOBODY)  # it is listed: the first call asks
    is_attended = False
    await offer.admit(NOBODY)
    was_approved = offer.is_code_approved
    is_attended, person = True, yes_or_no(True)
    await offer.admit(person)

    assert (was_approved, offer.is_code_approved, len(person.questions)) == (False, True, 1)
