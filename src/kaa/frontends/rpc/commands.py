"""The commands of rpc mode, as pi 1.5.2 defines them (its `docs/rpc-commands.md` and `rpc-types.d.ts`).

Those about agents are kaa's.
"""

from typing import Literal, TypeAlias

import msgspec

from kaa.core.messages import ImageContent
from kaa.core.provider import ThinkingLevel
from kaa.core.queues import DrainMode


class RpcCommand(msgspec.Struct, tag_field="type", rename="camel", frozen=True):
    """Base of all commands. The `id` of a command is read before it, so that errors can name it."""


class Prompt(RpcCommand, tag="prompt", frozen=True):
    """Give the model a message, or run a slash command.

    Attributes:
        streaming_behavior: what to do with a message while the agent works; without it, that is an error.
    """

    message: str
    images: tuple[ImageContent, ...] | None = None
    streaming_behavior: Literal["steer", "followUp"] | None = None


class Steer(RpcCommand, tag="steer", frozen=True):
    """Give the model a message as soon as the running tools are done."""

    message: str
    images: tuple[ImageContent, ...] | None = None


class FollowUp(RpcCommand, tag="follow_up", frozen=True):
    """Give the model a message when it would stop."""

    message: str
    images: tuple[ImageContent, ...] | None = None


class Abort(RpcCommand, tag="abort", frozen=True):
    """Stop the run under way."""


class ClearQueue(RpcCommand, tag="clear_queue", frozen=True):
    """Take back queued messages."""


class NewSession(RpcCommand, tag="new_session", frozen=True):
    """Begin a session. `parent_session`: the session file that its header names as its parent."""

    parent_session: str | None = None


class GetState(RpcCommand, tag="get_state", frozen=True):
    """Model, queues, session."""


class SetModel(RpcCommand, tag="set_model", frozen=True):
    """Switch the model."""

    provider: str
    model_id: str


class CycleModel(RpcCommand, tag="cycle_model", frozen=True):
    """Switch to the next model of the scope."""


class GetAvailableModels(RpcCommand, tag="get_available_models", frozen=True):
    """All models that have credentials."""


class SetThinkingLevel(RpcCommand, tag="set_thinking_level", frozen=True):
    """Change how hard the model thinks."""

    level: ThinkingLevel


class CycleThinkingLevel(RpcCommand, tag="cycle_thinking_level", frozen=True):
    """Switch to the next thinking level of the model."""


class GetAvailableThinkingLevels(RpcCommand, tag="get_available_thinking_levels", frozen=True):
    """The thinking levels of the model."""


class SetSteeringMode(RpcCommand, tag="set_steering_mode", frozen=True):
    """How steering messages are handed over."""

    mode: DrainMode


class SetFollowUpMode(RpcCommand, tag="set_follow_up_mode", frozen=True):
    """How follow-up messages are handed over."""

    mode: DrainMode


class Compact(RpcCommand, tag="compact", frozen=True):
    """Condense the conversation."""

    custom_instructions: str | None = None


class SetAutoCompaction(RpcCommand, tag="set_auto_compaction", frozen=True):
    """Whether the conversation is condensed when it is nearly too long."""

    enabled: bool


class SetAutoRetry(RpcCommand, tag="set_auto_retry", frozen=True):
    """Whether requests are repeated after transient errors."""

    enabled: bool


class AbortRetry(RpcCommand, tag="abort_retry", frozen=True):
    """Stop waiting for another try; the run ends."""


class Bash(RpcCommand, tag="bash", frozen=True):
    """Run a command of the person's, with the person's rights. The model is told unless it is excluded.

    Attributes:
        id: names the command in the events of its output.
    """

    command: str
    id: str | int | None = None
    exclude_from_context: bool = False


class AbortBash(RpcCommand, tag="abort_bash", frozen=True):
    """Stop the person's command."""


class GetSessionStats(RpcCommand, tag="get_session_stats", frozen=True):
    """Messages, tokens, money, and how full the window is."""


class ExportHtml(RpcCommand, tag="export_html", frozen=True):
    """Write the session as a page."""

    output_path: str | None = None


class SwitchSession(RpcCommand, tag="switch_session", frozen=True):
    """Go on with another session."""

    session_path: str


class Fork(RpcCommand, tag="fork", frozen=True):
    """Go on in a new session that ends before a message of the person's."""

    entry_id: str


class Clone(RpcCommand, tag="clone", frozen=True):
    """Go on in a copy of the current branch."""


class GetForkMessages(RpcCommand, tag="get_fork_messages", frozen=True):
    """The messages that `fork` takes."""


class GetEntries(RpcCommand, tag="get_entries", frozen=True):
    """All entries of the session in the order of its file, or those after the entry `since`."""

    since: str | None = None


class GetTree(RpcCommand, tag="get_tree", frozen=True):
    """All entries as a tree."""


class GetLastAssistantText(RpcCommand, tag="get_last_assistant_text", frozen=True):
    """The text of the last reply."""


class SetSessionName(RpcCommand, tag="set_session_name", frozen=True):
    """Name the session; an empty name clears it."""

    name: str


class GetMessages(RpcCommand, tag="get_messages", frozen=True):
    """All messages of the conversation."""


class GetCommands(RpcCommand, tag="get_commands", frozen=True):
    """The slash commands that `prompt` runs."""


class GetAgents(RpcCommand, tag="get_agents", frozen=True):
    """The agents that work or have worked for the conversation."""


class GetAgentTranscript(RpcCommand, tag="get_agent_transcript", frozen=True):
    """What an agent was told, said and did, as Markdown."""

    agent_id: str


class SteerAgent(RpcCommand, tag="steer_agent", frozen=True):
    """Tell an agent at work something."""

    agent_id: str
    message: str


class StopAgent(RpcCommand, tag="stop_agent", frozen=True):
    """Stop an agent at work."""

    agent_id: str


AnyCommand: TypeAlias = (
    Prompt
    | Steer
    | FollowUp
    | Abort
    | ClearQueue
    | NewSession
    | GetState
    | SetModel
    | CycleModel
    | GetAvailableModels
    | SetThinkingLevel
    | CycleThinkingLevel
    | GetAvailableThinkingLevels
    | SetSteeringMode
    | SetFollowUpMode
    | Compact
    | SetAutoCompaction
    | SetAutoRetry
    | AbortRetry
    | Bash
    | AbortBash
    | GetSessionStats
    | ExportHtml
    | SwitchSession
    | Fork
    | Clone
    | GetForkMessages
    | GetEntries
    | GetTree
    | GetLastAssistantText
    | SetSessionName
    | GetMessages
    | GetCommands
    | GetAgents
    | GetAgentTranscript
    | SteerAgent
    | StopAgent
)

# The answer to a question of kaa's; it is no command and gets no response unless it does not fit.
DIALOG_RESPONSE = "extension_ui_response"
