"""One configured MCP server, whatever file and dialect it was written in."""

from typing import Literal, TypeAlias

import msgspec

from kaa.builtin.mcp.host import Exposure
from kaa.ext.permissions import Permissions
from kaa.mcp.oauth.settings import OAuthEntry

Lifecycle: TypeAlias = Literal["lazy", "eager", "keep-alive"]
"""`lazy`: starts at its first use, ends when idle. `eager`: starts with kaa. `keep-alive`: and starts again."""

Transport: TypeAlias = Literal["stdio", "http", "sse"]

Scope: TypeAlias = Literal["user", "plugin", "agent", "project", "run"]
"""`agent`: of a definition of an agent that is the user's."""

_UNCONFINED = (
    "It runs without a sandbox, as a program of yours: whatever it loads, also from a project, runs with your rights."
)


class ServerEntry(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """What a file says about a server. Texts are as written: `${VAR}` is filled in when an approved server starts.

    Attributes:
        command: the program of a server that speaks over its standard streams; else `url` has its address.
        type: what carries the messages; None to find out.
        headers_helper: a command that prints headers as JSON; of the user's own files only.
        timeout_seconds: how long a call may take without a sign of life.
        startup_timeout_seconds: how long a start may take; None for kaa's own limits.
        protocol: `auto`, `legacy` (revisions that begin with `initialize`) or `2026-07-28`.
        required: whether a run that no person watches fails without it.
        tool_exposure: overrides `exposure` for the tools whose names match a pattern.
        tools: patterns of the tools that are used; empty for all. `exclude_tools` are left out of those.
        readable: paths outside of the project that it may read, besides those that its command line names.
        permissions: what it may do in its sandbox; None to propose what its command line needs.
        sandbox: False runs it without a sandbox; of the user's own files only.
        approval: which calls are asked about if its tools can do more than read: `writes` believes `readOnlyHint`.
        tool_approval: `all` also holds back tools that the server adds later.
    """

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    type: Transport | None = None
    headers: dict[str, str] = {}
    headers_helper: str = ""
    timeout_seconds: float = 60
    startup_timeout_seconds: float | None = None
    oauth: OAuthEntry = OAuthEntry()
    protocol: Literal["auto", "legacy", "2026-07-28"] = "auto"
    enabled: bool = True
    required: bool = False
    description: str = ""
    exposure: Exposure = "auto"
    tool_exposure: dict[str, Exposure] = {}
    tools: tuple[str, ...] = ()
    exclude_tools: tuple[str, ...] = ()
    lifecycle: Lifecycle = "lazy"
    idle_minutes: float = 10
    readable: tuple[str, ...] = ()
    permissions: Permissions | None = None
    sandbox: bool = True
    approval: Literal["ask", "writes", "never"] = "writes"
    tool_approval: Literal["changed", "all"] = "changed"

    @property
    def warning(self) -> str:
        """What the user should know of it before it starts, in a sentence; empty for a server that is confined."""
        return "" if self.sandbox or not self.command else _UNCONFINED

    @property
    def texts(self) -> tuple[str, ...]:
        """What variables are filled in."""
        login = (value for value in msgspec.structs.astuple(self.oauth) if isinstance(value, str))
        return (
            self.command,
            *self.args,
            *self.env.values(),
            self.url,
            *self.headers.values(),
            self.cwd,
            *self.readable,
            *login,
        )


class Source(msgspec.Struct, frozen=True):
    """Where a server is configured.

    Attributes:
        root: of a plugin: the folder of its files, which the server may read; empty for others.
        data: of a plugin: the folder of what it keeps; empty for others, which get one of their own.
        lies_in_project: it is the user's own, but commands could have written it: it leads into a project, or has
            another name (a hard link), which may lie in one.
    """

    file: str
    scope: Scope
    root: str = ""
    data: str = ""
    lies_in_project: bool = False

    @property
    def needs_approval(self) -> bool:
        """Whether the user is asked before such a server starts: the others he configured or installed himself."""
        return self.scope in ("project", "agent") or self.lies_in_project

    @property
    def is_own(self) -> bool:
        """Whether the user wrote such a server's entry: others can only have been agreed to."""
        return self.scope in ("user", "run") and not self.lies_in_project


class ConfiguredServer(msgspec.Struct, frozen=True):
    """A server that can be approved and started.

    Attributes:
        name: unique among the configured servers: `NAME-project` of a project's if the user has one of its name.
        digest: SHA-256, hexadecimal, of the entry as written, without what only describes it: what an approval is for.
        ignored: fields of the entry that kaa does not know, and those it refuses, one sentence each.
    """

    name: str
    entry: ServerEntry
    source: Source
    digest: str
    ignored: tuple[str, ...] = ()
