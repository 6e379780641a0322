"""What the sandbox of a server kept it from, and the setting that permits it."""

from pathlib import Path

import pytest

from kaa.ext.permissions import Permissions
from kaa.shell.mcp.config.entry import ConfiguredServer, ServerEntry, Source
from kaa.shell.mcp.rights import hindrance_of, own_rules, silence_of
from kaa.workspace.blocked import Blocked
from kaa.workspace.network.allow_list import NetworkState
from tests.support.tables import each

_REFUSED = "Error: EROFS: read-only file system, open '/home/u/project/new.txt'"
_SQLITE = "sqlite3.OperationalError: unable to open database file"


def hindrance(said: str, **entry: object) -> str:
    """What is told about a server called `notes`."""
    configured = ServerEntry(**({"command": "notes-server"} | entry))  # type: ignore[arg-type]  # what a test says of it
    server = ConfiguredServer("notes", configured, Source("/home/mcp.json", "user"), "digest")
    return hindrance_of(server, "/home/u/project", "/home/u", "/home/u/.kaa/data", (), said)


@pytest.mark.parametrize("said", [_REFUSED, "[Errno 30] Read-only file system: 'new.txt'", _SQLITE])
def test_a_refused_write_names_the_server_and_the_setting(said: str) -> None:
    told = hindrance(said, permissions=Permissions(hosts=("a.example",)))

    assert told == (
        "The sandbox of MCP server notes does not let it write the project. To permit that, set"
        ' "permissions": {"project": "write", "hosts": ["a.example"]} for notes in /home/mcp.json'
    )


def test_a_refused_write_where_a_server_starts_outside_the_project_names_that_place() -> None:
    told = hindrance("[Errno 30] Read-only file system: 'data.db'", cwd="/home/u/tools")

    assert told == (
        "The sandbox of MCP server notes does not let it write /home/u/tools, where it starts. If it is to keep files"
        ' in the project, set "cwd": "." and "permissions": {"project": "write"} for notes in /home/mcp.json'
    )
    assert "does not let it write the project" in hindrance(_REFUSED, cwd="/home/u/tools")
    assert "does not let it write the project" in hindrance("Read-only file system: 'x'", cwd="sub")


def test_hosts_are_named_whatever_else_a_server_was_kept_from(tmp_path: Path) -> None:
    said = "getaddrinfo ENOTFOUND api.example\n[Errno 30] Read-only file system: 'data.db'"

    told = hindrance(said, cwd="/home/u/tools")

    assert '"hosts": ["api.example"]' in told
    assert "does not let it write /home/u/tools, where it starts" in told

    server = ConfiguredServer("x", ServerEntry(command="excel"), Source("/home/mcp.json", "user"), "digest")
    missing = f"getaddrinfo ENOTFOUND api.example\nno such file or directory: '{tmp_path}'"
    told = hindrance_of(server, "/p", str(tmp_path.parent), "/p/data", (), missing)

    assert '"hosts": ["api.example"]' in told
    assert f'"readable": ["{tmp_path}"]' in told


def test_a_directory_of_the_project_that_node_could_not_make_is_a_refused_write() -> None:
    told = hindrance("Error: ENOENT: no such file or directory, mkdir '/home/u/project/data'")

    assert told.startswith("The sandbox of MCP server notes does not let it write the project.")


def test_a_shell_that_reports_a_refused_write_is_not_about_the_home() -> None:
    told = hindrance("$ cd /home/u/project; touch made\ntouch: cannot touch 'made': Read-only file system")

    assert told.startswith("The sandbox of MCP server notes does not let it write the project.")


def test_a_call_for_a_new_file_of_the_project_that_fails_without_a_reason_names_the_setting(tmp_path: Path) -> None:
    server = ConfiguredServer("x", ServerEntry(command="excel"), Source("/home/mcp.json", "user"), "digest")
    (tmp_path / "old.xlsx").touch()

    def told(said: str, name: str) -> str:
        asked = f'{{"path":"{tmp_path}/{name}"}}'
        return hindrance_of(server, str(tmp_path), "/home/u", "/home/u/.kaa/data", (), said, asked)

    assert '"permissions": {"project": "write"}' in told("Unexpected error; see server log", "new.xlsx")
    assert told("Unexpected error; see server log", "old.xlsx") == ""
    assert told("no such file", "new.xlsx") == ""


@pytest.mark.parametrize(
    ("said", "entry"),
    [
        ("no such note", {}),
        (_REFUSED, {"permissions": Permissions(project="write")}),
        (_REFUSED, {"sandbox": False}),
    ],
)
def test_other_failures_are_not_explained_by_the_sandbox(said: str, entry: dict[str, object]) -> None:
    assert hindrance(said, **entry) == ""


