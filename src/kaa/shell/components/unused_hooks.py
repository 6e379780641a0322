"""Says that the user has hooks of other agents that do not run in kaa: a guard that is off must not go unnoticed."""

import hashlib
from collections.abc import Callable, Iterable, Sequence

import msgspec

from kaa.host.log import LOG
from kaa.host.private_file import PrivateFile, PrivateFileError
from kaa.shell.components import FoundFile, Place
from kaa.shell.components.finding import UserTree
from kaa.shell.components.hook_files import find_hooks, hooks_of
from kaa.shell.home import Home


async def tell_of_unused_hooks(places: Sequence[Place], home: Home, notify: Callable[[str], None]) -> None:
    """Tell of hooks that kaa does not use, once for each state of a file's hooks.

    Args:
        places: files of agents that the user has not asked kaa to use.
        home: keeps what was told.
        notify: told, in a line for each file.
    """
    found = await find_hooks(UserTree(), places, None)
    hooks = {file: len(hooks_of(file, of_project=False).hooks) for file in found.files}
    told = _Told(home)
    for file in told.news(file for file, count in hooks.items() if count):
        which = "the hook" if hooks[file] == 1 else f"the {hooks[file]} hooks"
        notify(
            f"kaa does not run {which} in {file.path}. `kaa import {file.place.agent}` has kaa use this file and your"
            " others of that agent; `kaa import --list` shows them."
        )


class _Told:
    """The files that the user was told of, in the state in which they were.

    Args:
        home: has the cache, which may be removed at any time: then they are told again.
    """

    def __init__(self, home: Home) -> None:
        self._file = PrivateFile(home.cache / "unused-hooks.json")

    def news(self, files: Iterable[FoundFile]) -> list[FoundFile]:
        """Return the files that are as nobody was told, and keep that the user is told of them."""
        states = {file.path: (hashlib.sha256(file.data).hexdigest(), file) for file in files}
        try:
            known = msgspec.json.decode(self._file.read() or b"{}", type=dict[str, str])
            news = [file for path, (state, file) in states.items() if known.get(path) != state]
            if news:
                with self._file.rewriting():
                    self._file.replace(
                        msgspec.json.encode(known | {path: state for path, (state, _) in states.items()})
                    )
        except (PrivateFileError, msgspec.DecodeError) as error:
            LOG.info("components: cannot note the reported unused hooks: %s", error)
            return []
        return news
