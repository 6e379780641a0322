"""The gate between sandboxed commands and the network: a proxy in the brain, behind sockets inside the sandbox.

Commands live where there is only loopback. The hands pass the brain a listening socket that was made in there; what
comes to it is served here, under rules that can change while commands run. No other part of kaa opens connections for
commands.

Order of a connection: the name is judged, and only an allowed one is resolved, because a lookup can carry data out.
While the user is asked about a name, the connection is held; then the name is judged again.
Each address is judged (a name may lead anywhere), and where all are private, the user is asked about them likewise; the
connection goes to a judged address, never to the name.
What TLS says inside a tunnel is not looked at: who may reach one host of a large provider may reach what else answers
there.
"""

import asyncio
import os
import socket
from collections.abc import Awaitable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from kaa.host.addresses import AddressKind, is_own, kind_of
from kaa.workspace.network import socks
from kaa.workspace.network.acceptor import Acceptor
from kaa.workspace.network.allow_list import HostVerdict, NetworkRule, NetworkState, askable
from kaa.workspace.network.asking import RunningCalls
from kaa.workspace.network.destinations import Destination
from kaa.workspace.network.heads import parse_response
from kaa.workspace.network.http_proxy import serve_http
from kaa.workspace.network.internet import Internet, SystemInternet, UnreachableError, connect_first, resolve
from kaa.workspace.network.limits import ProxyLimits
from kaa.workspace.network.reach import ConnectTo, DestinationRefusedError, Upstream
from kaa.workspace.network.streams import MalformedError, Stream
from kaa.workspace.network.upstream import UnsupportedProxyError, UpstreamProxies, UpstreamProxy

Entry = TypeVar("Entry")
_MAX_DESTINATIONS = 256  # of each kind; the oldest are forgotten
_MOST_UNKNOWN = 1_000
_HERE_SECONDS = 1.0  # to look up a name that a proxy on this machine will look up, too
_TUNNEL_SECONDS = 30.0  # for an upstream proxy to open a tunnel, which includes its own lookup and connection


class BlockedDestination(NamedTuple):
    """A destination that a command was kept from.

    Attributes:
        rule: the rule that would allow it, as the user writes it; None if none can.
        private: its name is permitted, but not its address, which is not public.
        waited: nobody said no: the command waited for an answer, and ended or gave up before there was one.
    """

    destination: Destination
    rule: str | None
    private: bool = False
    waited: bool = False


class NetworkJournal:
    """Remembers destinations with the time at which each was last asked for.

    Time is a count of entries. Commands share the journal: of two that run at once nobody can tell who asked.
    """

    def __init__(self) -> None:
        self._clock = 0
        self._blocked: dict[Destination, tuple[int, BlockedDestination]] = {}
        self._allowed: dict[Destination, int] = {}

    def mark(self) -> int:
        """The present, for `blocked_since` and `allowed_since`."""
        return self._clock

    def block(self, destination: Destination, rule: str | None, *, private: bool = False) -> None:
        """Note that a command was kept from a destination."""
        _put_last(self._blocked, destination, (self._tick(), BlockedDestination(destination, rule, private)))

    def hold(self, destination: Destination, rule: str, *, private: bool = False) -> None:
        """Note that a command waits for an answer about a destination: it is blocked until there is one."""
        entry = BlockedDestination(destination, rule, private, waited=True)
        _put_last(self._blocked, destination, (self._tick(), entry))

    def release(self, destination: Destination) -> None:
        """Note that a destination that a command waited for is permitted."""
        known = self._blocked.get(destination)
        if known is not None and known[1].waited:
            del self._blocked[destination]

    def allow(self, destination: Destination) -> None:
        """Note that a command was connected to a destination."""
        _put_last(self._allowed, destination, self._tick())

    def blocked_since(self, mark: int) -> tuple[BlockedDestination, ...]:
        """What commands were kept from since, each once."""
        return tuple(entry for time, entry in self._blocked.values() if time > mark)

    def allowed_since(self, mark: int) -> tuple[Destination, ...]:
        """What commands were connected to since, each once."""
        return tuple(where for where, time in self._allowed.items() if time > mark)

    def _tick(self) -> int:
        self._clock += 1
        return self._clock


