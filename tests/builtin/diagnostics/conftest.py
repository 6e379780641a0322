"""A project in a sandbox, and edits whose results are checked."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import pytest

from kaa.builtin.diagnostics.checking import Checks
from kaa.builtin.diagnostics.language_server import ProjectServer
from kaa.components.plugins.lsp import LanguageServer
from kaa.core.messages import ToolCall
from kaa.core.tool import text_result
from kaa.workspace.local import LocalWorkspace
from tests.support.elsewhere import folder_elsewhere
from tests.support.patience import HANG_SECONDS
from tests.support.toolbox import text_of

_MARK = "[new error] "
_SERVER = Path(__file__).parents[2] / "support" / "language_server.py"
_NO_FILES: Mapping[str, str] = {}


class Desk:
    """A place to edit files.

    Attributes:
        root: of the project.
        workspace: the project.
        checks: what checks the edits.
        notices: what the user was told.
        seconds: how long results wait.
    """

    def __init__(self, root: Path, workspace: LocalWorkspace, checks: Checks, notices: list[str]) -> None:
        self.notices = notices
        self.seconds = HANG_SECONDS
        self.root = root
        self.workspace = workspace
        self.checks = checks
        self._calls = 0

    def serve(self, *modes: str, **fields: Any) -> ProjectServer:
        """Have a language server for files that end with `.fake` behave in some way."""
        script = self.root.parent / "language_server.py"
        script.write_bytes(_SERVER.read_bytes())
        command = (sys.executable, "-I", "-S", str(script), *modes)
        definition = LanguageServer("fake", command, {".fake": "fake"}, **fields)
        self.checks.configured = (definition,)
        [server] = self.checks.pool(self.workspace).of_file(str(self.root / "a.fake"))
        return server

    async def edit(self, path: str, content: str | bytes, *, is_full: bool = False, caller: str = "") -> list[str]:
        """Write a file as the tool does. Returns what its result says of new errors."""
        self._calls += 1
        call, done = ToolCall(f"call-{self._calls}", "write", {"path": path}), text_result(f"Wrote {path}.")
        checks, workspace = self.checks, self.workspace
        await checks.before(call, workspace, caller=caller, is_full=is_full)
        await workspace.write(path, content.encode() if isinstance(content, str) else content)
        result = await checks.after(call, done, workspace, caller=caller, is_full=is_full, seconds=self.seconds)
        if result is None:
            return []
        first, _, rest = text_of(result).partition("\n\n")
        assert first == f"Wrote {path}."
        return [line.removeprefix(_MARK) for line in rest.split("\n")]


class AtDesk(Protocol):
    """Plays a scene with a project; files that exist before, by name."""

    def __call__(self, scene: Callable[[Desk], Awaitable[None]], files: Mapping[str, str] = ...) -> None: ...


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_elsewhere() as folder:
        (folder / "project").mkdir()
        yield folder


@pytest.fixture
def at_desk(folder: Path) -> AtDesk:
    def play(scene: Callable[[Desk], Awaitable[None]], files: Mapping[str, str] = _NO_FILES) -> None:
        for name, text in files.items():
            path = folder / "project" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            if text.startswith("#!"):
                path.chmod(0o755)

        async def whole() -> None:
            # Its `python3` is a real one: a wrapper that selects a version takes longer than the check.
            python = os.path.dirname(os.path.realpath(sys.executable))
            environment = {"PATH": f"{python}:{os.environ['PATH']}", "HOME": str(folder)}
            workspace = LocalWorkspace.start(str(folder / "project"), env=environment)
            notices: list[str] = []
            checks = Checks(notices.append)
            try:
                if not (await workspace.sandbox.status()).confined:
                    pytest.skip("this machine cannot confine anything")
                await scene(Desk(folder / "project", workspace, checks, notices))
            finally:
                await checks.close()
                await workspace.close()

        asyncio.run(whole())

    return play
