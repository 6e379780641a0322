"""kaa's own actions, laid over by the user's `keybindings.json`. *Stage 1*: loaded before the first frame."""

import os
from collections.abc import Collection, Sequence

from kaa.shell.user_file import UserFileError, read_json
from kaa.tui.key_notation import show_key
from kaa.tui.keybinding_file import Bindings, resolve
from kaa.tui.keybindings import PROMPT, TOOLKIT, TOOLKIT_RENAMED, TREE, Action, ActionGroup, action

_FILE = "keybindings.json"

_MODELS = "models"
_SESSIONS = "sessions"
_AGENTS = "agents"

_WORKING = ActionGroup(
    "Working with the agent",
    frozenset({PROMPT}),
    (
        action(
            "app.interrupt",
            "escape",
            "Stop the agent; twice with an empty editor: go back to an earlier message",
        ),
        action("app.message.followUp", "alt+enter", "Send when the agent is done"),
        action("app.message.dequeue", "alt+up", "Take back queued messages"),
        action("app.mode.cycle", "shift+tab", "Cycle what tools can do: plan, ask, auto"),
        action("app.thinking.cycle", "alt+l", "Cycle the thinking level"),
        action("app.model.select", "ctrl+l", "Select the model"),
        action("app.model.cycleForward", "ctrl+p", "Switch to the next model"),
        action("app.model.cycleBackward", "ctrl+shift+p", "Switch to the previous model"),
        action("app.network.toggle", "alt+n", "Toggle network access of commands"),
        action("app.editor.external", "ctrl+g", "Open the text in your own editor"),
        action("app.clipboard.pasteImage", "ctrl+v", "Paste an image"),
        action("app.rewind", "", "Go back to an earlier message"),
    ),
)

_LOOKING = ActionGroup(
    "Looking",
    frozenset({PROMPT}),
    (
        action("app.help", "f1", "Show this help"),
        action("app.tools.expand", "ctrl+o", "Expand or collapse tool output"),
        action("app.thinking.toggle", "ctrl+t", "Show or hide thinking"),
        action("app.transcript", "f2 alt+t", "Open the transcript"),
        action("app.agents", "f4 alt+g", "Show the agents of the conversation"),
        action("app.fullscreen", "f3", "Toggle full-screen mode"),
        action("app.message.copy", "ctrl+x", "Copy the last answer"),
        action("app.settings", "", "Change the settings"),
        action("app.clear", "ctrl+c", "Clear the editor; if it is empty, stop the run; twice: leave"),
        action("app.exit", "ctrl+d", "Leave, if the editor is empty"),
        action("app.suspend", "ctrl+z", "Suspend"),
    ),
)

_SCOPED_MODELS = ActionGroup(
    "In the list of models to cycle through",
    frozenset({_MODELS}),
    (
        action("app.models.toggle", "space", "Add or remove the model"),
        action("app.models.reorderUp", "alt+up", "Move it up"),
        action("app.models.reorderDown", "alt+down", "Move it down"),
        action("app.models.enableAll", "ctrl+a", "Add all"),
        action("app.models.clearAll", "ctrl+x", "Remove all"),
        action("app.models.toggleProvider", "ctrl+p", "Add or remove all models of its provider"),
        action("app.models.save", "ctrl+s", "Save the choice in the settings"),
    ),
)

_SESSION_LIST = ActionGroup(
    "In the list of sessions",
    frozenset({_SESSIONS}),
    (
        action("app.session.toggleScope", "tab", "Switch between this directory and all directories"),
        action("app.session.search", "ctrl+f", "Search their text"),
        action("app.session.toggleSort", "ctrl+s", "Change the order"),
        action("app.session.toggleNamedFilter", "ctrl+n", "Toggle: only named sessions"),
        action("app.session.togglePath", "ctrl+p", "Toggle paths"),
        action("app.session.rename", "ctrl+r", "Rename"),
        action("app.session.delete", "ctrl+d", "Move to the trash"),
        action("app.session.deleteNoninvasive", "ctrl+backspace", "Move to the trash, if no filter is typed"),
    ),
)

_SESSIONS_FROM_PROMPT = ActionGroup(
    "Sessions",
    frozenset({PROMPT}),
    (
        action("app.session.resume", "", "Resume another session"),
        action("app.session.tree", "", "Open the session tree, to continue from any point"),
        action("app.session.fork", "", "Fork the session before one of your messages"),
        action("app.session.new", "", "Start a new session"),
        action("app.undo", "alt+u", "Undo the last message and its changes to files"),
        action("app.redo", "alt+r", "Redo"),
    ),
)

