"""Extensions in distributions: those of kaa's environment, and those of wheels that `kaa ext install` unpacked.

The folder of unpacked wheels comes last in Python's search path: a module that kaa or Python has is never replaced by
one of an extension.
"""

import importlib
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from kaa.ext.errors import ExtensionError
from kaa.ext.extension_api import Extension

GROUP = "kaa.extensions"
"""The group of entry points that makes a distribution an extension."""

FOLDER = ".library"
"""Where the unpacked wheels are in the folder of the extension."""


# PyPA specification "Entry points": lines `name = module:object` in sections, in a file of the `.dist-info` folder.
_SECTION = re.compile(rf"^\s*\[{re.escape(GROUP)}\]\s*$(.*?)(?=^\s*\[|\Z)", re.MULTILINE | re.DOTALL)
_MODULE = re.compile(r"^[^#;=\n]+=\s*([\w.]+)", re.MULTILINE)


def beside_kaa() -> list[Path]:
    """The extensions of distributions that pip or uv installed in kaa's environment, sorted by module.

    Reads a small file of each distribution: `importlib.metadata` takes many times as long.
    """
    return sorted({path for folder in map(Path, sys.path) if _is_environment(folder) for path in _modules_in(folder)})


def _is_environment(folder: Path) -> bool:
    return folder.name in ("site-packages", "dist-packages")


def _modules_in(folder: Path) -> Iterator[Path]:
    for text in _entry_points(folder):
        for section in _SECTION.findall(text):
            for module in _MODULE.findall(section):
                place = folder.joinpath(*module.split("."))
                yield from (path for path in (place, place.with_suffix(".py")) if path.exists())


def _entry_points(folder: Path) -> Iterator[str]:
    """The texts of a folder's files of entry points that may have our group. Most distributions have none."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if name.endswith(".dist-info"):
            with suppress(OSError, UnicodeDecodeError):  # one that is being installed, or damaged
                with open(f"{folder}/{name}/entry_points.txt", "rb") as file:
                    content = file.read()
                if GROUP.encode() in content:
                    yield content.decode("utf-8")


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
