"""A server as a few methods: connect, call, fill in a prompt, read a resource, complete an argument."""

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

import msgspec

from kaa.core.messages import Json
from kaa.host.log import LOG
from kaa.host.tasks import Tasks
from kaa.mcp import codes, parsing
from kaa.mcp.connection import ServerConnection
from kaa.mcp.contents import CallResult, LogLine, Progress, PromptResult, ResourcePart, TextPart
from kaa.mcp.errors import (
    LegacyNeededError,
    LoginNeededError,
    McpError,
    NoAnswerError,
    ServerGoneError,
    UnsupportedServerError,
)
from kaa.mcp.listing import manifest_of
from kaa.mcp.manifest import Era, PromptInfo, ServerManifest, TemplateInfo, ToolInfo
from kaa.mcp.negotiation import Agreement, agree
from kaa.mcp.questions import ServerQuestions
from kaa.mcp.rounds import in_rounds
from kaa.mcp.session import Session

_LOG_LEVELS = ("warning", "error", "critical", "alert", "emergency")
_MAX_LOG_CHARACTERS = 1_000
_LIST_CHANGES = {
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
}
# Changes come in bursts, and a server that changes all the time must not keep kaa busy.
_DEBOUNCE_SECONDS, _MIN_SECONDS_BETWEEN_LISTS = 0.5, 5.0
_MIN_LISTEN_PAUSE, _MAX_LISTEN_PAUSE = 1.0, 60.0

_SIGN_OF_LIFE_SECONDS = 5.0
_CLIENT_ERRORS = range(400, 500)  # of HTTP: asking again changes nothing

_MOST_TOLD_CHARACTERS = 1_000
_FIRST_CHARACTERS, _LAST_CHARACTERS = 1_000, 3_000  # of an error, which is searched for places it names
_FAILURE = re.compile(
    r"\b(?:\w*error|fail(?:ed|ure)|block(?:ed|ing)|no results|unable|could ?n[o']t|cannot|can't)\b", re.IGNORECASE
)


class ServerObserver(Protocol):
    """Is told what happens to a server that nobody asked for."""

    def changed(self, manifest: ServerManifest) -> None:
        """The server offers something else now."""

    def logged(self, line: LogLine) -> None:
        """The server logged a warning or an error."""

    def ended(self, reason: str) -> None:
        """The connection is over, and not because kaa closed it. `reason` is a sentence."""


