"""Tells whether a server may start a Python that loads compiled modules from beside their sources.

kaa gives servers a place for compiled modules that commands cannot write (`PYTHONPYCACHEPREFIX`). A Python that ignores
variables, or does not get them, loads those of `__pycache__`: whatever their sources say, these are code.
"""

import os
import re
from collections.abc import Mapping, Sequence

_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
_FLAGS = re.compile(r"-[A-Za-z]+")
# Flags of Python (`-I`, `-E`, `-sE`), whoever gets them, and ways to start a program without the variables.
_STARTS_WITHOUT = re.compile(
    rb"(?:^|[\s\"'`,\[(])-[bBdhiOPqsSuvVx]*[EI][bBdhiOPqsSuvVxEI]*(?![\w-])|PYTHONPYCACHEPREFIX|pycache_prefix"
    rb"|ignore.environment|isolated|use_environment|clearenv|reset-env|\benv\b[\s\"',]*[=:({]|\benv\b[\s\"',]+-"
    rb"|\benviron\b[\s)]*\.\s*(?:clear|pop)|\bdel\s+os\.environ|\bunset(?:env)?\b|\bexec\s+-c|\b(?:exec|spawn)[lv]p?e\b"
    rb"|posix_spawn|\bsudo\b|\bsu\s+-|systemd-run",
    re.MULTILINE,
)


def loads_compiled(text: bytes) -> bool:
    """Whether a text of code may start such a Python."""
    return _STARTS_WITHOUT.search(text) is not None


def line_loads_compiled(words: Sequence[str], variables: Mapping[str, str]) -> bool:
    """Whether a command line may start such a Python.

    Args:
        words: the command line. A Python that it starts itself gets the place by an option, if it ignores variables.
    """
    if _PYTHON.fullmatch(os.path.basename(words[0])):
        words = [word for word in words if not _FLAGS.fullmatch(word)]
    return loads_compiled(os.fsencode("\n".join((*words, *variables))))
