"""Finds what shims of version managers execute in the user's home: the programs of the versions that hold there.

A shim obeys files of the directory it starts in: a command could have it execute another version of a program, or
none, with a line in `.tool-versions`.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias

from kaa.host.regular_files import regular

_VERSION = re.compile(r"(?!.*\.\.)\w[\w.+-]*(?:/envs/[\w.-]+)?")  # with a virtual environment of pyenv
_MOST_BYTES = 64 * 1024
_NUMBERS = re.compile(r"\d+")
# mise knows these by both names.
_ALSO = {"golang": "go", "nodejs": "node"}

_Read: TypeAlias = Callable[[str], str]


def executed_by_shims(entry: str, environ: Mapping[str, str], is_safe: Callable[[str], bool]) -> list[str]:
    """Return the directories with what the shims of a directory execute in the home; itself if it only has links to it.

    Args:
        is_safe: whether commands of the model can write neither a path nor what leads to it, and it leads to no shim.
    """
    folder = os.path.realpath(entry)
    root, home = os.path.dirname(folder), environ.get("HOME", "/")
    read = partial(_text, is_safe=is_safe)
    kinds = {kind for kind in ("installs", "tools", "versions") if os.path.isdir(os.path.join(root, kind))}
    if not kinds:
        return [entry] if all(is_safe(os.path.join(folder, name)) for name in _names(folder)) else []
    if folder.endswith("/.volta/bin") or "volta-shim" in _names(folder):
        return _of_volta(root, read)
    if kinds == {"tools"}:
        pinned = _of_proto(read(os.path.join(root, ".prototools")))
        versions = [(os.path.join(root, "tools", tool), version) for tool, version in pinned]
        return list(dict.fromkeys(place for folder, version in versions for place in _programs(folder, version)))
    if "installs" in kinds:
        installs = os.path.join(root, "installs")
        is_mise = os.path.basename(root) in ("mise", "rtx") or root == os.path.realpath(
            environ.get("MISE_DATA_DIR", "")
        )
        found = [*(_of_mise(environ, home, read) if is_mise else ()), *_tool_versions(home, read)]
        versions = [(os.path.join(installs, _folder(tool, is_mise)), version) for tool, version in found]
    else:
        name = os.path.basename(root).lstrip(".").upper()
        chosen = environ.get(f"{name}_VERSION") or read(os.path.join(root, "version"))
        versions = [(os.path.join(root, "versions"), version) for version in re.split(r"[\s:]+", chosen)]
    return list(dict.fromkeys(place for folder, version in versions for place in _programs(folder, version)))


def _tool_versions(home: str, read: _Read) -> Iterator[tuple[str, str]]:
    """Each tool in the file of asdf in the home, with its versions."""
    for line in read(os.path.join(home, ".tool-versions")).splitlines():
        tool, *versions = line.partition("#")[0].split() or [""]
        yield from ((tool, version) for version in versions)


def _of_mise(environ: Mapping[str, str], home: str, read: _Read) -> Iterator[tuple[str, str]]:
    """Each tool in the settings of mise in the home, with its versions."""
    import tomllib  # lazy: few have mise

    settings = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    with suppress(ValueError, RecursionError):
        tools = tomllib.loads(read(os.path.join(settings, "mise/config.toml"))).get("tools")
        for tool, chosen in tools.items() if isinstance(tools, dict) else ():
            for one in chosen if isinstance(chosen, list) else [chosen]:
                yield tool, str(one.get("version", "") if isinstance(one, dict) else one)


def _of_proto(text: str) -> Iterator[tuple[str, str]]:
    """Each tool in the settings of proto in its own folder, which hold everywhere."""
    import tomllib  # lazy: few have proto

    with suppress(ValueError, RecursionError):
        tools = tomllib.loads(text)
        yield from (
            (tool, one) for tool, one in tools.items() if isinstance(one, str) and re.fullmatch(r"[\w-]+", tool)
        )


def _folder(tool: str, is_mise: bool) -> str:
    """Return the name of the folder of a tool: `npm:@a/b` is in `npm-a-b`."""
    if not is_mise:
        return tool if re.fullmatch(r"[\w-]+", tool) else ""
    name = tool.removeprefix("core:")
    return re.sub(r"[^\w.]+", "-", _ALSO.get(name, name)).strip(".-")


def _programs(folder: str, version: str) -> list[str]:
    """The directories with the programs of an installed version; `3.12` and `latest` are the newest of theirs."""
    if not _VERSION.fullmatch(version) or version == "system":
        return []
    place = os.path.join(folder, version)
    if not os.path.isdir(place):
        start = "" if version in ("latest", "lts") else f"{version}."
        fitting = [one for one in _names(folder) if one.startswith(start) and one[:1].isdigit()]
        if not fitting:
            return []
        place = os.path.join(folder, max(fitting, key=lambda one: list(map(int, _NUMBERS.findall(one)))))
    below = [place, *(os.path.join(place, name) for name in _names(place))]
    found = [one for one in (os.path.join(one, "bin") for one in below) if os.path.isdir(one)]
    return found[:1] if found and os.path.dirname(found[0]) == place else found or [place]


def _of_volta(root: str, read: _Read) -> list[str]:
    """The directories with the programs of Volta's default version of Node.js, and of packages that are installed."""
    tools = os.path.join(root, "tools")
    chosen: Any = None
    with suppress(ValueError, RecursionError):
        chosen = json.loads(read(os.path.join(tools, "user/platform.json")))
    node = chosen.get("node") if isinstance(chosen, dict) else None
    version = str(node.get("runtime", "")) if isinstance(node, dict) else ""
    packages = os.path.join(tools, "image/packages")
    return [
        *_programs(os.path.join(tools, "image/node"), version),
        *(os.path.join(packages, name, "bin") for name in _names(packages)),
    ]


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _text(path: str, is_safe: Callable[[str], bool]) -> str:
    """Return the text of a file; nothing if commands can write it."""
    if not is_safe(path):
        return ""
    try:
        with open(path, encoding="utf-8", errors="replace", opener=regular) as file:
            return file.read(_MOST_BYTES)
    except (OSError, ValueError):
        return ""
