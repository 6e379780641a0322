"""An MCP server of both generations over any stream of lines: requests in, a service's answers out.

Sources: the specification's revisions 2024-11-05 to 2025-11-25, and 2026-07-28 (`server/discover`, `_meta` in each
request, `input_required`). A call that asks the person outlives its request in 2026-07-28: the client sends the answers
with the `requestState`, and the call goes on.
"""

import asyncio
import secrets
from collections.abc import Callable
from itertools import count
from typing import Protocol

from kaa.core.messages import Json
from kaa.mcp import codes
from kaa.mcp.connection import ErrorResponse, JsonRpcNotification, JsonRpcRequest, Message, RequestId, Response
from kaa.mcp.contents import CallResult
from kaa.mcp.errors import McpError
from kaa.mcp.manifest import LEGACY, MODERN, NAMESPACE, ServerInfo, ToolInfo
from kaa.mcp.messages import MalformedMessageError, decode, encode
from kaa.mcp.questions import ElicitAnswer, FormRequest
from kaa.mcp.served_calls import RoundedCall, ToolCaller, elicit_answer, form_json, result_json, settle, tool_json

_VERSION, _CAPABILITIES = f"{NAMESPACE}protocolVersion", f"{NAMESPACE}clientCapabilities"
_SERVER_INFO = f"{NAMESPACE}serverInfo"
_UNCACHED: dict[str, Json] = {"ttlMs": 0, "cacheScope": "private"}

_MOST_CALLS = 64
# Calls whose question the client has not answered. One more ends the oldest: its client may never come back.
_MOST_SUSPENDED = 16


class Service(Protocol):
    def tools(self) -> tuple[ToolInfo, ...]:
        """The tools that can be called."""

    async def call(self, tool: str, arguments: dict[str, Json], caller: ToolCaller) -> CallResult:
        """Call a tool. Cancelling stops it.

        Raises:
            McpError: there is no such tool.
        """


