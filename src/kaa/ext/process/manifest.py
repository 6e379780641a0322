"""Reads `manifest.yaml`, which describes an extension process: Piglet's fields, and `transport` and `permissions`."""

import os
import re
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from kaa.ext.errors import ExtensionError
from kaa.ext.permissions import READING_TOOLS, Permissions
from kaa.ext.places import ExtensionId

FILE_NAME = "manifest.yaml"

Transport: TypeAlias = Literal["fd", "stdio"]
"""`fd`: the process reads messages from descriptor 3 and writes to 4. `stdio`: stdin and stdout."""

_MAX_BYTES = 64 * 1024
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
# The program and the arguments before the entry, as Piglet runs it.
_RUNTIMES = {
    "bun": ("bun", "run"),
    "deno": ("deno", "run", "--allow-all"),
    "node": ("node",),
    "python": ("python3",),
}
# What an extension of Piglet's needs at least for what it says it registers. Its manifests know no permissions.
_IMPLIED: dict[str, Permissions] = {
    "tools": Permissions(project="read", tools=READING_TOOLS),
    "commands": Permissions(project="read", tools=READING_TOOLS),
    "prompt": Permissions(project="read"),
    "promptSections": Permissions(project="read"),
    "eventHandlers": Permissions(session="read"),
    "interceptors": Permissions(session="write"),
    "messageHooks": Permissions(session="write"),
    "inputTransformers": Permissions(session="write"),
    "compactor": Permissions(session="write"),
    "providers": Permissions(session="write"),
}


class DefaultFile(msgspec.Struct, frozen=True):
    """A file that the installer copies if `dest` does not exist.

    Attributes:
        src: relative to the folder of the extension.
        dest: as the manifest names it; only its last part counts, in the extension's folder for settings.
    """

    src: str
    dest: str


class Manifest(msgspec.Struct, frozen=True):
    """An extension process.

    Attributes:
        name: as it names itself: its folder once it is installed, and its file of settings.
        runtime: `bun`, `deno`, `node`, `python`, or the path of a program, absolute or relative to `folder`.
        entry: the file that the runtime executes, relative to `folder`; empty for a program without arguments.
        version: its version, for lists.
        description: one line, for lists.
        capabilities: what it says it registers; `permissions` of Piglet's extensions follow from it.
        defaults: files of settings for the first installation.
        transport: how it exchanges messages; None: as it answers first.
        permissions: what it asks for; None if the manifest does not say.
        folder: the folder of the manifest.
        extension: which one it is.
    """

    name: str
    runtime: str
    entry: str = ""
    version: str = ""
    description: str = ""
    capabilities: tuple[str, ...] = ()
    defaults: tuple[DefaultFile, ...] = ()
    transport: Transport | None = None
    permissions: Permissions | None = None
    folder: str = ""
    extension: ExtensionId = ExtensionId("", "", "")

    @property
    def program(self) -> str:
        """The program that executes it: an absolute path, or a name to be found in the user's PATH."""
        known = _RUNTIMES.get(self.runtime)
        return known[0] if known else os.path.join(self.folder, self.runtime)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments of the program."""
        options = _RUNTIMES.get(self.runtime, ("",))[1:]
        return (*options, os.path.join(self.folder, self.entry)) if self.entry else options

    @property
    def nature(self) -> str:
        """What it is, for the question about permissions."""
        return "a program that runs in a sandbox"

    @property
    def requested(self) -> Permissions:
        """The permissions that it asks for, or that follow from its capabilities."""
        if self.permissions is not None:
            return self.permissions
        implied = [_IMPLIED[name] for name in self.capabilities if name in _IMPLIED]
        sessions = {one.session for one in implied}
        return Permissions(
            project="read" if any(one.project == "read" for one in implied) else "none",
            session="write" if "write" in sessions else "read" if "read" in sessions else "none",
            tools=READING_TOOLS if any(one.tools for one in implied) else (),
        )


def read_manifest(extension: ExtensionId, path: Path | None = None) -> Manifest:
    """The manifest of an extension.

    Args:
        extension: which one.
        path: its folder, if that is a copy.

    Raises:
        ExtensionError: it cannot be read, or a field is missing or invalid; the message names the file and the field.
    """
    folder = path or Path(extension.path)
    file = folder / FILE_NAME
    try:
        with file.open("rb") as stream:
            content = stream.read(_MAX_BYTES + 1)
    except OSError as error:
        raise ExtensionError(f"Extension {folder}: cannot read {file}: {error.strerror}") from error
    if len(content) > _MAX_BYTES:
        raise ExtensionError(f"Extension {folder}: {file} has more than {_MAX_BYTES} bytes, which is no manifest")
    try:
        manifest = msgspec.convert(_fields(content), Manifest, strict=False)
        _check(manifest)
    except ValueError as error:
        raise ExtensionError(f"Extension {folder}: invalid {file}: {_sentence(error)}") from error
    return msgspec.structs.replace(manifest, folder=str(folder), extension=extension)


def _fields(content: bytes) -> dict[str, Any]:
    """The top level of a manifest; a field without a value is left out, as in Piglet.

    Raises:
        ValueError: this is not YAML, not a mapping, or uses aliases.
    """
    from kaa.host.plain_yaml import yaml_fields  # lazy: only runs with extension processes pay for it

    fields = yaml_fields(content.decode())
    return {name: value for name, value in fields.items() if value != "" and name not in ("folder", "extension")}


def _check(manifest: Manifest) -> None:
    """Check what types cannot say.

    Raises:
        ValueError: a field is invalid.
    """
    if not _NAME.fullmatch(manifest.name):
        raise ValueError(f"invalid `name` {manifest.name!r}: use up to 64 letters, digits, . _ and -")
    known = manifest.runtime in _RUNTIMES
    if known and not manifest.entry:
        raise ValueError(f"`entry` is missing: name the file that {manifest.runtime} executes")
    paths = {"entry": manifest.entry, "runtime": "" if os.path.isabs(manifest.runtime) else manifest.runtime}
    paths |= {f"defaults[{place}].src": default.src for place, default in enumerate(manifest.defaults)}
    for field, path in paths.items():
        if os.path.isabs(path) or ".." in Path(path).parts or "\0" in path:
            raise ValueError(f"invalid `{field}` {path!r}: use a path inside the folder of the extension")


def _sentence(error: BaseException) -> str:
    text = str(error)
    return text[:1].lower() + text[1:]
