"""Says what a vendor would refuse of a request: the shape by its SDK's types, and the rules its servers add to them.

The rules are those of the vendors' error messages: which ids there may be, what must follow what, whose signature
stands where. Each judge imports the SDK that it uses, because an SDK takes seconds to import.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence

from pydantic import ValidationError

from kaa.core.messages import Json
from kaa.llm.completions.request import REASONING_FIELDS
from tests.support.model_wire import Wire
from tests.support.sdk_types import misfits

# What Google documents for calls that the model did not make itself.
_NOT_SIGNED = "skip_thought_signature_validator"


def objections(wire: Wire, body: dict[str, Json], signatures: Collection[str]) -> list[str]:
    """Why the vendor behind `wire` would refuse `body`; empty if it would not.

    Args:
        wire: the format.
        body: as it came over the wire.
        signatures: those that the model that is asked has given; any other is somebody else's.
    """
    return _JUDGES[wire](body, signatures)


def _completions(body: dict[str, Json], signatures: Collection[str]) -> list[str]:
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

    found: list[str] = []
    rounds: list[tuple[list[str], list[str]]] = []
    for message in body["messages"]:
        for field in REASONING_FIELDS:  # not OpenAI's: sent back to the servers that sent them
            if field in message and field not in signatures:
                found.append(f"{field} of another model")
            message.pop(field, None)
        if message["role"] == "tool":
            if not rounds:
                found.append("a result before any call")
                continue
            rounds[-1][1].append(message["tool_call_id"])
        elif (calls := [call["id"] for call in message.get("tool_calls", ())]) or message["role"] != "tool":
            rounds.append((calls, []))
        if not message["content"] and not message.get("tool_calls"):
            found.append(f"empty message: {message}")
    found += _unpaired(rounds, lambda call_id: len(call_id) <= 40)
    return [*misfits(body, CompletionCreateParamsStreaming), *found]


def _messages(body: dict[str, Json], signatures: Collection[str]) -> list[str]:
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    found: list[str] = []
    rounds: list[tuple[list[str], list[str]]] = []
    if body["messages"][0]["role"] != "user":
        found.append("the first message is not the user's")
    for message in body["messages"]:
        blocks = message["content"]
        kinds = [block["type"] for block in blocks]
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if results and "tool_result" in kinds[len(results) :]:
            found.append("results do not come first")
        if rounds:
            rounds[-1][1].extend(results)
        rounds.append(([block["id"] for block in blocks if block["type"] == "tool_use"], []))
        found += [
            f"empty text in {message}" for block in blocks if block["type"] == "text" and not block["text"].strip()
        ]
        given = [block.get("signature") or block.get("data") for block in blocks if "thinking" in block["type"]]
        found += [f"signature of another model: {one}" for one in given if one not in signatures]
        found += [f"a mark on {block}" for block in blocks if "thinking" in block["type"] and "cache_control" in block]
        if not blocks:
            found.append("empty message")
    if str(body).count("'cache_control'") > 4:
        found.append("more than four marks")
    found += _unpaired(rounds, lambda call_id: bool(re.fullmatch("[A-Za-z0-9_-]{1,64}", call_id)))
    return [*misfits(body, MessageCreateParamsStreaming), *found]


def _responses(body: dict[str, Json], signatures: Collection[str]) -> list[str]:
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

    found: list[str] = []
    calls: list[str] = []
    results: list[str] = []
    ids: list[str] = []
    for item, after in zip(body["input"], [*body["input"][1:], None], strict=True):
        ids += [item["id"]] if "id" in item else []
        match item.get("type"):
            case "reasoning":
                if item["encrypted_content"] not in signatures:
                    found.append(f"reasoning of another model: {item}")
                if after is None or (after.get("type"), after.get("role")) == ("message", "user"):
                    found.append("reasoning without what it led to")
            case "function_call":
                calls.append(item["call_id"])
            case "function_call_output":
                if item["call_id"] not in calls:
                    found.append(f"a result before its call: {item}")
                results.append(item["call_id"])
            case _:
                pass
    found += [f"an id that is not allowed: {one}" for one in ids if not re.fullmatch("[A-Za-z0-9_-]{1,64}", one)]
    found += ["ids come twice"] if len(set(ids)) < len(ids) else []
    found += _unpaired([(calls, sorted(results, key=calls.index))], lambda call_id: 1 <= len(call_id) <= 64)
    return [*misfits(body, ResponseCreateParamsStreaming), *found]


def _gemini(body: dict[str, Json], signatures: Collection[str]) -> list[str]:
    from google.genai import types as google

    found: list[str] = []
    try:
        google.GenerationConfig.model_validate(body["generationConfig"])
        for tool in body.get("tools", ()):
            google.Tool.model_validate(tool)
    except ValidationError as error:
        found.append(str(error))
    open_calls: list[tuple[str, str]] = []
    signed_only = str(body.get("generationConfig", {}).get("thinkingConfig", {})).find("Level") >= 0
    for content in body["contents"]:
        try:
            google.Content.model_validate(content)
        except ValidationError as error:
            found.append(str(error))
        parts = content["parts"]
        found += [f"empty content: {content}"] if not parts else []
        given = [part["thoughtSignature"] for part in parts if "thoughtSignature" in part]
        found += [f"signature of another model: {one}" for one in given if one not in {*signatures, _NOT_SIGNED}]
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        if [(one.get("id", ""), one["name"]) for one in answers] != open_calls:
            found.append(f"the results do not answer the calls: {open_calls} and {answers}")
        if answers and len(answers) < len(parts):
            found.append("results with something else beside them")
        calls = [part for part in parts if "functionCall" in part]
        open_calls = [(part["functionCall"].get("id", ""), part["functionCall"]["name"]) for part in calls]
        if signed_only and calls and "thoughtSignature" not in calls[0]:
            found.append("an unsigned call")
    found += [f"calls without results: {open_calls}"] if open_calls else []
    return found


def _unpaired(rounds: Iterable[tuple[Sequence[str], Sequence[str]]], is_allowed: Callable[[str], bool]) -> list[str]:
    """What is wrong with calls and their results: of each round, the ids of the calls and those of the results."""
    found: list[str] = []
    seen: set[str] = set()
    for calls, results in rounds:
        if sorted(calls) != sorted(results):
            found.append(f"calls {list(calls)} have the results {list(results)}")
        found += [f"an id that comes twice: {call}" for call in calls if call in seen or list(calls).count(call) > 1]
        found += [f"an id that is not allowed: {call}" for call in calls if not is_allowed(call)]
        seen.update(calls)
    return found


_JUDGES: dict[Wire, Callable[[dict[str, Json], Collection[str]], list[str]]] = {
    "openai-completions": _completions,
    "anthropic-messages": _messages,
    "openai-responses": _responses,
    "google-generative-ai": _gemini,
}
