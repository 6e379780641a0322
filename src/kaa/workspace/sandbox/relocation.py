"""From the options of a sandbox to those of one for a copy of the project: the same rights, with the copy in its place.

A path in the project means the same path in the copy. What is hidden in the project is hidden in both.
"""

import fnmatch
import glob
import os
from collections.abc import Iterable

import msgspec

from kaa.host.paths import is_below
from kaa.workspace.sandbox.findings import Findings, Listener
from kaa.workspace.sandbox.narrowing import Beside
from kaa.workspace.sandbox.options import SandboxOptions
from kaa.workspace.sandbox.sandbox import Sandbox

_EXCEPTION = "!"


def relocated_sandbox(sandbox: Sandbox, beside: Beside, listener: Listener, project: str, copy: str) -> Sandbox:
    """Start a sandbox for a copy of the project, with the rights that another one gives in the project.

    Args:
        sandbox: the other one, whose network the new one follows.
        beside: what the new one is made of besides its options.
        project: the directory that was copied, absolute.
        copy: the directory that it was copied to, absolute.

    Raises:
        RootReplacedError: a directory of the other sandbox is not what it was.
    """
    sandbox.check_roots()
    options = relocated_options(sandbox.options, project, copy)
    options = msgspec.structs.replace(options, network=sandbox.network.state)
    relocated = Sandbox(beside.root, beside.home, options, beside.places, beside.environment)
    relocated.findings = Findings(listener)
    if options.mode != "full-access":
        sandbox.network.lead(relocated.network)
    relocated.start()
    return relocated


def relocated_options(options: SandboxOptions, project: str, copy: str) -> SandboxOptions:
    """Return the options of a sandbox that can do in a copy what `options` allow in the project, and nothing else.

    Args:
        project: the directory that was copied, absolute.
        copy: the directory that it was copied to, absolute.
    """
    return msgspec.structs.replace(
        options,
        writable=relocated_writable(options.writable, project, copy),
        hidden=relocated_hidden(options.hidden, project, copy),
        listed=(*options.listed, copy),  # also above the root: it is in the home, where not everything can be read
    )


def relocated_writable(writable: Iterable[str], project: str, copy: str) -> tuple[str, ...]:
    """Return writable directories without those that would make files of the project writable.

    A directory of the project is replaced by that of the copy, if the copy has it and no link leads to it.
    """
    project, copy = os.path.realpath(project), os.path.realpath(copy)
    found: list[str] = []
    for path in writable:
        real = os.path.realpath(path)
        if is_below(real, [project]):
            moved = os.path.normpath(os.path.join(copy, os.path.relpath(real, project)))
            found += [moved] if os.path.isdir(moved) and os.path.realpath(moved) == moved else []
        elif not is_below(project, [real]):
            found.append(path)
    return tuple(dict.fromkeys(found))


def relocated_hidden(hidden: Iterable[str], project: str, copy: str) -> tuple[str, ...]:
    """Return hidden paths, and exceptions from them, with those that they mean in the copy."""
    project, copy = os.path.realpath(project), os.path.realpath(copy)
    chosen = tuple(hidden)
    added = []
    for path in chosen:
        mark, pattern = (_EXCEPTION, path[1:]) if path.startswith(_EXCEPTION) else ("", path)
        if (rest := _below(pattern, project)) is not None:
            added.append(f"{mark}{glob.escape(copy)}{rest}")
    return tuple(dict.fromkeys((*chosen, *added)))


def hidden_by_all(*lists: Iterable[str]) -> tuple[str, ...]:
    """Return what at least one of the lists hides, with the exceptions that all of them make."""
    known = [tuple(one) for one in lists]
    exceptions = [path for path in known[0] if path.startswith(_EXCEPTION) and all(path in one for one in known)]
    return tuple(dict.fromkeys([*(path for one in known for path in one if path[:1] != _EXCEPTION), *exceptions]))


def _below(pattern: str, project: str) -> str | None:
    """Return what a pattern says of paths in a directory, with a slash in front; None if it says nothing of them."""
    parts, names = pattern.strip("/").split("/"), project.strip("/").split("/")
    if not all(fnmatch.fnmatchcase(name, part) for part, name in zip(parts, names, strict=False)):
        return None
    # A directory above the project hides all of it.
    return "".join(f"/{part}" for part in parts[len(names) :])
