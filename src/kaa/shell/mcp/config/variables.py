"""Fills in `${VAR}`, `${VAR:-default}` and a few names of places in the texts of a server that is about to start."""

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

from kaa.shell.home import Home
from kaa.shell.key_variables import all_key_variables
from kaa.shell.mcp.config.entry import ConfiguredServer

_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*|input:[^}]+)(?::-([^}]*))?\}|\$\{(/)\}")
_PLACES = {"workspaceFolder", "userHome"}


class VariableError(ValueError):
    """A text needs a variable that it may not have; the message says which and why."""


def variables_in(text: str) -> frozenset[str]:
    """The names of the environment variables that a text needs."""
    return frozenset(_variable(name) for name, _, _ in _VARIABLE.findall(text) if name and name not in _PLACES)


def unset_in(texts: Iterable[str], environ: Mapping[str, str]) -> list[str]:
    """The names of the environment variables that texts need, that are not set and have no default."""
    found = {name for text in texts for name, default, _ in _VARIABLE.findall(text) if name and not default}
    return sorted(name for name in map(_variable, found - _PLACES) if not environ.get(name))


def _variable(name: str) -> str:
    """The environment variable of a name. Those of questions of VS Code (`input:ID`) begin with `INPUT_`."""
    return re.sub(r"[^A-Z0-9_]", "_", name.upper()) if name.startswith("input:") else name


def filler(server: ConfiguredServer, home: Home, environ: Mapping[str, str], project: str) -> Callable[[str], str]:
    """What fills in the variables of a server's texts: `filled_in`, with kaa's keys only for the user's own servers."""
    refused = all_key_variables(home) if server.source.scope in ("project", "plugin", "agent") else frozenset[str]()
    return partial(filled_in, environ=environ, project=project, refused=refused)


def filled_in(text: str, environ: Mapping[str, str], project: str, refused: Collection[str] = ()) -> str:
    """The text with its variables filled in. One that is not set, and has no default, stays as it is written.

    Args:
        text: as the file has it.
        project: its directory, for `${workspaceFolder}`.
        refused: names of variables that must not be filled in.

    Raises:
        VariableError: it needs one of `refused`.
    """

    def value(match: re.Match[str]) -> str:
        name, default, place = match.groups()
        if place == "/":
            return os.sep
        if name == "workspaceFolder":
            return project
        if name == "userHome":
            return environ.get("HOME") or os.path.expanduser("~")
        variable = _variable(name)
        if variable in refused:
            raise VariableError(f"${{{name}}} is a key of kaa, which servers of projects and plugins do not get")
        found = environ.get(variable) or default
        return match[0] if found is None else found

    return _VARIABLE.sub(value, text)
