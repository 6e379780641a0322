"""What the user approved of MCP servers: those of projects, as they were configured, and what all of them offered.

The record is `mcp-approvals.json` in kaa's home. A server of a project is approved for its very configuration; a tool,
of any server, for its very description. What changed is held back until the user has seen how.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar

import msgspec

from kaa.host.private_file import PrivateFile, PrivateFileError
from kaa.mcp.manifest import ServerManifest, ToolInfo
from kaa.shell.home import Home
from kaa.shell.mcp.config.entry import ConfiguredServer


class ApprovalRecordsError(Exception):
    """The record cannot be read or written; the message says why and what to do."""


class ServerApproval(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of a server.

    Attributes:
        digest: of the configuration that was approved; empty if nobody was asked.
        tools: what each tool was when it was accepted, by name.
        instructions: digest of the server's advice, likewise; None before it was first listed.
        code: digests of what it executes and commands can write, by project and path, as it was approved.
        names: words of the command line that were names in a project when the server first started there, by project
            and digest of the configuration.
    """

    digest: str = ""
    tools: dict[str, ToolInfo] = {}
    instructions: str | None = None
    code: dict[str, dict[str, str]] = {}
    names: dict[str, dict[str, tuple[str, ...]]] = {}


class _File(msgspec.Struct, frozen=True):
    format: int = 1
    servers: dict[str, ServerApproval] = {}


class _RawFile(msgspec.Struct, frozen=True):
    """The same without a look into the servers: each start of kaa asks about few of them."""

    servers: dict[str, msgspec.Raw] = {}


class _Digest(msgspec.Struct, frozen=True):
    digest: str = ""


class _Digests(msgspec.Struct, frozen=True):
    """Of an `ServerApproval`, what tells whether something changed."""

    digest: str = ""
    tools: dict[str, _Digest] = {}
    instructions: str | None = None


class _Code(msgspec.Struct, frozen=True):
    code: dict[str, dict[str, str]] = {}


class _Names(msgspec.Struct, frozen=True):
    names: dict[str, dict[str, tuple[str, ...]]] = {}


_KnownT = TypeVar("_KnownT", ServerApproval, _Digests, _Code, _Names)