def _put_last(entries: dict[Destination, Entry], destination: Destination, entry: Entry) -> None:
    entries.pop(destination, None)
    entries[destination] = entry
    if len(entries) > _MAX_DESTINATIONS:
        del entries[next(iter(entries))]


class NetworkGate:
    """Lets commands reach what the state of the network allows.

    Args:
        state: what is allowed at first.
        environment: where the proxies of the user's network are named. None means kaa's own.
        calls: those whose users are asked about hosts that are not allowed. None: nobody is asked.
        internet: the outer network. None means that of this machine.

    Attributes:
        held: how many connections wait for an answer of a user.
    """

    def __init__(
        self,
        state: NetworkState = NetworkState(),  # noqa: B008 - frozen
        *,
        environment: Mapping[str, str] | None = None,
        calls: RunningCalls | None = None,
        internet: Internet | None = None,
        limits: ProxyLimits = ProxyLimits(),  # noqa: B008 - frozen
    ) -> None:
        self._state = state
        self._calls = calls
        self.held = 0
        self._internet = internet or SystemInternet()
        self._limits = limits
        self._upstreams = UpstreamProxies(os.environ if environment is None else environment)
        self._unknown: set[str] = set()  # names that this machine does not know, but perhaps a proxy
        self._journal = NetworkJournal()
        self._visits: set[_Visit] = set()
        self._acceptor = Acceptor(self._serve, limits.connections)

    @property
    def state(self) -> NetworkState:
        return self._state

    @property
    def problem(self) -> str | None:
        """What in the environment keeps commands from the network, for the user; None if nothing does."""
        return self._upstreams.problem

    def attach(self, listener: socket.socket) -> int:
        """Serve what comes to a listening socket, which the gate owns from now on. Needs a running loop.

        Returns:
            The port, for `proxy_environment`.
        """
        port = int(listener.getsockname()[1])
        self._acceptor.attach(listener)
        return port

    def set_state(self, state: NetworkState) -> None:
        """Change what is allowed, for running commands too: connections that are no longer allowed are cut."""
        former, self._state = self._state, state
        for visit in self._visits:
            if visit.destination is None or visit.server is None:
                continue  # judged when it is connected
            verdict = state.judge(visit.destination, visit.address)
            if verdict is not HostVerdict.ALLOWED:
                if not any(rule.matches(visit.destination) for rule in former.granted):  # or the call has ended
                    self._note(DestinationRefusedError(visit.destination, verdict, state.mode))
                visit.cut()

    def mark(self) -> int:
        """The present, for `blocked_since` and `allowed_since`."""
        return self._journal.mark()

    def blocked_since(self, mark: int) -> tuple[BlockedDestination, ...]:
        """The destinations that commands were kept from since, each once; of very many the last ones."""
        return self._journal.blocked_since(mark)

    def allowed_since(self, mark: int) -> tuple[Destination, ...]:
        """The destinations that commands were connected to since, each once; of very many the last ones."""
        return self._journal.allowed_since(mark)

    async def close(self) -> None:
        """Close the listeners and cut all connections."""
        await self._acceptor.close()

    async def _serve(self, connection: socket.socket) -> None:
        task = asyncio.current_task()
        assert task is not None
        visit = _Visit(Stream(connection), task)
        self._visits.add(visit)
        try:
            async with asyncio.timeout(self._limits.head_seconds):
                first = await visit.client.peek()
            if first:
                serve = socks.serve_socks if first[0] == socks.VERSION else serve_http
                await serve(visit.client, self._reach_for(visit), self._limits)
        except OSError:  # including those of time: both sides are told by a connection that breaks
            visit.break_off()
        finally:
            self._visits.discard(visit)
            visit.close()

    def _reach_for(self, visit: "_Visit") -> ConnectTo:
        async def reach(destination: Destination, *, tunnel: bool) -> Upstream:
            try:
                return await self._connect(visit, destination, tunnel=tunnel)
            except DestinationRefusedError as refusal:
                self._note(refusal)
                raise

        return reach

    async def _connect(self, visit: "_Visit", destination: Destination, *, tunnel: bool) -> Upstream:
        await self._hold(visit, destination)
        self._check(destination)
        try:
            upstream = self._upstreams.towards(destination, tunnel=tunnel)
        except UnsupportedProxyError as error:
            raise UnreachableError(str(error)) from None
        if upstream is None:
            addresses = await self._permitted_addresses(visit, destination)
            address, sock = await connect_first(self._internet, addresses, destination.port)
        else:
            address, sock = None, await self._connect_to_proxy(upstream, destination)
        stream = Stream(sock)
        try:
            if upstream is not None and tunnel:
                await _open_tunnel(stream, upstream, destination, self._limits)
            self._check(destination, address)  # the state may have changed
        except BaseException:
            stream.close()
            raise
        visit.destination, visit.address, visit.server = destination, address, stream
        self._journal.allow(destination)
        if upstream is None or tunnel:
            return Upstream(stream)
        return Upstream(stream, through_proxy=True, authorization=upstream.authorization)

    async def _hold(self, visit: "_Visit", destination: Destination) -> None:
        """Wait while the user is asked about a destination that is not allowed, if somebody can be asked.

        Raises:
            ConnectionAbortedError: the client did not wait.
        """
        calls = self._calls
        unlisted = self._state.judge(destination) is HostVerdict.UNLISTED and askable(destination)
        if calls is None or not unlisted or self.held >= self._limits.held:
            return
        rule = NetworkRule.exactly(destination)
        self._journal.hold(destination, str(rule))
        await self._wait(visit, calls.wait_for(rule, lambda: self._allows(destination)))
        self._journal.release(destination)

    async def _hold_at(self, visit: "_Visit", destination: Destination, addresses: Sequence[str]) -> None:
        """The same about a name that is allowed and leads only to these addresses, which are not.

        Raises:
            ConnectionAbortedError: the client did not wait.
        """
        calls = self._calls
        if calls is None or self.held >= self._limits.held:
            return
        rule = NetworkRule.exactly(destination)
        self._journal.hold(destination, str(rule), private=True)
        await self._wait(
            visit,
            calls.wait_for_private(rule, addresses, lambda: any(self._allows(destination, one) for one in addresses)),
        )
        self._journal.release(destination)

    async def _wait(self, visit: "_Visit", answer: Awaitable[None]) -> None:
        """Wait for an answer as long as the client does.

        Raises:
            ConnectionAbortedError: the client did not wait.
        """
        self.held += 1
        answered = asyncio.ensure_future(answer)
        left = asyncio.ensure_future(visit.client.hung_up())
        try:
            await asyncio.wait({answered, left}, return_when=asyncio.FIRST_COMPLETED)
            if not answered.done():
                raise ConnectionAbortedError("the client did not wait for the answer")
            answered.result()
        finally:
            self.held -= 1
            for task in (answered, left):
                task.cancel()
            await asyncio.gather(answered, left, return_exceptions=True)

    def _allows(self, destination: Destination, address: str | None = None) -> bool:
        return self._state.judge(destination, address) is HostVerdict.ALLOWED

    async def _permitted_addresses(self, visit: "_Visit", destination: Destination) -> Sequence[str]:
        if destination.is_address:
            return (destination.host,)
        addresses = await resolve(self._internet, destination.host)
        private = [one for one in addresses if self._state.judge(destination, one) is HostVerdict.PRIVATE]
        if private and not any(self._allows(destination, one) for one in addresses):
            await self._hold_at(visit, destination, private)
        verdicts = {address: self._state.judge(destination, address) for address in addresses}
        permitted = [address for address in addresses if verdicts[address] is HostVerdict.ALLOWED]
        if addresses and not permitted:
            lenient = HostVerdict.PRIVATE in verdicts.values()
            verdict = HostVerdict.PRIVATE if lenient else verdicts[addresses[0]]
            raise DestinationRefusedError(destination, verdict, self._state.mode)
        return permitted

    async def _connect_to_proxy(self, upstream: UpstreamProxy, destination: Destination) -> socket.socket:
        """Connect to the user's proxy. It is the user's: its address is not judged.

        Raises:
            DestinationRefusedError: it runs on this machine, to which the name of the destination leads.
            UnreachableError: it does not answer.
        """
        try:
            addresses = await resolve(self._internet, upstream.host)
            if any(map(is_own, addresses)) and not destination.is_address and destination.host not in self._unknown:
                await self._check_here(destination)
            _, sock = await connect_first(self._internet, addresses, upstream.port)
        except UnreachableError as error:
            raise UnreachableError(f"the proxy of the user's network does not answer: {error}") from None
        return sock

    async def _check_here(self, destination: Destination) -> None:
        """Check that a name does not lead to this machine, as far as that knows it; the proxy may know more names."""
        try:
            async with asyncio.timeout(_HERE_SECONDS):
                addresses = await self._internet.resolve(destination.host)
        except TimeoutError:
            return
        except OSError:
            if len(self._unknown) < _MOST_UNKNOWN:
                self._unknown.add(destination.host)
            return
        for one in addresses:
            if is_own(one) or kind_of(one) is AddressKind.FORBIDDEN:
                self._check(destination, one)

    def _check(self, destination: Destination, address: str | None = None) -> None:
        verdict = self._state.judge(destination, address)
        if verdict is not HostVerdict.ALLOWED:
            raise DestinationRefusedError(destination, verdict, self._state.mode)

    def _note(self, refusal: DestinationRefusedError) -> None:
        self._journal.block(refusal.destination, refusal.rule, private=refusal.is_private)


