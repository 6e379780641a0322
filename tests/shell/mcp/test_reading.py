"""What files say about servers."""

import json
from pathlib import Path

import pytest

from kaa.core.messages import Json
from kaa.ext.permissions import Permissions
from kaa.shell.home import Home
from kaa.shell.mcp.approvals import Approvals
from kaa.shell.mcp.config.dialects import ConfigFieldError
from kaa.shell.mcp.config.entry import Scope, Source
from kaa.shell.mcp.config.reading import configured, server_of
from kaa.workspace.places import Places


@pytest.mark.parametrize("scope", ["project", "plugin", "agent"])
def test_a_file_of_a_project_cannot_loosen_what_protects_the_user(scope: Scope) -> None:
    loose: Json = {"command": "x", "sandbox": False, "approval": "never", "headersHelper": "touch owned"}
    loose["readable"] = ["~/Documents"]

    server = server_of("ours", loose, Source("/project/.mcp.json", scope), "claude")

    assert (server.entry.sandbox, server.entry.approval, server.entry.headers_helper) == (True, "writes", "")
    assert server.entry.readable == ()
    assert server.ignored == tuple(
        f"`{field}` is ignored: only your own files can have it"
        for field in ("sandbox", "approval", "headersHelper", "readable")
    )


@pytest.mark.parametrize("time", [0, float("inf"), float("nan")])
def test_a_time_without_an_end_is_no_time(time: float) -> None:
    with pytest.raises(ConfigFieldError, match="times must be positive numbers"):
        server_of("ours", {"command": "x", "timeoutSeconds": time}, Source("mcp.json", "user"), "kaa")


@pytest.mark.parametrize("how", ["link", "hard link", "own"])
def test_servers_of_the_user_that_commands_could_have_written_need_an_approval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    home, project = tmp_path / ".kaa/agent", tmp_path / "dotfiles"
    for folder in (home, project):
        folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert Places.of({}, str(tmp_path), str(project)).caches
    entries = json.dumps({"mcpServers": {"a": {"command": "a", "sandbox": False}}})
    (project / "mcp.json").write_text(entries)
    match how:
        case "link":
            (home / "mcp.json").symlink_to(project / "mcp.json")
        case "hard link":
            (home / "mcp.json").hardlink_to(project / "mcp.json")
        case _:
            (home / "mcp.json").write_text(entries)

    [server] = configured(Home(home), "/work", []).servers

    approvals = Approvals(Home(home))
    assert server.source.needs_approval == (how != "own")
    assert approvals.is_approved(server) == (how == "own")
    assert not server.entry.sandbox  # it is the user's own, once they have seen it
    approvals.approve(server)
    assert approvals.is_approved(server)
    (project / "mcp.json").write_text(entries.replace('"a", "s', '"b", "s'))
    [changed] = configured(Home(home), "/work", []).servers
    assert approvals.is_approved(changed) == (how == "own")


def test_files_in_utf_16_are_named_with_what_to_do(tmp_path: Path) -> None:
    content = '{"mcpServers": {"a": {"command": "a"}}}'
    (tmp_path / "mcp.json").write_text(content, "utf-16")

    found = configured(Home(tmp_path), "/project", [(".mcp.json", content.encode("utf-16"))])

    assert found.servers == ()
    assert found.notices == (
        f"{tmp_path / 'mcp.json'} cannot be read: it is UTF-16. Save it as UTF-8",
        "/project/.mcp.json is ignored: it is UTF-16. Save it as UTF-8",
    )


def test_a_server_of_a_project_never_gets_a_name_of_one_of_the_users(tmp_path: Path) -> None:
    own = {"github": {"command": "own"}, "github-project": {"command": "other"}}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": own}))
    theirs = json.dumps({"mcpServers": {"github": {"command": "theirs"}}}).encode()

    found = configured(Home(tmp_path), "/project", [(".mcp.json", theirs)])

    assert [(one.name, one.entry.command) for one in found.servers] == [("github", "own"), ("github-project", "other")]
    assert found.notices == (
        "MCP server github in /project/.mcp.json is ignored: github and github-project have its names",
    )


def test_the_last_file_of_a_project_counts_for_a_server_with_a_name_of_the_users(tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"a": {"command": "own"}}}')
    files = [(f"{n}.json", json.dumps({"mcpServers": {"a": {"command": n}}}).encode()) for n in ("first", "last")]

    found = configured(Home(tmp_path), "/project", files)

    assert [(one.name, one.entry.command) for one in found.servers] == [("a", "own"), ("a-project", "last")]


@pytest.mark.parametrize("name", ["lab_", "_lab", "Lab", "lab__"])
def test_a_name_that_is_the_users_in_names_of_tools_is_taken(tmp_path: Path, name: str) -> None:
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"lab": {"command": "own"}}}')
    theirs = json.dumps({"mcpServers": {name: {"command": "theirs"}}}).encode()

    found = configured(Home(tmp_path), "/project", [(".mcp.json", theirs)])

    assert [one.name for one in found.servers] == ["lab", f"{name}-project"]


def test_a_server_whose_tools_are_called_otherwise_says_so(tmp_path: Path) -> None:
    server = server_of("lab__x", {"command": "x"}, Source("mcp.json", "user"), "kaa")

    assert server.ignored == ("its tools are called `mcp__lab_x__…`: rules and hooks know them by these names",)


@pytest.mark.parametrize(
    ("permissions", "hosts"),
    [
        ({"project": "write"}, ("registry.npmjs.org",)),
        ({"project": "write", "hosts": []}, ()),
        ({"hosts": ["github.com"]}, ("github.com",)),
    ],
)
def test_a_package_runner_keeps_its_registry_unless_hosts_are_given(
    permissions: dict[str, Json], hosts: tuple[str, ...]
) -> None:
    source = Source("/home/mcp.json", "user")

    server = server_of("x", {"command": "npx", "args": ["-y", "x"], "permissions": permissions}, source, "kaa")

    assert server.entry.permissions is not None
    assert set(hosts) <= set(server.entry.permissions.hosts)
    assert bool(hosts) == bool(server.entry.permissions.hosts)


def test_other_programs_get_no_hosts_with_their_permissions() -> None:
    source = Source("/home/mcp.json", "user")

    server = server_of("x", {"command": "node", "permissions": {"project": "write"}}, source, "kaa")

    assert server.entry.permissions == Permissions(project="write")
