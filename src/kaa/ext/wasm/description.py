"""What is known of a component before it is compiled: its file, `extension.toml`, permissions and limits."""

import re
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec

from kaa.ext.errors import ExtensionError
from kaa.ext.permissions import Permissions
from kaa.ext.places import ExtensionId
from kaa.host.regular_files import beginning_of

_DESCRIPTION = "extension.toml"
_MAX_COMPONENT_BYTES = 128 * 1024 * 1024
_MAX_DESCRIPTION_BYTES = 256 * 1024
# The first eight bytes of a binary: https://github.com/WebAssembly/component-model, design/mvp/Binary.md
_COMPONENT = b"\0asm\x0d\0\x01\0"
_MODULE = b"\0asm\x01\0\0\0"
_SETTING = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one call may use.

    Attributes:
        fuel: instructions, roughly.
        memory: MiB of each memory.
        seconds: of the clock, without the time in host functions.
    """

    fuel: Annotated[int, msgspec.Meta(ge=1, le=10**13)] = 20_000_000_000
    memory: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 256
    seconds: Annotated[float, msgspec.Meta(gt=0, le=600)] = 30.0


class ComponentSetting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A setting that a component reads. The type of the value is that of its default."""

    default: str | int | float | bool | list[str]
    description: str = ""


class Description(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of `extension.toml`.

    Attributes:
        component: the file, relative to the folder.
        permissions: what the host functions do for it. Without permissions it can compute, and nothing else.
        titles: of the calls of its tools, by the name of the tool.
    """

    component: str
    permissions: Permissions = Permissions()
    limits: Limits = Limits()
    settings: dict[str, ComponentSetting] = {}
    titles: dict[str, str] = {}

    def settings_kind(self) -> type[msgspec.Struct]:
        """The settings as a class, for `ExtensionAPI.settings`.

        Raises:
            ValueError: a name is none of Python's.
        """
        fields: list[tuple[str, Any, Any]] = []  # any: the type of the default
        for name, setting in self.settings.items():
            default = setting.default
            kind = list[str] if isinstance(default, list) else type(default)
            if not _SETTING.fullmatch(name):
                raise ValueError(f"invalid setting {name[:80]!r}: use letters, digits and _, first a letter")
            described = Annotated[kind, msgspec.Meta(description=setting.description)] if setting.description else kind
            fields.append((name, described, msgspec.field(default_factory=partial(deepcopy, default))))
        return msgspec.defstruct("Settings", fields, frozen=True)


class ComponentFile(msgspec.Struct, frozen=True):
    """A component as it was found.

    Attributes:
        extension: which one it is.
        file: the component itself.
        described: what holds for it.
    """

    extension: ExtensionId
    file: Path
    described: Description

    @property
    def nature(self) -> str:
        """What it is, for the question about permissions."""
        return "a WebAssembly component"

    @property
    def description(self) -> str:
        """None is known."""
        return ""

    @property
    def requested(self) -> Permissions:
        """What it asks for."""
        return self.described.permissions

    def read(self) -> bytes:
        """The bytes of the component.

        Raises:
            ExtensionError: it cannot be read, or is no component.
        """
        try:
            data = beginning_of(self.file, _MAX_COMPONENT_BYTES + 1)
        except OSError as error:
            raise self._unreadable(error) from error
        self._check(data[:8], len(data))
        return data

    def _check(self, head: bytes, size: int) -> None:
        name, problem = self.file.name, ""
        if head == _MODULE:
            problem = "is a core module, not a component: build it for wasm32-wasip2, or convert it with wasm-tools"
        elif head != _COMPONENT:
            problem = f"is not a WebAssembly component: it begins with {head.hex(' ') or 'nothing'}. Build it again"
        elif size > _MAX_COMPONENT_BYTES:
            problem = f"has more than {_MAX_COMPONENT_BYTES >> 20} MiB: build it without debug information"
        if problem:
            raise ExtensionError(f"Extension {self.extension}: {name} {problem}")

    def _unreadable(self, error: OSError) -> ExtensionError:
        return ExtensionError(f"Extension {self.extension}: cannot read {self.file.name}: {error.strerror}")


def find_component(extension: ExtensionId, copy: Path | None = None) -> ComponentFile:
    """The component of an extension.

    Args:
        extension: a `.wasm` file, which gets no permissions, or a folder with `extension.toml`.
        copy: of that, if it is to be used.

    Raises:
        ExtensionError: the description is invalid.
    """
    path = copy or Path(extension.path)
    if not path.is_dir():
        return ComponentFile(extension, path, Description(path.name))
    source = path / _DESCRIPTION
    try:
        text = beginning_of(source, _MAX_DESCRIPTION_BYTES + 1)
        if len(text) > _MAX_DESCRIPTION_BYTES:
            raise ExtensionError(f"Extension {path}: {_DESCRIPTION} is longer than {_MAX_DESCRIPTION_BYTES >> 10} KiB")
        described = msgspec.toml.decode(text, type=Description)
        described.settings_kind()
        if described.permissions.tools:
            raise ValueError("`permissions.tools` has no effect: components cannot run tools of kaa")
    except OSError as error:
        raise ExtensionError(f"Extension {path}: cannot read {_DESCRIPTION}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # the parser's own and msgspec's
        raise ExtensionError(f"Extension {path}: {_DESCRIPTION} is invalid: {error}") from error
    file = path / described.component
    if not described.component.endswith(".wasm") or Path(described.component).name != described.component:
        raise ExtensionError(
            f"Extension {path}: component is {described.component[:200]!r}: name a .wasm file in the same folder"
        )
    return ComponentFile(extension, file, described)
