"""What happens to a session, for the hooks of extensions: start and end, compaction, navigation, notifications."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from kaa.core.events import CompactionEnd
from kaa.core.hooks import Block
from kaa.ext.asking import NOBODY, AnswerT
from kaa.ext.calling import Hook, Report, RunningWork, failed, first_verdict, named, parsed, returned, tell
from kaa.ext.context import ConversationContext
from kaa.ext.errors import ExtensionFailedError, NavigationBlockedError
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
from kaa.ext.scope import Scope

if TYPE_CHECKING:
    from kaa.ext.questions import Dismissed, Question
    from kaa.ext.services import Services

# How long a hook for the end of a session may take: the user waits for the prompt of the shell.
_END_SECONDS = 5

VerdictT = TypeVar("VerdictT")


class SessionHooks:
    """Calls those hooks of the extensions of one conversation.

    Args:
        scopes: gives the extensions as they are at the moment.
        context: of the conversation.
        report: gets failures that are not raised; `on_notification` handlers get them afterwards.

    Attributes:
        context: the same, but questions are announced to extensions.
    """

    def __init__(self, scopes: Callable[[], list[Scope]], context: ConversationContext, report: Report) -> None:
        self._scopes = scopes
        self._tell_user = report
        self._start: SessionStart | None = None  # between `started` and `ended`
        self._begun: list[Scope] = []  # those whose hooks for the start have returned
        self._following: asyncio.Task[None] | None = None
        self._services: Services | None = None
        self.context = context.asking(_AnnouncingAsker(context, self.announce))

    def report(self, failure: ExtensionFailedError) -> None:
        """Report a failure to the user and to extensions."""
        self._tell_user(failure)
        self.announce(Notification("notice", str(failure)))

    def announce(self, notification: Notification) -> None:
        """Pass on what is for the user's attention; a handler that raises is reported and not called again."""
        for scope in self._scopes():
            handlers = scope.notification_handlers
            if called := tuple(handlers):
                what = "on_notification handler"
                tell(scope, what, called, handlers, notification, context=self.context, report=self.report)

    def announcing(self, notify: Callable[[str], None]) -> Callable[[str], None]:
        """`notify` that passes each notice on to extensions, too."""

        def announced(text: str) -> None:
            notify(text)
            self.announce(Notification("notice", text))

        return announced

    async def started(self, start: SessionStart) -> None:
        """Call the hooks for the start of the session, then start services."""
        self._begun = self._scopes()
        for scope in self._begun:
            await self._call_start(scope, start)
        self._start = start
        self.follow()

    def follow(self) -> None:
        """Follow a change of the extensions or what they registered, between `started` and `ended`.

        Services that are new are started, those that are gone are cancelled. The hooks for the start or the end of
        extensions that came or went are called in a task; see `settled`.
        """
        if self._start is None:
            return
        if self._following is None and any(self._changes()):
            self._following = asyncio.ensure_future(self._follow(self._start))
        self._refresh_services()

    async def settled(self) -> None:
        """Wait for the hooks that `follow` calls."""
        while self._following is not None:
            await asyncio.wait((self._following,))

    async def leave(self, scope: Scope) -> None:
        """End the services of an extension that is about to be unloaded, then call its hooks for the end."""
        await self.settled()
        if self._start is not None and scope in self._begun:
            await self._end(scope, SessionEnd("reload", self._start.session_id, self._start.path))

    async def ended(self, end: SessionEnd) -> None:
        """End services, then call the hooks for the end of the session, each for a few seconds.

        Nobody can be asked any more.
        """
        self._start = None
        if (following := self._following) is not None:
            following.cancel()
            await asyncio.wait((following,))
        if self._services is not None:
            await self._services.close()
        for scope in self._scopes():
            if scope in self._begun:
                await self._call_end(scope, end)

    def _changes(self) -> tuple[list[Scope], list[Scope]]:
        """The extensions that went, and those that came. One of which failures left the guards has not gone."""
        used = self._scopes()
        now, before = {id(scope.costs) for scope in used}, {id(scope.costs) for scope in self._begun}
        gone = [scope for scope in self._begun if id(scope.costs) not in now]
        return gone, [scope for scope in used if id(scope.costs) not in before]

    async def _follow(self, start: SessionStart) -> None:
        try:
            while any(changes := self._changes()):
                gone, new = changes
                for scope in gone:
                    await self._end(scope, SessionEnd("reload", start.session_id, start.path))
                for scope in new:
                    await self._call_start(scope, SessionStart("reload", start.session_id, start.path))
                    self._begun.append(scope)
                    self._refresh_services()
        finally:
            self._following = None
            self._refresh_services()

    async def _end(self, scope: Scope, end: SessionEnd) -> None:
        self._begun.remove(scope)
        if self._services is not None:
            self._services.refresh()
            await self._services.settled()
        await self._call_end(scope, end)

    async def _call_start(self, scope: Scope, start: SessionStart) -> None:
        hooks = [(scope, hook) for hook in scope.session_starts]
        await self._first(hooks, "on_session_start hook", (), start)

    async def _call_end(self, scope: Scope, end: SessionEnd) -> None:
        hooks, context = [(scope, hook) for hook in scope.session_ends], self.context.asking(NOBODY)
        what = "on_session_end hook"
        await first_verdict(hooks, what, (), end, context=context, report=self.report, seconds=_END_SECONDS)

    def _with_services(self) -> Iterable[Scope]:
        """The extensions whose services run."""
        return [scope for scope in self._scopes() if scope in self._begun]

    def _refresh_services(self) -> None:
        if self._start is None:
            return
        if self._services is None:
            if not any(scope.services for scope in self._with_services()):
                return
            from kaa.ext.services import Services  # lazy: few extensions have services

            self._services = Services(self._with_services, self.context, self.report)
        self._services.refresh()

    async def before_compaction(self, request: CompactionRequest) -> str | None:
        """Why the first hook that does not want a compaction does not want it; None if none objects."""
        hooks = self._hooks(lambda scope: scope.before_compactions)
        found = await self._first(hooks, "before_compaction hook", (Block,), request)
        return None if found is None else named(found[0], found[1].reason)

    async def after_compaction(self, end: CompactionEnd) -> None:
        """Call the hooks after a compaction."""
        hooks = self._hooks(lambda scope: scope.after_compactions)
        await self._first(hooks, "after_compaction hook", (), end)

    async def condense(self, request: CompactionRequest) -> CondensedText | None:
        """The summary of the first compactor that writes one; None if none does."""
        for scope in self._scopes():
            for compactor in tuple(scope.compactors):
                try:
                    condensed: object = await compactor(request)
                    if isinstance(condensed, CondensedText) and parsed(scope, "compactor", condensed).text.strip():
                        return condensed
                except ExtensionFailedError as error:
                    self.report(error)
                    continue
                except (Exception, SystemExit) as error:  # noqa: BLE001 isolation boundary: the conversation must become shorter anyway
                    self.report(failed(scope, "compactor", error))
                    continue
                if condensed is not None:
                    self.report(returned(scope, "compactor", condensed, "CondensedText or None"))
        return None

    @property
    def shortens_results(self) -> bool:
        """Whether a hook may."""
        return any(scope.result_shorteners for scope in self._scopes())

    async def shorten_results(self, request: ResultsRequest) -> ShortenResults | None:
        """What the first hook that shortens results wants; None if none does."""
        hooks = self._hooks(lambda scope: scope.result_shorteners)
        found = await self._first(hooks, "shorten_results hook", (ShortenResults,), request)
        return None if found is None else found[1]

    def carried(self) -> dict[str, str]:
        """The texts that extensions carry through a compaction now, by name."""
        texts: dict[str, str] = {}
        for scope in self._scopes():
            for name, section in scope.carried.items():
                try:
                    text: object = section(self.context.of_extension(scope))
                except (Exception, SystemExit) as error:  # noqa: BLE001 isolation boundary, as above
                    self.report(failed(scope, f"carried text {name!r}", error))
                    continue
                if isinstance(text, str) and text.strip():
                    texts[name] = text
                elif not isinstance(text, str | None):
                    self.report(returned(scope, f"carried text {name!r}", text, "str or None"))
        return texts

    async def before_navigation(self, wanted: NavigationRequest) -> None:
        """Ask the hooks whether the user may go there.

        Raises:
            NavigationBlockedError: one objects.
        """
        hooks = self._hooks(lambda scope: scope.before_navigations)
        if (found := await self._first(hooks, "before_navigation hook", (Block,), wanted)) is not None:
            raise NavigationBlockedError(named(found[0], found[1].reason))

    def _hooks(self, of: Callable[[Scope], Sequence[Hook]]) -> Iterator[tuple[Scope, Hook]]:
        for scope in self._scopes():
            for hook in tuple(of(scope)):
                yield scope, hook

    async def _first(
        self, hooks: Iterable[tuple[Scope, Hook]], what: str, verdicts: tuple[type[VerdictT], ...], *seen: object
    ) -> tuple[Scope, VerdictT] | None:
        return await first_verdict(hooks, what, verdicts, *seen, context=self.context, report=self.report)


class _AnnouncingAsker:
    """Asks, and tells extensions that kaa waits for an answer."""

    def __init__(self, context: ConversationContext, announce: Callable[[Notification], None]) -> None:
        self._asker = context.asker
        self._running = context.state(RunningWork, RunningWork)
        self._announce = announce

    @property
    def can_ask(self) -> bool:
        return self._asker.can_ask

    async def ask(self, question: "Question[AnswerT]") -> "AnswerT | Dismissed":
        if not isinstance(question, Struct):
            raise TypeError(f"ask got {question!r}: use a question, such as Choice(title, options)")
        if self._asker.can_ask:
            self._announce(Notification("question", question.title))
        with self._running.asking():
            return await self._asker.ask(question)
