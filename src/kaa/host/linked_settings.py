"""Settings of the user that commands could write, because a link leads to a project, or the file has a name there.

kaa obeys such a file only with a content that the user has seen: that it had before its place was a project, that kaa
wrote, or that the user agreed to. It is kept in kaa's own folder.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kaa.host.paths import is_below, leads_elsewhere, list_of_projects, trail

if TYPE_CHECKING:
    from kaa.host.private_file import PrivateFile

NAMES = ("settings.json", "models.json")
"""Files in kaa's folder that decide what commands may do, and where keys go."""
_SEEN = "seen-settings.json"


class Unseen(NamedTuple):
    """A file of settings that somebody has changed.

    Attributes:
        place: where commands could write it.
        before: what the user has seen; None if nothing.
    """

    path: str
    place: str
    before: str | None
    now: str

    @property
    def refusal(self) -> str:
        """Why kaa does not use it, and what to do."""
        what = "you have not seen what it says" if self.before is None else "it has changed since you last saw it"
        return (
            f"{self.path} is not used: commands could write it in {self.place}, and {what}. Run `kaa doctor` in a"
            " terminal, which shows it and asks whether it is yours, or put a copy in the place of the link"
        )


def unseen(file: str, content: bytes) -> Unseen | None:
    """What the user has to see before kaa obeys a file of its folder; None if kaa can obey it.

    Args:
        file: an absolute path, as kaa names it.
    """
    if not leads_elsewhere(file):
        return None
    text, folder = content.decode("utf-8", "replace"), os.path.dirname(file)
    if (before := _seen(folder).get(file)) == text:
        return None
    if place := written_in(file, Path(folder)):
        return Unseen(file, place, before, text)
    from kaa.host.private_file import PrivateFileError  # lazy: most files lead nowhere else

    with suppress(PrivateFileError):  # it is seen without that until it lies in a project
        note_seen(file, text)
    return None


def note_seen(file: str, text: str) -> None:
    """Keep that the user has seen what a file says.

    Args:
        file: an absolute path, as kaa names it.

    Raises:
        PrivateFileError: kaa's folder cannot be written.
    """
    folder = os.path.dirname(file)
    kept = _file(folder)
    with kept.rewriting():  # another kaa may note the other file
        kept.replace(json.dumps({**_seen(folder), file: text}).encode())


def note_written(file: str, content: bytes) -> None:
    """Keep what kaa itself has written to a file, if commands could write that, too."""
    if leads_elsewhere(file):
        from kaa.host.private_file import PrivateFileError  # lazy, as above

        with suppress(PrivateFileError):
            note_seen(file, content.decode("utf-8", "replace"))


def all_unseen(environ: Mapping[str, str]) -> list[Unseen]:
    """All such files."""
    folder = os.path.dirname(list_of_projects(environ, environ.get("HOME") or os.path.expanduser("~")))
    found: list[Unseen] = []
    for file in (os.path.join(folder, name) for name in NAMES):
        with suppress(OSError):
            if leads_elsewhere(file):
                from kaa.host.regular_files import read_regular

                one = unseen(file, read_regular(Path(file)))
                found += [one] if one is not None else []
    return found


def project_of(path: str, home: Path) -> str:
    """The project whose commands could write a file, or a link on the way to it; empty for none.

    Args:
        path: absolute, as the user or kaa names it.
        home: kaa's folder. Commands cannot write it where it lies in a project, but where it was the project itself.
    """
    from kaa.host.known_projects import in_known_project  # lazy, both: most files lead nowhere else
    from kaa.host.programs import written

    top, user = os.path.realpath(home), os.path.realpath(os.path.expanduser("~"))
    for place in trail(os.path.join(os.getcwd(), path)):  # not normalized: `..` behind a link leads elsewhere
        # The user's whole home is held file by file; kaa warns when it starts there.
        now = (one for one in written() if is_below(place, (one,)) and not is_below(user, (one,)))
        found = next(now, None) or in_known_project(place, os.environ, "", added=True)
        if found and (not is_below(place, (top,)) or is_below(found, (top,))):
            return found
    return ""


def written_in(path: str, home: Path) -> str:
    """Where commands could write a file: in a project, or by another name that it has; empty for nowhere.

    Args:
        path: absolute, as the user or kaa names it.
    """
    from kaa.host.hard_links import has_other_name  # lazy, as above

    if project := project_of(path, home):
        return project
    return f"another folder, of which {path} is a hard link" if has_other_name(path) else ""


def _file(folder: str) -> "PrivateFile":
    from kaa.host.private_file import PrivateFile  # lazy, as above

    return PrivateFile(Path(folder, _SEEN))


def _seen(folder: str) -> dict[str, str]:
    from kaa.host.private_file import PrivateFileError  # lazy, as above

    try:
        found = json.loads(_file(folder).read() or b"{}")
    except (PrivateFileError, ValueError):
        return {}
    return {name: text for name, text in found.items() if isinstance(text, str)} if isinstance(found, dict) else {}