class _Visit:
    """One connection of a command, and where it leads once it is connected.

    Attributes:
        address: None while not connected, and where an upstream proxy chooses it.
    """

    def __init__(self, client: Stream, task: asyncio.Task[None]) -> None:
        self.client = client
        self._task = task
        self.destination: Destination | None = None
        self.address: str | None = None
        self.server: Stream | None = None

    def cut(self) -> None:
        """Let no byte more out, and end."""
        self.break_off()
        if self.server is not None:
            self.server.stop()
        self._task.cancel()

    def break_off(self) -> None:
        """Let neither side take what it got for complete."""
        self.client.break_off()
        if self.server is not None:
            self.server.break_off()

    def close(self) -> None:
        """Close the connection to the server; the other is closed by who accepted it."""
        if self.server is not None:
            self.server.close()


async def _open_tunnel(stream: Stream, upstream: UpstreamProxy, destination: Destination, limits: ProxyLimits) -> None:
    """Ask an upstream proxy for a tunnel.

    Raises:
        UnreachableError: it gives none.
    """
    lines = [f"CONNECT {destination} HTTP/1.1", f"Host: {destination}"]
    if upstream.authorization is not None:
        lines.append(f"Proxy-Authorization: {upstream.authorization}")
    try:
        async with asyncio.timeout(_TUNNEL_SECONDS):
            await stream.send("\r\n".join((*lines, "", "")).encode("ascii"))
            status = parse_response(await stream.head(limits.head_bytes)).status
    except TimeoutError:
        raise UnreachableError(f"the proxy of the user's network did not answer in {_TUNNEL_SECONDS:g} s") from None
    except (OSError, MalformedError) as error:
        raise UnreachableError(f"the proxy of the user's network opens no tunnel ({error})") from None
    if not 200 <= status < 300:
        raise UnreachableError(f"the proxy of the user's network opens no tunnel to {destination} (status {status})")
