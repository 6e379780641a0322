"""Keeps what kaa's own process has in memory, keys above all, out of files and from other programs of the user."""

import os
import sys
from collections.abc import Mapping

_PR_SET_DUMPABLE = 4  # linux/prctl.h
_RTLD_NOW = 2

# What an interpreter loads code from or keeps compiled code in.
_OF_PYTHON = ("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONPYCACHEPREFIX")


def forbid_dumps() -> None:
    """Leave no core file when this process crashes, and let no process of the user trace it or read its memory.

    Programs that it starts can be traced as usual. They inherit the limit for core files, which they can raise again.
    """
    import resource  # lazy, as below: not for `kaa --version`

    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    if sys.platform == "linux":
        # `ctypes` takes ten times as long to import as what it is made of.
        import _ctypes

        program = _ctypes.dlopen(None, _RTLD_NOW)  # type: ignore[arg-type]  # None: what is loaded, as for ctypes.CDLL
        prctl = _ctypes.dlsym(program, "prctl")
        _ctypes.call_function(prctl, (_PR_SET_DUMPABLE, 0, 0, 0, 0))


def unsafe_variables(environ: Mapping[str, str]) -> str:
    """Why Python executes files of the current directory before kaa can prevent it; empty if it does not.

    An empty or relative entry means the directory that kaa is started in. Python executes a `sitecustomize.py` there.
    """
    for name in _OF_PYTHON if not sys.flags.ignore_environment else ():
        value = environ.get(name, "")
        entries = value.split(os.pathsep) if name in ("PYTHONPATH", "PYTHONHOME") else [value]
        if value and not all(map(os.path.isabs, entries)):
            return (
                f"{name} is {value!r}: an empty or relative entry makes Python load code from the directory that kaa is"
                f" started in, before kaa can prevent it. Use absolute paths only, or start kaa with: env -u {name} kaa"
            )
    return ""
