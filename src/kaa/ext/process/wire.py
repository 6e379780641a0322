"""The messages of the protocol: JSON-RPC 2.0, one message per line. What comes from a process is parsed here."""

from typing import Any, TypeAlias, TypeVar

import msgspec

from kaa.core.lenient_json import decode_lenient
from kaa.core.messages import Json

# What Piglet's SDKs read at most; a longer line ends their loop.
MAX_MESSAGE_BYTES = 4 * 1024 * 1024

# Error codes of JSON-RPC 2.0.
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
# Of kaa, from the range that the standard leaves to implementations.
TOO_MANY_REQUESTS = -32000
NOT_PERMITTED = -32001
REQUEST_CANCELLED = -32800  # as the Language Server Protocol, which `$/cancelRequest` is from

# Lets an error say what came.
_SHOWN_CHARACTERS = 200

MessageId: TypeAlias = int | str
StructT = TypeVar("StructT", bound=msgspec.Struct)


class ProcessRequest(msgspec.Struct, frozen=True):
    """The process asks for something and waits for the answer."""

    id: MessageId
    method: str
    params: dict[str, Json]


class ProcessNotification(msgspec.Struct, frozen=True):
    """The process tells something."""

    method: str
    params: dict[str, Json]


class Answer(msgspec.Struct, frozen=True):
    """The process answers a request of kaa's. `error`: the message, None if there is a result."""

    id: MessageId
    result: Json
    error: "RpcError | None"


Message: TypeAlias = ProcessRequest | ProcessNotification | Answer


class RpcError(Exception):
    """An error as JSON-RPC carries it.

    Args:
        code: one of the constants of this module, or what the process sent.
        message: a sentence.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class MalformedLineError(RpcError):
    """A line is no message. `id`: of the request, as far as it can be read, to answer it."""

    def __init__(self, code: int, message: str, id: MessageId | None = None) -> None:  # noqa: A002 - the protocol's name
        super().__init__(code, message)
        self.id = id


def decode(line: bytes) -> Message:
    """The message on a line.

    Raises:
        MalformedLineError: it is none.
    """
    try:
        content = decode_lenient(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise MalformedLineError(PARSE_ERROR, f"invalid JSON: {error}") from error
    if not isinstance(content, dict):
        raise MalformedLineError(INVALID_REQUEST, "a message must be one JSON object per line")
    id_ = content.get("id")
    identity = id_ if isinstance(id_, int | str) and not isinstance(id_, bool) else None
    if content.get("jsonrpc") != "2.0":
        raise MalformedLineError(INVALID_REQUEST, '"jsonrpc" must be "2.0"', identity)
    if id_ is not None and identity is None:
        raise MalformedLineError(INVALID_REQUEST, '"id" must be a number or a text')
    if "method" not in content:
        return _answer(content, identity)
    method, params = content["method"], content.get("params")
    if not isinstance(method, str):
        raise MalformedLineError(INVALID_REQUEST, '"method" must be a text', identity)
    if params is None:
        params = {}
    if not isinstance(params, dict):
        raise MalformedLineError(INVALID_PARAMS, '"params" must be an object', identity)
    return ProcessNotification(method, params) if identity is None else ProcessRequest(identity, method, params)


def _answer(content: dict[str, Any], identity: MessageId | None) -> Answer:
    if identity is None:
        raise MalformedLineError(INVALID_REQUEST, 'a message needs "method" or "id"')
    error = content.get("error")
    if error is None:
        return Answer(identity, content.get("result"), None)
    code = error.get("code") if isinstance(error, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    text = message if isinstance(message, str) and message else "an error without a message"
    return Answer(identity, None, RpcError(code if isinstance(code, int) else INTERNAL_ERROR, text))


def encode_request(id: int, method: str, params: Json) -> bytes:  # noqa: A002 - the protocol's name
    """A request of kaa's."""
    return _line({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


def encode_notification(method: str, params: Json = None) -> bytes:
    """A notification of kaa's."""
    content = {"jsonrpc": "2.0", "method": method}
    return _line(content if params is None else {**content, "params": params})


def encode_result(id: MessageId, result: Json) -> bytes:  # noqa: A002 - the protocol's name
    """The answer to a request."""
    return _line({"jsonrpc": "2.0", "id": id, "result": result})


def encode_error(id: MessageId | None, error: RpcError) -> bytes:  # noqa: A002 - the protocol's name
    """The answer to a request that failed, or to a line without a readable id."""
    return _line({"jsonrpc": "2.0", "id": id, "error": {"code": error.code, "message": error.message}})


def parse(params: object, kind: type[StructT]) -> StructT:
    """Parameters or a result as a struct.

    Names are matched without regard to case, and null counts as absent: Go's encoder writes the names of fields as they
    are declared, and null for an empty list.

    Raises:
        RpcError: a value is missing or has a wrong type.
    """
    if not isinstance(params, dict):
        raise RpcError(INVALID_PARAMS, f"expected an object, got {shown(params)}")
    names = {field.encode_name.lower(): field.encode_name for field in msgspec.structs.fields(kind)}
    known = {names.get(name.lower(), name): value for name, value in params.items() if value is not None}
    try:
        return msgspec.convert(known, kind)
    except msgspec.ValidationError as error:
        text = str(error)
        raise RpcError(INVALID_PARAMS, text[:1].lower() + text[1:]) from error


def shown(value: object) -> str:
    """What came, in an error."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"


def _line(content: dict[str, Json]) -> bytes:
    # NUL and other control characters are escaped by the encoder; a line break cannot occur.
    return msgspec.json.encode(content) + b"\n"
