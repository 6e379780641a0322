"""Requests to Gemini.

Format: https://ai.google.dev/api/generate-content. The contents come last in the body, so that each request of a
conversation begins, byte for byte, with the one before: Gemini caches prefixes by itself.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import quote, unquote

import msgspec

from kaa.core.messages import (
    AssistantContent,
    AssistantMessage,
    ImageContent,
    Json,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from kaa.core.provider import Model, Request, ToolSchema
from kaa.llm.gemini.thinking import generation, thinking_config
from kaa.llm.handoff import joined_text, made_by, takes_images, thinking_as_text, visible_parts
from kaa.llm.http.transport import HttpRequest
from kaa.llm.rendering import JsonObject, RenderedOnce, RequestRenderer
from kaa.llm.unicode_text import clean, clean_json
from kaa.llm.wire import Endpoint

_FIRST_WITH_SIGNED_CALLS: Final = (3, 0)
_FIRST_WITH_IMAGES_IN_RESULTS: Final = (3, 0)
# What Google documents for calls that the model did not make itself, which it would otherwise refuse:
# https://docs.cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures
_UNSIGNED: Final = "skip_thought_signature_validator"
# A signature is bytes to the server: one that is not base64 makes it refuse the whole request.
_SIGNATURE: Final = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")

_MAX_NAME_LENGTH: Final = 128
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9_.:-]")
_SEE_IMAGE: Final = "(see the attached image)"
_ATTACHED: Final = "Images from the tool results above:"


def renderer() -> RequestRenderer:
    """Renders messages and tools; worth keeping from request to request."""
    return RequestRenderer(messages=RenderedOnce(_rendered), tools=RenderedOnce(lambda tool, _model: _tool(tool)))


def generate_request(request: Request, endpoint: Endpoint, kept: RequestRenderer | None = None) -> HttpRequest:
    """The HTTP request that asks for one streamed reply; for `kept` see `generate_body`."""
    body = msgspec.json.encode(generate_body(request, endpoint, kept))
    headers = endpoint.request_headers("x-goog-api-key", ())
    return HttpRequest("POST", stream_url(endpoint, request.model), headers, body)


def generate_body(request: Request, endpoint: Endpoint, kept: RequestRenderer | None = None) -> JsonObject:
    """The body of the request, its keys in the order they are sent.

    Args:
        kept: the renderer of the request before; it remembers what was sent already.
    """
    model, render = request.model, kept or renderer()
    body: JsonObject = {}
    if request.system.strip():
        body["systemInstruction"] = {"parts": [_text(request.system)]}
    if request.tools:
        body["tools"] = [{"functionDeclarations": [tool for _, tool in render.tools(request.tools, model)]}]
    thinking = {"thinkingConfig": thinking_config(request, endpoint)} if model.reasoning else {}
    sampling = endpoint.sampling.fields(request.thinking)
    body["generationConfig"] = {**sampling, "maxOutputTokens": request.reply_limit, **thinking}
    body["contents"] = list(_conversation(render.messages(request.messages, model), model))
    return body


def _tool(tool: ToolSchema) -> JsonObject:
    # `parameters` would take only a part of OpenAPI's schemas.
    schema = {"type": "object", **without_references(clean_json(tool.parameters))}
    return {"name": _name(tool.name), "description": clean(tool.description), "parametersJsonSchema": schema}


def _name(name: str) -> str:
    """The name of a function. One that Gemini would refuse was made up by another model: no tool has it."""
    return _FOREIGN.sub("_", name)[:_MAX_NAME_LENGTH] or "unnamed"


def _rendered(message: Message, model: Model) -> list[JsonObject]:
    """The parts of one message by itself."""
    match message:
        case UserMessage():
            return visible_parts(message.content, model, _text, _image)
        case AssistantMessage():
            return _assistant(message, model)
        case ToolResultMessage():
            return [_tool_result(message, model)]


def _conversation(rendered: Iterable[tuple[Message, list[JsonObject]]], model: Model) -> Iterator[JsonObject]:
    """The contents. The results of one reply's calls must be in one of them, with nothing else in it."""
    results: list[JsonObject] = []
    images: list[JsonObject] = []
    for message, parts in rendered:
        if isinstance(message, ToolResultMessage):
            results += parts
            images += _images(message, model) if not _takes_images_in_results(model) else []
            continue
        yield from _answered(results, images)
        results, images = [], []
        if parts:
            yield {"role": "model" if isinstance(message, AssistantMessage) else "user", "parts": parts}
    yield from _answered(results, images)


