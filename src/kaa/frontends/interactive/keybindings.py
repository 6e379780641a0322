"""kaa's own actions, laid over by the user's `keybindings.json`. *Stage 1*: loaded before the first frame."""

import os

from kaa.shell.user_file import UserFileError, read_json
from kaa.tui.keybinding_file import Bindings, resolve
from kaa.tui.keybindings import PROMPT, TOOLKIT, TOOLKIT_RENAMED, TREE, ActionGroup, action

_FILE = "keybindings.json"

_MODELS = "models"
_SESSIONS = "sessions"

_WORKING = ActionGroup(
    "Working with the agent",
    frozenset({PROMPT}),
    (
        action(
            "app.interrupt",
            "escape",
            "Stop the agent; twice, with nothing typed: rewind, or what doubleEscapeAction says",
        ),
        action("app.message.followUp", "alt+enter", "Send when the agent is done"),
        action("app.message.dequeue", "alt+up", "Take back the messages that wait"),
        action("app.thinking.cycle", "shift+tab", "Think more, or less again"),
        action("app.model.select", "ctrl+l", "Choose the model"),
        action("app.model.cycleForward", "ctrl+p", "Take the next model"),
        action("app.model.cycleBackward", "ctrl+shift+p", "Take the previous model"),
        action("app.network.toggle", "alt+n", "Allow commands the network, or not"),
        action("app.editor.external", "ctrl+g", "Write in your own editor"),
        action("app.clipboard.pasteImage", "ctrl+v", "Paste an image"),
        action("app.rewind", "", "Go back to an earlier message"),
    ),
)

_LOOKING = ActionGroup(
    "Looking",
    frozenset({PROMPT}),
    (
        action("app.help", "f1", "Show this help"),
        action("app.tools.expand", "ctrl+o", "Show all of what tools said, or less again"),
        action("app.thinking.toggle", "ctrl+t", "Show what the model thinks, or hide it"),
        action("app.transcript", "f2 alt+t", "Open the transcript"),
        action("app.fullscreen", "f3", "Use the full screen, or no longer"),
        action("app.message.copy", "ctrl+x", "Copy the last answer"),
        action("app.settings", "", "Change the settings"),
        action("app.clear", "ctrl+c", "Clear the editor; twice: leave"),
        action("app.exit", "ctrl+d", "Leave, with nothing typed"),
        action("app.suspend", "ctrl+z", "Suspend"),
    ),
)

_SCOPED_MODELS = ActionGroup(
    "In the list of models to cycle through",
    frozenset({_MODELS}),
    (
        action("app.models.toggle", "space", "Take the model in, or out"),
        action("app.models.reorderUp", "alt+up", "Move it up"),
        action("app.models.reorderDown", "alt+down", "Move it down"),
        action("app.models.enableAll", "ctrl+a", "Take all in"),
        action("app.models.clearAll", "ctrl+x", "Take all out"),
        action("app.models.toggleProvider", "ctrl+p", "Take all of its provider in, or out"),
        action("app.models.save", "ctrl+s", "Keep the choice in the settings"),
    ),
)

_SESSION_LIST = ActionGroup(
    "In the list of sessions",
    frozenset({_SESSIONS}),
    (
        action("app.session.toggleScope", "tab", "List those of all directories, or of this one"),
        action("app.session.search", "ctrl+f", "Search what was said in them"),
        action("app.session.toggleSort", "ctrl+s", "Sort otherwise"),
        action("app.session.toggleNamedFilter", "ctrl+n", "Show only those with a name, or all"),
        action("app.session.togglePath", "ctrl+p", "Show paths, or not"),
        action("app.session.rename", "ctrl+r", "Rename"),
        action("app.session.delete", "ctrl+d", "Move to the trash"),
        action("app.session.deleteNoninvasive", "ctrl+backspace", "Move to the trash, with nothing typed"),
    ),
)

_SESSIONS_FROM_PROMPT = ActionGroup(
    "Sessions",
    frozenset({PROMPT}),
    (
        action("app.session.resume", "", "Continue another session"),
        action("app.session.tree", "", "Show the tree of the session, and go on from anywhere in it"),
        action("app.session.fork", "", "Go on before one of your messages, in a session of its own"),
        action("app.session.new", "", "Begin a new session"),
        action("app.undo", "alt+u", "Take the last message back, and what it did to files"),
        action("app.redo", "alt+r", "Take that back"),
    ),
)

_TREES = ActionGroup(
    "In trees",
    frozenset({TREE}),
    (
        action("app.tree.foldOrUp", "ctrl+left alt+left", "Fold, or go up"),
        action("app.tree.unfoldOrDown", "ctrl+right alt+right", "Unfold, or go down"),
        action("app.tree.editLabel", "shift+l", "Change the label"),
        action("app.tree.toggleLabelTimestamp", "shift+t", "Show when labels were made, or not"),
        action("app.tree.filter.default", "ctrl+d", "Show what matters"),
        action("app.tree.filter.noTools", "ctrl+t", "Leave tools out"),
        action("app.tree.filter.userOnly", "ctrl+u", "Show your messages only"),
        action("app.tree.filter.labeledOnly", "ctrl+l", "Show what has a label only"),
        action("app.tree.filter.all", "ctrl+a", "Show everything"),
        action("app.tree.filter.cycleForward", "ctrl+o", "Filter in the next way"),
        action("app.tree.filter.cycleBackward", "ctrl+shift+o", "Filter in the previous way"),
    ),
)

# All there are, in the order of the help.
GROUPS = (_WORKING, _LOOKING, _SESSIONS_FROM_PROMPT, *TOOLKIT, _SESSION_LIST, _TREES, _SCOPED_MODELS)

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


def load_keybindings(folder: str) -> Bindings:
    """The keys in force: kaa's with those of `keybindings.json` in the user's folder (`~/.kaa/agent`)."""
    file = os.path.join(folder, _FILE)
    try:
        values = read_json(file)
    except UserFileError as error:
        defaults = resolve(GROUPS, {}, file)
        return Bindings(defaults.keys, (f"{error}. The default keys are used.",))
    return resolve(GROUPS, {} if values is None else values, file, _RENAMED)
