"""What revision 2026-07-28 repeats of a request in headers, for proxies (specification, Streamable HTTP; SEP-2243)."""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping

from kaa.core.messages import Json
from kaa.mcp.connection import JsonRpcNotification, JsonRpcRequest
from kaa.mcp.errors import McpError
from kaa.mcp.manifest import ToolInfo

HEADER_FIELD = "x-mcp-header"

_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_PLAIN = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 5.6.2
_PRIMITIVES = ("string", "integer", "boolean")
# Values under these keywords are data, not schemas.
_DATA = ("default", "const", "enum", "examples")


def headers_of(message: JsonRpcRequest | JsonRpcNotification, tool: ToolInfo | None) -> Iterator[tuple[str, str]]:
    """The headers that repeat what `message` says.

    Args:
        message: of revision 2026-07-28.
        tool: what a `tools/call` calls.

    Raises:
        McpError: the tool's schema asks for headers in a way that the specification forbids.
    """
    yield "mcp-method", message.method
    if isinstance(name := message.params.get(_NAMED_BY.get(message.method, "")), str):
        yield "mcp-name", _encoded(name)
    if tool is not None:
        arguments = message.params.get("arguments")
        for path, header in _repeated(tool).items():
            if (value := _at(arguments, path)) is not None:
                text = (
                    value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else f"{value}"
                )
                yield f"mcp-param-{header}", _encoded(text)


def _repeated(tool: ToolInfo) -> Mapping[tuple[str, ...], str]:
    """The header of each argument that is repeated, by its path in the arguments."""
    found: dict[tuple[str, ...], str] = {}
    for path, schema, reachable in _marked(tool.input_schema, (), reachable=True):
        header = schema[HEADER_FIELD]
        problem = ""
        if not path or not reachable:
            problem = "stands where no argument is named"
        elif not isinstance(header, str) or not _TOKEN.fullmatch(header):
            problem = "is no name of a header"
        elif schema.get("type") not in _PRIMITIVES:
            problem = "belongs to an argument that is no text, integer or boolean"
        elif header.lower() in map(str.lower, found.values()):
            problem = "is used twice"
        if problem:
            raise McpError(
                f"the tool {tool.name} cannot be called over HTTP: `{HEADER_FIELD}` in its schema {problem}. Its author"
                " has to change that"
            )
        found[path] = str(header)
    return found


def _marked(
    value: Json, path: tuple[str, ...], *, reachable: bool
) -> Iterator[tuple[tuple[str, ...], dict[str, Json], bool]]:
    """The schemas that ask for a header, each with its path, and whether only `properties` lead there."""
    if isinstance(value, list):
        for one in value:
            yield from _marked(one, path, reachable=False)
    if not isinstance(value, dict):
        return
    if HEADER_FIELD in value:
        yield path, value, reachable
    for key, one in value.items():
        if key == "properties" and isinstance(one, dict):
            for name, schema in one.items():
                yield from _marked(schema, (*path, name), reachable=reachable)
        elif key not in _DATA and key != HEADER_FIELD:
            yield from _marked(one, path, reachable=False)


def _at(arguments: Json, path: tuple[str, ...]) -> Json:
    for name in path:
        arguments = arguments.get(name) if isinstance(arguments, dict) else None
    return arguments


def _encoded(text: str) -> str:
    """The value of a header: as it is, or in base64 where a header could not carry it."""
    if _PLAIN.fullmatch(text) and not (text.startswith("=?base64?") and text.endswith("?=")):
        return text
    return f"=?base64?{b64encode(text.encode()).decode()}?="
