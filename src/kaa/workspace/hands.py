"""Hands as a process: started with a policy, asked for slots, started again when they die, and stopped."""

import asyncio
import contextlib
import socket
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kaa.hands.confinement.contract import ConfinementError
from kaa.hands.policy import Policy
from kaa.workspace.channel import Channel
from kaa.workspace.fork_server import (
    ForkServerClient,
    ForkServerGoneError,
    Granted,
    PendingReply,
    PolicyRefusedError,
    PolicyReport,
)
from kaa.workspace.launch import LaunchedHands
from kaa.workspace.protocol import WorkspaceUnavailableError
from kaa.workspace.slots import Slot, SlotKind

# Forked ahead of need: it takes a millisecond.
_SPARES: dict[SlotKind, int] = {"files": 0, "command": 1, "background": 0, "checkpoints": 0, "parser": 0, "guard": 0}
_CALLED: dict[SlotKind, str] = {
    "files": "files",
    "command": "commands",
    "background": "commands in the background",
    "checkpoints": "checkpoints of files",
    "parser": "parsing files",
    "guard": "guarding the project",
}
_KEPT = 4  # of those that can be used again: as many as the calls of a reply that run in parallel, mostly
_TOP_UP_DELAY_SECONDS = 0.1
_CLOSED = "The workspace is closed."


class Wrapper(NamedTuple):
    """Through what hands are started.

    Attributes:
        words: program and arguments; empty if the hands confine themselves.
        mounts: what it must have mounted when the hands start.
    """

    words: tuple[str, ...] = ()
    mounts: tuple[tuple[str, str], ...] = ()


UNWRAPPED = Wrapper()


