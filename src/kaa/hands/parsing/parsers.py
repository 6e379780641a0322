"""Parses a text as it was and as it is, and tells the syntax errors of both.

Imports nothing of kaa and is a program, too: Python files are parsed by the project's Python as well, any from 3.8 on.
Its input is a line of JSON (`language`, `before`: bytes, or null, `after`: bytes) and both texts, its output JSON.
"""

from __future__ import annotations  # for older versions of Python

import contextlib
import importlib
import json
import math
import os
import re
import resource
import sys
import time
import warnings
from typing import Any, Dict  # noqa: UP035 - older versions of Python have no other

_Error = Dict[str, Any]  # noqa: UP006 - as above

_MAX_MEMORY_BYTES = 1024 * 1024 * 1024
_MAX_CPU_SECONDS = 5
_MAX_DEPTH = 200
_MAX_MESSAGE_CHARACTERS = 300
# Not that of PATH, which may be the project's: this process has the rights of the model's commands.
_SHELLS = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/run/current-system/sw/bin/bash")
_BASH_LINE = re.compile(r"line (\d+): (.+)")
# What other programs fill in before YAML is read.
_TEMPLATE = re.compile(r"\{\{|\{%|<%")
_COMMENT_OR_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*(?:.*?\*/|.*)', re.DOTALL)
_LAST_COMMA = re.compile(r'("(?:[^"\\\n]|\\.)*")|,(?=\s*[}\]])')


def main() -> None:
    request = json.loads(sys.stdin.buffer.readline())
    before = None if request["before"] is None else sys.stdin.buffer.read(request["before"])
    limit()
    json.dump(parsed(request["language"], before, sys.stdin.buffer.read(request["after"])), sys.stdout)


def load(language: str) -> None:
    """Load what a language needs, so that processes that are forked from this one have it.

    Raises:
        ImportError: it is not there.
        KeyError: no such language is known.
    """
    _PARSERS[language]
    for module in _NEEDED.get(language, ()):
        importlib.import_module(module)


def limit() -> None:
    """Bound what this process may use, for one text or for another one."""
    with contextlib.suppress(ValueError, OSError):  # not every system knows these limits
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time()) + _MAX_CPU_SECONDS, most))
        resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY_BYTES, _MAX_MEMORY_BYTES))
    warnings.simplefilter("ignore")


def parsed(language: str, before: bytes | None, after: bytes) -> Dict[str, Any]:  # noqa: UP006 - as above
    """Return the errors of both texts, `before` and `after`, and the version of Python, `python`.

    Args:
        before: None for a new file.
        after: what is in it now. If that has no error, the text before is not parsed.
    """
    parse = _PARSERS[language]
    found = parse(after, False)
    earlier = parse(before, False) if found and before is not None else []
    if found and (before is None or earlier):
        found = parse(after, True)
    return {"before": earlier, "after": found, "python": f"{sys.version_info[0]}.{sys.version_info[1]}"}


# `lenient`: a dialect is no error, as the file is new, or was never anything else.


def _python(data: bytes, _lenient: bool) -> list[_Error]:
    try:
        compile(data, "file", "exec", dont_inherit=True)
    except SyntaxError as error:  # with those about indentation
        return [_error(error.lineno, error.offset, f"{type(error).__name__}: {error.msg}")]
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        return [] if isinstance(error, MemoryError) else [_error(1, 1, f"{type(error).__name__}: {error}")]
    return []


def _json(data: bytes, lenient: bool) -> list[_Error]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return [_error(data.count(b"\n", 0, error.start) + 1, 1, "it is not UTF-8")]
    try:
        json.loads(text)
    except RecursionError:
        return []
    except ValueError as error:
        # Editors and compilers permit comments and trailing commas.
        if lenient and _is_json(_LAST_COMMA.sub(r"\1", _COMMENT_OR_TEXT.sub(_without_comment, text))):
            return []
        return [_json_error(text, error)]
    return []


def _strict_json(data: bytes, _lenient: bool) -> list[_Error]:
    return _json(data, False)


def _json_error(text: str, error: ValueError) -> _Error:
    if not isinstance(error, json.JSONDecodeError):
        return _error(1, 1, str(error))
    # Where a comma is too much, older versions of Python name what follows it, which can be lines below.
    end = re.match(r",?\s*([}\]])", text[error.pos :])
    before = text[: error.pos + text[error.pos :].startswith(",")].rstrip()
    if end is None or not before.endswith(","):
        return _error(error.lineno, error.colno, error.msg)
    column = len(before) - before.rfind("\n") - 1
    return _error(before.count("\n") + 1, column, f"comma before {end.group(1)}: JSON has none there")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _without_comment(match: re.Match[str]) -> str:
    found = match.group()
    is_open = found.startswith("/*") and not found.endswith("*/", 2)
    return found if is_open or found.startswith('"') else " "


def _toml(data: bytes, _lenient: bool) -> list[_Error]:
    import tomllib  # lazy: only kaa's own Python must have it

    try:
        tomllib.loads(data.decode())
    except RecursionError:
        return []
    except UnicodeDecodeError as error:
        return [_error(data.count(b"\n", 0, error.start) + 1, 1, "it is not UTF-8")]
    except ValueError as error:
        place = re.search(r" \(at line (\d+), column (\d+)\)", str(error))
        line, column = map(int, place.groups()) if place else (data.count(b"\n") + 1, 1)
        return [_error(line, column, str(error).partition(" (at ")[0])]
    return []


def _yaml(data: bytes, lenient: bool) -> list[_Error]:
    import yaml  # lazy: the others find it nowhere

    if lenient and _TEMPLATE.search(data.decode("utf-8", "replace")):
        return []
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    depth = 0
    try:
        for event in yaml.parse(data, Loader=loader):  # nothing is built of them: aliases cannot multiply
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _MAX_DEPTH:
                return []
    except RecursionError:
        return []
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        return [_error(*place, " ".join(filter(None, (error.context, error.problem))))]
    except (yaml.YAMLError, ValueError) as error:
        return [_error(1, 1, " ".join(str(error).split()))]
    return []


def _bash(data: bytes, _lenient: bool) -> list[_Error]:
    shell = next((path for path in _SHELLS if os.access(path, os.X_OK)), None)
    if shell is None:
        return []
    import subprocess  # lazy: only shell scripts need it

    try:
        ended = subprocess.run([shell, "-n"], check=False, input=data, capture_output=True, timeout=_MAX_CPU_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return []
    if ended.returncode == 0:
        return []
    # Of an error there are several lines; the first one names it.
    match = _BASH_LINE.search(ended.stderr.decode("utf-8", "replace"))
    return [_error(int(match.group(1)), 1, match.group(2))] if match else []


def _error(line: int | None, column: int | None, message: str) -> _Error:
    return {"line": max(line or 1, 1), "column": max(column or 1, 1), "message": message[:_MAX_MESSAGE_CHARACTERS]}


_PARSERS = {"bash": _bash, "json": _json, "strict json": _strict_json, "python": _python, "toml": _toml, "yaml": _yaml}
_NEEDED = {"bash": ("subprocess",), "toml": ("tomllib",), "yaml": ("yaml",)}

if __name__ == "__main__":
    main()
