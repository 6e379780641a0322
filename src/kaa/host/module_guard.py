"""Keeps kaa's own process from executing modules that commands of the model can write.

An extension can look for modules wherever it likes, such as beside its folder in the project. Its own code is protected
from commands while it is loaded; what lies beside it is not, and would run outside the sandbox.
"""

import os
import sys
from collections.abc import Iterable

from kaa.host.code import executed
from kaa.host.known_projects import in_known_project
from kaa.host.paths import is_below
from kaa.host.programs import commands_can_write

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
    elif event == "import":  # the file of a compiled module; None for others, which come as `exec`
        file = arguments[1]
    else:
        return
    if not isinstance(file, str) or file.startswith("<") or not file:
        return
    real = os.path.realpath(file)
    if is_below(real, _protected):
        return
    if commands_can_write(real) or in_known_project(real, os.environ, "") is not None:
        raise WritableModuleError(
            f"{real} is not executed: it is not in the folder of the extension, and commands of the model can write it."
            " Move it into that folder, or to a place outside of projects",
            path=real,
        )
