"""What one extension registered. Whoever registers something owns it: unloading takes all of it back."""

import re
from collections.abc import Callable
from typing import TypeVar, get_args

from kaa.core.tool import Tool
from kaa.ext.commands import Command, CommandAvailability, CommandCompleter, CommandHandler
from kaa.ext.context import ToolContext
from kaa.ext.errors import RegistrationError
from kaa.ext.extension_api import API_VERSION
from kaa.ext.hooks import (
    AfterCompactionHook,
    AfterToolHook,
    BeforeCompactionHook,
    BeforeEndHook,
    BeforeNavigationHook,
    BeforeRequestHook,
    BeforeToolHook,
    CarriedSection,
    Compactor,
    EventHandler,
    NotificationHandler,
    SessionEndHook,
    SessionStartHook,
    UserMessageHook,
)
from kaa.ext.invocation import is_command_name
from kaa.ext.prompt_sections import PromptSection
from kaa.ext.tools import RegisteredTool, Risk

# What all model vendors accept as a tool name.
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

FunctionT = TypeVar("FunctionT")


class Scope:
    """The registrations of one extension (`ExtensionAPI`), empty once it is unloaded.

    Args:
        owner: the extension's name, for messages.
        built_in: whether it comes with kaa.
    """

    def __init__(self, owner: str, *, built_in: bool = False) -> None:
        self.owner = owner
        self.built_in = built_in
        self.is_open = True
        self.tools: dict[str, RegisteredTool] = {}
        self.commands: dict[str, Command] = {}
        self.sections: dict[str, PromptSection] = {}
        self.carried: dict[str, CarriedSection] = {}
        self.session_starts: list[SessionStartHook] = []
        self.session_ends: list[SessionEndHook] = []
        self.before_requests: list[BeforeRequestHook] = []
        self.before_compactions: list[BeforeCompactionHook] = []
        self.after_compactions: list[AfterCompactionHook] = []
        self.before_navigations: list[BeforeNavigationHook] = []
        self.notification_handlers: list[NotificationHandler] = []
        self.before_tools: list[BeforeToolHook] = []
        self.after_tools: list[AfterToolHook] = []
        self.before_ends: list[BeforeEndHook] = []
        self.message_hooks: list[UserMessageHook] = []
        self.compactors: list[Compactor] = []
        self.handlers: list[EventHandler] = []
        self._closers: list[Callable[[], None]] = []

    @property
    def api_version(self) -> int:
        """See `ExtensionAPI`."""
        return API_VERSION

    def register_tool(
        self, tool: Tool[ToolContext], *, snippet: str = "", default: bool = True, risk: Risk = "outside"
    ) -> None:
        """See `ExtensionAPI`."""
        self._require_open()
        if not isinstance(tool, Tool):
            raise RegistrationError(
                f"invalid tool {tool!r}: use TypedTool(name, description, arguments, function), or an object with"
                " schema, sequential and run"
            )
        name = tool.schema.name
        if not _TOOL_NAME.fullmatch(name):
            raise RegistrationError(f"invalid tool name {name!r}: use 1 to 64 letters, digits, _ and -")
        if name in self.tools:
            raise RegistrationError(f"a tool named {name!r} is already registered")
        if risk not in get_args(Risk):
            raise RegistrationError(f"invalid risk {risk!r}: use {', '.join(get_args(Risk))}")
        self.tools[name] = RegisteredTool(tool, snippet, default, "" if self.built_in else self.owner, risk)

    def register_command(
        self,
        name: str,
        description: str,
        handler: CommandHandler,
        *,
        argument_hint: str = "",
        complete: CommandCompleter | None = None,
        available: CommandAvailability | None = None,
        while_running: bool = False,
    ) -> None:
        """See `ExtensionAPI`."""
        self._require_open()
        if not is_command_name(name):
            raise RegistrationError(
                f"invalid command name {name!r}: use letters, digits, : _ . and -, first a letter or digit"
            )
        for function in (handler, *(one for one in (complete, available) if one is not None)):
            self._require_function(function)
        if name in self.commands:
            raise RegistrationError(f"a command named {name!r} is already registered")
        self.commands[name] = Command(name, description, handler, argument_hint, complete, available, while_running)

    def add_prompt_section(self, name: str, section: PromptSection) -> None:
        """See `ExtensionAPI`."""
        self._require_function(section)
        self.sections[name] = section

    def before_tool(self, hook: BeforeToolHook) -> None:
        """See `ExtensionAPI`."""
        self._add(self.before_tools, hook)

    def after_tool(self, hook: AfterToolHook) -> None:
        """See `ExtensionAPI`."""
        self._add(self.after_tools, hook)

    def before_end(self, hook: BeforeEndHook) -> None:
        """See `ExtensionAPI`."""
        self._add(self.before_ends, hook)

    def on_user_message(self, hook: UserMessageHook) -> None:
        """See `ExtensionAPI`."""
        self._add(self.message_hooks, hook)

    def on_session_start(self, hook: SessionStartHook) -> None:
        """See `ExtensionAPI`."""
        self._add(self.session_starts, hook)

    def on_session_end(self, hook: SessionEndHook) -> None:
        """See `ExtensionAPI`."""
        self._add(self.session_ends, hook)

    def before_request(self, hook: BeforeRequestHook) -> None:
        """See `ExtensionAPI`."""
        self._add(self.before_requests, hook)

    def before_compaction(self, hook: BeforeCompactionHook) -> None:
        """See `ExtensionAPI`."""
        self._add(self.before_compactions, hook)

    def after_compaction(self, hook: AfterCompactionHook) -> None:
        """See `ExtensionAPI`."""
        self._add(self.after_compactions, hook)

    def before_navigation(self, hook: BeforeNavigationHook) -> None:
        """See `ExtensionAPI`."""
        self._add(self.before_navigations, hook)

    def on_notification(self, handler: NotificationHandler) -> None:
        """See `ExtensionAPI`."""
        self._add(self.notification_handlers, handler)

    def register_compactor(self, compactor: Compactor) -> None:
        """See `ExtensionAPI`."""
        self._add(self.compactors, compactor)

    def carry_through_compaction(self, name: str, section: CarriedSection) -> None:
        """See `ExtensionAPI`."""
        self._require_open()
        if not _TOOL_NAME.fullmatch(name):
            raise RegistrationError(f"invalid name {name!r} of a text: use 1 to 64 letters, digits, _ and -")
        self._require_function(section)
        self.carried[name] = section

    def on_event(self, handler: EventHandler) -> None:
        """See `ExtensionAPI`."""
        self._add(self.handlers, handler)

    def on_close(self, callback: Callable[[], None]) -> None:
        """See `ExtensionAPI`."""
        self._add(self._closers, callback)

    def close(self) -> list[BaseException]:
        """Take everything back. Returns what the extension's own closing raised."""
        self.is_open = False
        for registered in (self.tools, self.commands, self.sections, self.carried):
            registered.clear()
        for hooks in (
            *(self.session_starts, self.session_ends, self.message_hooks, self.before_requests),
            *(self.before_tools, self.after_tools, self.before_ends),
            *(self.before_compactions, self.after_compactions, self.compactors, self.before_navigations),
            *(self.handlers, self.notification_handlers),
        ):
            hooks.clear()
        closers, self._closers = self._closers[::-1], []
        problems: list[BaseException] = []
        for callback in closers:
            try:
                callback()
            except (Exception, SystemExit) as error:  # noqa: BLE001 isolation boundary: the rest is closed all the same
                problems.append(error)
        return problems

    def _add(self, registered: list[FunctionT], function: FunctionT) -> None:
        self._require_function(function)
        registered.append(function)

    def _require_function(self, function: object) -> None:
        """Make sure that something can be called; extensions are not type-checked."""
        self._require_open()
        if not callable(function):
            raise RegistrationError(f"{function!r} is not a function: pass the function itself, without calling it")

    def _require_open(self) -> None:
        if not self.is_open:
            raise RegistrationError(f"extension {self.owner} is unloaded and can register nothing more")
