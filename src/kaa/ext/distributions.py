"""Loads the extension of a wheel that `kaa ext install` unpacked beside what it depends on.

The folder comes last in Python's search path: a module that kaa or Python has is never replaced by one of an extension.
"""

import importlib
import os
import sys
from pathlib import Path

from kaa.ext.errors import ExtensionError
from kaa.ext.extension_api import Extension

GROUP = "kaa.extensions"
"""The group of entry points that makes a distribution an extension."""

FOLDER = ".library"
"""Where the unpacked wheels are in the folder of the extension."""


def entry_module(reference: str) -> str:
    """The text of the `__init__.py` that loads an entry point.

    Args:
        reference: `module:function`, or `module` for its function `extend`.
    """
    return (
        '"""Written by `kaa ext install`."""\n'
        "from kaa.ext.distributions import extension_of\n"
        f"extend, API_VERSION = extension_of(__file__, {reference!r})\n"
    )


def extension_of(file: str, reference: str) -> tuple[Extension, object]:
    """The `extend` function of an entry point, and the version of the API that its module needs.

    Args:
        file: the `__init__.py` beside the unpacked wheels.
        reference: as for `entry_module`.

    Raises:
        ExtensionError: the module is one of kaa's environment, or of another extension, or has no such function.
    """
    library = str(Path(os.path.abspath(file)).parent / FOLDER)
    for name, module in list(sys.modules.items()):  # of a previous version
        if _is_of(module, library):
            del sys.modules[name]
    if library not in sys.path:
        sys.path.append(library)
    importlib.invalidate_caches()
    name, _, attribute = reference.partition(":")
    module = importlib.import_module(name.strip())
    if not _is_of(module, library):
        raise ExtensionError(
            f"Extension {Path(library).parent}: its module {name} is not loaded, because {module.__file__} has the same"
            " name and comes first"
        )
    extend = getattr(module, attribute.partition("[")[0].strip() or "extend", None)
    if not callable(extend):
        raise ExtensionError(f"Extension {Path(library).parent}: {reference} is not a function")
    return extend, getattr(module, "API_VERSION", 1)


def _is_of(module: object, library: str) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and file.startswith(f"{library}/")
