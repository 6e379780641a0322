"""What servers list and answer, as structs: item by item, so that one malformed item costs only itself."""

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from kaa.core.messages import Json
from kaa.core.terminal_text import plain_text
from kaa.mcp.contents import (
    AudioPart,
    CallResult,
    ImagePart,
    LinkPart,
    Part,
    PromptMessage,
    PromptResult,
    ResourcePart,
    TextPart,
)
from kaa.mcp.errors import McpError
from kaa.mcp.manifest import (
    PromptArgument,
    PromptInfo,
    ResourceInfo,
    ServerFeatures,
    ServerInfo,
    TemplateInfo,
    ToolHints,
    ToolInfo,
    digest,
)
from kaa.tui.invisible import replace_invisible

ItemT = TypeVar("ItemT")

MAX_TOOLS = 2_000
MAX_LISTED = 1_000
"""Of prompts, of resources and of templates."""
MAX_INSTRUCTIONS_BYTES = 2_048

_MAX_SCHEMA_BYTES = 64 * 1024
_MAX_SCHEMA_LEVELS = 32
_MAX_DESCRIPTION_CHARACTERS = 8_000
_MAX_NAME_CHARACTERS = 200
_MAX_ADDRESS_CHARACTERS = 4_000
_MAX_ARGUMENTS = 100
# The blank of Braille, format controls of hieroglyphs, and characters for private use. Texts of files may have them.
_NOT_SHOWN = re.compile("[\u2800\ue000-\uf8ff\U00013430-\U0001343f\U000f0000-\U0010ffff]")


class MalformedItemError(ValueError):
    """An item of a list cannot be used; the text says why."""


def cleaned(text: str) -> str:
    """The text without control characters, terminal sequences and characters that nobody sees."""
    return replace_invisible(plain_text(text), lambda _: "")


def wording(text: str) -> str:
    """The same for names, descriptions and schemas: people read these, and fonts may show nothing for some more."""
    return _NOT_SHOWN.sub("", cleaned(text))


def one_line(value: Json) -> str:
    """The same in one line; empty for what is no text."""
    return " ".join(wording(value).split()) if isinstance(value, str) else ""


def listed(
    kind: str, items: Iterable[Json], parse: Callable[[Mapping[str, Json]], ItemT], most: int
) -> tuple[tuple[ItemT, ...], tuple[str, ...]]:
    """The items that can be used, and one sentence for each reason that others are left out.

    Args:
        kind: what they are, in the singular, for the sentences.
    """
    used: dict[str, ItemT] = {}
    problems: list[str] = []
    for number, item in enumerate(items, 1):
        if len(used) == most:
            problems.append(f"it lists more than {most:,} {kind}s: the first {most:,} are used")
            break
        try:
            if not isinstance(item, dict):
                raise MalformedItemError("it is not an object")
            one = parse(item)
        except MalformedItemError as error:
            name = item.get("name") if isinstance(item, dict) else None
            said = f" ({cleaned(name)[:80]})" if isinstance(name, str) else ""
            problems.append(f"{kind} {number}{said} is left out: {error}")
            continue
        key = _key(one)
        if key in used:
            problems.append(f"{kind} {number} is left out: {key[:80]!r} is listed twice")
        else:
            used[key] = one
    return tuple(used.values()), tuple(problems)


def tool(item: Mapping[str, Json]) -> ToolInfo:
    """A tool.

    Raises:
        MalformedItemError: it has no usable name or schema.
    """
    hints = item.get("annotations")
    hints = hints if isinstance(hints, dict) else {}
    output = item.get("outputSchema")
    return ToolInfo(
        name=_visible(item, "name", _MAX_NAME_CHARACTERS),
        title=_line(item.get("title") or hints.get("title")),
        description=_text(item.get("description")),
        input_schema=_schema(item.get("inputSchema"), "inputSchema"),
        output_schema=None if output is None else _schema(output, "outputSchema"),
        hints=ToolHints(
            read_only=hints.get("readOnlyHint") is True,
            destructive=hints.get("destructiveHint") is not False,
            idempotent=hints.get("idempotentHint") is True,
            open_world=hints.get("openWorldHint") is not False,
        ),
        digest=digest(
            [item.get(key) for key in ("name", "title", "description", "inputSchema", "outputSchema", "annotations")]
        ),
    )


def prompt(item: Mapping[str, Json]) -> PromptInfo:
    """A prompt.

    Raises:
        MalformedItemError: it, or one of its arguments, has no usable name.
    """
    arguments = item.get("arguments") or []
    if not isinstance(arguments, list) or len(arguments) > _MAX_ARGUMENTS:
        raise MalformedItemError(f"`arguments` is not a list of at most {_MAX_ARGUMENTS}")
    return PromptInfo(
        name=_visible(item, "name", _MAX_NAME_CHARACTERS),
        title=_line(item.get("title")),
        description=_text(item.get("description")),
        arguments=tuple(map(_argument, arguments)),
    )


