"""Keeps kaa's own process from executing modules that commands of the model can write.

An extension can look for modules wherever it likes, such as beside its folder in the project. Its own code is protected
from commands while it is loaded; what lies beside it is not, and would run outside the sandbox.
"""

import os
import sys
from collections.abc import Iterable
from types import FrameType

from kaa.host.code import executed
from kaa.host.known_projects import in_known_project
from kaa.host.paths import is_below, trail
from kaa.host.programs import commands_can_write

# What they open is executed. Compiled code without source need not say from which file it is.
_LOADERS = frozenset({"_frozen_importlib_external", "zipimport", "runpy", "site"})
_COMPILED = (".pyc", ".pth")

_protected: dict[str, None] = {}


class WritableModuleError(ImportError):
    """Commands of the model can write a module that was to be executed, or could in another run."""


def refuse_writable_modules(protected: Iterable[str]) -> None:
    """From now on, refuse to execute modules that commands can write. What kaa itself is made of is none.

    Args:
        protected: files and folders of an extension that commands cannot write although they lie where they write.
    """
    if not _protected:  # before an extension changes where modules are looked for
        _protected.update(dict.fromkeys(map(os.path.realpath, executed())))
        sys.addaudithook(_judge)
    _protected.update(dict.fromkeys(map(os.path.realpath, protected)))


def _judge(event: str, arguments: tuple[object, ...]) -> None:
    """Refuse code that is about to be executed, whoever loads it and how.

    Raises:
        WritableModuleError: it is from a file that commands can write.
    """
    if event == "exec":
        file = getattr(arguments[0], "co_filename", None)
    elif event == "import":  # the file of a library as module; None for others, which come as `exec`
        file = arguments[1]
    elif event == "ctypes.dlopen":
        file = arguments[0]
    elif event == "open":
        file = arguments[0]
        is_loaded = isinstance(file, str) and (file.endswith(_COMPILED) or _is_loader(sys._getframe(1)))
        file = file if is_loaded else None
    else:
        return
    if not isinstance(file, str) or file.startswith("<") or not file:
        return
    for place in trail(os.path.join(os.getcwd(), file)):  # not normalized: `..` behind a link leads elsewhere
        if is_below(place, _protected):
            continue
        if commands_can_write(place) or in_known_project(place, os.environ, "", added=True) is not None:
            raise WritableModuleError(
                f"{place} is not executed: it is not in the folder of the extension, and commands of the model can"
                " write it. Move it into that folder, or to a place outside of projects",
                path=place,
            )


def _is_loader(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__") in _LOADERS
