"""Leaves out old results of tools: a line says what was there, how much, and how the model gets it again."""

import msgspec

from kaa.builtin.amounts import counted
from kaa.builtin.masking.batches import (
    ERROR_TOKENS,
    MARK,
    REPEATABLE,
    Sizes,
    is_cold,
    is_due,
    old_results,
    parts,
)
from kaa.builtin.truncate import format_size, keep_tail
from kaa.core.largest import about_call
from kaa.core.messages import AssistantMessage, TextContent, ToolCall, ToolResultMessage, now_ms
from kaa.core.terminal_text import plain_text
from kaa.core.usage import CHARACTERS_PER_TOKEN, prompt_tokens
from kaa.ext.api import ConversationContext, ResultsRequest, ShortenResults
from kaa.workspace.protocol import Workspace

_COMMANDS = "bash"
_REASON = "old results of tools were left out"


async def mask(request: ResultsRequest, context: ConversationContext) -> ShortenResults | None:
    """Leave out the old results, if that pays now."""
    features, messages = context.features, request.messages
    sizes = context.state(Sizes, Sizes)
    sizes.forget_others(messages)
    old = old_results(messages, request.lasting, features.masking_turns, sizes)
    if not old or sum(one.saved for one in old) < features.masking_tokens:
        return None
    model = request.model
    if not is_cold(messages, (model.provider, model.id), now_ms()):
        last = next(one for one in reversed(messages) if isinstance(one, AssistantMessage))
        rates = None if model.cost is None else model.cost.for_prompt(prompt_tokens(last.usage))
        if not is_due(messages, old, rates, sizes):
            return None
    shorter: list[ToolResultMessage] = []
    for one in old:
        message = messages[one.place]
        assert isinstance(message, ToolResultMessage)
        if (content := await _left(message, one.call, context.workspace)) is not None:
            _, instructions = parts(message)
            shorter.append(msgspec.structs.replace(message, content=(content, *instructions)))
    return ShortenResults(tuple(shorter), _REASON) if shorter else None


async def _left(message: ToolResultMessage, call: ToolCall, workspace: Workspace) -> TextContent | None:
    """What stands for what a tool said; None if that can be kept nowhere."""
    said, _ = parts(message)
    text = "\n".join(block.text for block in said if isinstance(block, TextContent))
    if message.tool_name in REPEATABLE:
        again = f"Call {message.tool_name} again with the same arguments if you need it."
    else:
        path = _log_of(message) or await workspace.keep(text, ".txt")
        if path is None:
            return None
        again = f"All of it: {path}"
    images = sum(not isinstance(block, TextContent) for block in said)
    size = [counted(text.count("\n") + 1, "line"), format_size(len(text.encode(errors="replace")))]
    size += [counted(images, "image")] if images else []
    end = ""
    if message.is_error:
        end = "\n" + keep_tail(text.split("\n"), max_bytes=ERROR_TOKENS * CHARACTERS_PER_TOKEN).text
    subject = plain_text(about_call(message.tool_name, call.arguments))
    left = "left out but for its end" if end else "left out"
    return TextContent(f"{MARK}{subject} {left}: {', '.join(size)}. {again}]{end}")


def _log_of(message: ToolResultMessage) -> str | None:
    """The file that has the whole output of a command already. The details of other tools are a server's own words."""
    if message.tool_name != _COMMANDS:
        return None
    path = message.details.get("fullOutputPath") if isinstance(message.details, dict) else None
    return path if isinstance(path, str) and path else None
