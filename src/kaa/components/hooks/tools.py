"""Names and inputs of tools, as scripts for other agents know them: kaa's calls in their words, and back."""

import os.path
import posixpath
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from kaa.components.hooks import HookDialect
from kaa.components.tool_names import foreign_names, rule_names

Arguments: TypeAlias = Mapping[str, Any]


class ForeignCall(msgspec.Struct, frozen=True):
    """A call as a dialect sees it.

    Attributes:
        aliases: other names that matchers may have for the tool.
    """

    name: str
    input: dict[str, Any]
    aliases: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All names that a matcher may have for the tool."""
        return (self.name, *self.aliases)


# By kaa's tool, pairs of an argument's name here and there. `timeout` and `edits` are apart.
_Fields: TypeAlias = tuple[tuple[str, str], ...]
_CLAUDE: dict[str, _Fields] = {
    "bash": (("command", "command"), ("background", "run_in_background")),
    "read": (("path", "file_path"), ("offset", "offset"), ("limit", "limit")),
    "write": (("path", "file_path"), ("content", "content")),
    "find": (("pattern", "pattern"), ("path", "path")),
    "grep": (("pattern", "pattern"), ("path", "path"), ("glob", "glob"), ("ignoreCase", "-i"), ("context", "-C")),
    "ls": (("path", "path"),),
    "web_fetch": (("url", "url"), ("prompt", "prompt")),
    "skill": (("name", "skill"), ("arguments", "args")),
}
_GEMINI: dict[str, _Fields] = {
    "bash": (("command", "command"), ("background", "is_background")),
    "read": (("path", "file_path"), ("offset", "offset"), ("limit", "limit")),
    "write": (("path", "file_path"), ("content", "content")),
    "find": (("pattern", "pattern"), ("path", "dir_path")),
    "grep": (("pattern", "pattern"), ("path", "dir_path"), ("glob", "include")),
    "ls": (("path", "dir_path"),),
    "web_fetch": (("url", "prompt"),),
}
# By these arguments, `edit` and `write` delete and move files for `apply_patch`.
_WHOLE_FILE = frozenset({"delete", "moveTo", "moveFrom"})
# Their arguments are paths, which scripts expect to be absolute.
_PATHS = frozenset({"file_path", "path", "dir_path"})


def foreign_calls(name: str, arguments: Arguments, dialect: HookDialect, root: str) -> tuple[ForeignCall, ...]:
    """A call of kaa's as a dialect sees it: one, but for several edits one each."""
    if dialect == "codex" and name in ("edit", "write"):
        return (ForeignCall("apply_patch", {"command": _patch(name, arguments)}, ("Edit", "Write")),)
    if name == "edit":
        tool, *aliases = foreign_names(name, dialect)
        path = absolute(arguments.get("path"), root)
        inputs = [{"file_path": path, **_edit(edit, dialect)} for edit in _edits(arguments)] or [{"file_path": path}]
        return tuple(ForeignCall(tool, given, tuple(aliases)) for given in inputs)
    table = _GEMINI if dialect == "gemini" else _CLAUDE
    if name not in table:
        return (ForeignCall(name, dict(arguments), rule_names(name)[1:]),)
    # Codex has one tool of its own for most work; for the rest, its scripts have Claude Code's words.
    tool, *aliases = foreign_names(name, "claude" if dialect == "codex" and name != "bash" else dialect)
    given = {there: arguments[here] for here, there in table[name] if arguments.get(here) is not None}
    for field in _PATHS & given.keys():
        given[field] = absolute(given[field], root)
    if name == "bash" and dialect != "gemini" and isinstance(timeout := arguments.get("timeout"), int | float):
        given["timeout"] = round(timeout * 1000)
    if name == "grep" and dialect != "gemini":
        given["output_mode"] = "content"
    return (ForeignCall(tool, given, tuple(aliases)),)


def own_arguments(
    name: str, arguments: Arguments, update: Arguments, dialect: HookDialect, root: str, index: int = 0
) -> dict[str, Any] | None:
    """The arguments of kaa's tool with a new input that a hook gave; None if kaa's tool cannot do that.

    Args:
        update: the whole new input, in the words of the dialect.
    """
    if name in ("edit", "write") and _WHOLE_FILE & arguments.keys():
        # A file that is deleted or moved as it is: hooks can refuse that, and change nothing of it.
        known = [call.input for call in foreign_calls(name, arguments, dialect, root)]
        return dict(arguments) if update in known else None
    if dialect == "codex" and name in ("edit", "write"):
        return dict(arguments) if update.get("command") == _patch(name, arguments) else None
    if name == "edit":
        return _own_edit(arguments, update, root, index)
    table = _GEMINI if dialect == "gemini" else _CLAUDE
    if name not in table:
        return dict(update)
    fields = dict(table[name])
    names = {there: here for here, there in fields.items()}
    own = {names[there]: value for there, value in update.items() if there in names}
    ignored = {"description", "output_mode", "prompt", "timeout", "-n"}
    if update.keys() - names.keys() - ignored:
        return None
    if name == "bash" and isinstance(timeout := update.get("timeout"), int | float) and dialect != "gemini":
        own["timeout"] = timeout / 1000
    # What these words have no name for stays, and paths stay as the model wrote them.
    kept = {here: value for here, value in arguments.items() if here not in fields and here != "timeout"}
    if "path" in own and own["path"] == absolute(arguments.get("path"), root) and "path" in arguments:
        own["path"] = arguments["path"]
    return {**kept, **own}


