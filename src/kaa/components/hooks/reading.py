"""Reads the hooks of a file: `hooks` of Claude's and Gemini's settings.json, hooks.json, `[hooks]` of Codex.

Skills and definitions of agents have them in the fields at their beginning, as Claude Code has them.
"""

from collections.abc import Iterator
from typing import Any, Final, get_args

import msgspec

from kaa.components.hooks import Handler, HookDefinition, HookDialect, HookEvent, HookFile, is_judge
from kaa.components.hooks.matching import matcher_problem

MAX_HOOKS: Final = 200
_MAX_CHARACTERS = 16 * 1024  # of a text; more than a command has
_MAX_NOTES = 20
_MAX_SECONDS = 3600.0
_EVENTS = frozenset(get_args(HookEvent))
_GEMINI_EVENTS: "dict[str, HookEvent]" = {
    "BeforeTool": "PreToolUse",
    "AfterTool": "PostToolUse",
    "BeforeAgent": "UserPromptSubmit",
    "AfterAgent": "Stop",
    "SessionStart": "SessionStart",
    "SessionEnd": "SessionEnd",
    "Notification": "Notification",
    "PreCompress": "PreCompact",
}
# What Codex and Gemini understand; Claude has all.
_COMMANDS: dict[str, Handler] = {"command": "command"}
_HANDLERS: dict[HookDialect, dict[str, Handler]] = {
    "claude": {kind: kind for kind in get_args(Handler)},
    "codex": _COMMANDS,
    "gemini": _COMMANDS,
}
# What a handler must have.
_REQUIRED = {
    "command": ("command",),
    "http": ("url",),
    "mcp_tool": ("server", "tool"),
    "prompt": ("prompt",),
    "agent": ("prompt",),
}
# fmt: off
_KNOWN = frozenset({
    "type", "command", "args", "if", "shell", "timeout", "onFailure", "once", "async", "sandbox", "name",
    "url", "headers", "allowedEnvVars", "server", "tool", "input", "prompt", "model", "statusMessage",
    "description",
})
_MOST_DEPTH = 8
_NUMBERS = ("timeout",)
_SWITCHES = ("once", "async", "sandbox")


def hooks_in(part: object, dialect: HookDialect, source: str, *, of_project: bool) -> HookFile:
    """The hooks that a file defines.

    Args:
        part: its `hooks`, as JSON or TOML gave it.
    """
    reader = _Reader(dialect, source, of_project)
    hooks: list[HookDefinition] = []
    for hook in reader.hooks(part):
        if len(hooks) == MAX_HOOKS:
            reader.notes.append(f"only the first {MAX_HOOKS} hooks are used")
            break
        hooks.append(hook)
    notes = list(dict.fromkeys(reader.notes))
    if len(notes) > _MAX_NOTES:
        notes[_MAX_NOTES:] = [f"{len(notes) - _MAX_NOTES} more things are not understood"]
    return HookFile(tuple(hooks), tuple(notes))


