"""Programs that an installer keeps in `~/.local/share/TOOL` and links to from `~/.local/bin`, which commands see.

The tool's directory may hold its data too (histories, conversations), so no more of it is shown than has the program.
"""

import glob
import os
import stat
from collections.abc import Collection, Iterator

from kaa.hands.confinement.listing import is_below_any

_MAX_LOOKED_AT = 256  # entries; a link that leads to a program costs 30 us


def linked_programs(
    home: str, untrusted: tuple[str, ...], hidden: tuple[str, ...], listed: Collection[str]
) -> Iterator[str]:
    """Real paths of the programs, or of the directories that they need.

    Args:
        untrusted: real directories that commands may write: links in them are not the user's word.
        hidden: real paths of what stays hidden.
    """
    links = os.path.realpath(os.path.join(home, ".local", "bin"))
    share = os.path.realpath(os.path.join(home, ".local", "share"))
    if is_below_any(links, untrusted):
        return
    try:
        names = os.listdir(links)[:_MAX_LOOKED_AT]
    except OSError:  # none, as in most containers
        return
    for name in names:
        said = _link(os.path.join(links, name))
        tool, below, _ = said.removeprefix(f"{share}/").partition("/")
        if not said or (below and glob.escape(f"{home}/.local/share/{tool}") in listed):
            continue
        target = os.path.realpath(os.path.join(links, name))
        if target.startswith(f"{share}/") and not is_below_any(target, (*untrusted, *hidden)) and _is_program(target):
            yield _needed(target, share)


def _link(path: str) -> str:
    """What a link says, as an absolute path; empty if it is none."""
    try:
        return os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
    except OSError:
        return ""


def _needed(program: str, share: str) -> str:
    """The program, or the virtual environment or version that its `bin` is in: not what the tool keeps beside these."""
    folder = os.path.dirname(program)
    above = os.path.dirname(folder)
    deep = os.path.dirname(above) not in (share, os.path.dirname(share))
    return above if os.path.basename(folder) == "bin" and deep else program


def _is_program(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) and bool(mode & stat.S_IXUSR)