class Hands:
    """The fork-server process of one workspace under one policy.

    Args:
        root: absolute path of the workspace.
        home: what `~` stands for.
        policy: what the slots may do.
        wrap: says through what the process is started, whenever it is.
        join: descriptors of the namespaces of other hands to live in; they stay the caller's.
        keeps_spares: whether slots are ready before somebody asks for them; else from `resume` on.
    """

    def __init__(
        self,
        root: str,
        home: str,
        policy: Policy,
        *,
        wrap: Callable[[], Wrapper] = Wrapper,
        join: Sequence[int] = (),
        keeps_spares: bool = True,
    ) -> None:
        self.policy = policy
        self._settings = {"root": root, "home": home, "policy": policy._asdict()}
        self._wrap = wrap
        self._join = join
        self._server: ForkServerClient | None = None
        self._ready: dict[SlotKind, deque[Slot]] = {kind: deque() for kind in _SPARES}
        self._coming: dict[SlotKind, deque[PendingReply[Granted]]] = {kind: deque() for kind in _SPARES}
        self._closed = False
        self._retired = not keeps_spares

    def start(self, launched: LaunchedHands | None = None) -> None:
        """Start the process and ask for its first slots, without waiting for it. Needs no event loop.

        Args:
            launched: a process that was started before; None starts one.

        Raises:
            PolicyRefusedError: it cannot be started.
        """
        self._hang_up_spares()
        try:
            words, mounts = self._wrap()
        except ConfinementError as error:
            raise PolicyRefusedError(str(error)) from error
        self._server = ForkServerClient(words, launched)
        self._server.send(self._settings | {"mounts": mounts}, self._join)
        self._request("files")

    async def report(self) -> PolicyReport:
        """Wait until the process holds its policy.

        Raises:
            PolicyRefusedError: it cannot.
            WorkspaceUnavailableError: it died.
        """
        server = self._living()
        try:
            return await server.wait(server.report)
        except ForkServerGoneError as error:
            reason = _CLOSED if self._closed else f"The hands died while they were started: {error}."
            raise WorkspaceUnavailableError(reason) from error

    def take_proxy_listener(self) -> socket.socket | None:
        """The socket on which the slots expect a proxy, once; the caller closes it."""
        return None if self._server is None else self._server.take_proxy_listener()

    @property
    def namespaces(self) -> Sequence[int]:
        """Descriptors of namespaces that other hands can join; they stay open as long as this."""
        return () if self._server is None else self._server.namespaces

    async def socket(self, family: int) -> socket.socket:
        """A fresh stream socket of this family in the network of the slots.

        Raises:
            WorkspaceUnavailableError: there is none.
        """
        server = self._living()
        answer = server.request({"op": "socket", "family": family})
        try:
            return (await server.wait(answer)).socket
        except ForkServerGoneError as error:
            raise WorkspaceUnavailableError(f"The hands died: {error}.") from error
        except asyncio.CancelledError:
            _abandon(answer)
            raise

    @property
    def network_process(self) -> int | None:
        """A process in the network of the slots, if they have one of their own that this machine's /proc shows."""
        has_own = self.policy.tier == "full" and self.policy.network == "isolated"
        return self._server.pid if has_own and self._server is not None and not self._server.is_over else None

    async def hold(self) -> None:
        """Have protected and secret names held that other programs replaced, in everything that runs.

        Raises:
            WorkspaceUnavailableError: that is not possible.
        """
        await self._order("hold")

    async def show(self) -> None:
        """Have shown what the user has in /tmp by now, and new in the home.

        Raises:
            PolicyRefusedError: the process cannot hold its policy.
        """
        server = self._server
        if self.policy.tier == "full" and server is not None and not server.is_over:
            with contextlib.suppress(ForkServerGoneError):  # whoever takes a slot starts another one
                await server.wait(server.order({"op": "show"}))

    async def release(self) -> None:
        """Have let go of what `hold` holds. Raises as `hold` does."""
        await self._order("release")

    async def take(self, kind: SlotKind) -> Slot:
        """A slot of one's own. Starts the process again if it has died.

        Raises:
            PolicyRefusedError: it cannot hold its policy.
            WorkspaceUnavailableError: the process dies each time, or cannot make a slot.
        """
        reason = ""
        for _attempt in range(2):
            try:
                slot = await self._take(kind)
            except ForkServerGoneError as error:
                reason = str(error)
                continue
            # Later: most commands are over by then, and the next one takes their slot.
            asyncio.get_running_loop().call_later(_TOP_UP_DELAY_SECONDS, self._top_up, kind)
            return slot
        if self._closed:
            raise WorkspaceUnavailableError(_CLOSED)
        raise WorkspaceUnavailableError(f"The hands died twice while they were to start a process: {reason}.")

    def gives(self, slot: Slot) -> bool:
        """Whether a slot is of these hands."""
        return slot.hands is self

    def kill(self, pid: int) -> None:
        """Kill a slot that does not answer."""
        if self._server is not None:
            self._server.send({"op": "kill", "pid": pid})

    def retire(self) -> None:
        """Let the slots go that nobody uses: other hands take over. What runs goes on."""
        self._retired = True
        self._hang_up_spares()

    def settle(self) -> None:
        """Keep nothing ready: little runs from now on, but for long, and no other hands join."""
        self.retire()
        if self._server is not None:
            self._server.forget_namespaces()
            self._server.send({"op": "watch"})

    def resume(self) -> None:
        """Give out slots again after `retire`."""
        self._retired = False

    async def close(self) -> None:
        """Hang up and wait until the process has stopped everything it started."""
        self._closed = True
        self._hang_up_spares()
        if self._server is not None:
            await self._server.close()
            self._hang_up_spares()

    def give_back(self, kind: SlotKind, slot: Slot) -> None:
        """Keep a slot for whoever takes the next one, if it is still wanted."""
        spares = len(self._ready[kind]) + len(self._coming[kind])
        if self._retired or self._closed or self._server is None or self._server.is_over or spares >= _KEPT:
            slot.close()
        else:
            self._ready[kind].appendleft(slot)

    def warm_up(self) -> None:
        """Have ready what the first command needs: slots, and a look at what they are shown, which takes long once."""
        if self.policy.tier != "none":
            self.expect("guard")
        self._top_up("command")
        if self.policy.tier == "full" and self._server is not None and not self._server.is_over:
            self._server.order({"op": "show"})

    def expect(self, kind: SlotKind) -> None:
        """Have a slot made that will be taken soon, unless there is one."""
        is_alive = self._server is not None and not self._server.is_over
        if is_alive and not self._ready[kind] and not self._coming[kind]:
            self._request(kind)

    async def _order(self, operation: str) -> None:
        server = self._server
        if server is None or server.is_over:  # then nothing runs; new hands hold what is there
            return
        try:
            await server.wait(server.order({"op": operation}))
        except ForkServerGoneError as error:
            raise WorkspaceUnavailableError(f"The hands died: {error}.") from error

    def _living(self) -> ForkServerClient:
        """The fork-server; another one if that has ended.

        Raises:
            WorkspaceUnavailableError: the workspace is closed.
        """
        if self._closed:
            raise WorkspaceUnavailableError(_CLOSED)
        if self._server is None or self._server.is_over:
            self.start()
        assert self._server is not None
        return self._server

    async def _take(self, kind: SlotKind) -> Slot:
        while (slot := self._next_living(kind)) is None:
            server, coming = self._living(), self._coming[kind]
            answer = coming.popleft() if coming else server.request(_slot_of(kind))
            try:
                granted = await server.wait(answer)
            except asyncio.CancelledError:
                if server.is_over:
                    _abandon(answer)
                else:
                    coming.appendleft(answer)  # for the next one who wants a slot
                raise
            channel = Channel(granted.socket, f"The process for {_CALLED[kind]}")
            self._ready[kind].append(Slot(granted.pid, channel, self, granted.reports))
        return slot

    def _next_living(self, kind: SlotKind) -> Slot | None:
        """A slot that waits and has not been killed while it did."""
        while self._ready[kind]:
            slot = self._ready[kind].popleft()
            if slot.channel.is_alive():
                return slot
            slot.close()
        return None

    def _top_up(self, kind: SlotKind) -> None:
        """Have slots ready for whoever takes the next ones."""
        if self._server is not None and not self._server.is_over:
            for _ in range(_SPARES[kind] - len(self._ready[kind]) - len(self._coming[kind])):
                self._request(kind)

    def _request(self, kind: SlotKind) -> None:
        """Ask for a slot that somebody will take, unless nobody is to take any more."""
        if self._server is not None and not self._retired and not self._closed:
            self._coming[kind].append(self._server.request(_slot_of(kind)))

    def _hang_up_spares(self) -> None:
        for kind in _SPARES:
            while self._ready[kind]:
                self._ready[kind].popleft().close()
            while self._coming[kind]:
                _abandon(self._coming[kind].popleft())


def _slot_of(kind: SlotKind) -> dict[str, object]:
    return {"op": "slot", "kind": kind}


def _abandon(answer: PendingReply[Granted]) -> None:
    """Close what was asked for, now or when it comes."""
    if not answer.resolve(ForkServerGoneError("nobody waits for it")):
        with contextlib.suppress(ForkServerGoneError, WorkspaceUnavailableError):
            answer.get().close()
