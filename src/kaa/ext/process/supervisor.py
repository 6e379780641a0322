"""The life of an extension process: start, handshake, restarts after crashes up to a limit, shutdown."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import msgspec

from kaa.core.messages import Json
from kaa.ext.asking import Asker
from kaa.ext.context import ConversationContext
from kaa.ext.errors import ExtensionError, RegistrationError
from kaa.ext.permissions import Access, Permissions
from kaa.ext.process import wire
from kaa.ext.process.calls import Calls
from kaa.ext.process.channels import Channels
from kaa.ext.process.connection import Connection, ConnectionEndedError
from kaa.ext.process.host import ProcessHost
from kaa.ext.process.manifest import Manifest
from kaa.ext.process.offers import Offers
from kaa.ext.process.output import OutputLog
from kaa.ext.process.services import SERVICES, Caller
from kaa.ext.process.wire import RpcError
from kaa.host.log import LOG

PROTOCOL_VERSION = "4"

_HANDSHAKE_SECONDS = 10
_SHUTDOWN_SECONDS = 2
# Before each start after a crash; as many as there are.
PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0)
# A process that ran so long is counted as new.
_STABLE_SECONDS = 30


class NotRunningError(ExtensionError):
    """The process is gone: it ended during the call, or was given up."""


class _Identity(msgspec.Struct, frozen=True):
    """The answer to `initialize`."""

    name: str = ""
    version: str = ""


class Supervisor:
    """Keeps one process running, from `begin` to `end`.

    Args:
        manifest: of the extension.
        host: starts processes and answers their requests.
        pauses: before each start after a crash, in seconds.

    Attributes:
        permissions: that the user granted.
        offers: what the process that runs has registered.
        calls: which conversations use it.
        on_offers: called after a handshake, and when the process registers something later.
        on_notification: called with the notifications of the process: method, parameters, context of the conversation.
        on_given_up: called when it is not started again.
    """

    def __init__(self, manifest: Manifest, host: ProcessHost, pauses: Sequence[float] = PAUSES) -> None:
        self.offers = Offers()
        self.calls = Calls()
        self.on_offers: Callable[[], None] = lambda: None
        self.on_notification: Callable[[str, Mapping[str, Json], ConversationContext | None], None] = lambda *_: None
        self.on_given_up: Callable[[], None] = lambda: None
        self._manifest = manifest
        self._host = host
        self._pauses = pauses
        self._connection: Connection | None = None  # after the handshake
        self._live_connection: Connection | None = None
        self.permissions = Permissions()
        self._printed = OutputLog(manifest.name, "stderr")  # of the process that was started last
        self._settled = asyncio.Event()
        self._has_ended = ""  # why it is not running, and will not be
        self._asker: asyncio.Future[Asker] = asyncio.get_running_loop().create_future()
        self._ending = asyncio.Event()
        self._has_been_settled = asyncio.Event()

    def begin(self) -> None:
        """Start the process, without waiting for it."""
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
        if self._has_ended:
            raise NotRunningError(f"Extension {self._manifest.name} does not start")

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
            raise NotRunningError(f"extension {self._manifest.name} is not running: {self._has_ended}")
        with self.calls.during(context) as about:
            try:
                return await self._connection.request(method, {**params, **about}, may_cancel=may_cancel)
            except ConnectionEndedError as error:
                raise NotRunningError(f"extension {self._manifest.name} did not answer {method}: {error}") from error

    def notified(self, method: str, params: Mapping[str, Json]) -> None:
        """See `Receiver`."""
        if method.startswith("register/"):
            self._register(method, params)
        elif method == "log":
            LOG.info(
                "extension %s: %s: %s", self._manifest.name, params.get("level"), wire.shown(params.get("message"))
            )
        else:
            self.on_notification(method, params, self.calls.context_of(params))

    async def requested(self, method: str, params: Mapping[str, Json]) -> Json:
        """See `Receiver`."""
        service, connection = SERVICES.get(method), self._live_connection
        if service is None or connection is None:
            raise RpcError(wire.METHOD_NOT_FOUND, f"kaa does not know the method {method!r}")
        context = self.calls.context_of(params)
        return await service(params, Caller(self._manifest, self.permissions, context, self._host, connection.notify))

    def disconnected(self) -> None:
        """See `Receiver`. Calls wait from now on, until the process has started again or is given up."""
        self._connection = self._live_connection = None
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
        LOG.warning("extension %s: %s", self._manifest.name, problem)
        self.report(problem)

    def report(self, text: str) -> None:
        """Show the user a text of this extension."""
        self._host.report(f"Extension {self._manifest.name}: {text}")

    async def _live(self) -> None:
        """Start the process, and again after a crash, until `end` or too many crashes."""
        crashes = 0
        while True:
            began = time.monotonic()
            try:
                problem = await self._run_once()
            except ExtensionError as error:  # a start that fails fails again
                self._give_up(f"{error}. It printed: {self._printed.last}" if self._printed.last else str(error))
                return
            except Exception as error:  # noqa: BLE001 isolation boundary: whatever the start of a process meets
                LOG.exception("extension %s cannot be started", self._manifest.name)
                self._give_up(f"Extension {self._manifest.name} cannot be started: {type(error).__name__}: {error}")
                return
            if self._ending.is_set():
                self._settle("it was unloaded")
                return
            if time.monotonic() - began >= _STABLE_SECONDS:
                crashes = 0
            crashes += 1
            if crashes > len(self._pauses):
                self._give_up(
                    f"Extension {self._manifest.name} ended {crashes} times, the last time because {problem}. kaa does"
                    " not start it again: correct it and use /reload, or remove it"
                )
                return
            self._host.report(f"Extension {self._manifest.name} ended: {problem}. kaa starts it again")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), self._pauses[crashes - 1])
                self._settle("it was unloaded")
                return

    def _give_up(self, problem: str) -> None:
        LOG.error("%s", problem)
        self._settle(problem)
        self._host.report(problem)
        self.offers = Offers()
        self.on_given_up()

    def _settle(self, problem: str) -> None:
        self._has_ended = problem
        self._settled.set()
        self._has_been_settled.set()

    async def _run_once(self) -> str:
        """Run the process from its start to its end. Returns why it ended.

        Raises:
            ExtensionError: it cannot be started, or the handshake fails.
        """
        self.permissions = await self._permitted()
        process = await self._host.start(self._manifest, self.permissions)
        ended = asyncio.create_task(process.wait())
        channels = Channels(self._manifest.name, self._manifest.transport)
        self._printed = channels.errors
        await channels.open(process)
        connection = Connection(self._manifest.name, channels.ways, self)
        self._live_connection = connection
        receiving = asyncio.create_task(connection.run())
        ended.add_done_callback(lambda _: connection.close("its process ended"))
        try:
            await self._greet(connection)
            ending = asyncio.create_task(self._ending.wait())
            await asyncio.wait((ended, receiving, ending), return_when=asyncio.FIRST_COMPLETED)
            ending.cancel()
            if self._ending.is_set():
                connection.notify("shutdown")
                connection.close("kaa ends it")
                await asyncio.wait((ended,), timeout=_SHUTDOWN_SECONDS)
            return await _reason(ended, receiving, channels.errors)
        finally:
            if not ended.done():
                process.end()
            await asyncio.wait((ended,))
            connection.close("its process ended")
            await asyncio.gather(receiving, return_exceptions=True)
            await channels.close()

    async def _permitted(self) -> Permissions:
        granted = self._host.granted(self._manifest)
        if granted is not None:
            return granted
        ending = asyncio.create_task(self._ending.wait())
        await asyncio.wait((self._asker, ending), return_when=asyncio.FIRST_COMPLETED)
        ending.cancel()
        if not self._asker.done():
            raise NotRunningError(f"Extension {self._manifest.name} was unloaded before its start")
        return await self._host.permit(self._manifest, self._asker.result())

    async def _greet(self, connection: Connection) -> None:
        """Exchange the handshake; what the process registered is in force afterwards.

        Raises:
            ExtensionError: it fails, or takes too long.
        """
        self.offers = Offers()
        about = {"cwd": self._host.project, "configDir": self._host.data_folder(self._manifest)}
        name = self._manifest.name
        try:
            async with asyncio.timeout(_HANDSHAKE_SECONDS):
                answer = await connection.request("initialize", {"protocolVersion": PROTOCOL_VERSION, **about})
                identity = wire.parse(answer or {}, _Identity)
        except TimeoutError as error:
            problem = f"its process did not answer `initialize` within {_HANDSHAKE_SECONDS} seconds"
            raise NotRunningError(f"Extension {name} is not used: {problem}. {_SEE_LOG}") from error
        except (RpcError, ConnectionEndedError) as error:
            raise NotRunningError(f"Extension {name} is not used: `initialize` failed: {error}. {_SEE_LOG}") from error
        LOG.info("extension %s: %s %s is ready", name, identity.name, identity.version)
        self._connection = connection
        self.on_offers()
        self._settle("")


# What sees or changes the conversation and its tool calls.
_SESSION_OF: dict[str, Access] = {
    "register/eventHandler": "read",
    "register/interceptor": "write",
    "register/messageHook": "write",
    "register/inputTransformer": "write",
    "register/compactor": "write",
}
_SEE_LOG = "KAA_LOG=FILE logs what it prints"


async def _reason(ended: "asyncio.Task[int]", receiving: "asyncio.Task[str]", errors: OutputLog) -> str:
    if receiving.done() and (violation := receiving.result()):
        return violation
    await asyncio.wait((ended,), timeout=1)  # it closed its descriptors a moment before its end
    if not ended.done():
        return "it closed its connection to kaa"
    try:
        code = ended.result()
    except OSError as error:
        return f"its sandbox failed: {error}"
    how = f"exit code {code}" if code >= 0 else f"signal {-code}"
    return f"its process ended with {how}" + (f" ({errors.last})" if errors.last else "")
