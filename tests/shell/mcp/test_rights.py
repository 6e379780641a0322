"""What the sandbox of a server kept it from, and the setting that permits it."""

import pytest

from kaa.ext.permissions import Permissions
from kaa.shell.mcp.config.entry import ConfiguredServer, ServerEntry, Source
from kaa.shell.mcp.rights import hindrance_of

_REFUSED = "Error: EROFS: read-only file system, open '/project/new.txt'"
_SQLITE = "sqlite3.OperationalError: unable to open database file"


def hindrance(said: str, **entry: object) -> str:
    """What is told about a server called `notes`."""
    configured = ServerEntry(**({"command": "notes-server"} | entry))  # type: ignore[arg-type]  # what a test says of it
    server = ConfiguredServer("notes", configured, Source("/home/mcp.json", "user"), "digest")
    return hindrance_of(server, "/project", (), said)


@pytest.mark.parametrize("said", [_REFUSED, "[Errno 30] Read-only file system: 'new.txt'", _SQLITE])
def test_a_refused_write_names_the_server_and_the_setting(said: str) -> None:
    told = hindrance(said, permissions=Permissions(hosts=("a.example",)))

    assert told == (
        "The sandbox of MCP server notes does not let it write the project. To permit that, set"
        ' "permissions": {"project": "write", "hosts": ["a.example"]} for notes in /home/mcp.json'
    )


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
