"""Hides directories from programs that have all other rights of the user."""

import os
import os.path
import sys
from collections.abc import Iterable

from kaa.host.paths import is_below

_SCRIPT = os.path.join(os.path.dirname(os.path.dirname(__file__)), "hands", "hiding.py")


def hidden_from_program(directories: Iterable[str]) -> tuple[str, ...]:
    """The words before those of a program that make it see directories as empty, however it names them.

    Where the kernel permits no namespaces, it cannot read or execute files there. Where it has no Landlock, either, the
    program fails and says so.

    Args:
        directories: real paths; those that do not exist are left out.
    """
    real = sorted(set(directories))
    tops = [one for one in real if not any(is_below(one, (other,)) for other in real if other != one)]
    return (sys.executable, "-I", "-S", "-X", "utf8", _SCRIPT, str(len(tops)), *tops)
