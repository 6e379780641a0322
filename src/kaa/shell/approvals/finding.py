"""What a simple `find` deletes: everything below some paths that has a name or a type.

Only start paths, one `-name`, one `-type`, and at the end `-delete` or an `rm` of what was found are understood.
"""

from itertools import takewhile
from typing import NamedTuple

from kaa.shell.approvals.grammar import Words
from kaa.shell.approvals.programs import program_name

_REMOVALS = frozenset({"", "-r", "-f", "-rf", "-fr"})


class Deletion(NamedTuple):
    """What is deleted.

    Attributes:
        name: wildcard pattern of the names; "" for all.
        type: `d`, `f` or "" for both.
        inner: the command that deletes; empty if find does.
    """

    starts: tuple[str, ...]
    name: str
    type: str
    inner: Words


def deletion(words: Words) -> Deletion | None:
    """What a command deletes, if it is a simple `find`."""
    known = [word for word in words if word is not None]
    if len(known) < len(words) or not known or program_name(known[0]) != "find":
        return None
    starts = tuple(takewhile(lambda word: not word.startswith(("-", "(", "!")), known[1:]))
    rest = known[1 + len(starts) :]
    tests = {"-name": "", "-type": ""}
    while len(rest) > 1 and tests.get(rest[0]) == "":
        tests[rest[0]], rest = rest[1], rest[2:]
    name, kind = tests["-name"], tests["-type"]
    if kind not in ("", "d", "f") or not {"[", "\\"}.isdisjoint(name):
        return None
    match rest:
        case ["-delete"]:
            return Deletion(starts or (".",), name, kind, ())
        case ["-exec", "rm", *options, "{}", "+" | ";"] if " ".join(one for one in options if one != "--") in _REMOVALS:
            return Deletion(starts or (".",), name, kind, ("rm", *options, "{}"))
        case _:
            return None