def resource(item: Mapping[str, Json]) -> ResourceInfo:
    """A resource.

    Raises:
        MalformedItemError: it has no usable address.
    """
    size = item.get("size")
    return ResourceInfo(
        uri=_visible(item, "uri", _MAX_ADDRESS_CHARACTERS),
        **_described(item),
        size=size if isinstance(size, int) and not isinstance(size, bool) and size >= 0 else None,
    )


def template(item: Mapping[str, Json]) -> TemplateInfo:
    """Resources with a common form of address.

    Raises:
        MalformedItemError: it has no usable address.
    """
    return TemplateInfo(
        uri_template=_visible(item, "uriTemplate", _MAX_ADDRESS_CHARACTERS),
        **_described(item),
    )


def server_info(value: Json) -> ServerInfo:
    """Who the server says it is; what it does not say is empty."""
    found = value if isinstance(value, dict) else {}
    return ServerInfo(_line(found.get("name")), _line(found.get("title")), _line(found.get("version")))


def capabilities(value: Json) -> ServerFeatures:
    """What the server says it can do."""
    found = value if isinstance(value, dict) else {}

    def changes(name: str) -> bool:
        return isinstance(one := found.get(name), dict) and one.get("listChanged") is True

    return ServerFeatures(
        tools=isinstance(found.get("tools"), dict),
        tools_change=changes("tools"),
        prompts=isinstance(found.get("prompts"), dict),
        prompts_change=changes("prompts"),
        resources=isinstance(found.get("resources"), dict),
        resources_change=changes("resources"),
        completions=isinstance(found.get("completions"), dict),
        logging=isinstance(found.get("logging"), dict),
    )


def instructions(value: Json) -> tuple[str, str]:
    """A server's advice for the model, cut to its limit, and the digest of the whole; both empty without any."""
    if not isinstance(value, str) or not value.strip():
        return "", ""
    clean = wording(value).strip().encode()[:MAX_INSTRUCTIONS_BYTES].decode(errors="ignore")
    return clean, digest(value)


def call_result(value: Mapping[str, Json]) -> CallResult:
    """What a tool answered.

    Raises:
        McpError: it has another shape. Of several contents, those that cannot be read are named in a text.
    """
    contents = value.get("content", [])
    if not isinstance(contents, list):
        raise McpError(f"the result's `content` is not a list but {_brief(contents)}")
    parts: list[Part] = []
    problems: list[McpError] = []
    for number, one in enumerate(contents, 1):
        try:
            parts.append(part(one, f"content {number}"))
        except McpError as error:
            problems.append(error)
            parts.append(TextPart(f"[{error}]"))
    if problems and len(problems) == len(contents):
        raise problems[0]
    return CallResult(
        parts=tuple(parts),
        structured=_clean_json(value.get("structuredContent")),
        failed=value.get("isError") is True,
    )


def prompt_result(value: Mapping[str, Json]) -> PromptResult:
    """A prompt with its arguments filled in.

    Raises:
        McpError: it has another shape.
    """
    messages = value.get("messages")
    if not isinstance(messages, list):
        raise McpError(f"the prompt's `messages` is not a list but {_brief(messages)}")
    return PromptResult(prompt_messages(messages), _text(value.get("description")))


def prompt_messages(messages: Sequence[Json]) -> tuple[PromptMessage, ...]:
    """Messages with roles: one for each of their contents.

    Raises:
        McpError: one has another shape.
    """
    found: list[PromptMessage] = []
    for number, message in enumerate(messages, 1):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ("user", "assistant"):
            raise McpError(f"message {number} has no role but is {_brief(message)}")
        contents = message.get("content")
        parts = contents if isinstance(contents, list) else [contents]
        found += [PromptMessage(role, part(one, f"message {number}")) for one in parts]
    return tuple(found)


def resource_contents(value: Mapping[str, Json]) -> tuple[ResourcePart, ...]:
    """The contents of a resource.

    Raises:
        McpError: they have another shape.
    """
    contents = value.get("contents")
    if not isinstance(contents, list):
        raise McpError(f"the resource's `contents` is not a list but {_brief(contents)}")
    return tuple(_contents(one, f"content {number}") for number, one in enumerate(contents, 1))


