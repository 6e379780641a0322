"""Which changes of a sandbox are refused while it runs, and what its guard has to watch after one.

Who may write a directory may replace what is in it. So nothing is added that kaa runs from or keeps its keys in, nor a
directory that holds the whole home.
"""

import os
import sys
from collections.abc import Iterator, Mapping

import msgspec

from kaa.hands.confinement.layout import concealment
from kaa.hands.policy import Policy
from kaa.host.code import executed
from kaa.host.known_projects import planted_link
from kaa.host.paths import exchangeable, is_below, trail
from kaa.workspace.sandbox.options import SandboxChange, SandboxOptions

# Of the system: devices, the kernel's files, sockets of other programs; its programs and configuration.
_OF_THE_SYSTEM = ("/dev", "/proc", "/run", "/sys", "/var/run", "/boot", "/etc", "/usr")
_TOO_MUCH_ALONE = ("/opt", "/srv", "/tmp", "/var", "/var/tmp")  # noqa: S108 - a directory in one may be meant


class SandboxChangeError(PermissionError):
    """The sandbox cannot be changed so. The message says why and what to do."""


def check_change(
    change: SandboxChange,
    real: SandboxChange,
    options: SandboxOptions,
    policy: Policy,
    *,
    home: str,
    kept: tuple[str, ...],
    environ: Mapping[str, str],
) -> None:
    """Refuse what would undo the sandbox.

    Args:
        change: to be made, as the user named its paths.
        real: the same with real paths.
        kept: directories of kaa's for temporary files and caches.

    Raises:
        SandboxChangeError: with the reason.
    """
    if policy.tier == "none":
        reason = "--sandbox full-access is in force" if policy.mode == "full-access" else "this machine has no sandbox"
        raise SandboxChangeError(f"the sandbox cannot be changed: {reason} (`kaa doctor` says more)")
    private = tuple(map(os.path.realpath, (*options.private, *kept)))
    changeable = tuple(map(os.path.realpath, (*policy.writable, *policy.writes)))
    named = zip((*change.writable, *change.shown), (*real.writable, *real.shown), strict=True)
    for path, place in named:
        *links, target = trail(os.path.abspath(path))
        if any(is_below(link, changeable) for link in links) or planted_link(links, target, environ):
            raise SandboxChangeError(
                f"cannot add {path}: a link in a directory that commands can write leads to it. Give the path it"
                f" leads to, {place}."
            )
        if is_below(os.path.realpath(home), [place]):
            raise SandboxChangeError(f"cannot add {path}: it contains your home directory. Choose a directory in it.")
        if is_below(place, private) or any(is_below(own, [place]) for own in private):
            raise SandboxChangeError(f"cannot add {path}: kaa keeps its own files there.")
    hidden, _ = concealment(policy) if change.writable else ((), ())
    for path, place in zip(change.writable, real.writable, strict=True):
        _check_directory(path, place, options, hidden)


def check_proposal(change: SandboxChange, policy: Policy, programs: str, home: str) -> None:
    """Refuse what a model may not propose, although the user may choose it.

    Args:
        change: proposed, with real paths.

    Raises:
        SandboxChangeError: with the reason.
    """
    hidden, _ = concealment(policy)
    for path in (*change.shown, *change.writable):
        if is_below(path, hidden) or any(is_below(secret, [path]) for secret in hidden):
            raise SandboxChangeError(
                f"{path} is never granted on request: it holds secrets. The user can name it in sandbox.hidden or with"
                " --add-dir."
            )
    entries = [os.path.realpath(entry) for entry in programs.split(os.pathsep) if entry]
    # Where shells find programs from the next login on, and Python packages of the user.
    entries += [os.path.join(os.path.realpath(home), place) for place in ("bin", ".local/bin", ".local/lib")]
    for path in change.writable:
        if is_below(path, entries) or any(is_below(entry, [path]) for entry in entries):
            raise SandboxChangeError(f"{path} is never granted on request: the user runs programs from it (PATH, pip).")


def _check_directory(path: str, real: str, options: SandboxOptions, hidden: tuple[str, ...]) -> None:
    if not os.path.isdir(real):
        raise SandboxChangeError(f"cannot add {path}: it is not a directory.")
    if is_below(real, _OF_THE_SYSTEM) or real in _TOO_MUCH_ALONE:
        raise SandboxChangeError(f"cannot add {path}: it holds files of the system or of other programs.")
    if is_below(real, map(os.path.realpath, (*_libraries(), *options.loaded))) or _has_loaded_code(real):
        raise SandboxChangeError(f"cannot add {path}: kaa executes files in it.")
    top, git, _ = f"{real}/".partition("/.git/")
    if git:
        raise SandboxChangeError(f"cannot add {path}: git executes files in it. Add the repository, {top}.")
    held = [one for one in map(os.path.realpath, options.own) if is_below(one, [real])]
    for loaded in (*options.loaded, *options.own):
        if (link := exchangeable(loaded, lambda one: is_below(one, [real]) and not is_below(one, held))) is not None:
            raise SandboxChangeError(f"cannot add {path}: a link in it, {link}, leads to {loaded}, which kaa obeys.")
    if is_below(real, hidden):
        raise SandboxChangeError(
            f"cannot add {path}: it is hidden because it may hold secrets. Start kaa with --add-dir to add it."
        )


def _libraries() -> Iterator[str]:
    """Where kaa is installed. Other directories for modules (PYTHONPATH) may hold anything else too."""
    return (path for path in executed() if path not in sys.path or path.endswith("-packages"))


def _has_loaded_code(directory: str) -> bool:
    files = (getattr(module, "__file__", None) for module in tuple(sys.modules.values()))
    return any(is_below(os.path.realpath(file), [directory]) for file in files if file)


def widest(one: SandboxOptions, other: SandboxOptions) -> SandboxOptions:
    """Options of which a guard watches everything that commands under either may write."""
    writes = "workspace-write" in (one.mode, other.mode)
    return msgspec.structs.replace(
        other,
        mode="workspace-write" if writes else other.mode,
        writable=tuple(dict.fromkeys((*one.writable, *other.writable))),
        git_writable=one.git_writable or other.git_writable,
    )