def _answered(results: list[JsonObject], images: list[JsonObject]) -> Iterator[JsonObject]:
    """Results, and after them their images as if the user had shown them."""
    if results:
        yield {"role": "user", "parts": results}
    if images:
        yield {"role": "user", "parts": [_text(_ATTACHED), *images]}


def _text(text: str) -> JsonObject:
    return {"text": clean(text)}


def _image(block: ImageContent) -> JsonObject:
    return {"inlineData": {"mimeType": block.mime_type, "data": block.data}}


def _images(message: ToolResultMessage, model: Model) -> list[JsonObject]:
    blocks = message.content if takes_images(model) else ()
    return [_image(block) for block in blocks if isinstance(block, ImageContent)]


def _takes_images_in_results(model: Model) -> bool:
    return generation(model.id) >= _FIRST_WITH_IMAGES_IN_RESULTS


def _assistant(message: AssistantMessage, model: Model) -> list[JsonObject]:
    own = made_by(message, model)
    rendered = (_assistant_block(block, model, own=own) for block in message.content)
    parts = [part for part in rendered if part is not None]
    if generation(model.id) >= _FIRST_WITH_SIGNED_CALLS:
        # Of calls that run side by side only the first is signed.
        first = next((part for part in parts if "functionCall" in part), None)
        if first is not None:
            first.setdefault("thoughtSignature", _UNSIGNED)
    return parts


def _assistant_block(block: AssistantContent, model: Model, *, own: bool) -> JsonObject | None:
    match block:
        case TextContent():
            signature = _signature(block.text_signature, own=own)
            return _text(block.text) | signature if block.text.strip() or signature else None
        case ThinkingContent() if own and not block.redacted:
            signature = _signature(block.thinking_signature, own=own)
            return {"thought": True} | _text(block.thinking) | signature if block.thinking or signature else None
        case ThinkingContent():
            text = thinking_as_text(block)
            return _text(text) if text.strip() else None
        case ToolCall():
            call = {"name": _name(block.name), "args": clean_json(block.arguments), **_id(block.id, model)}
            return {"functionCall": call} | _signature(block.thought_signature, own=own)


def _signature(signature: str | None, *, own: bool) -> JsonObject:
    """The signature that goes with a part: only the model that gave it can read it."""
    return {"thoughtSignature": signature} if own and signature and _SIGNATURE.fullmatch(signature) else {}


def _id(call_id: str, model: Model) -> JsonObject:
    """The id of a call. Vertex AI does not take ids everywhere; there, calls and results go by name and order."""
    return {} if model.api == _VERTEX_API else {"id": clean(call_id)}


def _tool_result(message: ToolResultMessage, model: Model) -> JsonObject:
    images = _images(message, model)
    text = joined_text(message.content, model) or (_SEE_IMAGE if images else "(no output)")
    response: JsonObject = {
        **_id(message.tool_call_id, model),
        "name": _name(message.tool_name),
        "response": {"error" if message.is_error else "output": text},
    }
    if images and _takes_images_in_results(model):
        response["parts"] = images
    return {"functionResponse": response}


# The address: Google AI, or Vertex AI, which serves the models of several publishers.
_VERTEX_API: Final = "google-vertex"
"""The wire format's name where Vertex AI serves it; everywhere else it is `google-generative-ai`."""

