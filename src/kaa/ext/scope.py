"""What one extension registered, and what it costs. Whoever registers something owns it: unloading takes it back."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from kaa.ext.commands import Command, CommandCompleter
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
    EventObserver,
    MissingToolHook,
    NotificationHandler,
    Service,
    SessionEndHook,
    SessionStartHook,
    ShortenResultsHook,
    UserMessageHook,
)
from kaa.ext.places import ExtensionId
from kaa.ext.prompt_sections import PromptSection
from kaa.ext.providers import RegisteredProvider
from kaa.ext.tools import RegisteredTool

if TYPE_CHECKING:
    from kaa.ext.flags import Flag


class Scope:
    """The registrations of one extension, made through its `ExtensionAPI`; empty once it is unloaded.

    Args:
        extension: which one it is.
        built_in: whether it comes with kaa.
        everywhere: whether all conversations use it, or only those that name it.

    Attributes:
        costs: what it costs.
        version: as it says itself; empty if it does not.
        interface: of kaa that it is written for; empty for kaa's own.
        problem: why it does not work, as it says itself; empty if it works.
    """

    def __init__(self, extension: ExtensionId, *, built_in: bool = False, everywhere: bool = False) -> None:
        self.extension = extension
        self.built_in = built_in
        self.everywhere = everywhere
        self.costs = Costs()
        self.version = ""
        self.problem = ""
        self.interface = ""
        self.is_open = True
        self.tools: dict[str, RegisteredTool] = {}
        self.commands: dict[str, Command] = {}
        self.mention_completers: list[CommandCompleter] = []
        self.providers: dict[str, RegisteredProvider] = {}
        self.sections: dict[str, PromptSection] = {}
        self.carried: dict[str, CarriedSection] = {}
        self.session_starts: list[SessionStartHook] = []
        self.session_ends: list[SessionEndHook] = []
        self.before_requests: list[BeforeRequestHook] = []
        self.before_compactions: list[BeforeCompactionHook] = []
        self.after_compactions: list[AfterCompactionHook] = []
        self.result_shorteners: list[ShortenResultsHook] = []
        self.before_navigations: list[BeforeNavigationHook] = []
        self.notification_handlers: list[NotificationHandler] = []
        self.before_tools: list[BeforeToolHook] = []
        self.after_tools: list[AfterToolHook] = []
        self.missing_tools: list[MissingToolHook] = []
        self.before_ends: list[BeforeEndHook] = []
        self.message_hooks: list[UserMessageHook] = []
        self.compactors: list[Compactor] = []
        self.handlers: list[EventObserver] = []
        self.settings: type[Struct] | None = None
        self.flags: dict[str, Flag] = {}
        self.theme_folders: list[str] = []
        self.services: list[Service] = []
        self.checks: list[Callable[[], Awaitable[None]]] = []
        self.closers: list[Callable[[], None]] = []

    @property
    def author(self) -> str:
        """The path of the extension, for messages; empty for kaa itself."""
        return "" if self.built_in else self.extension.path

    def guards(self) -> "Scope":
        """Only its hooks whose failure stops what they are about: a message, a request, a tool call or its result."""
        kept = Scope(self.extension, built_in=self.built_in, everywhere=self.everywhere)
        kept.costs, kept.settings, kept.flags = self.costs, self.settings, self.flags  # which the hooks may read
        kept.message_hooks, kept.before_requests = self.message_hooks, self.before_requests
        kept.before_tools, kept.after_tools = self.before_tools, self.after_tools
        return kept

    @property
    def has_guards(self) -> bool:
        """Whether it has such hooks."""
        return any((self.message_hooks, self.before_requests, self.before_tools, self.after_tools))

    def close(self) -> list[BaseException]:
        """Take everything back. Returns what the extension's own closing raised."""
        self.is_open = False
        for registered in (self.tools, self.commands, self.providers, self.sections, self.carried):
            registered.clear()
        for hooks in (
            *(self.session_starts, self.session_ends, self.message_hooks, self.before_requests),
            *(self.before_tools, self.after_tools, self.missing_tools, self.before_ends),
            *(self.before_compactions, self.after_compactions, self.compactors, self.result_shorteners),
            *(self.before_navigations, self.handlers, self.notification_handlers, self.services),
            *(self.theme_folders, self.mention_completers),
        ):
            hooks.clear()
        closers, self.closers = self.closers[::-1], []
        problems: list[BaseException] = []
        for callback in closers:
            try:
                callback()
            except (Exception, SystemExit) as error:  # noqa: BLE001 isolation boundary: the rest is closed all the same
                problems.append(error)
        return problems


# After so many, kaa does without the extension.
MOST_FAILURES = 3
_MOST_REFUSALS = 20


class Costs:
    """The time that an extension takes and its failures, counted since it, or a new version of it, was loaded.

    Attributes:
        load_seconds: how long it took to start: for a process, with its handshake.
        calls: how often hooks and observers ran.
        seconds: how long that took, without questions to the user.
        slowest: the hook that took longest once.
        slowest_seconds: how long.
        failures: how often something failed.
        last_failure: what was said of the last one; empty if there is none.
        refusals: why some of what it registered has no effect, in sentences; the first ones.
        on_failure: called after each failure.
    """

    def __init__(self) -> None:
        self.load_seconds = 0.0
        self.calls = 0
        self.seconds = 0.0
        self.slowest = ""
        self.slowest_seconds = 0.0
        self.failures = 0
        self.last_failure = ""
        self.refusals: list[str] = []
        self.on_failure: Callable[[], None] = lambda: None

    def called(self, what: str, seconds: float) -> None:
        """Count a call of a hook."""
        self.calls += 1
        self.seconds += seconds
        if seconds > self.slowest_seconds:
            self.slowest, self.slowest_seconds = what, seconds

    def refused(self, problem: str) -> None:
        """Keep why something that it registered has no effect."""
        if len(self.refusals) < _MOST_REFUSALS:
            self.refusals.append(problem)

    def failed(self, failure: str) -> None:
        """Count a failure."""
        self.failures += 1
        self.last_failure = failure
        self.on_failure()
