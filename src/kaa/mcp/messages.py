"""JSON-RPC 2.0 messages as bytes, and back. What is no message raises, whatever it is.

An answer that cannot be read is an error for its request, which would wait in vain otherwise.
"""

import re

import msgspec

from kaa.core.lenient_json import decode_lenient
from kaa.core.messages import Json
from kaa.mcp import codes
from kaa.mcp.connection import ErrorResponse, JsonRpcNotification, JsonRpcRequest, Message, RequestId, Response

MAX_MESSAGE_BYTES = 16 * 1024 * 1024

_MAX_ERROR_CHARACTERS = 4_000
# How answers begin or end, as the SDKs write them; requests of kaa have whole numbers as ids.
_HEAD = re.compile(
    rb'(?:\xef\xbb\xbf)?\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,15})\s*,\s*"(?:result|error)"\s*:'
)
_OWN_ID = re.compile(r"0|[1-9][0-9]{0,14}")
_BODY_FIRST = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"(?:result|error)"\s*:')
_TAIL = re.compile(rb'[}\]"el\d]\s*,\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,15})\s*\}\s*\Z')
_TAIL_BYTES = 200


class MalformedMessageError(ValueError):
    """Bytes are no message of JSON-RPC; the text says what they are."""


def encode(message: Message) -> bytes:
    """The message as JSON, without a line feed."""
    fields: dict[str, Json] = {"jsonrpc": "2.0"}
    if isinstance(message, JsonRpcRequest):
        fields |= {"id": message.id, "method": message.method, "params": message.params}
    elif isinstance(message, JsonRpcNotification):
        fields |= {"method": message.method} | ({"params": message.params} if message.params else {})
    elif isinstance(message, Response):
        fields |= {"id": message.id, "result": message.result}
    else:
        data = {} if message.data is None else {"data": message.data}
        fields |= {"id": message.id, "error": {"code": message.code, "message": message.message} | data}
    return msgspec.json.encode(fields)


def decode(data: bytes) -> tuple[Message, ...]:
    """The messages in `data`: one, or those of a batch (revision 2025-03-26).

    Raises:
        MalformedMessageError: it is not JSON, or not a message.
    """
    try:
        value = decode_lenient(data.strip(b"\0 \t\r\n"))  # some programs write the end of a C string
    except (msgspec.DecodeError, RecursionError) as error:
        problem = f"{_start(data)} is not JSON ({error})"
        if (id_ := _answered(data)) is not None:
            return (_unreadable(id_, problem),)
        raise MalformedMessageError(problem) from error
    if isinstance(value, list) and value:
        return tuple(_message(one) for one in value)
    return (_message(value),)


def _message(value: Json) -> Message:
    if not isinstance(value, dict):
        raise MalformedMessageError(f"{_start(msgspec.json.encode(value))} is not an object")
    id_: Json = value.get("id")
    if isinstance(id_, float) and id_.is_integer():  # languages without whole numbers make these of ours
        id_ = int(id_)
    is_id = isinstance(id_, int | str) and not isinstance(id_, bool)
    if isinstance(method := value.get("method"), str):
        params = value.get("params")
        params = {} if params is None else params
        if not isinstance(params, dict):
            raise MalformedMessageError(f"the parameters of {method[:80]!r} are not an object")
        return JsonRpcRequest(id_, method, params) if is_id else JsonRpcNotification(method, params)
    if isinstance(id_, str) and _OWN_ID.fullmatch(id_):  # some servers make texts of our numbers
        id_ = int(id_)
    error = value.get("error")
    if isinstance(error, dict):
        return _error(error, id_ if is_id else None)
    if is_id and error is not None and "result" not in value:
        return _error({"message": error if isinstance(error, str) else _start(msgspec.json.encode(error))}, id_)
    if is_id and value.keys() <= {"jsonrpc", "id", "error"}:
        return _unreadable(id_, "it has neither result nor error")
    if "result" in value and is_id:
        if not isinstance(result := value["result"], dict):
            return _unreadable(id_, f"the result {_start(msgspec.json.encode(result))} is not an object")
        return Response(id_, result)
    raise MalformedMessageError(f"{_start(msgspec.json.encode(value))} has neither method, result nor error")


def _answered(data: bytes) -> int | None:
    """Return the id of the request that broken JSON answers, if its first or last bytes say so."""
    found = _HEAD.match(data)
    if found is None and _BODY_FIRST.match(data):
        found = _TAIL.search(data[-_TAIL_BYTES:])
    return None if found is None else int(found[1])


def _unreadable(id_: RequestId, problem: str) -> ErrorResponse:
    return ErrorResponse(id_, codes.INTERNAL_ERROR, f"the server's answer cannot be read: {problem}")


def _error(error: dict[str, Json], id_: RequestId | None) -> ErrorResponse:
    code, message = error.get("code"), error.get("message")
    return ErrorResponse(
        id=id_,
        code=code if isinstance(code, int) else codes.INTERNAL_ERROR,
        message=message[:_MAX_ERROR_CHARACTERS] if isinstance(message, str) else "",
        data=error.get("data"),
    )


def _start(data: bytes) -> str:
    return repr(data[:80].decode(errors="replace")) + (" …" if len(data) > 80 else "")