class Approvals:
    """The record."""

    def __init__(self, home: Home) -> None:
        self._path = home.path / "mcp-approvals.json"
        self._file = PrivateFile(self._path)
        self._read: tuple[tuple[int, ...], dict[str, msgspec.Raw]] | None = None  # what identifies the file's content

    def is_approved(self, server: ConfiguredServer) -> bool:
        """Whether a server may be started as it is configured. The user's own are: he wrote their files.

        Raises:
            ApprovalRecordsError: the record cannot be read.
        """
        return not server.source.needs_approval or self._of(server, _Digests).digest == server.digest

    def was_approved(self, server: ConfiguredServer) -> bool:
        """Whether another configuration of it was approved.

        Raises:
            ApprovalRecordsError: the record cannot be read.
        """
        return bool(self._of(server, _Digests).digest)

    def approve(self, server: ConfiguredServer, project: str = "", code: Mapping[str, str] = {}) -> None:
        """Approve a server as it is configured now. What it offers is accepted when it is next listed.

        Args:
            project: whose directory `code` is about.
            code: what it executes and commands can write, as `accept_code` takes it.

        Raises:
            ApprovalRecordsError: that cannot be kept.
        """
        with self._rewriting() as servers:
            servers[_key(server)] = ServerApproval(digest=server.digest, code={project: dict(code)} if code else {})

    def code(self, server: ConfiguredServer, project: str, now: Mapping[str, str]) -> Mapping[str, str]:
        """The code of a server that was approved in a project, as `accept_code` got it; empty if none was.

        What was approved in another project counts, too, if it is about the same files.

        Args:
            now: the code as it is now.

        Raises:
            ApprovalRecordsError: the record cannot be read.
        """
        approved = self._of(server, _Code).code
        if any(code == now for code in approved.values()):
            return now
        elsewhere = (code for code in approved.values() if not code.keys().isdisjoint(now))
        return approved.get(project) or next(elsewhere, {})

    def accept_code(self, server: ConfiguredServer, project: str, code: Mapping[str, str]) -> None:
        """Approve what a server executes and commands can write.

        Raises:
            ApprovalRecordsError: that cannot be kept.
        """
        with self._rewriting() as servers:
            current = servers.get(_key(server), ServerApproval())
            servers[_key(server)] = msgspec.structs.replace(current, code=current.code | {project: dict(code)})

    def names(self, server: ConfiguredServer, project: str, now: Sequence[str]) -> tuple[str, ...]:
        """The words of a server that were names of something in a project when it was first asked about: kept then.

        Raises:
            ApprovalRecordsError: the record cannot be read or written.
        """
        known = self._of(server, _Names).names.get(project, {}).get(server.digest)
        if known is None:
            known = tuple(now)
            with self._rewriting() as servers:
                current = servers.get(_key(server), ServerApproval())
                names = current.names | {project: {server.digest: known}}
                servers[_key(server)] = msgspec.structs.replace(current, names=names)
        return known

    def held(self, server: ConfiguredServer, manifest: ServerManifest) -> Mapping[str, str]:
        """The tools that are held back, by name: how they changed, in lines. New ones are accepted at once, and kept.

        Raises:
            ApprovalRecordsError: the record cannot be read or written.
        """
        before, found = self._of(server, _Digests), self.changes(server, manifest)
        accepted = {tool.name: tool for tool in manifest.tools if tool.name not in found}
        if accepted.keys() - before.tools.keys() or before.instructions is None:
            with self._rewriting() as servers:
                current = servers.get(_key(server), ServerApproval())
                servers[_key(server)] = msgspec.structs.replace(
                    current,
                    tools=current.tools | {name: tool for name, tool in accepted.items() if name not in current.tools},
                    instructions=manifest.instructions_digest if current.instructions is None else current.instructions,
                )
        return found

    def changes(self, server: ConfiguredServer, manifest: ServerManifest) -> Mapping[str, str]:
        """What `held` gives. Keeps nothing.

        Raises:
            ApprovalRecordsError: the record cannot be read.
        """
        before = self._of(server, _Digests)
        found: dict[str, str] = {}
        for tool in manifest.tools:
            known = before.tools.get(tool.name)
            if known is not None and known.digest != tool.digest:
                found[tool.name] = difference(self._of(server, ServerApproval).tools[tool.name], tool)
            elif known is None and before.instructions is not None and server.entry.tool_approval == "all":
                found[tool.name] = f"It is new:\n{_described(tool)}"
        if self.has_new_instructions(server, manifest):
            what = "The server's instructions changed."
            first, *others = [tool.name for tool in manifest.tools] or ["(instructions)"]
            now = f"{what} They are now:\n{manifest.instructions}"
            found = {first: "\n".join(filter(None, (found.get(first), now)))} | {
                name: found.get(name) or what for name in others
            }
        return found

    def has_new_instructions(self, server: ConfiguredServer, manifest: ServerManifest) -> bool:
        """Whether the server's advice changed since it was accepted.

        Raises:
            ApprovalRecordsError: the record cannot be read.
        """
        return self._of(server, _Digests).instructions not in (None, manifest.instructions_digest)

    def accept(self, server: ConfiguredServer, manifest: ServerManifest) -> None:
        """Accept everything that a server offers now.

        Raises:
            ApprovalRecordsError: that cannot be kept.
        """
        with self._rewriting() as servers:
            servers[_key(server)] = msgspec.structs.replace(
                servers.get(_key(server), ServerApproval()),
                tools={tool.name: tool for tool in manifest.tools},
                instructions=manifest.instructions_digest,
            )

    def forget(self, file: str, name: str, *, of_project: bool) -> None:
        """A server was removed: another one of its name is another server.

        Raises:
            ApprovalRecordsError: that cannot be kept.
        """
        key = f"{file}#{name}" if of_project else f"user/{name}"
        if key in self._servers():
            with self._rewriting() as servers:
                servers.pop(key, None)

    def _of(self, server: ConfiguredServer, kind: type[_KnownT]) -> _KnownT:
        raw = self._servers().get(_key(server))
        with self._naming_the_file():
            return kind() if raw is None else msgspec.json.decode(raw, type=kind)

    def _servers(self) -> dict[str, msgspec.Raw]:
        """All servers as the file has them now, parsed once for many questions."""
        identity: tuple[int, ...] = ()  # of no file, or of one that cannot be looked at
        with suppress(OSError):
            status = os.stat(self._path)
            identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        if self._read is None or self._read[0] != identity:
            try:
                content = self._file.read()
            except PrivateFileError as error:
                raise ApprovalRecordsError(str(error)) from error
            with self._naming_the_file():
                self._read = identity, msgspec.json.decode(content or b"{}", type=_RawFile).servers
        return self._read[1]

    @contextmanager
    def _rewriting(self) -> Iterator[dict[str, ServerApproval]]:
        try:
            with self._file.rewriting() as content:
                servers = self._parse(content)
                yield servers
                encoded = msgspec.json.encode(_File(servers=dict(sorted(servers.items()))))
                self._file.replace(msgspec.json.format(encoded, indent=2) + b"\n")
        except PrivateFileError as error:
            raise ApprovalRecordsError(str(error)) from error

    def _parse(self, content: bytes | None) -> dict[str, ServerApproval]:
        with self._naming_the_file():
            return msgspec.json.decode(content or b"{}", type=_File).servers

    @contextmanager
    def _naming_the_file(self) -> Iterator[None]:
        try:
            yield
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ApprovalRecordsError(
                f"{self._path}: {error}. Correct it, or remove it and approve the servers again"
            ) from error


def difference(before: ToolInfo, after: ToolInfo) -> str:
    """How a tool changed, as a diff of what the model reads."""
    from kaa.shell.trust.difference import unified  # lazy: servers seldom change what they offer

    lines = unified(_described(before), _described(after), ("before", "now"))
    return "\n".join(lines) or "Its texts are the same to the eye, but not what the server sent."


def _described(tool: ToolInfo) -> str:
    schema = msgspec.json.format(msgspec.json.encode(tool.input_schema), indent=2).decode()
    hints = ", ".join(f"{name}: {getattr(tool.hints, name)}" for name in tool.hints.__struct_fields__)
    return "\n".join((tool.name, tool.title, tool.description, schema, hints))


def _key(server: ConfiguredServer) -> str:
    return f"{server.source.file}#{server.name}" if server.source.needs_approval else f"user/{server.name}"
