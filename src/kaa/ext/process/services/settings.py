"""Settings, keys and folders: `host/config.get`, `host/auth.getKey` and their like."""

import asyncio
import errno
import os
from collections.abc import Mapping

import msgspec

from kaa.core.messages import Json
from kaa.ext.process.services.caller import Caller
from kaa.ext.process.wire import INTERNAL_ERROR, NOT_PERMITTED, RpcError, parse

_MOST_BYTES = 1024 * 1024


class _Keys(msgspec.Struct, frozen=True):
    keys: tuple[str, ...] = ()


class _Name(msgspec.Struct, frozen=True):
    name: str


class _Provider(msgspec.Struct, frozen=True):
    provider: str


async def get(params: Mapping[str, Json], caller: Caller) -> Json:
    """The values of settings that say nothing about the user; other keys are left out, as in Piglet."""
    conversation = caller.in_conversation()
    model = conversation.models.current.name
    known: dict[str, Json] = {"defaultModel": model, "smallModel": model}
    if caller.is_in_command:
        known["agent.compactAt"] = caller.in_command().compaction.threshold or 0
    return {"values": {key: known[key] for key in parse(params, _Keys).keys if key in known}}


async def read_extension(params: Mapping[str, Json], caller: Caller) -> Json:
    """The file NAME.md in the extension's own folder for data; empty if there is none."""
    name = parse(params, _Name).name
    if name != caller.manifest.name:
        raise RpcError(
            NOT_PERMITTED, f"extension {caller.manifest.extension.name} cannot read the settings of {name!r}"
        )
    file = os.path.join(caller.host.data_folder(caller.manifest), f"{name}.md")
    try:
        content = await asyncio.to_thread(_read, file)
    except FileNotFoundError:
        content = b""
    except OSError as error:
        raise RpcError(INTERNAL_ERROR, f"cannot read {file}: {error.strerror}") from error
    return {"content": content.decode("utf-8", "replace")}


def _read(file: str) -> bytes:
    """The content of a file. The extension can write its folder, so a link there may lead to what it cannot read.

    Raises:
        OSError: it is a link or too large, or cannot be read.
    """
    with open(file, "rb", opener=_without_links) as opened:
        content = opened.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return content


def _without_links(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


async def get_key(params: Mapping[str, Json], caller: Caller) -> Json:
    """The user's key of a provider that the permissions name; empty if the user has none."""
    provider = parse(params, _Provider).provider
    if provider not in caller.permissions.keys:
        raise RpcError(
            NOT_PERMITTED,
            f"extension {caller.manifest.extension.name} has no permission to read your key of {provider!r}",
        )
    return {"key": await caller.host.key(provider) or ""}


async def folder(_params: Mapping[str, Json], caller: Caller) -> Json:
    """The folder that contains the extension's."""
    return {"path": os.path.dirname(caller.manifest.folder)}
