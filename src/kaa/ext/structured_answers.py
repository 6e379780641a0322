"""A structured answer of a model: asks for JSON of a type, validates it, and asks once more if it does not fit.

The schema is part of the prompt, which works with every provider. See `ConversationActions.complete`.
"""

import re
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from kaa.core.arguments import schema_of_type
from kaa.core.messages import user_message
from kaa.ext.completions import Completion, CompletionError, CompletionTask

# Models write Markdown where they are asked for JSON.
_FENCED = re.compile(r"\A\s*```\w*\n(.*)\n```\s*\Z", re.DOTALL)
_MOST_CHARACTERS = 200

ValueT = TypeVar("ValueT")


async def structured_answer(
    kind: type[ValueT], task: CompletionTask, ask: Callable[[CompletionTask], Awaitable[Completion]]
) -> ValueT:
    """Ask for a value of a type.

    Args:
        kind: the type, as tools have it for their parameters.
        task: the question.
        ask: asks a model.

    Raises:
        TypeError: the type has no JSON Schema.
        CompletionError: `ask` raised it, or neither the answer nor the second one fits.
    """
    try:
        schema = msgspec.json.encode(schema_of_type(kind)).decode()
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"schema of complete is {kind!r}, which has no JSON Schema: {error}") from error
    form = f"Answer with one JSON value and nothing else. It fits this JSON Schema: {schema}"
    task = msgspec.structs.replace(task, system=f"{task.system}\n\n{form}".lstrip())
    answer = await ask(task)
    try:
        return _parsed(answer.text, kind)
    except msgspec.DecodeError as error:
        repair = user_message(
            f"You answered:\n\n{answer.text}\n\nThis does not fit: {error}. {form}", origin="extension"
        )
    answer = await ask(msgspec.structs.replace(task, messages=(*task.messages, repair)))
    try:
        return _parsed(answer.text, kind)
    except msgspec.DecodeError as error:
        shown = answer.text if len(answer.text) <= _MOST_CHARACTERS else f"{answer.text[:_MOST_CHARACTERS]}…"
        raise CompletionError(f"The answer of {answer.model} does not fit the schema: {error}: {shown}") from error


def _parsed(text: str, kind: type[ValueT]) -> ValueT:
    fenced = _FENCED.match(text)
    return msgspec.json.decode(fenced[1] if fenced else text, type=kind, strict=False)
