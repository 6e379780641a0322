"""From the place of an extension to its `extend` function, whatever the extension is written in."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from kaa.ext.errors import ExtensionError
from kaa.ext.extension_api import Extension
from kaa.ext.places import ONE_ENTRY, ExtensionId, code_paths, kind_of
from kaa.host.programs import commands_can_write

if TYPE_CHECKING:
    from kaa.ext.process.host import ProcessHost


def extension_at(
    extension: ExtensionId, process_host: "Callable[[], ProcessHost]", cache: Path, path: Path | None = None
) -> Extension:
    """The `extend` function of an extension. For a process or a component, `extend` starts it.

    Args:
        extension: which one.
        process_host: gives what extension processes are started by.
        cache: a folder for what kaa makes of extensions, which commands cannot write.
        path: its file or folder, if that is a copy.

    Raises:
        ExtensionError: it is no extension, or cannot be read.
    """
    # Lazy, all three: a run loads only the kinds that its extensions have.
    path = path or Path(extension.path)
    match kind_of(path):
        case "python":
            from kaa.ext.loader import load_extension
            from kaa.host.module_guard import refuse_writable_modules

            refuse_writable_modules(code_paths(path, commands_can_write))
            return load_extension(path)
        case "process":
            from kaa.ext.process.extension import process_extension

            return process_extension(extension, process_host(), path=path)
        case "component":
            from kaa.ext.wasm.extension import component_extension

            return component_extension(extension, cache / "components", lambda one: process_host().granted(one), path)
        case None:
            raise ExtensionError(
                f"Extension {path}: no extension found: use a .py or .wasm file, or a folder with {ONE_ENTRY}"
            )
