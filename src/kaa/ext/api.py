"""What extensions import: `from kaa.ext.api import …` is the one path for their authors (`docs/extensions.md`)."""

from importlib import import_module
from typing import TYPE_CHECKING

from kaa.core import events
from kaa.core.budget import Budget
from kaa.core.errors import NetworkError, ProviderError
from kaa.core.hooks import Block, Continue, GiveUp, Refuse, ReplaceArguments, ReplaceMessages, RunAgain, UseThinking
from kaa.core.messages import (
    AssistantMessage,
    ImageContent,
    TextContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
    user_message,
)
from kaa.core.provider import (
    ArgumentsChunk,
    BlockEnd,
    CallChunkStart,
    ReplyInfo,
    Request,
    StreamDone,
    StreamEvent,
    TextChunk,
    ThinkingChunk,
)
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
from kaa.ext.errors import CommandError, OverBudgetError, RegistrationError
from kaa.ext.extension_api import API_VERSION, Extension, ExtensionAPI
from kaa.ext.hooks import (
    CompactionRequest,
    CondensedText,
    NavigationRequest,
    Notification,
    ResultsRequest,
    SessionEnd,
    SessionStart,
    ShortenResults,
)
from kaa.ext.prompt_sections import ContextFile, PromptContext
from kaa.ext.providers import ProviderAccess
from kaa.ext.tools import Exposure, RegisteredTool, Risk
from kaa.workspace.protocol import CommandRequest

if TYPE_CHECKING:
    from kaa.core.display_values import Code, Diff, DisplayValue, Fields, Markdown, Table, Text
    from kaa.core.forms import ChoiceField, ChoicesField, FieldOption, NumberField, TextField, YesNoField
    from kaa.ext.agents import AgentError, AgentResult
    from kaa.ext.completions import Completion, CompletionError
    from kaa.ext.conversation_session import ConversationSession, OwnEntry
    from kaa.ext.questions import (
        Choice,
        Chosen,
        Confirmation,
        Confirmed,
        Declined,
        Dismissed,
        Editing,
        Entered,
        Filled,
        Form,
        OpenUrl,
        TextInput,
    )
    from kaa.ext.showing import display_result
    from kaa.ext.stores import Store, StoreError, StoreScope

__all__ = [
    "API_VERSION",
    "AgentError",
    "AgentResult",
    "ArgumentsChunk",
    "Asker",
    "AssistantMessage",
    "BeginSession",
    "Block",
    "BlockEnd",
    "Budget",
    "CallChunkStart",
    "Choice",
    "ChoiceField",
    "ChoicesField",
    "Chosen",
    "Code",
    "Command",
    "CommandAction",
    "CommandCompleter",
    "CommandContext",
    "CommandError",
    "CommandRequest",
    "CompactionRequest",
    "Completion",
    "CompletionError",
    "CondensedText",
    "Confirmation",
    "Confirmed",
    "ContextFile",
    "Continue",
    "ConversationContext",
    "ConversationSession",
    "CopySession",
    "Declined",
    "Diff",
    "Dismissed",
    "DisplayValue",
    "Editing",
    "Entered",
    "Exposure",
    "Extension",
    "ExtensionAPI",
    "FieldOption",
    "Fields",
    "Filled",
    "Form",
    "GiveUp",
    "ImageContent",
    "Markdown",
    "NavigationRequest",
    "NetworkError",
    "NobodyToAskError",
    "Notification",
    "NumberField",
    "OpenSession",
    "OpenUrl",
    "OverBudgetError",
    "OwnEntry",
    "Permit",
    "PromptContext",
    "ProviderAccess",
    "ProviderError",
    "Refuse",
    "RegisteredTool",
    "RegistrationError",
    "ReplaceArguments",
    "ReplaceMessages",
    "Reply",
    "ReplyInfo",
    "Request",
    "ResultsRequest",
    "Risk",
    "RunAgain",
    "SessionEnd",
    "SessionStart",
    "ShortenResults",
    "Store",
    "StoreError",
    "StoreScope",
    "StreamDone",
    "StreamEvent",
    "Submit",
    "Suggestion",
    "Table",
    "Text",
    "TextChunk",
    "TextContent",
    "TextField",
    "TextInput",
    "ThinkingChunk",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolError",
    "ToolResult",
    "ToolResultMessage",
    "TypedTool",
    "Usage",
    "UseThinking",
    "UserMessage",
    "WorkspacePermit",
    "YesNoField",
    "confirm",
    "display_result",
    "events",
    "text_result",
    "user_message",
]


if not TYPE_CHECKING:
    _LAZY = (
        *(
            f"ext.{part}"
            for part in ("questions", "agents", "completions", "conversation_session", "stores", "showing")
        ),
        "core.display_values",
        "core.forms",
    )

    def __getattr__(name: str) -> object:
        """Load with the first use what few extensions use."""
        for module in _LAZY if name in __all__ else ():
            found = getattr(import_module(f"kaa.{module}"), name, None)
            if found is not None:
                return found
        raise AttributeError(f"kaa.ext.api has no name {name!r}: use one of {', '.join(__all__)}")
