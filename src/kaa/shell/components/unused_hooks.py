"""Says that the user has hooks of other agents that do not run in kaa: a guard that is off must not go unnoticed."""

from collections.abc import Callable, Sequence

from kaa.shell.components import Place
from kaa.shell.components.finding import UserTree
from kaa.shell.components.hook_files import find_hooks, hooks_of
from kaa.shell.home import Home
from kaa.shell.told_once import ToldOnce


async def tell_of_unused_hooks(places: Sequence[Place], home: Home, notify: Callable[[str], None]) -> None:
    """Tell of hooks that kaa does not use, once for each state of a file's hooks.

    Args:
        places: files of agents that the user has not asked kaa to use.
    """
    found = await find_hooks(UserTree(), places, None)
    hooks = {file: len(hooks_of(file, of_project=False).hooks) for file in found.files}
    news = ToldOnce(home, "unused-hooks").news({file.path: file.data for file, count in hooks.items() if count})
    for file in (file for file in hooks if file.path in news):
        which = "the hook" if hooks[file] == 1 else f"the {hooks[file]} hooks"
        notify(
            f"kaa does not run {which} in {file.path}. `kaa import {file.place.agent}` has kaa use this file and your"
            " others of that agent; `kaa import --list` shows them."
        )