@pytest.mark.parametrize(
    "said",
    [
        "Error: ENOENT: no such file or directory, mkdir '/home/u/.notes-server'",
        "PermissionError: [Errno 13] Permission denied: '/home/u/.local/share/notes'",
    ],
)
def test_a_refused_write_in_the_home_names_a_folder_that_can_be_written(said: str) -> None:
    assert hindrance(said) == (
        "The sandbox of MCP server notes shows it little of your home, and lets it write nothing there. If it keeps"
        " files there, set"
        ' "env": {"HOME": "/home/u/.kaa/data"} for notes in /home/mcp.json'
    )


@pytest.mark.parametrize(
    "said",
    [
        "Error: Cannot find module '{}/libs/x.mjs'",
        "python3: can't open file '{}/libs/x.mjs': [Errno 2] No such file or directory",
        "Error: ENOENT: no such file or directory, open '{}/libs/x.mjs'",
    ],
)
def test_a_file_of_the_home_that_is_there_names_the_field_that_shows_it(tmp_path: Path, said: str) -> None:
    (tmp_path / "libs").mkdir()
    (tmp_path / "libs/x.mjs").touch()
    server = ConfiguredServer("notes", ServerEntry(command="notes"), Source("/home/mcp.json", "user"), "")
    there, missing = said.format(tmp_path), said.format(tmp_path / "nowhere")

    told = [hindrance_of(server, "/project", str(tmp_path), "/data", (), one) for one in (there, missing)]

    assert told[0] == (
        f"The sandbox of MCP server notes does not show it {tmp_path}/libs/x.mjs. If it may read that, set"
        f' "readable": ["{tmp_path}/libs"] for notes in /home/mcp.json'
    )
    assert "readable" not in told[1]


def test_an_environment_that_uv_cannot_make_is_made_by_the_user(tmp_path: Path) -> None:
    server = ConfiguredServer("notes", ServerEntry(command="uv"), Source("/home/mcp.json", "user"), "")
    said = f"error: failed to create directory `{tmp_path}/srv/.venv`: Read-only file system (os error 30)"

    told = hindrance_of(server, "/project", str(tmp_path), "/data", (), said)

    assert told == f"Its environment is not there yet: run `uv sync` in {tmp_path}/srv once, outside of kaa"


def test_a_host_that_node_looks_for_itself_is_named_with_the_setting_and_the_version() -> None:
    said = "fetch failed getaddrinfo EAI_AGAIN api.example.com"

    told = [hindrance(said), hindrance(said, permissions=Permissions(hosts=("*.example.com",)))]

    proxy = "It reaches permitted hosts through a proxy, which Node uses from 22.21 and 24.5 on: update an older one"
    assert told == [
        "The sandbox of MCP server notes kept it from api.example.com. To permit that, set"
        ' "permissions": {"project": "read", "hosts": ["api.example.com"]} for notes in /home/mcp.json. ' + proxy,
        proxy,
    ]
    assert '"hosts": [HOST]' in hindrance("TypeError: fetch failed")
    assert hindrance("TypeError: fetch failed", permissions=Permissions(hosts=("a.example",))) == ""


def test_a_bridge_to_a_server_with_an_address_is_not_needed() -> None:
    address = "https://mcp.example.com/sse"

    told = hindrance("getaddrinfo ENOTFOUND mcp.example.com", command="npx", args=("-y", "mcp-remote", address))

    assert told.endswith(f'kaa connects to such servers itself: "url": "{address}" in the place of its command')


def test_a_server_that_npm_cannot_install_in_silence_says_how_to_see_why() -> None:
    source = Source("/home/mcp.json", "user")

    said = [silence_of(ConfiguredServer("one", ServerEntry(command=name), source, "")) for name in ("npx", "uvx", "x")]

    assert said == [
        'npm does not show what scripts of packages print: to see it, set "env": {"npm_config_foreground_scripts":'
        ' "true"} for one in /home/mcp.json and run `kaa mcp test one`',
        "",
        "",
    ]


@each(
    ("source", "rules"),
    [
        (Source("/home/mcp.json", "user"), ["cdn.example"]),
        (Source("/home/run.json", "run"), ["cdn.example"]),
        (Source("/home/u/project/mcp.json", "user", lies_in_project=True), ["git.corp.example"]),
        (Source("/home/plugins/a/.mcp.json", "plugin"), ["git.corp.example"]),
        (Source("/home/u/project/.mcp.json", "project"), ["git.corp.example"]),
        (Source("/home/agents/a.md", "agent"), ["git.corp.example"]),
    ],
)
def test_only_hosts_that_the_user_wrote_may_have_private_addresses(source: Source, rules: list[str]) -> None:
    permissions = Permissions(hosts=("cdn.example",))
    server = ConfiguredServer("lab", ServerEntry(command="lab", permissions=permissions), source, "digest")

    assert list(map(str, own_rules(server, permissions, NetworkState.parse("git.corp.example")))) == rules

    blocked = (Blocked("private", "cdn.example:443"),)
    told = hindrance_of(server, "/home/u/project", "/home/u", "/home/u/.kaa/data", blocked, "")
    assert ("your own rules (sandbox.network, --net) name exactly" in told) == (rules != ["cdn.example"])
