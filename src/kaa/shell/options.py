"""How a conversation is to be opened: what the command line, an editor or a script may choose."""

from pathlib import Path
from typing import TypeAlias

import msgspec

from kaa.core.budget import Budget
from kaa.core.provider import ThinkingLevel
from kaa.ext.choices import TrustChoice
from kaa.ext.hooks import SwitchKind
from kaa.shell.settings import ApprovalPolicy


class SessionNotKeptError(Exception):
    """Sessions are not kept, so there is none to go to."""


class _Named(msgspec.Struct, frozen=True, kw_only=True):
    """Base of what chooses a session that is kept. `name`: what to call it from now on; None changes nothing."""

    name: str | None = None


class NewSession(_Named, frozen=True):
    """Begin a session.

    Attributes:
        session_id: its id; a session of this project that has it already is continued.
        parent: the session file that its header names as its parent.
    """

    session_id: str | None = None
    parent: str | None = None


class ContinueSession(_Named, frozen=True):
    """Continue the most recent session of this directory, or begin one."""


class ResumeSession(_Named, frozen=True):
    """Continue a certain session, named by path or by the beginning of its id."""

    query: str


class ViewSession(msgspec.Struct, frozen=True):
    """Look at a session, named like one to open, and change nothing. Another process may have it open."""

    query: str


class ForkSession(_Named, frozen=True):
    """Copy a session, named like one to open, into a new one of this project, and go on there.

    Attributes:
        entry_id: copy only what leads to this entry, without the entry itself; None copies everything, all branches.
    """

    query: str
    entry_id: str | None = None


class CloneSession(_Named, frozen=True):
    """Copy the current branch of a session into a new one of this project, and go on there."""

    query: str


class UnkeptSession(msgspec.Struct, frozen=True):
    """Keep nothing."""


SessionChoice: TypeAlias = (
    NewSession | ContinueSession | ResumeSession | ViewSession | ForkSession | CloneSession | UnkeptSession
)


def switch_kind(session: SessionChoice) -> SwitchKind:
    """How a session is opened, as extensions learn it."""
    match session:
        case NewSession() | UnkeptSession():
            return "new"
        case ForkSession() | CloneSession():
            return "fork"
        case ViewSession():
            return "view"
        case ResumeSession() | ContinueSession():
            return "resume"


def switch_target(session: SessionChoice) -> str | None:
    """The path or id of the session that is opened or copied; None for a new or the most recent one."""
    match session:
        case (
            ResumeSession(query=query) | ViewSession(query=query) | ForkSession(query=query) | CloneSession(query=query)
        ):
            return query
        case _:
            return None


class Live(msgspec.Struct, frozen=True):
    """Talk to the model's server."""


class Record(msgspec.Struct, frozen=True):
    """Talk to the model's server and write what is said into a cassette."""

    cassette: Path


class Replay(msgspec.Struct, frozen=True):
    """Take the model's replies from a cassette.

    Attributes:
        delay: seconds between the pieces of a reply, for people who watch.
    """

    cassette: Path
    delay: float = 0.0


class ToolsOnly(msgspec.Struct, frozen=True):
    """Talk to no model: only the tools of the conversation are used.

    Attributes:
        reason: why there is no model, for what needs one all the same.
    """

    reason: str


Wire: TypeAlias = Live | Record | Replay | ToolsOnly


class McpOptions(msgspec.Struct, frozen=True):
    """Which MCP servers are used.

    Attributes:
        file: configures servers for this run besides the user's and the project's files.
    """

    enabled: bool = True
    file: Path | None = None


class HostOptions(msgspec.Struct, frozen=True):
    """What holds for all conversations of a process.

    Attributes:
        extensions: Python files or folders to load besides the user's own.
        discover_extensions: whether to load the user's own, which are in his folder and in the settings.
        flags: options that an extension must have, each with its value.
        stop_key: stops extensions that take long to load, in the frontend; empty if no key does.
        mcp: which MCP servers are used.
    """

    extensions: tuple[Path, ...] = ()
    discover_extensions: bool = True
    flags: dict[str, str | None] = {}
    stop_key: str = ""
    mcp: McpOptions = McpOptions()


class ConversationOptions(msgspec.Struct, frozen=True):
    """Everything that can be chosen for one conversation.

    Attributes:
        model: `provider/id`, `id` or a part of it, with `:level` for the thinking level.
        models: patterns of the models to cycle through, as in the setting `enabledModels`; None takes the setting.
        api_key: used instead of the stored one.
        tools: names of the tools to make active; None takes the default ones.
        approvals: who is asked before what; None takes the setting, or the default: `auto` where the sandbox confines
            commands, `ask` elsewhere, `never` where nobody can be asked.
        fixed: what the command line chose: `mode` and `network` of the sandbox, `approvals`. A session's earlier choice
            yields to it.
        trust: whether the project may configure or instruct anything. `no` or `instructions` where nobody is there to
            answer for it; None asks the person, unless that was done before.
        max_turns: requests to the model per run.
        budget: what each run may use; where it has no limit, the settings hold.
        fallback: models that go on where the chosen one is given up; None takes the setting.
        unattended: nobody answers questions in this run.
        goes_on: another process handed the conversation over: what waits in it is for this one to take, unsaid.
    """

    model: str | None = None
    models: tuple[str, ...] | None = None
    provider: str | None = None
    api_key: str | None = None
    thinking: ThinkingLevel | None = None
    tools: tuple[str, ...] | None = None
    exclude_tools: tuple[str, ...] = ()
    builtin_tools: bool = True
    system_prompt: str | None = None
    append_system_prompt: tuple[str, ...] = ()
    context_files: bool = True
    approvals: ApprovalPolicy | None = None
    fixed: tuple[str, ...] = ()
    trust: TrustChoice | None = "no"
    session: SessionChoice = NewSession()
    session_dir: Path | None = None
    max_turns: int | None = None
    budget: Budget = Budget()
    fallback: tuple[str, ...] | None = None
    unattended: bool = False
    goes_on: bool = False
    wire: Wire = Live()

    def going_to(self, session: SessionChoice) -> "ConversationOptions":
        """The same options for another session.

        Raises:
            SessionNotKeptError: sessions are not kept, and this is no new one.
        """
        if not isinstance(self.session, UnkeptSession):
            return msgspec.structs.replace(self, session=session)
        if isinstance(session, NewSession):
            return self
        raise SessionNotKeptError("kaa was started with --no-session: start it without this option to resume a session")
