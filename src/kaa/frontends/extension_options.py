"""What an extension may know, by its source, before any is loaded: options, and models.

Loading takes time, and a typing error is told at once: an option can only be that of an extension whose source has its
name.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from kaa.ext.distributions import beside_kaa
from kaa.ext.places import discover, fingerprint
from kaa.host.regular_files import beginning_of
from kaa.shell.home import Home, expanded
from kaa.shell.settings import SettingsError, load_user_settings

_MOST_BYTES = 4 * 1024 * 1024  # of each file
_OPTION = re.compile(r"--([a-z][a-z0-9-]*)(?:=(.*))?", re.DOTALL)


def options_of_extensions(unknown: Sequence[str], given: Sequence[str], *, discovers: bool) -> dict[str, str | None]:
    """The unknown arguments as options of extensions, each with its value; empty if one cannot be such an option.

    Args:
        given: the paths of extensions on the command line.
    """
    found: dict[str, str | None] = {}
    for argument in unknown:
        option = _OPTION.fullmatch(argument)
        if option is None:
            return {}
        found[option[1]] = option[2]
    sources = _sources(_places(given, discovers=discovers))
    return found if all(name.encode() in sources for name in found) else {}


def may_provide_models() -> bool:
    """Whether one of the user's extensions may register a provider of models."""
    return b"provider" in _sources(_places((), discovers=True))


def _sources(extensions: Sequence[Path]) -> bytes:
    return b"\n".join(_content(file) for path in extensions for file, *_ in fingerprint(path))


def _places(given: Sequence[str], *, discovers: bool) -> list[Path]:
    paths = [expanded(path) for path in given]
    if not discovers:
        return paths
    try:
        home = Home.of(os.environ)
        configured = map(expanded, load_user_settings(home.settings).extensions)
        return [*paths, *discover(home.extensions), *beside_kaa(), *configured]
    except SettingsError:  # which the start tells
        return paths


def _content(file: str) -> bytes:
    try:
        return beginning_of(file, _MOST_BYTES)
    except OSError:  # which loading tells
        return b""
