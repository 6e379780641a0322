"""The tools that the conformance suite calls, served over stdio by the code of `kaa mcp serve`."""

import asyncio
import base64
import sys
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from kaa.core.forms import ChoiceField, ChoicesField, Field, FieldOption, NumberField, TextField, YesNoField
from kaa.core.messages import Json
from kaa.frontends.mcp.serving import serve
from kaa.mcp import codes
from kaa.mcp.contents import AudioPart, CallResult, ImagePart, ResourcePart, TextPart
from kaa.mcp.errors import McpError
from kaa.mcp.manifest import ToolInfo
from kaa.mcp.questions import FormRequest
from kaa.mcp.served_calls import ToolCaller

_PNG: Final = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="
)
_WAV: Final = base64.b64decode("UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=")
_SCHEMA: Final[dict[str, Json]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
_MESSAGE: Final[dict[str, Json]] = {
    "type": "object",
    "properties": {"message": {"type": "string"}},
    "required": ["message"],
}

_Answer = Callable[[dict[str, Json], ToolCaller], Awaitable[CallResult]]


def _text(text: str) -> CallResult:
    return CallResult((TextPart(text),))


def _fixed(result: CallResult) -> _Answer:
    async def answer(_: dict[str, Json], __: ToolCaller) -> CallResult:
        return result

    return answer


def _asking(*questions: FormRequest, then: str = "") -> _Answer:
    """Ask the person one question after another; `{message}` is that of the call."""

    async def answer(arguments: dict[str, Json], caller: ToolCaller) -> CallResult:
        said = ""
        for question in questions:
            message = question.message.format_map({"message": arguments.get("message")})
            answered = await caller.elicit(msgspec.structs.replace(question, message=message))
            said = f"action={answered.action}, content={msgspec.json.encode(answered.values).decode()}"
        return _text(then or said)

    return answer


async def _progress(_: dict[str, Json], caller: ToolCaller) -> CallResult:
    for step in ("begun", "half", "done"):
        caller.progress(step)
        await asyncio.sleep(0.05)
    return _text("done")


def _form(message: str, *fields: Field) -> FormRequest:
    return FormRequest(message, fields)


def _options(count: int, value: str, text: str) -> tuple[FieldOption, ...]:
    return tuple(
        FieldOption(value.format(number), text.format(number) or value.format(number)) for number in range(1, count + 1)
    )


_PLAIN, _TITLED = _options(3, "option{}", ""), _options(3, "value{}", "Option {}")
_STATES = tuple(FieldOption(state, state) for state in ("active", "inactive", "pending"))
_DEFAULTS = (
    TextField("name", default="John Doe"),
    NumberField("age", whole=True, default=30),
    NumberField("score", default=95.5),
    ChoiceField("status", options=_STATES, default="active"),
    YesNoField("verified", default=True),
)
_ENUMS = (
    ChoiceField("untitledSingle", options=_PLAIN),
    ChoiceField("titledSingle", options=_TITLED),
    ChoicesField("untitledMulti", options=_PLAIN),
    ChoicesField("titledMulti", options=_TITLED),
)
_TOOLS: Final[dict[str, _Answer]] = {
    "test_simple_text": _fixed(_text("This is a simple text response for testing.")),
    "test_image_content": _fixed(CallResult((ImagePart(_PNG, "image/png"),))),
    "test_audio_content": _fixed(CallResult((AudioPart(_WAV, "audio/wav"),))),
    "test_embedded_resource": _fixed(
        CallResult((ResourcePart("test://embedded-resource", "text/plain", "This is an embedded resource content."),))
    ),
    "test_multiple_content_types": _fixed(
        CallResult(
            (
                TextPart("Multiple content types test:"),
                ImagePart(_PNG, "image/png"),
                ResourcePart("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
            )
        )
    ),
    "test_error_handling": _fixed(
        CallResult((TextPart("This tool intentionally returns an error for testing"),), failed=True)
    ),
    "test_tool_with_progress": _progress,
    "test_elicitation": _asking(
        _form("{message}", TextField("username", required=True), TextField("email", required=True))
    ),
    "test_elicitation_sep1034_defaults": _asking(_form("Defaults", *_DEFAULTS)),
    "test_elicitation_sep1330_enums": _asking(_form("Enums", *_ENUMS)),
    "json_schema_2020_12_tool": _fixed(_text("ok")),
    "test_input_required_result_elicitation": _asking(_form("What is your name?", TextField("name", required=True))),
    "test_input_required_result_request_state": _asking(
        _form("Please confirm", YesNoField("ok", required=True)), then="state-ok"
    ),
    "test_input_required_result_tampered_state": _asking(_form("Please confirm", YesNoField("ok", required=True))),
    "test_input_required_result_multi_round": _asking(
        _form("Step 1: What is your name?", TextField("name", required=True)),
        _form("Step 2: What is your favorite color?", TextField("color", required=True)),
    ),
}


class _Tools:
    """A `Service` of these tools."""

    def tools(self) -> tuple[ToolInfo, ...]:
        schemas = {"json_schema_2020_12_tool": _SCHEMA, "test_elicitation": _MESSAGE}
        return tuple(
            ToolInfo(name=name, description=name, input_schema=schemas.get(name, {"type": "object"})) for name in _TOOLS
        )

    async def call(self, tool: str, arguments: dict[str, Json], caller: ToolCaller) -> CallResult:
        if tool not in _TOOLS:
            raise McpError(f"unknown tool {tool!r}", code=codes.INVALID_PARAMS)
        return await _TOOLS[tool](arguments, caller)


if __name__ == "__main__":
    asyncio.run(serve(_Tools(), sys.stdout.fileno()))
