"""The part of a settings file that defines hooks: what trust is in, and what is read of it."""

import re
from typing import Any

import msgspec

from kaa.components.hooks import HookDialect, HookFile
from kaa.components.hooks.reading import hooks_in

# Comments of JSON as people write it: a string, or a comment.
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
# Escapes: two surrogates that are a pair, one that is alone and no character, and all others.
_SURROGATE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.",
    re.DOTALL,
)
# Besides the hooks themselves, what says whether they run.
_SWITCHES = ("disableAllHooks", "hooksConfig")


class HookFileError(ValueError):
    """A file cannot be read; the message says why, as the rest of a sentence."""


def hooks_part(data: bytes, *, toml: bool = False) -> bytes | None:
    """The part of a file that is about hooks, as indented JSON; None if there is none.

    Raises:
        HookFileError: the file is not what its name says.
    """
    found = _toml(data) if toml else settings_object(data)
    if not found.get("hooks"):
        return None
    part = {key: found[key] for key in ("hooks", *_SWITCHES) if key in found}
    try:
        return msgspec.json.format(msgspec.json.encode(part), indent=2)
    except (TypeError, RecursionError, OverflowError, msgspec.MsgspecError) as error:
        raise HookFileError(f"its hooks are no JSON ({error})") from error


def hook_file(part: bytes, dialect: HookDialect, source: str, *, of_project: bool) -> HookFile:
    """What `hooks_part` gave, as data. See `kaa.components.hooks.reading.hooks_in`."""
    found: dict[str, Any] = msgspec.json.decode(part)
    switches = found.get("hooksConfig")
    config: dict[str, Any] = switches if isinstance(switches, dict) else {}
    if found.get("disableAllHooks") is True or config.get("enabled") is False:
        return HookFile((), ("the file switches its hooks off",))
    file = hooks_in(found.get("hooks"), dialect, source, of_project=of_project)
    disabled = config.get("disabled")
    if not isinstance(disabled, list):
        return file
    return HookFile(
        tuple(one for one in file.hooks if not {one.name, one.command} & set(map(str, disabled))), file.notes
    )


def settings_object(data: bytes) -> dict[str, Any]:
    """The object in a JSON file as people write it: with comments, or a mark at its beginning.

    Raises:
        HookFileError: there is none.
    """
    found = _json(data)
    if not isinstance(found, dict):
        raise HookFileError("it has no JSON object")
    return found


def _json(data: bytes) -> object:
    text = _SURROGATE.sub(lambda found: r"\ufffd" if found["half"] else found[0], data.decode("utf-8-sig", "replace"))
    try:
        return msgspec.json.decode(text)
    except RecursionError as error:
        raise HookFileError("it is nested too deep") from error
    except msgspec.DecodeError:
        pass
    try:
        return msgspec.json.decode(_TOKEN.sub(lambda found: found[0] if found[0][0] == '"' else " ", text))
    except (msgspec.DecodeError, RecursionError) as error:
        raise HookFileError(f"it is not valid JSON ({error})") from error


def _toml(data: bytes) -> dict[str, Any]:
    import tomllib  # lazy: only Codex has such files

    try:
        return tomllib.loads(data.decode("utf-8", "replace"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise HookFileError(f"it is not valid TOML ({error})") from error
