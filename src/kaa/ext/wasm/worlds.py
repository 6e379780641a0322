"""What a component can export, in rab's world and in kaa's, as one `ComponentOffer`."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from kaa.core.messages import Json
from kaa.core.provider import ToolSchema
from kaa.ext.permissions import Permissions
from kaa.ext.wasm.errors import ComponentError
from kaa.ext.wasm.host_functions import PACKAGE, VERSION, bounded, fields
from kaa.ext.wasm.machine import Machine

_MAX_ITEMS = 200

_RESULT = "result<string, string>"
_SELF_TEST = "func() -> result<_, string>"
# rab's world: names of exports with their types (wit/rab-plugin.wit).
RAB = {
    "name": "func() -> string",
    "tools": "func() -> list<record {name: string, description: string, parameters: string, label: string}>",
    "commands": "func() -> list<record {name: string, description: string}>",
    "execute-tool": f"func(tool-name: string, tool-call-id: string, args-json: string) -> {_RESULT}",
}
_TOOL = "record {name: string, description: string, parameters-json: string, snippet: string}"
_COMMAND = "record {name: string, description: string, argument-hint: string}"
_ACTION = "variant {nothing, reply(string), submit(string)}"
_VERDICT = "variant {proceed, block(string), replace(string)}"
_CALL = "record {id: string, name: string, arguments-json: string}"
_OUTCOME = "record {text: string, is-error: bool}"
# kaa's world: the functions of each interface, all of which it must have (wit/kaa-extension.wit).
INTERFACES: dict[str, dict[str, str]] = {
    "tools": {
        "tools": f"func() -> list<{_TOOL}>",
        "execute-tool": f"func(name: string, call-id: string, arguments-json: string) -> {_RESULT}",
    },
    "commands": {
        "commands": f"func() -> list<{_COMMAND}>",
        "run-command": f"func(name: string, arguments: string) -> result<{_ACTION}, string>",
    },
    "before-tool": {"before-tool": f"func(call: {_CALL}) -> {_VERDICT}"},
    "after-tool": {"after-tool": f"func(call: {_CALL}, outcome: {_OUTCOME}) -> option<{_OUTCOME}>"},
    "user-message": {"user-message": f"func(text: string) -> {_VERDICT}"},
    "prompt": {"section": "func() -> option<string>"},
    "events": {"subscriptions": "func() -> list<string>", "on-event": "func(event-json: string)"},
    "self-test": {"self-test": _SELF_TEST},
}
# What an interface shows of the conversation, or changes in it.
_NEEDS = {"before-tool": "write", "after-tool": "write", "user-message": "write", "prompt": "write", "events": "read"}


class OfferedTool(msgspec.Struct, frozen=True):
    """A tool of a component."""

    name: str
    schema: ToolSchema
    snippet: str = ""


class OfferedCommand(msgspec.Struct, frozen=True):
    """A slash command of a component."""

    name: str
    description: str
    argument_hint: str = ""


OfferedT = TypeVar("OfferedT", OfferedTool, OfferedCommand)


class ComponentOffer(msgspec.Struct, frozen=True):
    """What a component offers.

    Attributes:
        tools: its tools.
        execute: the export that executes one; empty if it has none.
        commands: its commands.
        run: the export that runs one; empty in rab's world, where `execute` does.
        hooks: the exports of hooks, by the name of the interface.
        section: of the system prompt; None for none.
        events: the types of events that it wants.
        world: that it is built for.
    """

    tools: tuple[OfferedTool, ...] = ()
    execute: str = ""
    commands: tuple[OfferedCommand, ...] = ()
    run: str = ""
    hooks: dict[str, str] = {}
    section: str | None = None
    events: frozenset[str] = frozenset()
    world: str = f"{PACKAGE} {VERSION}"


async def read_offer(machine: Machine, permissions: Permissions) -> ComponentOffer:
    """Load a component and ask what it offers.

    Raises:
        ComponentError: it is of no known world, fails, or says something invalid.
    """
    exports = await machine.load()
    own = _interfaces(exports)
    if own:
        return await _kaa_offer(machine, own, permissions)
    if "tools" in exports and "execute-tool" in exports:
        return await _rab_offer(machine, exports)
    listed = ", ".join(sorted(exports)[:5]) or "nothing"
    raise ComponentError(
        f"it exports {listed}: export an interface of {PACKAGE} ({', '.join(INTERFACES)}), or the world rab:plugin"
    )


def _interfaces(exports: dict[str, str]) -> dict[str, dict[str, str]]:
    """The exported interfaces of kaa's world: the names of exports by the names of functions."""
    found: dict[str, dict[str, str]] = {}
    for export, kind in exports.items():
        match = re.fullmatch(rf"{PACKAGE}/([a-z-]+)@([0-9.]+)#([a-z-]+)", export)
        if match is None:
            continue
        interface, version, function = match.groups()
        if not version.startswith("0.1."):
            raise ComponentError(f"it exports {PACKAGE} {version}, this kaa has 0.1: build it for that, or update kaa")
        _check_type(export, kind, INTERFACES.get(interface, {}).get(function))
        found.setdefault(interface, {})[function] = export
    for interface, functions in found.items():
        if missing := INTERFACES[interface].keys() - functions.keys():
            raise ComponentError(f"{PACKAGE}/{interface} has no function {min(missing)}: build it with the WIT of kaa")
    return found