_VERSION: Final = re.compile(r"/v\d+(?:(?:alpha|beta)\d*)?(?=[/?#]|$)")


def stream_url(endpoint: Endpoint, model: Model) -> str:
    """The address that streams a reply of `model`.

    A base URL may leave out the version of the API, and Vertex AI's the publisher: the usual ones are then taken.
    """
    on_vertex = model.api == _VERTEX_API
    version = "" if _VERSION.search(endpoint.base_url) else "/v1" if on_vertex else "/v1beta"
    name = quote(model.id, safe="/@")
    if not name.startswith(("models/", "tunedModels/", "publishers/")):
        name = f"models/{name}"
    if on_vertex and "/publishers/" not in f"{endpoint.base_url}/{name}":
        name = f"publishers/google/{name}"
    url = endpoint.url(f"{version}/{name}:streamGenerateContent")
    return f"{url}{'&' if '?' in url else '?'}alt=sse"


# Google refuses a reference in `parametersJsonSchema` that has more than a description beside it, and one that points
# elsewhere than to `$defs`. Generators of schemas write both, so kaa replaces each reference by what it refers to.

# Of no use once there are no references, or for the reader of the document only.
_LEFT_OUT: Final = frozenset({"$schema", "$id", "$anchor", "$comment", "$defs", "definitions"})
# Keywords whose keys are names that people chose, not keywords.
_NAMING: Final = frozenset({"properties", "patternProperties", "dependentSchemas"})
# Keywords whose values are data, not schemas.
_DATA: Final = frozenset({"enum", "const", "default", "examples", "required"})
# References to references double a schema each time. A tool whose schema is longer is nothing a model could call.
_MOST_NODES: Final = 5000


def without_references(schema: JsonObject) -> JsonObject:
    """`schema` with what its references mean in their places.

    Where a schema refers to itself, where a reference leads nowhere, and beyond some thousand parts anything goes: the
    tool checks its arguments anyway.
    """
    return _Document(schema).schema(schema, ("#",))


class _Document:
    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._nodes = 0

    def schema(self, schema: JsonObject, within: tuple[str, ...]) -> JsonObject:
        """A schema, `within` the references that led to it."""
        self._nodes += 1
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            kept = {key: self._keyword(key, value, within) for key, value in schema.items() if key not in _LEFT_OUT}
            return _with_enum(kept)
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        target = None if reference in within or self._nodes > _MOST_NODES else self._target(reference)
        return self.schema({**(target or {}), **beside}, (*within, reference))

    def _keyword(self, key: str, value: Json, within: tuple[str, ...]) -> Json:
        if key in _DATA:
            return value
        if key in _NAMING and isinstance(value, dict):
            return {name: self._value(item, within) for name, item in value.items()}
        return self._value(value, within)

    def _value(self, value: Json, within: tuple[str, ...]) -> Json:
        match value:
            case dict():
                return self.schema(value, within)
            case list():
                return [self._value(item, within) for item in value]
            case _:
                return value

    def _target(self, reference: str) -> JsonObject | None:
        """What a JSON pointer (RFC 6901) into this document points to, if it is a schema."""
        if not reference.startswith("#/"):
            return None
        found: Json = self._root
        for step in unquote(reference[2:]).split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            match found:
                case Mapping() if name in found:
                    found = found[name]
                case list() if name.isdecimal() and int(name) < len(found):
                    found = found[int(name)]
                case _:
                    return None
        return found if isinstance(found, dict) else None


def _with_enum(schema: JsonObject) -> JsonObject:
    """`schema` with `const` as an `enum` of one, which says the same: Gemini takes no notice of `const`."""
    if type(schema.get("const")) not in (str, int, float) or "enum" in schema:
        return schema
    return {"enum" if key == "const" else key: [value] if key == "const" else value for key, value in schema.items()}