_TREES = ActionGroup(
    "In trees",
    frozenset({TREE}),
    (
        action("app.tree.foldOrUp", "ctrl+left alt+left", "Fold, or go up"),
        action("app.tree.unfoldOrDown", "ctrl+right alt+right", "Unfold, or go down"),
        action("app.tree.editLabel", "shift+l", "Change the label"),
        action("app.tree.toggleLabelTimestamp", "shift+t", "Toggle label times"),
        action("app.tree.filter.default", "ctrl+d", "Show the default entries"),
        action("app.tree.filter.noTools", "ctrl+t", "Hide tools"),
        action("app.tree.filter.userOnly", "ctrl+u", "Show your messages only"),
        action("app.tree.filter.labeledOnly", "ctrl+l", "Show labelled entries only"),
        action("app.tree.filter.all", "ctrl+a", "Show everything"),
        action("app.tree.filter.cycleForward", "ctrl+o", "Next filter"),
        action("app.tree.filter.cycleBackward", "ctrl+shift+o", "Previous filter"),
    ),
)

_AGENTS_TREE = ActionGroup(
    "In the tree of agents",
    frozenset({_AGENTS}),
    (
        action("app.agents.steer", "s", "Tell the agent something"),
        action("app.agents.stop", "x", "Stop the agent"),
    ),
)

# All there are, in the order of the help.
GROUPS = (_WORKING, _LOOKING, _SESSIONS_FROM_PROMPT, *TOOLKIT, _SESSION_LIST, _TREES, _AGENTS_TREE, _SCOPED_MODELS)

# Names that early versions of pi had for these actions (pi 0.74 reads 59 such names, with those of the toolkit).
_RENAMED = TOOLKIT_RENAMED | {
    "interrupt": "app.interrupt",
    "clear": "app.clear",
    "exit": "app.exit",
    "suspend": "app.suspend",
    "cycleThinkingLevel": "app.thinking.cycle",
    "cycleModelForward": "app.model.cycleForward",
    "cycleModelBackward": "app.model.cycleBackward",
    "selectModel": "app.model.select",
    "expandTools": "app.tools.expand",
    "toggleThinking": "app.thinking.toggle",
    "toggleSessionNamedFilter": "app.session.toggleNamedFilter",
    "externalEditor": "app.editor.external",
    "followUp": "app.message.followUp",
    "dequeue": "app.message.dequeue",
    "pasteImage": "app.clipboard.pasteImage",
    "newSession": "app.session.new",
    "tree": "app.session.tree",
    "fork": "app.session.fork",
    "resume": "app.session.resume",
    "treeFoldOrUp": "app.tree.foldOrUp",
    "treeUnfoldOrDown": "app.tree.unfoldOrDown",
    "treeEditLabel": "app.tree.editLabel",
    "treeToggleLabelTimestamp": "app.tree.toggleLabelTimestamp",
    "toggleSessionPath": "app.session.togglePath",
    "toggleSessionSort": "app.session.toggleSort",
    "renameSession": "app.session.rename",
    "deleteSession": "app.session.delete",
    "deleteSessionNoninvasive": "app.session.deleteNoninvasive",
}


# Slash commands of the conversation can have keys, under their names: `ext.todo` is `/todo`.
_COMMANDS = "ext."


def command_action(name: str, key: str = "", description: str = "") -> Action:
    """The action that runs a slash command of the conversation. `key`: of an extension's."""
    return Action(_COMMANDS + name, (key,) if key else (), description)


def command_group(actions: Sequence[Action]) -> ActionGroup:
    """Those actions, for the help."""
    return ActionGroup("Extensions", frozenset({PROMPT}), tuple(actions))


def load_keybindings(folder: str, commands: Sequence[Action] = ()) -> Bindings:
    """The keys in force: kaa's, with those of extensions and of `keybindings.json` in the user's folder.

    Args:
        folder: the user's (`~/.kaa/agent`).
        commands: actions of slash commands that are known already; those of the file may become known later.
    """
    file = os.path.join(folder, _FILE)
    try:
        values = read_json(file)
    except UserFileError as error:
        found, problem = resolve(GROUPS, {}, file), f"{error}. The default keys are used."
        return _with_commands(Bindings(found.keys, (problem,)), commands, (), file)
    known = {action.id for action in commands}
    named = {id_ for id_ in values if isinstance(id_, str)} if isinstance(values, dict) else set()
    ids = [*known, *(id_ for id_ in named if id_.startswith(_COMMANDS) and id_ not in known)]
    groups = (*GROUPS, command_group([Action(id_, (), "") for id_ in ids]))
    return _with_commands(resolve(groups, {} if values is None else values, file, _RENAMED), commands, named, file)


def _with_commands(bindings: Bindings, commands: Sequence[Action], named: Collection[str], file: str) -> Bindings:
    """The bindings with the keys that extensions want, as far as the user gave no others and they are free."""
    prompt = {action.id for group in GROUPS if PROMPT in group.places for action in group.actions}
    holders = {key: id_ for id_, keys in bindings.keys.items() if id_ in prompt or id_ in named for key in keys}
    keys, problems = dict(bindings.keys), list(bindings.problems)
    for command in commands:
        if command.id in named:
            continue
        taken = next((holders[key] for key in command.keys if key in holders), None)
        if taken is None:
            keys[command.id] = command.keys
            holders |= dict.fromkeys(command.keys, command.id)
        else:
            wanted = ", ".join(map(show_key, command.keys))
            problems.append(f"{wanted} means {taken}, not {command.id}: give {command.id} another key in {file}.")
    return Bindings(keys, tuple(problems))
