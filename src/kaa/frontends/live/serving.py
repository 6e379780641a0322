"""Lets other processes of the user follow, steer and stop a conversation of this one, over a private socket."""

import asyncio
import socket

from kaa import __version__
from kaa.ext.questions import AnyQuestion, Approval
from kaa.frontends.live.connected import ConnectedClient, Served
from kaa.frontends.live.questions import SharedQuestions
from kaa.frontends.live.wire import (
    MOST_LINE_BYTES,
    PROTOCOL,
    AnyTold,
    Hello,
    Noticed,
    Refused,
    socket_name,
    sockets_of,
)
from kaa.host.log import LOG
from kaa.host.private_sockets import peer_of
from kaa.shell.home import Home
from kaa.shell.host import HostedConversation
from kaa.tui.sanitize import one_line

_MOST_CLIENTS = 16


class LiveServer:
    """Listens for the conversation that is open in this process: one at a time.

    Args:
        has_terminal: somebody may look at the conversation in this process.

    Attributes:
        end_wanted: a client wants the process to end.
    """

    def __init__(self, home: Home, questions: SharedQuestions, *, has_terminal: bool) -> None:
        self.end_wanted = asyncio.Event()
        self._questions = questions
        questions.tell = self._tell_followers
        self._sockets = sockets_of(home)
        self._has_terminal = has_terminal
        self._opening = asyncio.Lock()
        self._served: Served | None = None
        self._clients: set[ConnectedClient] = set()
        self._alone = asyncio.Event()
        self._alone.set()

    async def open(self, hosted: HostedConversation) -> None:
        """Listen for this conversation from now on. Clients of the one before are sent away.

        Raises:
            PrivateSocketError: the socket cannot be made.
        """
        async with self._opening:
            self._leave()
            path = hosted.conversation.session_path
            if path is None or not hosted.conversation.is_kept or not hosted.is_open:
                return
            listener = await asyncio.to_thread(self._sockets.listen, socket_name(path))
            accepting = await asyncio.start_unix_server(self._accept, sock=listener.sock, limit=MOST_LINE_BYTES)
            self._served = Served(hosted, listener, accepting)
            self._questions.can_ask = True

    def notice(self, text: str) -> None:
        """Tell those who follow something worth knowing."""
        self._tell_followers(Noticed(text))

    @property
    def is_alone(self) -> bool:
        """Whether no client is there."""
        return not self._clients

    async def until_alone(self) -> None:
        """Wait until no client is there."""
        await self._alone.wait()

    @property
    def has_work(self) -> bool:
        """Whether something goes on that clients have asked for."""
        return self._served is not None and bool(self._served.tasks)

    async def until_done(self) -> None:
        """Wait until all is done that clients have asked for."""
        while self._served is not None and self._served.tasks:
            await asyncio.wait(self._served.tasks)

    def close(self) -> None:
        """Listen no more, send clients away, and dismiss what was asked."""
        self._leave()
        self._questions.close()

    def _leave(self) -> None:
        """Leave the conversation, and send its clients away."""
        served, self._served = self._served, None
        if served is None:
            return
        self._sockets.remove(served.listener)
        served.close()
        for client in tuple(self._clients):
            client.leave()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served = self._served
        peer = peer_of(_socket_of(writer))
        if served is None or not peer.is_owner:
            writer.close()
            return
        end = None if self._has_terminal else self.end_wanted.set
        client = ConnectedClient(served, self._questions, reader, writer, end)
        if len(self._clients) >= _MOST_CLIENTS:
            client.tell(Refused(f"{_MOST_CLIENTS} clients are connected already"))
            writer.close()
            return
        self._clients.add(client)
        self._alone.clear()
        session_id = served.hosted.conversation.session_id
        asks = tuple(_in_short(asked.question) for asked in self._questions.waiting)
        is_working = served.hosted.work.is_busy
        client.tell(Hello(PROTOCOL, __version__, session_id, self._has_terminal, asks, is_working))
        try:
            await client.serve()
        except Exception:  # noqa: BLE001 isolation boundary: it must not end the others
            LOG.exception("a client of the conversation failed")
        finally:
            await client.close()
            self._clients.discard(client)
            if not self._clients:
                self._alone.set()

    def _tell_followers(self, told: AnyTold) -> None:
        for client in tuple(self._clients):
            if client.follows:
                client.tell(told)


def _in_short(question: AnyQuestion) -> str:
    asked = f"Allow {question.tool}? {question.title}" if isinstance(question, Approval) else question.title
    return one_line(asked)


def _socket_of(writer: asyncio.StreamWriter) -> socket.socket:
    sock: socket.socket = writer.get_extra_info("socket")
    return sock
