"""How servers are made that can be started."""

import asyncio
from pathlib import Path

from kaa.shell.home import Home
from kaa.shell.mcp.config.entry import ConfiguredServer, ServerEntry, Source
from kaa.shell.mcp.servers import ServerMaker
from kaa.workspace.sandbox.options import SandboxOptions


def test_the_users_settings_are_read_once_to_find_what_a_server_executes(tmp_path: Path) -> None:
    project, asked = tmp_path / "project", list[str]()
    (project / "tools").mkdir(parents=True)
    (project / "tools/server.py").write_text("import helper\n")
    (project / "tools/helper.py").write_text("")

    def sandbox(root: str) -> SandboxOptions:
        asked.append(root)
        return SandboxOptions()

    entry = ServerEntry(command="python3", args=("tools/server.py",))
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    maker = ServerMaker(Home(tmp_path / "kaa"), environ, print, lambda: False, sandbox)
    server = ConfiguredServer("one", entry, Source(str(project / ".mcp.json"), "project"), "digest")

    (found,) = asyncio.run(maker.trusted([server], str(project)).find())

    assert {str(project / "tools" / name) for name in ("server.py", "helper.py")} <= found.code.keys()
    assert asked == [str(project)]