class McpServer:
    """Answers one client. All calls must come from one event loop.

    Args:
        send: writes one message, without a line feed.
        failed: told of exceptions of the service, which are bugs.
    """

    def __init__(
        self, service: Service, info: ServerInfo, send: Callable[[bytes], None], failed: Callable[[Exception], None]
    ) -> None:
        self._service = service
        self._info: Json = {"name": info.name, "version": info.version}
        self._write = send
        self._failed = failed
        self._forms = False  # of a legacy client, for the whole connection
        self._open: dict[RequestId, asyncio.Task[None]] = {}
        self._asked: dict[RequestId, asyncio.Future[ElicitAnswer]] = {}
        self._numbers = count(1)
        self._suspended: dict[str, RoundedCall] = {}

    def receive(self, line: bytes) -> None:
        """Take a line of the client's."""
        try:
            messages = decode(line)
        except MalformedMessageError as error:
            self.refuse(str(error))
            return
        for message in messages:
            self._take(message)

    def refuse(self, problem: str) -> None:
        """Tell the client that a line of its cannot be read."""
        self._send(ErrorResponse(None, codes.PARSE_ERROR, problem))

    async def close(self) -> None:
        tasks = [*self._open.values(), *(call.task for call in self._suspended.values())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _take(self, message: Message) -> None:
        match message:
            case JsonRpcRequest():
                self._take_request(message)
            case JsonRpcNotification(method="notifications/cancelled", params=params):
                of = params.get("requestId")
                if isinstance(of, int | str) and of in self._open:
                    self._open[of].cancel()
            case Response(id=id_, result=result) if id_ in self._asked:
                settle(self._asked[id_], elicit_answer(result))
            case ErrorResponse(id=id_) if id_ is not None and id_ in self._asked:
                settle(self._asked[id_], ElicitAnswer("cancel"))
            case _:
                pass  # other notifications need nothing; answers to questions that were withdrawn are late

    def _take_request(self, request: JsonRpcRequest) -> None:
        """Answer at once, or begin the call of a tool."""
        if request.method != "tools/call":
            try:
                answer: Message = Response(request.id, self._result(request))
            except McpError as error:
                answer = _refusal(request.id, error)
            self._send(answer)
        elif request.id in self._open:
            problem = f"request {request.id!r} is already running: use another id"
            self._send(ErrorResponse(request.id, codes.INVALID_REQUEST, problem))
        elif len(self._open) >= _MOST_CALLS:
            self._send(ErrorResponse(request.id, codes.BUSY, f"{_MOST_CALLS} calls are running, which is the limit"))
        else:
            task = asyncio.create_task(self._answer_call(request))
            self._open[request.id] = task
            task.add_done_callback(lambda _: self._open.pop(request.id))

    async def _answer_call(self, request: JsonRpcRequest) -> None:
        try:
            answer: Message = Response(request.id, await self._call(request.params))
        except McpError as error:
            answer = _refusal(request.id, error)
        except Exception as error:  # noqa: BLE001 isolation boundary: a bug in one call must not end the server
            self._failed(error)
            answer = ErrorResponse(request.id, codes.INTERNAL_ERROR, f"a bug in kaa: {type(error).__name__}: {error}")
        self._send(answer)

    def _result(self, request: JsonRpcRequest) -> dict[str, Json]:
        match request.method, _is_modern(request.params):
            case "initialize", False:
                asked = request.params.get("protocolVersion")
                self._forms = _shows_forms(request.params.get("capabilities"))
                return {
                    "protocolVersion": asked if asked in LEGACY else LEGACY[0],
                    "capabilities": {"tools": {}},
                    "serverInfo": self._info,
                }
            case "ping", False:
                return {}
            case "server/discover", is_modern:
                if not is_modern:
                    raise McpError(f"server/discover needs {_VERSION} in `_meta`", code=codes.INVALID_PARAMS)
                return self._complete({"supportedVersions": [MODERN], "capabilities": {"tools": {}}, **_UNCACHED})
            case "tools/list", is_modern:
                listed: dict[str, Json] = {"tools": [tool_json(tool) for tool in self._service.tools()]}
                return self._complete(listed | _UNCACHED) if is_modern else listed
            case method, _:
                raise McpError(f"unknown method {method[:80]!r}", code=codes.METHOD_NOT_FOUND)

    async def _call(self, params: dict[str, Json]) -> dict[str, Json]:
        if _is_modern(params):
            return self._complete(await self._modern_call(params))
        caller = ToolCaller(self._forms, self._elicit, self._progress)
        caller.token = _meta(params).get("progressToken")
        return result_json(await self._service.call(*_called(params), caller))

    def _complete(self, result: dict[str, Json]) -> dict[str, Json]:
        """A result as 2026-07-28 has it."""
        return {"resultType": "complete", **result, "_meta": {_SERVER_INFO: self._info}}

    async def _modern_call(self, params: dict[str, Json]) -> dict[str, Json]:
        """Begin a call, or go on with one whose question was answered; until its end or its next question."""
        if (state := params.get("requestState")) is None:
            caller = ToolCaller(_shows_forms(_meta(params).get(_CAPABILITIES)), None, self._progress)
            call = RoundedCall(caller, self._service.call(*_called(params), caller))
        elif not isinstance(state, str) or (resumed := self._suspended.pop(state, None)) is None:
            raise McpError("unknown requestState: the call has ended. Call the tool again.", code=codes.INVALID_PARAMS)
        else:
            call = resumed
            call.answer(params.get("inputResponses"))
        call.caller.token = _meta(params).get("progressToken")
        if (asked := await call.outcome()) is None:
            return result_json(call.task.result())
        call.caller.token = None
        state = secrets.token_urlsafe(16)
        while len(self._suspended) >= _MOST_SUSPENDED:
            self._suspended.pop(next(iter(self._suspended))).task.cancel()
        self._suspended[state] = call
        question: Json = {"method": "elicitation/create", "params": form_json(asked)}
        return {"resultType": "input_required", "inputRequests": {"question": question}, "requestState": state}

    async def _elicit(self, asked: FormRequest) -> ElicitAnswer:
        id_ = f"kaa-{next(self._numbers)}"
        future: asyncio.Future[ElicitAnswer] = asyncio.get_running_loop().create_future()
        self._asked[id_] = future
        self._send(JsonRpcRequest(id_, "elicitation/create", form_json(asked)))
        try:
            return await future
        except asyncio.CancelledError:
            self._send(JsonRpcNotification("notifications/cancelled", {"requestId": id_}))
            raise
        finally:
            del self._asked[id_]

    def _progress(self, token: Json, number: int, message: str) -> None:
        said: dict[str, Json] = {"progressToken": token, "progress": number, "message": message}
        self._send(JsonRpcNotification("notifications/progress", said))

    def _send(self, message: Message) -> None:
        self._write(encode(message))


class _UnsupportedVersionError(McpError):
    """A client speaks another revision that has no sessions."""

    def __init__(self, asked: Json) -> None:
        problem = f"unsupported protocol version {asked!r:.40}: use {MODERN}, or begin with initialize"
        super().__init__(problem, code=codes.UNSUPPORTED_REVISION)
        self.asked = asked


def _shows_forms(capabilities: Json) -> bool:
    """Whether a client says that it can show forms: an empty `elicitation` means just them (revision 2025-11-25)."""
    elicitation = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    return isinstance(elicitation, dict) and (not elicitation or "form" in elicitation)


def _called(params: dict[str, Json]) -> tuple[str, dict[str, Json]]:
    name, arguments = params.get("name"), params.get("arguments", {})
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise McpError("a call needs `name`, a text, and `arguments`, an object", code=codes.INVALID_PARAMS)
    return name, arguments


def _meta(params: dict[str, Json]) -> dict[str, Json]:
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) else {}


def _is_modern(params: dict[str, Json]) -> bool:
    """Whether a request names its revision, as each does since 2026-07-28.

    Raises:
        _UnsupportedVersionError: it names another one.
        McpError: it lacks one of the two fields that go together.
    """
    meta = _meta(params)
    given = [name for name in (_VERSION, _CAPABILITIES) if name in meta]
    if not given:
        return False
    if _VERSION in meta and (asked := meta[_VERSION]) != MODERN:
        raise _UnsupportedVersionError(asked)
    if len(given) == 1:
        raise McpError(f"`_meta` has {given[0]} alone: send {_VERSION} and {_CAPABILITIES}", code=codes.INVALID_PARAMS)
    return True


def _refusal(request: RequestId, error: McpError) -> ErrorResponse:
    data: Json = None
    if isinstance(error, _UnsupportedVersionError):
        data = {"supported": [MODERN], "requested": error.asked}
    return ErrorResponse(request, error.code or codes.INTERNAL_ERROR, str(error), data)
