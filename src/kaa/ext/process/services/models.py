"""Models: `host/availableModels`, `host/switchModel`, `host/chat`, `host/agent.run`. The conversation's budget pays."""

from collections.abc import Mapping

import msgspec

from kaa.core.budget import Budget
from kaa.core.messages import AssistantMessage, Json, Message, StopReason, TextContent, Usage, user_message
from kaa.core.provider import Model
from kaa.ext.permissions import Permissions
from kaa.ext.process.services.caller import WRITES_SESSION, Caller
from kaa.ext.process.wire import INVALID_PARAMS, RpcError, parse

_CALLS = Permissions(models=True)
_STOPPED: StopReason = "stop"


class _ChatMessage(msgspec.Struct, frozen=True):
    role: str
    content: str = ""


class _Chat(msgspec.Struct, rename="camel", frozen=True):
    messages: tuple[_ChatMessage, ...] = ()
    system: str = ""
    model: str = ""
    max_tokens: int = 0


class _Agent(msgspec.Struct, rename="camel", frozen=True):
    task: str = ""
    system: str = ""
    tools: str = "background_safe"
    model: str = ""
    max_turns: int = 0


class _Switch(msgspec.Struct, rename="camel", frozen=True):
    model_id: str


async def available(_params: Mapping[str, Json], caller: Caller) -> Json:
    """The models that could be used."""
    models = caller.in_conversation().models
    current = models.current.name
    return {"models": [{**_described(model), "current": model.qualified_id == current} for model in models.available()]}


async def switch(params: Mapping[str, Json], caller: Caller) -> Json:
    """Use another model from the next request on."""
    caller.require(WRITES_SESSION)
    await caller.in_conversation().models.switch(parse(params, _Switch).model_id)
    return {}


async def chat(params: Mapping[str, Json], caller: Caller) -> Json:
    """One answer of a model, without tools."""
    caller.require(_CALLS)
    asked = parse(params, _Chat)
    answer = await caller.in_conversation().complete(
        tuple(map(_message, asked.messages)),
        system=asked.system,
        model=_model(asked.model),
        max_tokens=asked.max_tokens or 4096,
    )
    return {"text": answer.text, "usage": {"input": answer.usage.input, "output": answer.usage.output}}


async def run_agent(params: Mapping[str, Json], caller: Caller) -> Json:
    """An agent with its own context. What it reads and writes of the project needs the same permission as by itself."""
    asked = parse(params, _Agent)
    writes = asked.tools == "all"
    if asked.tools not in ("", "all", "background_safe"):
        raise RpcError(INVALID_PARAMS, f"invalid tools {asked.tools!r}: use all or background_safe")
    caller.require(Permissions(project="write" if writes else "read", models=True))
    reading = (tool for scope in caller.host.scopes() for tool in scope.tools.values() if tool.risk == "read")
    result = await caller.in_conversation().run_agent(
        asked.task,
        name=caller.manifest.extension.name,
        system_prompt=asked.system or None,
        model=_model(asked.model),
        tools=None if writes else [tool.name for tool in reading],
        writable=None if writes else (),
        budget=Budget(turns=asked.max_turns) if asked.max_turns > 0 else None,
    )
    used = result.used
    return {"text": result.text, "turns": int(used.turns), "usage": {"input": int(used.tokens), "output": 0}}


async def has_background(_params: Mapping[str, Json], _caller: Caller) -> Json:
    """Kaa has no background agent."""
    return {"running": False}


def _model(name: str) -> str | None:
    """Piglet's names for the model in force count as no name: kaa has no second, small model."""
    return None if name in ("", "default", "small") else name


def _message(message: _ChatMessage) -> Message:
    match message.role:
        case "user":
            return user_message(message.content, origin="extension")
        case "assistant":
            content = (TextContent(message.content),)
            return AssistantMessage(content, "extension", "extension", "extension", Usage(), _STOPPED)
        case role:
            raise RpcError(INVALID_PARAMS, f"invalid role {role!r} of a message: use user or assistant")


def _described(model: Model) -> dict[str, Json]:
    cost = model.cost
    return {
        "id": model.id,
        "api": model.api,
        "displayName": model.name or model.id,
        "provider": model.provider,
        "contextWindow": model.context_window,
        "maxTokens": model.max_tokens,
        "reasoning": model.reasoning,
        "costInput": cost.input if cost else 0,
        "costOutput": cost.output if cost else 0,
    }
