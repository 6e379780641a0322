"""`kaa mcp` in the process of the test, with a project and a home of its own."""

import json
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from kaa.frontends.mcp.command import main
from tests.end_to_end.kaa_process import Finished


class McpCommands:
    """The subcommands, for a person whose other agents keep their files in `person`."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.project, self.home, self.person = (folder / name for name in ("project", "home", "person"))
        for one in (self.project, self.home, self.person):
            one.mkdir()
        monkeypatch.setenv("HOME", str(self.person))
        monkeypatch.setenv("KAA_DIR", str(self.home))

    def run(self, *arguments: str) -> Finished:
        """Run `kaa mcp ARGUMENTS…` to the end."""
        out, err = StringIO(), StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = main(list(arguments), str(self.project))
        return Finished(code, out.getvalue(), err.getvalue())


def entries(file: Path) -> dict[str, dict[str, object]]:
    """The servers in a file."""
    found: dict[str, dict[str, object]] = json.loads(file.read_text())["mcpServers"]
    return found
