"""Makes the `extend` function of a WebAssembly component."""

from pathlib import Path

from kaa.ext.errors import ExtensionError
from kaa.ext.extension_api import Extension


def component_extension(path: Path) -> Extension:
    """The function that compiles a component and registers what it offers.

    Args:
        path: a `.wasm` file, or a folder whose `extension.toml` names one.

    Raises:
        ExtensionError: it cannot be read.
    """
    raise ExtensionError(f"Extension {path}: this version of kaa cannot run WebAssembly components yet")
