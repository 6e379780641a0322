"""The language servers of a project, and which of them a file belongs to."""

import asyncio
import os
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from kaa.builtin.diagnostics.edited import EditedFile
from kaa.builtin.diagnostics.language_server import ProjectServer
from kaa.builtin.diagnostics.problems import Problem
from kaa.components.plugins.lsp import LanguageServer
from kaa.lsp.errors import LanguageServerError
from kaa.workspace.protocol import PipedPrograms, Workspace

# Each may take some hundred MB.
_MOST_RUNNING = 4


class ServerPool:
    """The servers of a project, for one conversation.

    Args:
        configured: those that the user, plugins and the trusted project define, the most important first.
        confined: gives the project as servers see it, which may change nothing.
        notice: told, in a sentence, what fails.
    """

    def __init__(
        self,
        configured: Sequence[LanguageServer],
        workspace: Workspace,
        confined: Callable[[], Workspace],
        notice: Callable[[str], object],
    ) -> None:
        names: dict[str, LanguageServer] = {}
        for server in configured:
            names.setdefault(server.name, server)
        self._configured = [server for server in names.values() if server.enabled]
        self._off = {server.name for server in names.values() if not server.enabled}
        self._workspace = workspace
        self._confined = confined
        self._notice = notice
        self._servers: dict[tuple[str, ...], ProjectServer] = {}  # the last used ones at the end

    @property
    def servers(self) -> list[ProjectServer]:
        """Those that were wanted so far."""
        return list(self._servers.values())

    def of_file(self, path: str, *, for_diagnostics: bool = True) -> list[ProjectServer]:
        """The servers that a file belongs to, not started yet.

        Args:
            for_diagnostics: whether those are left out whose diagnostics nobody wants.
        """
        end = os.path.splitext(path)[1].lower()
        configured = [one for one in self._configured if any(path.endswith(it) for it in one.languages)]
        if not configured:
            known = _known_servers(end, self._off)
            return self._used([known], is_configured=False) if known else []
        wanted = [(_completed(one),) for one in configured if one.diagnostics or not for_diagnostics]
        return self._used(wanted, is_configured=True)

    async def learn(self, path: str, name: str, text: str) -> None:
        """Start the servers of a file that is about to be edited, and know the errors in it."""
        servers = self.of_file(path)
        await asyncio.gather(*(one.learn(path, name, text) for one in servers), return_exceptions=True)

    async def close(self) -> None:
        await asyncio.gather(*(server.close() for server in self.servers))

    def _used(self, wanted: Sequence[tuple[LanguageServer, ...]], *, is_configured: bool) -> list[ProjectServer]:
        if not isinstance(self._workspace, PipedPrograms):
            return []
        found: list[ProjectServer] = []
        for choices in wanted:
            key = tuple(one.name for one in choices)
            server = self._servers.pop(key, None)
            if server is None:
                server = ProjectServer(
                    choices, self._workspace, self._confined, self._notice, is_configured=is_configured
                )
            self._servers[key] = server
            found.append(server)
        running = [server for server in self.servers if server.state in ("starting", "running")]
        for server in running[: max(len(running) - _MOST_RUNNING, 0)]:
            server.stop()
        return found


async def find_problems(found: list[Problem], edit: EditedFile, server: ProjectServer) -> None:
    """Have a server find what an edit made; it finds nothing if it does not say."""
    before = None if edit.before is None else edit.before.decode("utf-8", "replace")
    with suppress(LanguageServerError):
        await server.find(found, edit.path, edit.name, before, edit.after.decode("utf-8", "replace"))


def _completed(server: LanguageServer) -> LanguageServer:
    """A definition that names no languages, with those that belong to the ends of names."""
    languages = {end: language or _language_of_end(end) for end, language in server.languages.items()}
    return msgspec.structs.replace(server, languages=languages)


# The identifiers of the protocol; what is not here is the end of the name.
_LANGUAGES: Final = {
    **dict.fromkeys((".py", ".pyi"), "python"),
    **dict.fromkeys((".js", ".mjs", ".cjs"), "javascript"),
    **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
    ".jsx": "javascriptreact",
    ".tsx": "typescriptreact",
    ".go": "go",
    ".rs": "rust",
    **dict.fromkeys((".c", ".h"), "c"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), "cpp"),
    ".cs": "csharp",
    **dict.fromkeys((".ex", ".exs"), "elixir"),
    ".hs": "haskell",
    **dict.fromkeys((".kt", ".kts"), "kotlin"),
    **dict.fromkeys((".ml", ".mli"), "ocaml"),
    ".rb": "ruby",
    **dict.fromkeys((".sh", ".bash"), "shellscript"),
    **dict.fromkeys((".tf", ".tfvars"), "terraform"),
}

# Of the servers in a line, the first that is installed is used.
_KNOWN_SERVERS: Final = (
    (
        (".py", ".pyi"),
        ("basedpyright-langserver --stdio", "pyright-langserver --stdio", "pylsp", "jedi-language-server"),
    ),
    ((".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"), ("typescript-language-server --stdio",)),
    ((".go",), ("gopls",)),
    ((".rs",), ("rust-analyzer",)),
    ((".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), ("clangd",)),
    ((".cs",), ("csharp-ls",)),
    ((".dart",), ("dart language-server",)),
    ((".ex", ".exs"), ("elixir-ls",)),
    ((".hs",), ("haskell-language-server-wrapper --lsp",)),
    ((".java",), ("jdtls",)),
    ((".kt", ".kts"), ("kotlin-language-server",)),
    ((".lua",), ("lua-language-server",)),
    ((".ml", ".mli"), ("ocamllsp",)),
    ((".php",), ("intelephense --stdio", "phpactor language-server")),
    ((".rb",), ("ruby-lsp",)),
    ((".swift",), ("sourcekit-lsp",)),
    ((".tf", ".tfvars"), ("terraform-ls serve",)),
    ((".zig",), ("zls",)),
)


def _language_of_end(end: str) -> str:
    """The identifier of a language, by the end of a file's name."""
    return _LANGUAGES.get(end, end.lstrip("."))


def _known_servers(end: str, off: Collection[str]) -> tuple[LanguageServer, ...]:
    """The servers of which one would do for a file, by the end of its name. `off`: names of those not wanted."""
    for ends, commands in _KNOWN_SERVERS:
        if end in ends:
            servers = (LanguageServer(line.split()[0], tuple(line.split())) for line in commands)
            languages = {one: _language_of_end(one) for one in ends}
            return tuple(LanguageServer(one.name, one.command, languages) for one in servers if one.name not in off)
    return ()