class McpClient:
    """A server that is connected. Use `connect`."""

    manifest: ServerManifest
    _agreed: Agreement

    def __init__(
        self, connection: ServerConnection, questions: ServerQuestions, observer: ServerObserver, patience: float
    ) -> None:
        self._connection = connection
        self._session = Session(connection, questions, self._notified, self._ended)
        self._observer = observer
        self._patience = patience
        self._tasks = Tasks()
        self._listing: asyncio.Task[None] | None = None
        self._lists_again = False
        self._is_connected = self._is_over = False

    @classmethod
    async def connect(
        cls,
        connection: Callable[[], ServerConnection],
        questions: ServerQuestions,
        observer: ServerObserver,
        *,
        eras: Sequence[Era],
        patience: float = 30,
    ) -> "McpClient":
        """Connect, agree on a revision, and list what the server offers.

        Args:
            connection: makes a connection; again if a server ended because it may not know the first message.
            questions: says what is announced, and answers what the server asks outside of calls.
            observer: told about changes from now on.
            eras: what to try, in this order.
            patience: seconds for each answer.

        Raises:
            UnsupportedServerError: it speaks none of these.
            LoginNeededError: it wants a login.
            McpError: it does not answer, or not as it must.
        """
        for number, era in enumerate(eras):
            client = cls(connection(), questions, observer, patience)
            try:
                with client._explained():
                    await client._begin(eras[number:])
            except ServerGoneError:
                await client.close()
                # Servers that do not know `initialize` refuse it: one that ends without an answer has other reasons.
                is_silent = era == "legacy" and not client._session.has_answered
                if number == len(eras) - 1 or not client._is_over or is_silent:
                    raise
                LOG.debug("mcp: the server ended when it was talked to in the %s way", era)
            except BaseException:
                await client.close()
                raise
            else:
                return client
        raise UnsupportedServerError("no revision of the protocol is to be tried")

    async def call(
        self,
        tool: str,
        arguments: dict[str, Json],
        *,
        questions: ServerQuestions | None = None,
        progress: Callable[[Progress], None] | None = None,
        patience: float = 60,
    ) -> CallResult:
        """Call a tool. Cancelling tells the server.

        Args:
            arguments: as its input schema demands.
            patience: seconds without a sign of life that it may take.

        Raises:
            LegacyNeededError: the tool asks something in a way that only older revisions know.
            McpError: the server refused, failed, or answered something else than a result.
        """
        try:
            answer = await self._call(tool, arguments, questions, progress, patience)
        except McpError as error:
            if error.code == codes.INVALID_REQUEST and "back-channel" in str(error) and self.manifest.era == "modern":
                raise LegacyNeededError(str(error), code=error.code) from error
            if error.code != codes.HEADER_MISMATCH:  # the server changed the tool (2026-07-28, Streamable HTTP)
                raise
            await self._list_now()
            answer = await self._call(tool, arguments, questions, progress, patience)
        result = parsing.call_result(answer)
        said = "\n".join(part.text for part in result.parts if isinstance(part, TextPart))
        if not result.failed and not _tells_of_failure(said):
            return result
        asked = msgspec.json.encode(arguments).decode()
        return msgspec.structs.replace(result, hindrance=self._connection.take_hindrance(_ends(said), _ends(asked)))

    async def prompt(
        self, name: str, arguments: dict[str, str], *, questions: ServerQuestions | None = None
    ) -> PromptResult:
        """Fill in a prompt.

        Raises:
            McpError: the server refused, failed, or answered something else than a prompt.
        """
        params: dict[str, Json] = {"name": name} | ({"arguments": arguments} if arguments else {})
        return parsing.prompt_result(await self._asked("prompts/get", params, questions))

    async def read(self, uri: str, *, questions: ServerQuestions | None = None) -> tuple[ResourcePart, ...]:
        """Read a resource.

        Raises:
            McpError: the server refused, failed, or answered something else than contents.
        """
        return parsing.resource_contents(await self._asked("resources/read", {"uri": uri}, questions))

    async def complete(
        self, reference: PromptInfo | TemplateInfo, argument: str, value: str, known: Mapping[str, str]
    ) -> tuple[str, ...]:
        """Values that an argument can take.

        Args:
            reference: the prompt or the template that has the argument.

        Raises:
            McpError: the server refused or failed.
        """
        if not self.manifest.capabilities.completions:
            return ()
        ref = (
            {"type": "ref/prompt", "name": reference.name}
            if isinstance(reference, PromptInfo)
            else {"type": "ref/resource", "uri": reference.uri_template}
        )
        params: dict[str, Json] = {"ref": ref, "argument": {"name": argument, "value": value}}
        params |= {"context": {"arguments": dict(known)}} if known else {}
        found = (await self._session.request("completion/complete", params, patience=self._patience)).get("completion")
        values = found.get("values") if isinstance(found, dict) else None
        return tuple(parsing.cleaned(one) for one in values or () if isinstance(one, str))

    async def settle(self) -> None:
        """List what the server said that it changed, instead of a moment later. Without a change this does nothing.

        Raises:
            McpError: the server refused or failed.
        """
        if self._lists_again:
            self._lists_again = False
            await self._list_now()

    async def answers(self) -> bool:
        """Whether it answers anything at all, be it an error."""
        method = "ping" if self.manifest.era == "legacy" else "server/discover"
        try:
            await self._session.request(method, {}, patience=_SIGN_OF_LIFE_SECONDS)
        except (NoAnswerError, ServerGoneError):
            return False
        except McpError:
            return True
        return True

    async def close(self) -> None:
        """End the connection; a program ends too."""
        await self._tasks.end()
        await self._session.close()

    async def _call(
        self,
        name: str,
        arguments: dict[str, Json],
        questions: ServerQuestions | None,
        progress: Callable[[Progress], None] | None,
        patience: float,
    ) -> dict[str, Json]:
        tool = next((one for one in self.manifest.tools if one.name == name), None)
        return await self._asked(
            "tools/call", {"name": name, "arguments": arguments}, questions, patience, tool=tool, progress=progress
        )

    async def _asked(
        self,
        method: str,
        params: dict[str, Json],
        questions: ServerQuestions | None,
        patience: float | None = None,
        *,
        tool: ToolInfo | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> dict[str, Json]:
        """A request that may need input."""

        async def send(asking: dict[str, Json]) -> dict[str, Json]:
            return await self._session.request(
                method,
                asking,
                patience=patience or self._patience,
                tool=tool,
                progress=progress,
                questions=questions,
            )

        with self._explained():
            return await in_rounds(send, params, questions or self._session.questions)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Add to an error what kept the server from its work. A connection that ends says so itself."""
        try:
            yield
        except (ServerGoneError, LoginNeededError, UnsupportedServerError):
            raise
        except McpError as error:
            if not (hindrance := self._connection.take_hindrance(_ends(str(error)))):
                raise
            text = f"{str(error).removesuffix('.')}. {hindrance}"
            raise McpError(text, code=error.code, data=error.data, status=error.status) from error

    async def _begin(self, eras: Sequence[Era]) -> None:
        await self._session.open()
        self._agreed = await agree(self._session, eras, self._patience)
        self.manifest = await manifest_of(self._session, self._agreed, self._patience)
        self._is_connected = True
        self._listen()

    def _ended(self, reason: str) -> None:
        self._is_over = True
        if self._is_connected:
            self._observer.ended(reason)

    def _notified(self, method: str, params: dict[str, Json]) -> None:
        """The server said something that is not about a request."""
        if not self._is_connected:
            return
        if method in _LIST_CHANGES:
            self._list_again()
        elif method == "notifications/message" and params.get("level") in _LOG_LEVELS:
            data = params.get("data")
            text = data if isinstance(data, str) else msgspec.json.encode(data).decode()
            self._observer.logged(LogLine(params["level"], parsing.cleaned(text)[:_MAX_LOG_CHARACTERS]))

    def _list_again(self) -> None:
        """List once more, soon: the changes of the next moment are then in it too."""
        self._lists_again = True
        if self._listing is None or self._listing.done():
            self._listing = self._tasks.begin(self._keep_listing())

    async def _keep_listing(self) -> None:
        while self._lists_again:
            await asyncio.sleep(_DEBOUNCE_SECONDS)
            try:
                await self.settle()
            except McpError as error:
                LOG.debug("mcp: listing after a change failed: %s", error)
            await asyncio.sleep(_MIN_SECONDS_BETWEEN_LISTS)

    async def _list_now(self) -> None:
        self.manifest = await manifest_of(self._session, self._agreed, self._patience)
        self._observer.changed(self.manifest)

    def _listen(self) -> None:
        """Hear of changes, as the server's revision tells them; and of its warnings."""
        can = self._agreed.capabilities
        if self._agreed.era == "legacy":
            if can.logging:
                _ = self._tasks.begin(self._set_log_level())
            return
        wanted = {
            "toolsListChanged": can.tools_change,
            "promptsListChanged": can.prompts_change,
            "resourcesListChanged": can.resources_change,
        }
        if any(wanted.values()):
            _ = self._tasks.begin(self._subscribe({name: True for name, is_wanted in wanted.items() if is_wanted}))

    async def _set_log_level(self) -> None:
        try:
            await self._session.request("logging/setLevel", {"level": "warning"}, patience=self._patience)
        except McpError as error:
            LOG.debug("mcp: the server does not set its log level: %s", error)

    async def _subscribe(self, wanted: dict[str, Json]) -> None:
        """Keep a subscription open; what happened between two is found by listing again."""
        pause = _MIN_LISTEN_PAUSE
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            try:
                await self._session.request("subscriptions/listen", {"notifications": wanted}, patience=None)
            except (ServerGoneError, LoginNeededError):
                return
            except McpError as error:
                if error.code == codes.METHOD_NOT_FOUND or (error.status or 0) in _CLIENT_ERRORS:
                    LOG.debug("mcp: the server refuses subscriptions: %s", error)
                    return
            pause = _MIN_LISTEN_PAUSE if loop.time() - began > _MAX_LISTEN_PAUSE else pause
            await asyncio.sleep(pause)
            pause = min(2 * pause, _MAX_LISTEN_PAUSE)
            self._list_again()


def _tells_of_failure(text: str) -> bool:
    """Return whether a short answer is about an error: many servers do not mark those as such."""
    return len(text) <= _MOST_TOLD_CHARACTERS and _FAILURE.search(text) is not None


def _ends(text: str) -> str:
    """The beginning and the end: searching a text of megabytes would stop kaa for minutes."""
    if len(text) <= _FIRST_CHARACTERS + _LAST_CHARACTERS:
        return text
    return f"{text[:_FIRST_CHARACTERS]}\n{text[-_LAST_CHARACTERS:]}"