class _Reader:
    def __init__(self, dialect: HookDialect, source: str, of_project: bool) -> None:
        self._dialect = dialect
        self._source = source
        self._of_project = of_project
        self.notes: list[str] = []

    def hooks(self, part: object) -> Iterator[HookDefinition]:
        if not isinstance(part, dict):
            self.notes.append("`hooks` is no object")
            return
        for name, groups in part.items():
            event = self._event(str(name))
            if event is None:
                continue
            if not isinstance(groups, list):
                self.notes.append(f"{_shown(name)} is no list")
                continue
            for group in groups:
                yield from self._of_group(event, str(name), group)

    def _event(self, name: str) -> HookEvent | None:
        found = _GEMINI_EVENTS.get(name) if self._dialect == "gemini" else name if name in _EVENTS else None
        if found is None:
            self.notes.append(f"kaa has no event {_shown(name)}: its hooks do not run")
        return found  # type: ignore[return-value] # a name in _EVENTS is one

    def _of_group(self, event: HookEvent, name: str, group: object) -> Iterator[HookDefinition]:
        if not isinstance(group, dict) or not isinstance(group.get("hooks"), list):
            self.notes.append(f"an entry of {_shown(name)} has no list `hooks`")
            return
        matcher = group.get("matcher", "")
        if not isinstance(matcher, str):
            self.notes.append(f"a matcher of {_shown(name)} is no text: its hooks do not run")
            return
        if problem := matcher_problem(matcher, self._dialect):
            self.notes.append(f"the matcher {_shown(matcher)} {problem}: its hooks do not run")
            return
        if group.get("sequential"):
            self.notes.append("`sequential` is not used: hooks of an event run at the same time")
        for entry in group["hooks"]:
            if (hook := self._hook(event, name, matcher, entry)) is not None:
                yield hook

    def _hook(self, event: HookEvent, name: str, matcher: str, entry: object) -> HookDefinition | None:
        if not isinstance(entry, dict):
            self.notes.append(f"a hook of {_shown(name)} is no object")
            return None
        kind = _HANDLERS[self._dialect].get(str(entry.get("type", "command")))
        if kind is None:
            self.notes.append(f"a hook of {_shown(name)} has the type {_shown(entry['type'])}, which kaa does not run")
            return None
        missing = [field for field in _REQUIRED[kind] if not _text(entry, field).strip()]
        if missing:
            self.notes.append(f"a hook of {_shown(name)} has no `{missing[0]}`, or one that is too long")
            return None
        notes = [f"`{_shown(field)[1:-1]}` is unknown" for field in entry if field not in _KNOWN]
        if kind == "http" and self._of_project:
            notes.append("http hooks of projects and plugins do not run")
        arguments = entry.get("args")
        if "args" in entry and not _is_texts(arguments):
            self.notes.append(f"`args` of a hook of {_shown(name)} is no list of texts: it does not run")
            return None
        headers = entry.get("headers")
        given = entry.get("input", {})
        sandbox = entry.get("sandbox")
        return HookDefinition(
            event=event,
            named_event=name,
            dialect=self._dialect,
            handler=kind,
            source=self._source,
            of_project=self._of_project,
            matcher=" ".join(matcher.split()),
            condition=_text(entry, "if"),
            timeout=self._timeout(entry, notes),
            name=_text(entry, "name"),
            command=_text(entry, "command"),
            args=None if arguments is None else tuple(arguments),
            shell=_text(entry, "shell"),
            blocks_on_failure=_blocks(kind, event, entry.get("onFailure")),
            once=entry.get("once") is True,
            waits=entry.get("async") is not True,
            sandboxed=sandbox if isinstance(sandbox, bool) else None,
            url=_text(entry, "url"),
            headers=tuple((str(key), str(value)) for key, value in headers.items())
            if isinstance(headers, dict)
            else (),
            allowed_variables=tuple(map(str, entry.get("allowedEnvVars") or ()))
            if _is_texts(entry.get("allowedEnvVars"))
            else (),
            server=_text(entry, "server"),
            tool=_text(entry, "tool"),
            input=msgspec.json.encode(given if isinstance(given, dict) else {}).decode(),
            prompt=_text(entry, "prompt"),
            model=_text(entry, "model"),
            notes=tuple(notes),
        )

    def _timeout(self, entry: dict[str, Any], notes: list[str]) -> float | None:
        """In seconds: Gemini writes milliseconds, the others seconds."""
        value = entry.get("timeout")
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            notes.append("`timeout` is no positive number: the default holds")
            return None
        return min(value, _MAX_SECONDS * 1000) / 1000 if self._dialect == "gemini" else float(min(value, _MAX_SECONDS))


def _text(entry: dict[str, Any], field: str) -> str:
    value = entry.get(field)
    return value if isinstance(value, str) and len(value) <= _MAX_CHARACTERS and "\0" not in value else ""


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) and "\0" not in one for one in value)


def _shown(value: object) -> str:
    """A name of a file's as people may see it: without control characters, and not long."""
    return ascii(str(value)[:80])


def _blocks(kind: Handler, event: HookEvent, value: object) -> bool:
    """Whether a failure blocks. Of tools, Claude Code 2.1.332 reads any value but `continue` so."""
    if is_judge(kind, event):
        return value != "continue"
    return value == "block" or (kind == "mcp_tool" and value not in (None, "continue"))


def hooks_text(value: object) -> str:
    """The field `hooks` as JSON; empty if there is none. What is no hook stays, for `scoped_hooks` to name."""
    return msgspec.json.encode(_typed("", value, 0)).decode() if value else ""


def scoped_hooks(text: str, scope: str, source: str, *, of_project: bool, plugin: str = "") -> HookFile:
    """The hooks of a component, which run only within its scope.

    Args:
        text: of `hooks_text`.
        of_project: whether the project or a plugin brought it.
        plugin: its name, if one did.
    """
    found = hooks_in(msgspec.json.decode(text), "claude", source, of_project=of_project)
    ends = scope.startswith("agent ")  # the end of an agent is none of the conversation's
    hooks = (
        msgspec.structs.replace(
            hook, scope=scope, plugin=plugin, event="SubagentStop" if ends and hook.event == "Stop" else hook.event
        )
        for hook in found.hooks
    )
    return HookFile(tuple(hooks), found.notes)


def _typed(name: str, value: object, depth: int) -> Any:  # any: JSON, whose shape `hooks_in` checks
    """Fields are texts: those that are numbers and switches become such."""
    if depth > _MOST_DEPTH:
        return None
    match value:
        case dict():
            return {str(key): _typed(str(key), one, depth + 1) for key, one in value.items()}
        case list() | tuple():
            return [_typed(name, one, depth + 1) for one in value]
        case str() if name in _NUMBERS and value.replace(".", "", 1).isdecimal():
            return float(value)
        case str() if name in _SWITCHES and value.lower() in ("true", "false"):
            return value.lower() == "true"
        case _:
            return value
