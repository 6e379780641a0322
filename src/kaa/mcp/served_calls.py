"""Calls of tools that kaa serves, and how they ask: a legacy client at once, a modern one between its requests.

Tools, results and forms are written with what is the same in all revisions.
"""

import asyncio
import base64
from collections.abc import Callable, Coroutine, Mapping, Sequence
from itertools import count

from kaa.core.forms import ChoiceField, ChoicesField, Field, FieldOption, NumberField, TextField, YesNoField
from kaa.core.messages import Json
from kaa.mcp.contents import AudioPart, CallResult, ImagePart, LinkPart, Part, ResourcePart, TextPart
from kaa.mcp.manifest import ToolInfo
from kaa.mcp.questions import ElicitAnswer, FormRequest


class ToolCaller:
    """Who called a tool, as the service sees it.

    Args:
        ask: asks a legacy client; None for a modern one, whose call sets it.

    Attributes:
        token: with which progress is sent; None while nobody wants it.
    """

    def __init__(
        self,
        forms: bool,
        ask: "Callable[[FormRequest], Coroutine[None, None, ElicitAnswer]] | None",
        tell: Callable[[Json, int, str], None],
    ) -> None:
        self.forms = forms
        self.token: Json = None
        self.ask = ask
        self._tell = tell
        self._numbers = count(1)

    def progress(self, message: str) -> None:
        """Say what the call does now. Clients that did not ask for this are not told."""
        if isinstance(self.token, int | str):
            self._tell(self.token, next(self._numbers), message)

    async def elicit(self, asked: FormRequest) -> ElicitAnswer:
        """Ask the person. A client that cannot ask, and one that fails to, answers with `cancel`."""
        return ElicitAnswer("cancel") if self.ask is None or not self.forms else await self.ask(asked)


class RoundedCall:
    """A call by a modern client: it goes on between the requests that bring its answers.

    Args:
        caller: who called; asks through this from now on.
    """

    def __init__(self, caller: ToolCaller, work: Coroutine[None, None, CallResult]) -> None:
        self.caller = caller
        caller.ask = self._ask
        self.task = asyncio.ensure_future(work)
        self._one_question = asyncio.Lock()
        self._question: FormRequest | None = None
        self._answer: asyncio.Future[ElicitAnswer] | None = None
        self._has_asked = asyncio.Event()

    async def outcome(self) -> FormRequest | None:
        """Wait for the next question, or for the end (None). Cancelling ends the call."""
        asked = asyncio.ensure_future(self._has_asked.wait())
        try:
            await asyncio.wait((self.task, asked), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.task.cancel()
            await asyncio.wait((self.task,))
            raise
        finally:
            asked.cancel()
        return None if self.task.done() else self._question

    def answer(self, responses: Json) -> None:
        """Take the client's answer."""
        self._has_asked.clear()
        response = responses.get("question") if isinstance(responses, dict) else None
        if self._answer is not None:
            settle(self._answer, elicit_answer(response if isinstance(response, dict) else {}))

    async def _ask(self, asked: FormRequest) -> ElicitAnswer:
        async with self._one_question:
            self._question = asked
            self._answer = asyncio.get_running_loop().create_future()
            self._has_asked.set()
            return await self._answer


def settle(future: "asyncio.Future[ElicitAnswer]", answer: ElicitAnswer) -> None:
    """Answer a question, if nobody has."""
    if not future.done():
        future.set_result(answer)


def tool_json(tool: ToolInfo) -> dict[str, Json]:
    """A tool as `tools/list` has it."""
    hints: Json = {
        "readOnlyHint": tool.hints.read_only,
        "destructiveHint": tool.hints.destructive,
        "openWorldHint": tool.hints.open_world,
    }
    listed: dict[str, Json] = {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
    if tool.title:
        listed["title"] = tool.title
    if tool.output_schema is not None:
        listed["outputSchema"] = tool.output_schema
    return listed | {"annotations": hints}


def result_json(result: CallResult) -> dict[str, Json]:
    answer: dict[str, Json] = {"content": [_part(part) for part in result.parts], "isError": result.failed}
    return answer if result.structured is None else answer | {"structuredContent": result.structured}


def form_json(asked: FormRequest) -> dict[str, Json]:
    """The parameters of `elicitation/create`: without `mode`, which is form where it is missing."""
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {field.name: _field(field) for field in asked.fields},
        "required": [field.name for field in asked.fields if field.required],
    }
    return {"message": asked.message, "requestedSchema": schema}


def elicit_answer(result: Mapping[str, Json]) -> ElicitAnswer:
    """The answer to a form. Whatever is no answer counts as `cancel`; who asked checks the values."""
    values = result.get("content")
    match result.get("action"):
        case "accept" if isinstance(values, dict):
            return ElicitAnswer("accept", values)
        case "decline":
            return ElicitAnswer("decline")
        case _:
            return ElicitAnswer("cancel")


def _field(field: Field) -> Json:
    """A field as `requestedSchema` has it (revision 2025-11-25, client/elicitation, "Requested Schema")."""
    shape: dict[str, Json]
    match field:
        case TextField():
            limits = {"minLength": field.min_length, "maxLength": field.max_length}
            shape = {"type": "string", "format": field.format, **limits}
        case NumberField():
            kind = "integer" if field.whole else "number"
            shape = {"type": kind, "minimum": field.minimum, "maximum": field.maximum}
        case YesNoField():
            shape = {"type": "boolean"}
        case ChoiceField():
            shape = {"type": "string", **_options(field.options, "oneOf")}
        case ChoicesField():
            items = {"type": "string", **_options(field.options, "anyOf")}
            shape = {"type": "array", "items": items, "minItems": field.min_items, "maxItems": field.max_items}
    default = list(field.default) if isinstance(field.default, tuple) else field.default
    described = {"title": field.title, "description": field.description, "default": default}
    return {key: value for key, value in {**shape, **described}.items() if value not in ("", None)}


def _options(options: Sequence[FieldOption], titled: str) -> dict[str, Json]:
    """The values to choose from. `titled`: the keyword of those with labels."""
    if not options:
        return {}
    if all(option.text == option.value for option in options):
        return {"enum": [option.value for option in options]}
    return {titled: [{"const": option.value, "title": option.text} for option in options]}


def _part(part: Part) -> Json:
    match part:
        case TextPart(text=text):
            return {"type": "text", "text": text}
        case ImagePart() | AudioPart():
            kind = "image" if isinstance(part, ImagePart) else "audio"
            return {"type": kind, "data": base64.b64encode(part.data).decode(), "mimeType": part.mime_type}
        case LinkPart():
            return {"type": "resource_link", "uri": part.uri, "name": part.name or part.uri}
        case ResourcePart(content=content):
            body = {"text": content} if isinstance(content, str) else {"blob": base64.b64encode(content).decode()}
            return {"type": "resource", "resource": {"uri": part.uri, "mimeType": part.mime_type, **body}}
