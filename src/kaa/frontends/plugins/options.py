"""The values that a user gives to the options of a plugin: on the command line, or on the terminal."""

import getpass
import sys
from collections.abc import Mapping, Sequence

from kaa.components.plugins.manifest import Plugin, UserOption
from kaa.core.messages import Json
from kaa.frontends.delivery import deliver
from kaa.shell.extensions.errors import InstallationError
from kaa.tui.sanitize import one_line

_WORDS = {"true": True, "yes": True, "false": False, "no": False}


def values_in(plugin: Plugin, given: Sequence[str]) -> dict[str, Json]:
    """The values that were given on the command line.

    Args:
        plugin: has the options.
        given: each `NAME=VALUE`.

    Raises:
        InstallationError: one is not for an option, or does not fit it.
    """
    options = {option.name: option for option in plugin.options}
    values: dict[str, Json] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or name not in options:
            known = ", ".join(options) or "it has none"
            raise InstallationError(f"{text.partition('=')[0]!r} is no option of {plugin.name}: {known}")
        values[name] = _value(options[name], value)
    return values


def asked(plugin: Plugin, known: Mapping[str, Json]) -> dict[str, Json]:
    """Ask on the terminal for what is missing. Without a terminal, nothing is asked.

    Args:
        plugin: has the options.
        known: the values that are there.
    """
    values = dict(known)
    for option in plugin.options:
        if option.name in values or option.default is not None or not sys.stdin.isatty():
            continue
        what = one_line(option.description or option.title)
        deliver(sys.stderr, f"{option.name}{f' ({what})' if what else ''}, empty for none: ")
        entered = getpass.getpass("") if option.secret else sys.stdin.readline().strip()
        if entered:
            values[option.name] = _value(option, entered)
    return values


def missing(plugin: Plugin, values: Mapping[str, Json]) -> list[str]:
    """The options that need a value and have none."""
    return [one.name for one in plugin.options if one.required and one.default is None and one.name not in values]


def _value(option: UserOption, text: str) -> Json:
    if option.multiple:
        return [_one(option, part.strip()) for part in text.split(",") if part.strip()]
    return _one(option, text)


def _one(option: UserOption, text: str) -> Json:
    if option.kind == "boolean":
        if text.lower() not in _WORDS:
            raise InstallationError(f"{option.name} is {text!r}: write true or false")
        return _WORDS[text.lower()]
    if option.kind != "number":
        return text
    try:
        number = float(text)
    except ValueError:
        raise InstallationError(f"{option.name} is {text!r}, which is no number") from None
    least, most = option.minimum, option.maximum
    if (least is not None and number < least) or (most is not None and number > most):
        raise InstallationError(f"{option.name} is {text}: it must be from {least} to {most}")
    return int(number) if number.is_integer() else number