def part(value: Json, where: str) -> Part:
    """One content of a message.

    Raises:
        McpError: it is none.
    """
    kind = value.get("type") if isinstance(value, dict) else None
    if kind == "text" and isinstance(text := value.get("text"), str):
        return TextPart(cleaned(text))
    if kind in ("image", "audio") and isinstance(value.get("data"), str):
        data, mime = _decoded(value["data"], where), _line(value.get("mimeType"))
        return ImagePart(data, mime) if kind == "image" else AudioPart(data, mime)
    if kind == "resource":
        return _contents(value.get("resource"), where)
    if kind == "resource_link" and isinstance(value.get("uri"), str):
        try:
            found = resource(value)
        except MalformedItemError as error:
            raise McpError(f"{where} is a link that cannot be used: {error}") from error
        return LinkPart(found.uri, found.name, found.description, found.mime_type, found.size)
    raise McpError(f"{where} is no content that the protocol knows but {_brief(value)}")


def _contents(value: Json, where: str) -> ResourcePart:
    found = value if isinstance(value, dict) else {}
    uri, mime = found.get("uri"), _line(found.get("mimeType"))
    if isinstance(uri, str):
        uri = cleaned(uri)[:_MAX_ADDRESS_CHARACTERS]
        if isinstance(text := found.get("text"), str):
            return ResourcePart(uri, mime, cleaned(text))
        if isinstance(blob := found.get("blob"), str):
            return ResourcePart(uri, mime, _decoded(blob, where))
    raise McpError(f"{where} is no content of a resource but {_brief(value)}")


def _decoded(data: str, where: str) -> bytes:
    try:
        return base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise McpError(f"{where} is not base64: {error}") from error


def _argument(value: Json) -> PromptArgument:
    if not isinstance(value, dict):
        raise MalformedItemError("an argument is not an object")
    return PromptArgument(
        _visible(value, "name", _MAX_NAME_CHARACTERS), _text(value.get("description")), value.get("required") is True
    )


def _visible(item: Mapping[str, Json], field: str, most: int) -> str:
    """A text that is there, and whose characters can all be seen."""
    text = item.get(field)
    if not isinstance(text, str) or not 0 < len(text) <= most:
        raise MalformedItemError(f"`{field}` is not a text of 1 to {most} characters")
    if wording(text) != text or not text.isprintable():
        raise MalformedItemError(f"`{field}` has characters that cannot be seen")
    return text


def _described(item: Mapping[str, Json]) -> dict[str, str]:
    """What resources and templates say about themselves."""
    return {
        "name": _line(item.get("name")),
        "title": _line(item.get("title")),
        "description": _text(item.get("description")),
        "mime_type": _line(item.get("mimeType")),
    }


def _schema(value: Json, field: str) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise MalformedItemError(f"`{field}` is not an object")
    if len(msgspec.json.encode(value)) > _MAX_SCHEMA_BYTES:
        raise MalformedItemError(f"`{field}` is larger than {_MAX_SCHEMA_BYTES // 1024} KiB")
    return {_seen(key, f"`{field}`"): _clean_schema(one, f"`{field}`", 1) for key, one in value.items()}


def _clean_schema(value: Json, field: str, level: int) -> Json:
    """The schema with clean texts, for the model reads its descriptions. A name cannot be cleaned: calls use it."""
    if level > _MAX_SCHEMA_LEVELS:
        raise MalformedItemError(f"{field} has more than {_MAX_SCHEMA_LEVELS} levels")
    if isinstance(value, str):
        return wording(value)
    if isinstance(value, list):
        return [_clean_schema(one, field, level + 1) for one in value]
    if isinstance(value, dict):
        return {_seen(key, field): _clean_schema(one, field, level + 1) for key, one in value.items()}
    return value


def _seen(name: str, field: str) -> str:
    if wording(name) != name or not name.isprintable():
        raise MalformedItemError(f"{field} has a name with characters that cannot be seen")
    return name


def _clean_json(value: Json) -> Json:
    """The value with clean texts and names."""
    try:
        return _cleaned_inside(value)
    except RecursionError as error:
        raise McpError("the result's `structuredContent` has too many levels") from error


def _cleaned_inside(value: Json) -> Json:
    if isinstance(value, str):
        return cleaned(value)
    if isinstance(value, list):
        return [_cleaned_inside(one) for one in value]
    if isinstance(value, dict):
        return {cleaned(key): _cleaned_inside(one) for key, one in value.items()}
    return value


def _text(value: Json) -> str:
    return wording(value)[:_MAX_DESCRIPTION_CHARACTERS].strip() if isinstance(value, str) else ""


def _line(value: Json) -> str:
    return one_line(value)[:_MAX_NAME_CHARACTERS]


def _key(item: object) -> str:
    """What is unique among the items of a list."""
    for name in ("uri", "uri_template", "name"):
        if isinstance(found := getattr(item, name, None), str):
            return found
    raise TypeError(f"{item!r} has no name")


def _brief(value: Json) -> str:
    return repr(msgspec.json.encode(value)[:200].decode(errors="replace"))