def _check_type(export: str, kind: str, expected: str | None) -> None:
    if expected is None:
        raise ComponentError(f"kaa knows no export {export}: build it with the WIT of this kaa, or update kaa")
    if kind != expected:
        raise ComponentError(f"{export} is {kind}: expected {expected}. Build it with the WIT of kaa")


async def _rab_offer(machine: Machine, exports: dict[str, str]) -> ComponentOffer:
    for name, expected in RAB.items():
        if name in exports:
            _check_type(name, exports[name], expected)
    if "self-test" in exports:
        _check_type("self-test", exports["self-test"], _SELF_TEST)
        await _self_test(machine, "self-test")
    tools = [_tool(one["name"], one["description"], one["parameters"]) for one in await _records(machine, "tools")]
    commands = await _records(machine, "commands") if "commands" in exports else []
    return ComponentOffer(
        _distinct(tools), "execute-tool", _distinct([OfferedCommand(**one) for one in commands]), world="rab:plugin"
    )


async def _kaa_offer(machine: Machine, own: dict[str, dict[str, str]], permissions: Permissions) -> ComponentOffer:
    for interface in own:
        needed = _NEEDS.get(interface)
        if needed is not None and permissions.session not in (needed, "write"):
            raise ComponentError(
                f'it exports {interface}, which needs the permission session = "{needed}": add it to [permissions] of'
                " extension.toml"
            )
    if "self-test" in own:
        await _self_test(machine, own["self-test"]["self-test"])
    tools, commands, prompt, events = (own.get(name, {}) for name in ("tools", "commands", "prompt", "events"))
    offered = await _records(machine, tools["tools"]) if tools else []
    invoked = await _records(machine, commands["commands"]) if commands else []
    section = await machine.call(prompt["section"]) if prompt else None
    wanted = await _list(machine, events["subscriptions"]) if events else []
    return ComponentOffer(
        _distinct([_tool(one["name"], one["description"], one["parameters_json"], one["snippet"]) for one in offered]),
        tools.get("execute-tool", ""),
        _distinct([OfferedCommand(**one) for one in invoked]),
        commands.get("run-command", ""),
        {name: own[name][name] for name in ("before-tool", "after-tool", "user-message") if name in own}
        | ({"on-event": events["on-event"]} if events else {}),
        None if section is None else bounded(section, "section"),
        frozenset(map(str, wanted)),
    )


async def _self_test(machine: Machine, export: str) -> None:
    problem = await machine.call(export)
    if isinstance(problem, str):
        raise ComponentError(f"its self-test failed: {problem[:500]}")


async def _records(machine: Machine, export: str) -> list[dict[str, Any]]:
    return [fields(one) for one in await _list(machine, export)]


async def _list(machine: Machine, export: str) -> list[object]:
    listed = await machine.call(export)
    assert isinstance(listed, list), "the type was compared"
    if len(listed) > _MAX_ITEMS:
        raise ComponentError(f"{export} returned {len(listed)} items: return at most {_MAX_ITEMS}")
    return listed


def _tool(name: str, description: str, parameters: str, snippet: str = "") -> OfferedTool:
    how = 'return a JSON Schema such as {"type": "object", "properties": {}}'
    try:
        schema = msgspec.json.decode(bounded(parameters, "the schema"), type=dict[str, Json])
    except (msgspec.DecodeError, RecursionError) as error:
        raise ComponentError(f"the schema of tool {name[:80]!r} is not a JSON object ({error}): {how}") from error
    if schema.get("type") != "object" or not isinstance(schema.get("properties", {}), dict):
        raise ComponentError(f"the schema of tool {name[:80]!r} is not of type object: {how}")
    return OfferedTool(name, ToolSchema(name, description, schema), snippet)


def _distinct(offered: Sequence[OfferedT]) -> tuple[OfferedT, ...]:
    """The same, if no name comes twice."""
    names = Counter(one.name for one in offered)
    if twice := [name for name, times in names.items() if times > 1]:
        raise ComponentError(f"it offers {twice[0][:80]!r} twice: use different names")
    return tuple(offered)
