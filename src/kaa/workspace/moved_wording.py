"""What kaa says of files that the guard moved away, and the shell commands that put them back."""

import os
import shlex
import sys
from collections.abc import Sequence

from kaa.workspace.blocked import Blocked, visible

# `-T`: not into a directory of that name. The mv of macOS has no such option.
# Not through a link that a command has put in its place.
_COPY = "cp -R" if sys.platform == "darwin" else "cp -rT --remove-destination"
_MOVE = "mv" if sys.platform == "darwin" else "mv -T"
_NAMED_EARLY = 4  # files, in a sentence
_NAMED_FILES = 8  # of a directory


def text(moved: Blocked) -> str:
    """For the model and the user."""
    return visible(
        f"kaa moved {moved.what} to {moved.kept_as}: {_danger(moved)}. Either a command or the user changed"
        f" it. ({way_back(moved)} puts it back, outside the sandbox.){_remark(moved)}"
    )


def notice(moved: Blocked) -> str:
    """The same for the user, where no call is to blame: the guard does not know who wrote it."""
    return visible(
        f"kaa moved {moved.what} to {moved.kept_as}: {_danger(moved)}, and a command in the sandbox may have written"
        f" it. If it is yours, restore it when no command runs (/bg lists background processes): {way_back(moved)}"
        f"{_remark(moved)}"
    )


def notice_beside(moved: Blocked) -> str:
    """The same for the user, of a call whose result they do not read, or about which they are not asked."""
    return visible(
        f"kaa moved {moved.what} to {moved.kept_as} while a command ran: {_danger(moved)}, and the command may have"
        f" written it. If it is yours, restore it when no command runs: {way_back(moved)}{_remark(moved)}"
    )


def notice_after_kill(moved: Blocked) -> str:
    """The same for the user, where kaa was killed since."""
    return visible(
        f"Before kaa was killed here, it moved {moved.what} to {moved.kept_as} while a command ran: {_danger(moved)},"
        f" and the command may have written it. If it is yours, restore it: {way_back(moved)}{_remark(moved)}"
    )


def notice_of_later(moved: Blocked) -> str:
    """What to add for a user who was told before that somebody has written in what was moved away."""
    return visible(f"kaa moved {moved.what} to {moved.kept_as} before.{_remark(moved) or f' {way_back(moved)}'}")


def way_back(moved: Blocked) -> str:
    """The shell command that puts back what was moved: commands may change what lies in the project meanwhile."""
    if moved.saved:
        return f"{_COPY} {_word(moved.saved.rstrip('/'))} {_word(moved.what)}"
    above, _, name = moved.what.rpartition("/")
    # One file of a new directory: that has been removed since, if nothing else came there.
    is_below = os.path.dirname(moved.kept_as) != above and os.path.basename(moved.kept_as) == name
    way = f"mkdir -p {_word(above)} && " if is_below and above else ""
    return f"{way}{_MOVE} {_word(moved.kept_as)} {_word(moved.what)}"


def _danger(moved: Blocked) -> str:
    """Why what was moved away does not stay, in a clause."""
    return "it makes a repository" if moved.kind == "git" else "other programs execute or obey it"


def _remark(moved: Blocked) -> str:
    """Say which files come back, and which copy may be the whole of what the user has saved in parts."""
    remark = ""
    if moved.files:
        more = len(moved.files) - _NAMED_FILES
        named = ", ".join(moved.files[:_NAMED_FILES]) + (f" and {more} more" if more > 0 else "")
        remark = f" What comes back is {named}; a command may have made some of it."
    if not moved.later:
        return remark
    return (
        f"{remark} After it was moved, somebody wrote in it: {_word(moved.later)} has that, too. It is the whole"
        " file if you saved it in parts, or what a command has made of it."
    )


def moved_early(moved: Sequence[Blocked]) -> str:
    """Say what was moved away while the command still runs that may have made it, and when the question comes."""
    names = list(dict.fromkeys(one.what.removeprefix(_here()) for one in moved))
    named = ", ".join(names[:_NAMED_EARLY])
    more = f" and {len(names) - _NAMED_EARLY} more" if len(names) > _NAMED_EARLY else ""
    return visible(
        f"While a command runs, kaa moves away what other programs execute or obey: {named}{more}. When the command"
        " ends, kaa asks whether you made this, or says how to put it back."
    )


def _here() -> str:
    """The directory of kaa, mostly the project, as the beginning of a path; empty if it is gone."""
    try:
        return f"{os.getcwd()}/"
    except OSError:
        return ""


def _word(path: str) -> str:
    """A path as a word for a shell that `visible` leaves as it is, and that means the path with all its bytes.

    Names with control characters or other bytes than UTF-8 get the quotes that bash, zsh and POSIX since 2024 know.
    """
    if path.isprintable():
        return shlex.quote(path)
    plain = {ord("'"): "\\'", ord("\\"): "\\\\"}
    return "".join(("$'", *(plain.get(one) or _shown(one) for one in os.fsencode(path)), "'"))


def _shown(byte: int) -> str:
    return chr(byte) if chr(byte).isascii() and chr(byte).isprintable() else f"\\{byte:03o}"
