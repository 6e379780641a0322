"""Loads extensions written in Python: a file, or a folder with an `__init__.py`, that defines `extend(api)`."""

import sys
from pathlib import Path

from kaa.ext.api import Extension
from kaa.ext.registry import ExtensionError


def discover(folder: Path) -> list[Path]:
    """The extensions in a folder, sorted by name; empty if there is no such folder."""
    if not folder.is_dir():
        return []
    visible = (entry for entry in folder.iterdir() if not entry.name.startswith("."))
    files = (entry if entry.suffix == ".py" else entry / "__init__.py" for entry in visible)
    return sorted(file for file in files if file.is_file())


def load_extension(path: Path) -> Extension:
    """The `extend` function of an extension.

    Raises:
        ExtensionError: the file cannot be read or run, or has no such function.
    """
    import importlib.util  # lazy: only runs that have extensions pay for it

    file = path / "__init__.py" if path.is_dir() else path
    name = f"kaa_extension_{(file.parent if file.name == '__init__.py' else file).stem}_{abs(hash(file))}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None or not file.is_file():
        raise ExtensionError(f"Extension {path}: no such Python file or folder")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # isolation boundary: names the extension instead of a bare traceback
        del sys.modules[name]
        raise ExtensionError(f"Extension {path} failed to load: {type(error).__name__}: {error}") from error
    extend = getattr(module, "extend", None)
    if not callable(extend):
        raise ExtensionError(f"Extension {path} defines no function extend(api)")
    loaded: Extension = extend
    return loaded
