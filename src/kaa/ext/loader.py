"""Loads extensions written in Python: a file, or a folder with an `__init__.py`, that defines `extend(kaa)`."""

import sys
from pathlib import Path
from types import CodeType, ModuleType

from kaa.ext.errors import ExtensionError
from kaa.ext.extension_api import API_VERSION, Extension
from kaa.ext.misuse import load_failure
from kaa.ext.places import entry_file, fingerprint, package


def load_extension(path: Path) -> Extension:
    """The `extend` function of an extension.

    Raises:
        ExtensionError: the file cannot be read or run, or has no such function.
    """
    # Lazy: only runs that have extensions pay for it.
    import importlib.util
    from importlib.machinery import SourceFileLoader

    class SourceOnly(SourceFileLoader):
        """Compiles each time: the sandbox protects one file, not the `__pycache__` beside it."""

        def get_code(self, fullname: str) -> CodeType:
            return self.source_to_code(self.get_data(self.path), self.path)

    file = entry_file(path)
    folder = package(file)
    name = f"kaa_extension_{(folder or file).stem}_{abs(hash(file))}"
    loader = None if folder else SourceOnly(name, str(file))
    spec = importlib.util.spec_from_file_location(name, file, loader=loader)
    if spec is None or spec.loader is None or not file.is_file():
        raise ExtensionError(f"Extension {path}: no such Python file or folder")
    module = importlib.util.module_from_spec(spec)
    before = _take_modules(name)  # of a previous version, with the modules of its folder
    if before:
        # Python takes compiled code for that of a source of the same size and the same second.
        for source, *_ in fingerprint(path):
            Path(importlib.util.cache_from_source(source)).unlink(missing_ok=True)
    importlib.invalidate_caches()
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        return _extend(module, path)
    except (Exception, SystemExit) as error:  # isolation boundary: names the extension instead of a bare traceback
        _take_modules(name)
        sys.modules.update(before)
        if isinstance(error, ExtensionError):
            raise
        raise load_failure(str(path), error) from error


def _take_modules(name: str) -> dict[str, ModuleType]:
    """Take a module and those below it out of Python's list of loaded modules."""
    names = [one for one in sys.modules if one == name or one.startswith(f"{name}.")]
    return {one: sys.modules.pop(one) for one in names}


def _extend(module: ModuleType, path: Path) -> Extension:
    """The `extend` function of a module.

    Raises:
        ExtensionError: it has none, or needs a newer kaa.
    """
    wanted = getattr(module, "API_VERSION", 1)
    if not isinstance(wanted, int):
        raise ExtensionError(f"Extension {path}: API_VERSION is {wanted!r}: use a number, such as {API_VERSION}")
    if wanted > API_VERSION:
        raise ExtensionError(f"Extension {path} needs API version {wanted!r}, this kaa has {API_VERSION}: update kaa")
    extend = getattr(module, "extend", None)
    if not callable(extend):
        raise ExtensionError(f"Extension {path} defines no function extend(kaa)")
    loaded: Extension = extend
    return loaded
