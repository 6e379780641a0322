"""Messages of extension processes: what is understood, and the errors for what is not."""

import msgspec
import pytest

from kaa.ext.process import wire
from kaa.ext.process.wire import Answer, MalformedLineError, ProcessNotification, ProcessRequest, RpcError
from tests.support.tables import each


def test_requests_notifications_and_answers() -> None:
    assert wire.decode(b'{"jsonrpc":"2.0","id":7,"method":"host/chat","params":{"a":1}}') == ProcessRequest(
        7, "host/chat", {"a": 1}
    )
    assert wire.decode(b'{"jsonrpc":"2.0","method":"log","params":null}') == ProcessNotification("log", {})
    assert wire.decode(b'{"jsonrpc":"2.0","id":"a","result":null}') == Answer("a", None, None)
    assert wire.decode(b'{"jsonrpc":"2.0","id":2,"result":["\xff","\\ud800",NaN]}') == Answer(
        2, ["\ufffd", "\ufffd", None], None
    )
    failed = wire.decode(b'{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no such tool"}}')
    assert isinstance(failed, Answer)
    assert failed.error is not None
    assert (failed.error.code, failed.error.message) == (-32602, "no such tool")


@each(
    ("line", "code", "identity"),
    [
        (b"hello", wire.PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":1', wire.PARSE_ERROR, None),
        (b'{"a":' * 5_000, wire.PARSE_ERROR, None),
        (b"\xff\xfe", wire.PARSE_ERROR, None),
        (b'[{"jsonrpc":"2.0","method":"log"}]', wire.INVALID_REQUEST, None),
        (b'{"id":3,"method":"log"}', wire.INVALID_REQUEST, 3),
        (b'{"jsonrpc":"2.0","id":true,"method":"log"}', wire.INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":4,"method":5}', wire.INVALID_REQUEST, 4),
        (b'{"jsonrpc":"2.0","id":5,"method":"log","params":[1]}', wire.INVALID_PARAMS, 5),
        (b'{"jsonrpc":"2.0"}', wire.INVALID_REQUEST, None),
    ],
)
def test_what_is_no_message_gets_an_error_with_the_id(line: bytes, code: int, identity: int | None) -> None:
    with pytest.raises(MalformedLineError) as caught:
        wire.decode(line)

    assert (caught.value.code, caught.value.id) == (code, identity)


class _Block(msgspec.Struct, rename="camel", frozen=True):
    mime_type: str
    data: str = "none"


def test_names_are_matched_as_go_encodes_them() -> None:
    assert wire.parse({"MimeType": "image/png", "DATA": None, "extra": 1}, _Block) == _Block("image/png")


@pytest.mark.parametrize(
    ("params", "message"),
    [([], "expected an object"), ({}, "missing required field `mimeType`"), ({"mimeType": 1}, "`$.mimeType`")],
)
def test_parameters_of_another_shape_are_refused(params: object, message: str) -> None:
    with pytest.raises(RpcError, match=message.replace("$", r"\$")) as caught:
        wire.parse(params, _Block)

    assert caught.value.code == wire.INVALID_PARAMS


def test_a_message_is_one_line() -> None:
    line = wire.encode_notification("a", {"text": "one\ntwo\0\u2028"})

    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
