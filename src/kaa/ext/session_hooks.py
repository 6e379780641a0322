"""What happens to a session, for the hooks of extensions: start and end, compaction, navigation, notifications."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import NoneType
from typing import TYPE_CHECKING, TypeVar

from kaa.core.events import CompactionEnd
from kaa.core.hooks import Block
from kaa.ext.api import CompactionRequest
from kaa.ext.asking import NOBODY, AnswerT, Asker
from kaa.ext.calling import Hook, first_verdict, tell
from kaa.ext.context import ConversationContext
from kaa.ext.errors import NavigationBlockedError
from kaa.ext.occasions import NavigationRequest, Notification, SessionEnd, SessionStart
from kaa.ext.scope import Scope

if TYPE_CHECKING:
    from kaa.ext.questions import Dismissed, Question

# How long a hook for the end of a session may take: the user waits for the prompt of the shell.
_END_SECONDS = 5

VerdictT = TypeVar("VerdictT")


class SessionHooks:
    """Calls those hooks of the extensions of one conversation.

    Args:
        scopes: gives the extensions as they are at the moment.
        context: of the conversation.
        report: told, in a sentence, of what goes wrong.

    Attributes:
        context: the same, but questions are announced to extensions.
    """

    def __init__(
        self, scopes: Callable[[], list[Scope]], context: ConversationContext, report: Callable[[str], None]
    ) -> None:
        self._scopes = scopes
        self._report = report
        self.context = context.asking(_AnnouncingAsker(context.asker, self.announce))

    def announce(self, notification: Notification) -> None:
        """Pass on what is for the user's attention; a handler that raises is reported and not called again."""
        for scope in self._scopes():
            if scope.notification_handlers:
                handlers = scope.notification_handlers
                tell(scope, "a notification handler", handlers, notification, context=self.context, report=self._report)

    def announcing(self, notify: Callable[[str], None]) -> Callable[[str], None]:
        """`notify` that passes each notice on to extensions, too."""

        def announced(text: str) -> None:
            notify(text)
            self.announce(Notification("notice", text))

        return announced

    async def started(self, start: SessionStart) -> None:
        """Call the hooks for the start of the session."""
        hooks = self._hooks(lambda scope: scope.session_starts)
        await self._first(hooks, "a hook for the start of sessions", NoneType, start)

    async def ended(self, end: SessionEnd) -> None:
        """Call the hooks for the end of the session, each for a few seconds. Nobody can be asked any more."""
        hooks, context = self._hooks(lambda scope: scope.session_ends), self.context.asking(NOBODY)
        what = "a hook for the end of sessions"
        await first_verdict(hooks, what, NoneType, end, context=context, report=self._report, seconds=_END_SECONDS)

    async def before_compaction(self, request: CompactionRequest) -> str | None:
        """Why the first hook that does not want a compaction does not want it; None if none objects."""
        hooks = self._hooks(lambda scope: scope.before_compactions)
        found = await self._first(hooks, "a hook before compactions", Block, request)
        return None if found is None else _objection(*found)

    async def after_compaction(self, end: CompactionEnd) -> None:
        """Call the hooks after a compaction."""
        hooks = self._hooks(lambda scope: scope.after_compactions)
        await self._first(hooks, "a hook after compactions", NoneType, end)

    async def before_navigation(self, wanted: NavigationRequest) -> None:
        """Ask the hooks whether the user may go there.

        Raises:
            NavigationBlockedError: one objects.
        """
        hooks = self._hooks(lambda scope: scope.before_navigations)
        if (found := await self._first(hooks, "a hook before navigation", Block, wanted)) is not None:
            raise NavigationBlockedError(_objection(*found))

    def _hooks(self, of: Callable[[Scope], Sequence[Hook]]) -> Iterator[tuple[Scope, Hook]]:
        for scope in self._scopes():
            for hook in tuple(of(scope)):
                yield scope, hook

    async def _first(
        self, hooks: Iterable[tuple[Scope, Hook]], what: str, verdict: type[VerdictT], *seen: object
    ) -> tuple[Scope, VerdictT] | None:
        return await first_verdict(hooks, what, verdict, *seen, context=self.context, report=self._report)


def _objection(scope: Scope, block: Block) -> str:
    return f"{block.reason} (extension {scope.owner})"


class _AnnouncingAsker:
    """Asks, and tells extensions that kaa waits for an answer."""

    def __init__(self, asker: Asker, announce: Callable[[Notification], None]) -> None:
        self._asker = asker
        self._announce = announce

    @property
    def can_ask(self) -> bool:
        return self._asker.can_ask

    async def ask(self, question: "Question[AnswerT]") -> "AnswerT | Dismissed":
        if self._asker.can_ask:
            self._announce(Notification("question", question.title))
        return await self._asker.ask(question)
