"""Questions to the user: `host/showPicker`, `host/askUser`. Each names the extension that asks."""

from collections.abc import Mapping, Sequence

import msgspec

from kaa.core.messages import Json
from kaa.ext.process.services.caller import Caller
from kaa.ext.process.wire import INVALID_PARAMS, RpcError, parse
from kaa.ext.questions import Choice, Chosen

_MOST_OPTIONS = 1000


class _Item(msgspec.Struct, frozen=True):
    id: str
    label: str = ""
    desc: str = ""
    description: str = ""


class _Picker(msgspec.Struct, frozen=True):
    title: str = ""
    items: tuple[_Item, ...] = ()


class _Question(msgspec.Struct, frozen=True):
    prompt: str = ""
    choices: tuple[str, ...] = ()


async def pick(params: Mapping[str, Json], caller: Caller) -> Json:
    """Which item; empty if the user closes the list. Its id is `selected` (Piglet's SDKs) and `id` (its document)."""
    asked = parse(params, _Picker)
    labels = _distinct([(item.label or item.id, item.id) for item in asked.items])
    descriptions = tuple(item.desc or item.description for item in asked.items)
    chosen = await _choose(caller, asked.title or "Choose", labels, descriptions if any(descriptions) else ())
    found = "" if chosen is None else asked.items[labels.index(chosen)].id
    return {"selected": found, "id": found}


async def ask(params: Mapping[str, Json], caller: Caller) -> Json:
    """Which choice."""
    asked = parse(params, _Question)
    chosen = await _choose(caller, asked.prompt or "Choose", list(dict.fromkeys(asked.choices)))
    return {"selected": chosen or "", "cancelled": chosen is None}


async def _choose(caller: Caller, title: str, options: Sequence[str], descriptions: tuple[str, ...] = ()) -> str | None:
    if not options or not all(option.strip() for option in options) or len(options) > _MOST_OPTIONS:
        raise RpcError(INVALID_PARAMS, f"give 1 to {_MOST_OPTIONS} choices, none of them empty; got {len(options)}")
    line = " ".join(f"{caller.manifest.extension.name}: {title}".split())
    question = Choice(line, tuple(options), descriptions=descriptions, requested=caller.is_in_command)
    answer = await caller.in_conversation().asker.ask(question)
    return answer.option if isinstance(answer, Chosen) else None


def _distinct(items: Sequence[tuple[str, str]]) -> list[str]:
    """Labels that differ: those of several items get the id."""
    labels = [label for label, _ in items]
    return [label if labels.count(label) == 1 else f"{label} ({id_})" for label, id_ in items]