def response_of(name: str, arguments: Arguments, text: str, dialect: HookDialect, root: str, *, is_error: bool) -> Any:
    """The result of a tool with the fields that scripts read."""
    if dialect == "gemini":
        return {"llmContent": text, "returnDisplay": text, **({"error": {"message": text}} if is_error else {})}
    if dialect == "codex":
        return text
    make = _RESPONSES.get(name)
    return {"content": [{"type": "text", "text": text}]} if make is None else make(arguments, text, root)


def absolute(path: object, root: str) -> str:
    """A path of a call, absolute."""
    text = path if isinstance(path, str) else "."
    return posixpath.normpath(posixpath.join(root, os.path.expanduser(text)))


def _bash(arguments: Arguments, text: str, _root: str) -> dict[str, Any]:
    return {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}


def _read(arguments: Arguments, text: str, root: str) -> dict[str, Any]:
    lines = text.count("\n") + 1
    file = {
        "filePath": absolute(arguments.get("path"), root),
        "content": text,
        "numLines": lines,
        "startLine": arguments.get("offset") or 1,
        "totalLines": lines,
    }
    return {"type": "text", "file": file}


def _write(arguments: Arguments, text: str, root: str) -> dict[str, Any]:
    return {
        "type": "create" if text.startswith("Created") else "update",
        "filePath": absolute(arguments.get("path"), root),
        "content": arguments.get("content", ""),
        "structuredPatch": [],
        "originalFile": None,
    }


def _edited(arguments: Arguments, _text: str, root: str) -> dict[str, Any]:
    edits = _edits(arguments)
    return {
        "filePath": absolute(arguments.get("path"), root),
        "oldString": edits[0].get("oldText", "") if edits else "",
        "newString": edits[0].get("newText", "") if edits else "",
        "originalFile": None,
        "structuredPatch": [],
        "replaceAll": False,
    }


def _find(_arguments: Arguments, text: str, _root: str) -> dict[str, Any]:
    names = [line for line in text.splitlines() if line and not line.startswith("[")]
    return {"filenames": names, "numFiles": len(names), "truncated": False, "durationMs": 0}


def _grep(_arguments: Arguments, text: str, _root: str) -> dict[str, Any]:
    lines = text.splitlines()
    names = list(dict.fromkeys(line.split(":", 1)[0] for line in lines if ":" in line))
    return {"mode": "content", "filenames": names, "content": text, "numLines": len(lines), "numFiles": len(names)}


_RESPONSES: dict[str, Callable[[Arguments, str, str], dict[str, Any]]] = {
    "bash": _bash,
    "read": _read,
    "write": _write,
    "edit": _edited,
    "find": _find,
    "grep": _grep,
}


def _edits(arguments: Arguments) -> Sequence[Mapping[str, Any]]:
    edits = arguments.get("edits")
    return [edit for edit in edits if isinstance(edit, dict)] if isinstance(edits, list | tuple) else []


def _edit(edit: Mapping[str, Any], dialect: HookDialect) -> dict[str, Any]:
    given = {"old_string": edit.get("oldText", ""), "new_string": edit.get("newText", "")}
    return given if dialect == "gemini" else {**given, "replace_all": False}


def _own_edit(arguments: Arguments, update: Arguments, root: str, index: int) -> dict[str, Any] | None:
    edits = list(_edits(arguments))
    known = {"file_path", "old_string", "new_string", "replace_all", "instruction", "expected_replacements"}
    old, new = update.get("old_string"), update.get("new_string")
    if update.get("replace_all") or update.keys() - known or index >= len(edits):
        return None
    if not isinstance(old, str) or not isinstance(new, str):
        return None
    edits[index] = {"oldText": old, "newText": new}
    path = update.get("file_path")
    is_same = path == absolute(arguments.get("path"), root)
    if not is_same and len(edits) > 1:
        return None  # the edits are of one file
    return {**arguments, "path": arguments.get("path") if is_same else path, "edits": edits}


def _patch(name: str, arguments: Arguments) -> str:
    """A change in the format of Codex's apply_patch."""
    path = arguments.get("path", "")
    if arguments.get("delete"):
        body = [f"*** Delete File: {path}"]
    elif arguments.get("moveTo"):
        body = [f"*** Update File: {path}", f"*** Move to: {arguments['moveTo']}"]
    elif name == "write":
        body = [f"*** Add File: {path}", *(f"+{line}" for line in str(arguments.get("content", "")).splitlines())]
    else:
        body = [f"*** Update File: {path}"]
        for edit in _edits(arguments):
            old, new = str(edit.get("oldText", "")), str(edit.get("newText", ""))
            body += ["@@", *(f"-{line}" for line in old.splitlines()), *(f"+{line}" for line in new.splitlines())]
    return "\n".join(["*** Begin Patch", *body, "*** End Patch", ""])
