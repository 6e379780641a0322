"""What files say about servers."""

from kaa.shell.mcp.config.entry import Source
from kaa.shell.mcp.config.reading import server_of


def test_a_file_of_a_project_cannot_loosen_what_protects_the_user() -> None:
    loose = {"command": "x", "sandbox": False, "approval": "never", "headersHelper": "touch owned"}

    server = server_of("ours", loose, Source("/project/.mcp.json", "project"), "claude")

    assert (server.entry.sandbox, server.entry.approval, server.entry.headers_helper) == (True, "writes", "")
    assert server.ignored == tuple(
        f"`{field}` is ignored: only your own files can have it" for field in ("sandbox", "approval", "headersHelper")
    )
