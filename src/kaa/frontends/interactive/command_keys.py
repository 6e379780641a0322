"""Keys that run slash commands: those of extensions, and those that the user gave to `ext.<name>`."""

from collections.abc import Callable, Mapping, Sequence

from kaa.ext.commands import Command
from kaa.frontends.interactive.keybindings import command_action, load_keybindings
from kaa.frontends.interactive.main_view import MainView
from kaa.tui.keybindings import Action
from kaa.tui.keymap import Keymap


class CommandKeys:
    """Keeps the keymap in step with the commands of the conversation.

    Args:
        main_view: has the keymap, and what was wrong with keys at the start.

    Attributes:
        actions: those that have keys, or could have some.
    """

    def __init__(self, main_view: MainView, run: Callable[[str], None], report: Callable[[str], None]) -> None:
        self._main_view = main_view
        self._run = run
        self._report = report
        self._told = set(main_view.problems)
        self.actions: tuple[Action, ...] = ()

    @property
    def runners(self) -> Mapping[str, Callable[[], None]]:
        """What each action does, by id."""
        return {action.id: self._runner(action) for action in self.actions}

    def follow(self, commands: Sequence[Command]) -> None:
        """The conversation has these commands."""
        actions = (command_action(one.name, one.key, one.description) for one in commands)
        wanted = tuple(action for action in actions if action.keys or self._main_view.context.keymap.keys(action.id))
        if wanted != self.actions:
            self.actions = wanted
            self._load()

    def reread(self, commands: Sequence[Command]) -> None:
        """The user's file may be another one."""
        self._told.clear()
        self.actions = ()
        self._load()
        self.follow(commands)

    def _load(self) -> None:
        bindings = load_keybindings(self._main_view.folder, self.actions)
        self._main_view.context.keymap.replace(Keymap(bindings.keys))
        for problem in bindings.problems:
            if problem not in self._told:
                self._told.add(problem)
                self._report(problem)

    def _runner(self, action: Action) -> Callable[[], None]:
        return lambda: self._run("/" + action.id.partition(".")[2])
