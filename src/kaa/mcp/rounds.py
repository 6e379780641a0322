"""What a server asks while it works: the requests of legacy servers, and the input rounds of revision 2026-07-28."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from kaa.core.forms import ChoiceField, ChoicesField, Field, FieldOption, NumberField, TextField, TextFormat, YesNoField
from kaa.core.messages import Json
from kaa.mcp import codes
from kaa.mcp.errors import McpError
from kaa.mcp.parsing import cleaned, one_line, prompt_messages
from kaa.mcp.questions import (
    ElicitAnswer,
    FormRequest,
    RefusedError,
    SamplingRequest,
    ServerQuestions,
    UrlRequest,
)

_MAX_ROUNDS = 10
# When a server only wants to be asked again.
_PAUSE_SECONDS = 0.05
_MAX_FIELDS = 50
_MAX_OPTIONS = 200

_REFUSED = -1
_NOTHING: dict[str, Json] = {}
_FORMATS: dict[str, TextFormat] = {"email": "email", "uri": "uri", "date": "date", "date-time": "date-time"}


async def in_rounds(
    send: Callable[[dict[str, Json]], Awaitable[dict[str, Json]]],
    params: dict[str, Json],
    questions: ServerQuestions,
) -> dict[str, Json]:
    """The complete result of a request, after the server got the input that it requires.

    Args:
        send: sends the request with these parameters, and returns its result.
        params: of the first request.

    Raises:
        McpError: the server asks something malformed, or does not come to an end.
    """
    asking = params
    for _ in range(_MAX_ROUNDS):
        result = await send(asking)
        if result.get("resultType", "complete") != "input_required":
            return result
        requests, state = result.get("inputRequests") or {}, result.get("requestState")
        if not isinstance(requests, dict) or not (state is None or isinstance(state, str)):
            raise McpError("the server requires input, but `inputRequests` or `requestState` is malformed")
        if not requests and state is None:
            raise McpError("the server requires input without saying which")
        responses = {key: await _input(request, questions) for key, request in requests.items()}
        asking = params | ({"inputResponses": responses} if responses else {})
        asking |= {} if state is None else {"requestState": state}
        if not responses:
            await asyncio.sleep(_PAUSE_SECONDS)
    raise McpError(f"the server asked for input {_MAX_ROUNDS} times without an end")


async def answer(method: str, params: Mapping[str, Json], questions: ServerQuestions) -> dict[str, Json]:
    """The result of a server's request.

    Raises:
        McpError: it is unknown, malformed or refused; the code is for the server.
    """
    if method == "ping":
        return {}
    if method == "roots/list":
        return {"roots": [{"uri": one.uri} | ({"name": one.name} if one.name else {}) for one in questions.roots()]}
    if method == "elicitation/create":
        return _elicited(await questions.elicit(_elicitation(params)))
    if method == "sampling/createMessage":
        try:
            said = await questions.sample(_sampling(params))
        except RefusedError as error:
            raise McpError(str(error), code=_REFUSED if questions.samples else codes.METHOD_NOT_FOUND) from error
        content = {"type": "text", "text": said.text}
        return {"role": "assistant", "content": content, "model": said.model, "stopReason": "endTurn"}
    raise McpError(f"kaa does not answer {method[:80]!r}", code=codes.METHOD_NOT_FOUND)


async def _input(request: Json, questions: ServerQuestions) -> dict[str, Json]:
    method = request.get("method") if isinstance(request, dict) else None
    params = request.get("params") or _NOTHING if isinstance(request, dict) else None
    if not isinstance(method, str) or not isinstance(params, dict):
        raise McpError("the server requires input, but a request of it is malformed")
    return await answer(method, params, questions)


def _elicited(said: ElicitAnswer) -> dict[str, Json]:
    return {"action": said.action} | ({"content": said.values} if said.action == "accept" and said.values else {})


def _elicitation(params: Mapping[str, Json]) -> FormRequest | UrlRequest:
    message = params.get("message")
    text = cleaned(message).strip() if isinstance(message, str) else ""
    if params.get("mode", "form") == "url":
        url = params.get("url")
        if not isinstance(url, str) or cleaned(url) != url or not url.isprintable():
            raise McpError("`url` is no address", code=codes.INVALID_PARAMS)
        return UrlRequest(text, url)
    schema = params.get("requestedSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(schema, dict) or not isinstance(properties, dict) or len(properties) > _MAX_FIELDS:
        raise McpError(f"`requestedSchema` is no object with at most {_MAX_FIELDS} fields", code=codes.INVALID_PARAMS)
    required = schema.get("required")
    needed = set(map(str, required)) if isinstance(required, list) else set[str]()
    return FormRequest(text, tuple(_field(name, one, name in needed) for name, one in properties.items()))


def _field(name: str, schema: Json, required: bool) -> Field:
    """A field of a form (SEP-1330 lists the forms of its options). A default of another type counts as none."""
    if not isinstance(schema, dict):
        raise McpError(f"the field {name[:80]!r} is not an object", code=codes.INVALID_PARAMS)
    if cleaned(name) != name:
        raise McpError(
            f"the name of the field {name[:80]!r} has characters that cannot be seen", code=codes.INVALID_PARAMS
        )
    kind, many = schema.get("type"), False
    choices = schema
    if kind == "array":
        many, kind = True, "string"
        choices = items if isinstance(items := schema.get("items"), dict) else {}
    if kind is None and ("enum" in schema or "oneOf" in schema):
        kind = "string"
    if kind not in ("string", "number", "integer", "boolean"):
        raise McpError(f"the field {name[:80]!r} has the type {str(kind)[:80]!r}", code=codes.INVALID_PARAMS)
    options = _options(choices)
    if many and not options:
        raise McpError(f"the field {name[:80]!r} is a list without options", code=codes.INVALID_PARAMS)
    common = name, one_line(schema.get("title")), one_line(schema.get("description")), required
    default = schema.get("default")
    text = cleaned(default) if isinstance(default, str) else None
    if many:
        chosen = tuple(one for one in default if isinstance(one, str)) if isinstance(default, list) else None
        return ChoicesField(*common, options, chosen, _count(schema.get("minItems")), _count(schema.get("maxItems")))
    if options:
        return ChoiceField(*common, options, text)
    if kind == "boolean":
        return YesNoField(*common, default if isinstance(default, bool) else None)
    if kind in ("number", "integer"):
        limits = _number(schema.get("minimum")), _number(schema.get("maximum"))
        return NumberField(*common, _number(default), kind == "integer", *limits)
    form = _FORMATS.get(one_line(schema.get("format")), "")
    return TextField(*common, text, form, _count(schema.get("minLength")), _count(schema.get("maxLength")))


def _options(schema: Mapping[str, Json]) -> tuple[FieldOption, ...]:
    titled = schema.get("oneOf") or schema.get("anyOf")
    if isinstance(titled, list):
        found = [(one.get("const"), one.get("title")) for one in titled if isinstance(one, dict)]
    elif isinstance(values := schema.get("enum"), list):
        names = schema.get("enumNames")
        labels = names if isinstance(names, list) and len(names) == len(values) else values
        found = list(zip(values, labels, strict=True))
    else:
        return ()
    return tuple(
        FieldOption(value, one_line(label) or one_line(value))
        for value, label in found[:_MAX_OPTIONS]
        if isinstance(value, str)
    )


def _sampling(params: Mapping[str, Json]) -> SamplingRequest:
    messages, tokens, system = params.get("messages"), params.get("maxTokens"), params.get("systemPrompt")
    if not isinstance(messages, list) or not messages:
        raise McpError("`messages` is not a list of messages", code=codes.INVALID_PARAMS)
    if params.get("tools"):
        raise McpError("kaa completes without tools", code=codes.INVALID_PARAMS)
    try:
        asked = prompt_messages(messages)
    except McpError as error:
        raise McpError(str(error), code=codes.INVALID_PARAMS) from error
    return SamplingRequest(
        messages=asked,
        system=cleaned(system) if isinstance(system, str) else "",
        max_tokens=tokens if isinstance(tokens, int) and tokens > 0 else 0,
    )


def _number(value: Json) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _count(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
