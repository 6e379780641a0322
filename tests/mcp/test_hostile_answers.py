"""Whatever JSON a server answers, its user gets a value or an `McpError`, and nothing else fails."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.core.messages import Json
from kaa.mcp import messages
from kaa.mcp.client import McpClient
from kaa.mcp.connection import ErrorResponse, Response
from kaa.mcp.contents import CallResult, TextPart
from kaa.mcp.errors import McpError
from kaa.mcp.manifest import PromptInfo
from tests.support.loops import in_loop
from tests.support.mcp_connection import MemoryConnection, Observed, ScriptedQuestions
from tests.support.mcp_server import ScriptedServer, echo_tool
from tests.support.patience import HANG_SECONDS
from tests.support.tables import each

_TEXTS = st.text(max_size=8) | st.sampled_from(["a", "\x1b[2J", "\u202e", "\ud800", "text", "image", "2025-11-25"])
_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS
# Names of the protocol, so that values get past the first look.
_NAMES = st.sampled_from(
    [
        *("tools", "name", "inputSchema", "outputSchema", "description", "annotations", "nextCursor", "_meta"),
        *("content", "type", "text", "data", "mimeType", "uri", "resource", "structuredContent", "isError"),
        *("messages", "role", "contents", "blob", "completion", "values", "prompts", "arguments", "resultType"),
        *("protocolVersion", "capabilities", "serverInfo", "instructions", "supportedVersions", "inputRequests"),
    ]
)
_VALUES: st.SearchStrategy[Json] = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES | _TEXTS, inner, max_size=4),
    max_leaves=12,
)
_METHODS = ("initialize", "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list")


class _Answering(ScriptedServer):
    """Answers some methods with given values in the place of a result."""

    def __init__(self, values: dict[str, Json], **fields: Any) -> None:
        super().__init__(prompts=[{"name": "p"}], resources=[{"uri": "a:b"}], **fields)
        self._values = values

    def _answer(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        if method in self._values:
            return {"result": self._values[method]}
        return super()._answer(method, params)


async def _client(values: dict[str, Json], era: str = "legacy", patience: float = 0.02, **fields: Any) -> McpClient:
    server = _Answering(values, eras=(era,), **fields)
    return await McpClient.connect(
        lambda: MemoryConnection(server), ScriptedQuestions(), Observed(), eras=("legacy", "modern"), patience=patience
    )


@given(value=_VALUES, method=st.sampled_from(_METHODS), era=st.sampled_from(["legacy", "modern"]))
def test_a_server_that_begins_with_anything_is_used_or_refused(value: Json, method: str, era: str) -> None:
    async def whole() -> None:
        try:
            client = await _client({method: value}, era)
        except McpError:
            return
        await client.close()

    asyncio.run(whole())


@given(value=_VALUES, method=st.sampled_from(["tools/call", "prompts/get", "resources/read", "completion/complete"]))
def test_any_answer_to_a_request_is_a_value_or_an_error(value: Json, method: str) -> None:
    async def whole() -> None:
        client = await _client({method: value}, patience=HANG_SECONDS)
        asked: dict[str, Callable[[], Awaitable[object]]] = {
            "tools/call": lambda: client.call("echo", {"text": "x"}),
            "prompts/get": lambda: client.prompt("p", {}),
            "resources/read": lambda: client.read("a:b"),
            "completion/complete": lambda: client.complete(PromptInfo("p"), "a", "x", {}),
        }
        with suppress(McpError, TimeoutError):  # what is no answer is waited for
            async with asyncio.timeout(0.02):
                await asked[method]()
        await client.close()

    asyncio.run(whole())


@given(st.binary(max_size=200) | _VALUES.map(lambda value: str(value).encode(errors="replace")))
def test_any_line_is_messages_or_malformed(line: bytes) -> None:
    with suppress(messages.MalformedMessageError):
        messages.decode(line)


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (b'{"id":7,"error":"it broke"}', ErrorResponse(7, -32603, "it broke")),
        (b'{"id":7,"error":["it"]}', ErrorResponse(7, -32603, "'[\"it\"]'")),
        (b'{"id":7}', ErrorResponse(7, -32603, "the server's answer cannot be read: it has neither result nor error")),
        (b'{"id":7.0,"result":{}}', Response(7, {})),
        (b'\0{"id":7,"result":{}}\0\n', Response(7, {})),
    ],
)
def test_an_answer_of_another_form_is_one_to_its_request(line: bytes, answer: Response | ErrorResponse) -> None:
    assert messages.decode(line) == (answer,)


@in_loop
async def test_contents_that_cannot_be_read_are_named_beside_the_others() -> None:
    contents: Json = [{"type": "hologram"}, {"type": "image", "data": "!"}, {"type": "text", "text": "all"}]
    client = await _client({"tools/call": {"content": contents}}, patience=HANG_SECONDS)

    result = await client.call("echo", {})

    hologram, image, text = result.parts
    assert isinstance(hologram, TextPart)
    assert hologram.text.startswith("[content 1 is no content that the protocol knows")
    assert isinstance(image, TextPart)
    assert image.text.startswith("[content 2 is not base64")
    assert text == TextPart("all")
    await client.close()


@pytest.mark.parametrize(
    "nested", [b"[" * 200_000, b'{"a":' * 200_000, b'{"jsonrpc":"2.0","id":"1","result":' + b"[" * 100_000]
)
def test_a_line_of_endless_levels_is_malformed(nested: bytes) -> None:
    with pytest.raises(messages.MalformedMessageError):
        messages.decode(nested)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"child": {"$ref": "#"}}},
        {"type": "object", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        {"type": "object", "properties": {"x": {"$ref": "https://example.com/schema.json"}}},
    ],
)
@in_loop
async def test_references_in_schemas_are_neither_followed_nor_lost(schema: dict[str, Json]) -> None:
    client = await _client({}, patience=HANG_SECONDS, tools=[echo_tool(inputSchema=schema, outputSchema=schema)])

    (tool,) = client.manifest.tools
    assert (tool.input_schema, tool.output_schema) == (schema, schema)
    assert isinstance(await client.call("echo", {"text": "x"}), CallResult)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"name": ""}, "`name` is not a text of 1 to 200 characters"),
        ({"name": 7}, "`name` is not a text of 1 to 200 characters"),
        ({"name": "x" * 201}, "`name` is not a text of 1 to 200 characters"),
        ({"name": "a\x1b[2Jb"}, "`name` has characters that cannot be seen"),
        ({"name": "a\u2800"}, "`name` has characters that cannot be seen"),
        (
            {"inputSchema": {"type": "object", "properties": {"a\U000e0041": {"type": "string"}}}},
            "`inputSchema` has a name with characters that cannot be seen",
        ),
        ({"outputSchema": {"\u202etype": "object"}}, "`outputSchema` has a name with characters that cannot be seen"),
        ({"inputSchema": []}, "`inputSchema` is not an object"),
        ({"inputSchema": {"description": "x" * 70_000}}, "`inputSchema` is larger than 64 KiB"),
        ({"outputSchema": True}, "`outputSchema` is not an object"),
    ],
)
@in_loop
async def test_a_malformed_tool_is_left_out_with_the_reason(fields: dict[str, Json], why: str) -> None:
    client = await _client({}, patience=HANG_SECONDS, tools=[echo_tool("good"), echo_tool("bad") | fields])

    assert [tool.name for tool in client.manifest.tools] == ["good"]
    assert why in client.manifest.left_out[0]


@in_loop
async def test_what_a_font_may_not_show_is_removed_from_wordings_but_not_from_results() -> None:
    unseen = "\u2800\ue000\U00013430\U000f0000"
    tool = echo_tool("echo") | {
        "description": f"de{unseen}scribed",
        "inputSchema": {"type": "object", "properties": {"a": {"enum": [f"o{unseen}ne"]}}},
    }
    results = {"echo": [{"content": [{"type": "text", "text": f"file with {unseen}"}]}]}
    client = await _client({}, patience=HANG_SECONDS, tools=[tool], results=results)

    [listed] = client.manifest.tools
    assert listed.description == "described"
    assert listed.input_schema["properties"] == {"a": {"enum": ["one"]}}
    assert (await client.call("echo", {})).parts == (TextPart(f"file with {unseen}"),)


@each(
    ("written", "read"),
    [
        (b'"a \\ud800 b"', "a \ufffd b"),
        (b'"a \\ud83d\\ude00 \\ud83d"', "a \U0001f600 \ufffd"),
        (b'"a \xff b"', "a \ufffd b"),
        (b'"two\nlines"', "two\nlines"),
        (b"NaN", None),
        (b"-Infinity", None),
    ],
)
def test_text_that_is_not_unicode_and_numbers_that_are_none_are_read(written: bytes, read: Json) -> None:
    (answer,) = messages.decode(b'{"jsonrpc":"2.0","id":1,"result":{"text":' + written + b"}}")

    assert answer == Response(1, {"text": read})


@pytest.mark.parametrize("line", [b'\xef\xbb\xbf{"jsonrpc":"2.0","id":7,"result":{}}', b'{"id":"7","result":{}}'])
def test_a_mark_of_utf8_and_an_id_as_text_are_read(line: bytes) -> None:
    assert messages.decode(line) == (Response(7, {}),)


@pytest.mark.parametrize(
    "line",
    [
        b'\xef\xbb\xbf{"jsonrpc":"2.0","id":7,"result":{"te',
        b'{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","te',
        b'{"result":{"content":[}},"jsonrpc":"2.0","id":7}',
        b'{"jsonrpc":"2.0","id":7,"result":' + b"[" * 100_000,
        b'{"jsonrpc":"2.0","id":7,"result":5}',
    ],
)
def test_an_answer_that_cannot_be_read_ends_its_request(line: bytes) -> None:
    (answer,) = messages.decode(line)

    assert isinstance(answer, ErrorResponse)
    assert answer.id == 7
    assert "cannot be read" in answer.message


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","method":"notifications/message","params":{"id":7,"result":',
        b'{"result":{"rows":[{"id":7}',
        b'log: {"jsonrpc":"2.0","id":7,"result":{}}',
    ],
)
def test_broken_lines_that_only_mention_an_id_end_nothing(line: bytes) -> None:
    with pytest.raises(messages.MalformedMessageError):
        messages.decode(line)
