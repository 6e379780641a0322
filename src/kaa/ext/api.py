"""What extensions import: `from kaa.ext.api import …` is the one path for their authors (`docs/extensions.md`)."""

from typing import TYPE_CHECKING

from kaa.core import events
from kaa.core.budget import Budget
from kaa.core.hooks import Block, Continue, Refuse, ReplaceArguments, ReplaceMessages, RunAgain
from kaa.core.messages import AssistantMessage, ToolCall, UserMessage, user_message
from kaa.core.provider import Request
from kaa.core.tool import Permit, Tool, ToolError, ToolResult, TypedTool, text_result
from kaa.ext.asking import Asker, NobodyToAskError, confirm
from kaa.ext.command_context import CommandContext
from kaa.ext.commands import (
    BeginSession,
    Command,
    CommandAction,
    CommandCompleter,
    CopySession,
    OpenSession,
    Reply,
    Submit,
    Suggestion,
)
from kaa.ext.context import ConversationContext, ToolContext, WorkspacePermit
from kaa.ext.errors import CommandError, RegistrationError
from kaa.ext.extension_api import API_VERSION, Extension, ExtensionAPI
from kaa.ext.hooks import (
    CompactionRequest,
    CondensedText,
    NavigationRequest,
    Notification,
    SessionEnd,
    SessionStart,
)
from kaa.ext.prompt_sections import ContextFile, PromptContext
from kaa.ext.tools import RegisteredTool, Risk
from kaa.workspace.protocol import CommandRequest

if TYPE_CHECKING:
    from kaa.ext.agents import AgentError, AgentResult
    from kaa.ext.questions import Choice, Chosen, Confirmation, Confirmed, Dismissed, Editing, Entered, TextInput

__all__ = [
    "API_VERSION",
    "AgentError",
    "AgentResult",
    "Asker",
    "AssistantMessage",
    "BeginSession",
    "Block",
    "Budget",
    "Choice",
    "Chosen",
    "Command",
    "CommandAction",
    "CommandCompleter",
    "CommandContext",
    "CommandError",
    "CommandRequest",
    "CompactionRequest",
    "CondensedText",
    "Confirmation",
    "Confirmed",
    "ContextFile",
    "Continue",
    "ConversationContext",
    "CopySession",
    "Dismissed",
    "Editing",
    "Entered",
    "Extension",
    "ExtensionAPI",
    "NavigationRequest",
    "NobodyToAskError",
    "Notification",
    "OpenSession",
    "Permit",
    "PromptContext",
    "Refuse",
    "RegisteredTool",
    "RegistrationError",
    "ReplaceArguments",
    "ReplaceMessages",
    "Reply",
    "Request",
    "Risk",
    "RunAgain",
    "SessionEnd",
    "SessionStart",
    "Submit",
    "Suggestion",
    "TextInput",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolError",
    "ToolResult",
    "TypedTool",
    "UserMessage",
    "WorkspacePermit",
    "confirm",
    "events",
    "text_result",
    "user_message",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Load questions, answers and agents with the first use: few conversations ask or run any."""
        from kaa.ext import agents, questions

        for module in (questions, agents):
            if name in __all__ and hasattr(module, name):
                return getattr(module, name)
        raise AttributeError(f"kaa.ext.api has no name {name!r}: use one of {', '.join(__all__)}")
