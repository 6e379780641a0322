"""Keeps the process of an extension running: restarts after crashes up to a limit. Passes on what both sides ask."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

from kaa.core.messages import Json
from kaa.ext.asking import Asker
from kaa.ext.context import ConversationContext, ToolContext
from kaa.ext.errors import ExtensionError, RegistrationError
from kaa.ext.permissions import Access, Permissions
from kaa.ext.process import wire
from kaa.ext.process.connection import Connection, ConnectionEndedError, Notify
from kaa.ext.process.host import ProcessHost
from kaa.ext.process.manifest import Manifest
from kaa.ext.process.offers import Offers
from kaa.ext.process.process_run import NotRunningError, Timing, run_process
from kaa.ext.process.services import Caller, answer
from kaa.ext.scope import Costs
from kaa.host.allowance import RateLimiter
from kaa.host.log import LOG, log_hint

# Invalid registrations, and notices without a conversation.
_REPORTS_A_SECOND, _BURST_REPORTS = 0.2, 20.0


class Supervisor:
    """Keeps one process running, from `begin` to `end`.

    Args:
        manifest: of the extension.
        host: starts processes and answers their requests.
        timing: how long to wait for it.
        costs: get the time of its start, and what went wrong.

    Attributes:
        permissions: that the user granted.
        offers: what the process that runs has registered.
        problem: why the process is not running, and will not be; empty if it is, or is being started.
        calls: which conversations use it.
        on_offers: called after a handshake, and when the process registers something later.
        on_notification: called with the notifications of the process: method, parameters, context of the conversation.
        on_given_up: called when it is not started again.
    """

    def __init__(self, manifest: Manifest, host: ProcessHost, timing: Timing, costs: Costs) -> None:
        self.offers = Offers()
        self.calls = _Calls()
        self.on_offers: Callable[[], None] = lambda: None
        self.on_notification: Callable[[str, Mapping[str, Json], ConversationContext | None], None] = lambda *_: None
        self.on_given_up: Callable[[], None] = lambda: None
        self._manifest = manifest
        self._host = host
        self._timing = timing
        self._costs = costs
        self._connection: Connection | None = None  # after the handshake
        self.permissions = Permissions()
        self._settled = asyncio.Event()
        self.problem = ""
        self._asker: asyncio.Future[Asker] = asyncio.get_running_loop().create_future()
        self._ending = asyncio.Event()
        self._reports, self._floods = RateLimiter(_REPORTS_A_SECOND, _BURST_REPORTS), False
        self._began = 0.0
        self._has_been_settled = asyncio.Event()

    def begin(self) -> None:
        """Start the process, without waiting for it."""
        self._began = time.monotonic()
        self._host.keep(asyncio.create_task(self._live()))

    def end(self) -> None:
        """Begin to shut the process down."""
        self._ending.set()

    async def ready(self, asker: Asker) -> None:
        """Wait until the process has registered what it offers for the first time, or is given up.

        Args:
            asker: asks the user for permissions, if that is necessary.
        """
        if not self._asker.done():
            self._asker.set_result(asker)
        await self._has_been_settled.wait()

    async def prove(self) -> None:
        """Wait whether the process works. Nothing is known of one whose permissions the user has still to grant.

        Raises:
            NotRunningError: it does not; the user knows why.
        """
        if self._host.granted(self._manifest) is None:
            return
        await self._has_been_settled.wait()
        if self.problem:
            raise NotRunningError(f"Extension {self._manifest.extension.name} does not start")

    def _greeted(self, connection: Connection) -> None:
        """What the process registered is in force now."""
        self._connection = connection
        self.on_offers()
        if not self._has_been_settled.is_set():
            self._costs.load_seconds += time.monotonic() - self._began
        self._settle("")

    async def call(
        self, method: str, params: Mapping[str, Json], context: ConversationContext | None, *, may_cancel: bool = True
    ) -> Json:
        """Ask the process. A process that starts is waited for.

        Args:
            method: what is asked.
            params: its parameters, without the conversation.
            context: of the conversation that the request is about.
            may_cancel: as for `Connection.request`.

        Raises:
            RpcError: it answered with an error.
            NotRunningError: it is not running, or ended.
        """
        await self._settled.wait()
        if self._connection is None:
            raise NotRunningError(f"extension {self._manifest.extension.name} is not running: {self.problem}")
        with self.calls.during(context) as about:
            try:
                return await self._connection.request(method, {**params, **about}, may_cancel=may_cancel)
            except asyncio.CancelledError:
                if may_cancel:
                    self.calls.stop(context)
                raise
            except ConnectionEndedError as error:
                raise NotRunningError(
                    f"extension {self._manifest.extension.name} did not answer {method}: {error}"
                ) from error

    def notified(self, method: str, params: Mapping[str, Json]) -> None:
        """See `Receiver`."""
        if method.startswith("register/"):
            self._register(method, params)
        elif method == "log":
            LOG.info(
                "extension %s: %s: %s",
                self._manifest.extension.name,
                params.get("level"),
                wire.shown(params.get("message")),
            )
        else:
            self.on_notification(method, params, self.calls.context_of(params))

    async def requested(self, method: str, params: Mapping[str, Json], notify: Notify) -> Json:
        """See `Receiver`."""
        context = self.calls.context_of(params)
        with self.calls.serving(context):
            caller = Caller(self._manifest, self.permissions, context, self._host, notify)
            return await answer(method, params, caller)

    def disconnected(self) -> None:
        """See `Receiver`. Calls wait from now on, until the process has started again or is given up."""
        self._connection = None
        self._settled.clear()

    def _register(self, method: str, params: Mapping[str, Json]) -> None:
        needed = Permissions(session=_SESSION_OF.get(method, "none"))
        if needed.beyond(self.permissions) != Permissions():
            self.refuse(f"{method} needs the permission `session: {needed.session}` in the manifest")
            return
        try:
            self.offers.add(method, params)
        except RegistrationError as error:
            self.refuse(str(error))
        else:
            if self._connection is not None:
                self.on_offers()

    def refuse(self, problem: str) -> None:
        """Tell the user and the log of a registration that has no effect."""
        LOG.warning("extension %s: %s", self._manifest.extension.name, problem)
        self._costs.refused(problem)
        self.report(problem)

    def report(self, text: str) -> None:
        """Show the user a text of this extension; of a flood the beginning, and that there is more."""
        if self._reports.take(1):
            self._floods = False
            self._host.report(f"Extension {self._manifest.extension.name}: {text}")
        elif not self._floods:
            self._floods = True
            self._host.report(
                f"Extension {self._manifest.extension.name} reports too much: kaa shows no more now. {log_hint()}"
            )

    async def _live(self) -> None:
        """Start the process, and again after a crash, until `end` or too many crashes."""
        crashes = 0
        while True:
            began = time.monotonic()
            try:
                self.permissions, self.offers = await self._permitted(), Offers()
                problem = await run_process(
                    *(self._manifest, self.permissions, self._host, self, self._timing, self._ending, self._greeted)
                )
            except ExtensionError as error:  # a start that fails fails again
                self._give_up(str(error))
                return
            except Exception as error:  # noqa: BLE001 isolation boundary: whatever the start of a process meets
                LOG.exception("extension %s cannot be started", self._manifest.extension.name)
                self._give_up(
                    f"Extension {self._manifest.extension.name} cannot be started: {type(error).__name__}: {error}"
                )
                return
            if self._ending.is_set():
                if problem:
                    self._costs.refused(problem)
                self._settle("it was unloaded")
                return
            if time.monotonic() - began >= self._timing.stable:
                crashes = 0
            crashes += 1
            if crashes > len(self._timing.pauses):
                self._give_up(
                    f"Extension {self._manifest.extension.name} ended {crashes} times, and kaa does not start it again:"
                    f" correct it and use /reload, or remove it. The last time, {problem}"
                )
                return
            self._host.report(f"Extension {self._manifest.extension.name} ended, and kaa starts it again: {problem}")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), self._timing.pauses[crashes - 1])
                self._settle("it was unloaded")
                return

    def _give_up(self, problem: str) -> None:
        LOG.error("%s", problem)
        self._settle(problem)
        self._host.report(problem)
        self.offers = Offers()
        self.on_given_up()

    def _settle(self, problem: str) -> None:
        self.problem = problem
        self._settled.set()
        self._has_been_settled.set()

    async def _permitted(self) -> Permissions:
        granted = self._host.granted(self._manifest)
        if granted is not None:
            return granted
        ending = asyncio.create_task(self._ending.wait())
        await asyncio.wait((self._asker, ending), return_when=asyncio.FIRST_COMPLETED)
        ending.cancel()
        if not self._asker.done():
            raise NotRunningError(f"Extension {self._manifest.extension.name} was unloaded before its start")
        return await self._host.permit(self._manifest, self._asker.result())


# What sees or changes the conversation and its tool calls.
_SESSION_OF: dict[str, Access] = {
    "register/eventHandler": "read",
    "register/interceptor": "write",
    "register/messageHook": "write",
    "register/inputTransformer": "write",
    "register/compactor": "write",
    "register/provider": "write",
}


class _Calls:
    """The conversations that use a process, the requests of kaa that it has not answered, and its own requests."""

    def __init__(self) -> None:
        self._open: dict[str, ConversationContext] = {}
        self._unanswered: list[ConversationContext] = []
        self._last: ConversationContext | None = None
        self._served: dict[asyncio.Task[object], ConversationContext] = {}

    def opened(self, context: ConversationContext) -> None:
        """A conversation began."""
        self._open[context.conversation_id] = context
        self._last = context

    def closed(self, context: ConversationContext) -> None:
        """A conversation ended: what the process asked for in it is given up."""
        self._open.pop(context.conversation_id, None)
        if self._last is not None and self._last.conversation_id == context.conversation_id:
            self._last = next(reversed(self._open.values()), None)
        for task, served in tuple(self._served.items()):
            if served.conversation_id == context.conversation_id:
                task.cancel()

    @contextmanager
    def during(self, context: ConversationContext | None) -> Iterator[Mapping[str, Json]]:
        """Note that the process works for a conversation. Yields the parameter that says so."""
        if context is None:
            yield {}
            return
        self._last = self._open.get(context.conversation_id, context)  # not that of a command, which will have ended
        self._unanswered.append(context)
        try:
            yield {"conversation": {"id": context.conversation_id, "cwd": context.workspace.root}}
        finally:
            self._unanswered.remove(context)

    @contextmanager
    def serving(self, context: ConversationContext | None) -> Iterator[None]:
        """Note that the current task does what the process asked for."""
        task = asyncio.current_task()
        if context is None or task is None:
            yield
            return
        self._served[task] = context
        try:
            yield
        finally:
            del self._served[task]

    def stop(self, context: ConversationContext | None) -> None:
        """A call was stopped: give up what the process asked for because of it."""
        for task, served in tuple(self._served.items()):
            if served is context:
                task.cancel()

    def context_of(self, params: Mapping[str, Json]) -> ConversationContext | None:
        """What the process means: the tool call or the conversation that it names, else the last unanswered request.

        If all are answered, the conversation of the last request, or the last one that began.
        """
        if isinstance(call_id := params.get("callId"), str):
            for context in self._unanswered:
                if isinstance(context, ToolContext) and context.call_id == call_id:
                    return context
        named = params.get("conversation")
        if isinstance(named, dict) and isinstance(id_ := named.get("id"), str):
            unanswered = (one for one in reversed(self._unanswered) if one.conversation_id == id_)
            return next(unanswered, self._open.get(id_))
        return self._unanswered[-1] if self._unanswered else self._last
