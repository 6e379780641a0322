"""What can be bound to keys: actions with the keys they have unless the user says otherwise.

Actions are in groups by where they are listened to. A program adds groups of its own to those of the toolkit
(`TOOLKIT`), and `keybinding_file` lays a user's file over them all. Ids and keys are pi's where pi has the action.
*Stage 1*: loaded before the first frame.
"""

from typing import NamedTuple


class Action(NamedTuple):
    """Something that keys do.

    Attributes:
        id: such as `tui.editor.undo`.
        keys: those it has by default, as `Key.id` names them.
        description: what it does, as a short imperative sentence without a full stop.
    """

    id: str
    keys: tuple[str, ...]
    description: str


class ActionGroup(NamedTuple):
    """Actions that belong together.

    Attributes:
        title: for the help.
        places: where these actions are listened to. A key can do only one thing in a place, unless the defaults say
            otherwise (Ctrl+C copies what is selected and else clears).
        actions: in the order of the help.
    """

    title: str
    places: frozenset[str]
    actions: tuple[Action, ...]


# Places.
PROMPT = "prompt"  # the editor and what surrounds it
LIST = "list"  # a list to choose from; trees and the others below are lists with keys of their own
TREE = "tree"
VIEW = "view"  # a document on the alternate screen


def action(id: str, keys: str, description: str) -> Action:  # noqa: A002 (what it is called)
    """An action, its keys separated by blanks."""
    return Action(id, tuple(keys.split()), description)


_MOVING = ActionGroup(
    "Moving",
    frozenset({PROMPT}),
    (
        action("tui.editor.cursorUp", "up", "Move up; on the first line, to the previous prompt of the history"),
        action("tui.editor.cursorDown", "down", "Move down; on the last line, to the next prompt of the history"),
        action("tui.editor.cursorLeft", "left ctrl+b", "Move left"),
        action("tui.editor.cursorRight", "right ctrl+f", "Move right"),
        action("tui.editor.cursorWordLeft", "alt+left ctrl+left alt+b", "Move a word to the left"),
        action("tui.editor.cursorWordRight", "alt+right ctrl+right alt+f", "Move a word to the right"),
        action("tui.editor.cursorLineStart", "home ctrl+a", "Move to the start of the line"),
        action("tui.editor.cursorLineEnd", "end ctrl+e", "Move to the end of the line"),
        action("tui.editor.cursorStart", "ctrl+home", "Move to the start of the text"),
        action("tui.editor.cursorEnd", "ctrl+end", "Move to the end of the text"),
        action("tui.editor.pageUp", "pageup", "Move a page up"),
        action("tui.editor.pageDown", "pagedown", "Move a page down"),
        action("tui.editor.jumpForward", "ctrl+]", "Jump to the next place of the character typed then"),
        action("tui.editor.jumpBackward", "ctrl+alt+]", "Jump to the last place of the character typed then"),
    ),
)

_EDITING = ActionGroup(
    "Editing",
    frozenset({PROMPT}),
    (
        action("tui.input.newLine", "shift+enter ctrl+j", "Start a new line"),
        action("tui.input.tab", "tab", "Complete"),
        action("tui.editor.deleteCharBackward", "backspace", "Delete the character before"),
        action("tui.editor.deleteCharForward", "delete ctrl+d", "Delete the character after"),
        action("tui.editor.deleteWordBackward", "ctrl+w alt+backspace ctrl+backspace", "Delete the word before"),
        action("tui.editor.deleteWordForward", "alt+d alt+delete ctrl+delete", "Delete the word after"),
        action("tui.editor.deleteToLineStart", "ctrl+u", "Delete to the start of the line"),
        action("tui.editor.deleteToLineEnd", "ctrl+k", "Delete to the end of the line"),
        action("tui.editor.yank", "ctrl+y", "Insert what was deleted last"),
        action("tui.editor.yankPop", "alt+y", "Insert what was deleted before that instead"),
        action("tui.editor.undo", "ctrl+-", "Undo"),
        # Ctrl+Shift+- is the same byte as Ctrl+- on many terminals; Alt+/ is what fish has for it.
        action("tui.editor.redo", "alt+/ ctrl+shift+z", "Redo"),
        action("tui.editor.expandPaste", "alt+e", "Show the text of the paste at the cursor"),
        action("tui.editor.historyPrevious", "", "Take the previous prompt of the history"),
        action("tui.editor.historyNext", "", "Take the next prompt of the history"),
        action("tui.editor.historySearch", "ctrl+r", "Search the history"),
    ),
)

_SELECTING = ActionGroup(
    "Selecting text",
    frozenset({PROMPT}),
    (
        action("tui.editor.selectLeft", "shift+left", "Select to the left"),
        action("tui.editor.selectRight", "shift+right", "Select to the right"),
        action("tui.editor.selectUp", "shift+up", "Select upwards"),
        action("tui.editor.selectDown", "shift+down", "Select downwards"),
        action("tui.editor.selectWordLeft", "ctrl+shift+left alt+shift+left", "Select a word to the left"),
        action("tui.editor.selectWordRight", "ctrl+shift+right alt+shift+right", "Select a word to the right"),
        action("tui.editor.selectLineStart", "shift+home", "Select to the start of the line"),
        action("tui.editor.selectLineEnd", "shift+end", "Select to the end of the line"),
        action("tui.editor.selectStart", "ctrl+shift+home", "Select to the start of the text"),
        action("tui.editor.selectEnd", "ctrl+shift+end", "Select to the end of the text"),
        action("tui.editor.selectAll", "alt+a", "Select everything"),
        action("tui.input.copy", "ctrl+c", "Copy what is selected"),
        action("tui.input.cut", "ctrl+x", "Cut what is selected"),
    ),
)

_SENDING = ActionGroup("Sending", frozenset({PROMPT}), (action("tui.input.submit", "enter", "Send"),))

_LISTS = ActionGroup(
    "In lists",
    frozenset({LIST, TREE}),
    (
        action("tui.select.up", "up", "Go up"),
        action("tui.select.down", "down", "Go down"),
        action("tui.select.pageUp", "pageup", "Go a page up"),
        action("tui.select.pageDown", "pagedown", "Go a page down"),
        action("tui.select.first", "home", "Go to the first"),
        action("tui.select.last", "end", "Go to the last"),
        action("tui.select.confirm", "enter", "Choose"),
        action("tui.select.cancel", "escape ctrl+c", "Cancel"),
    ),
)

_VIEW = ActionGroup(
    "On the full screen",
    frozenset({VIEW}),
    (
        action("tui.altScreen.lineUp", "ctrl+up", "Scroll a line up"),
        action("tui.altScreen.lineDown", "ctrl+down", "Scroll a line down"),
        action("tui.altScreen.halfPageUp", "alt+pageup", "Scroll half a page up"),
        action("tui.altScreen.halfPageDown", "alt+pagedown", "Scroll half a page down"),
        action("tui.altScreen.pageUp", "pageup ctrl+pageup", "Scroll a page up"),
        action("tui.altScreen.pageDown", "pagedown ctrl+pagedown", "Scroll a page down"),
        action("tui.altScreen.previousPrompt", "ctrl+shift+up", "Go to the previous prompt"),
        action("tui.altScreen.nextPrompt", "ctrl+shift+down", "Go to the next prompt"),
        action("tui.altScreen.top", "home ctrl+home", "Go to the beginning"),
        action("tui.altScreen.bottom", "end ctrl+end", "Go to the end"),
        action("tui.altScreen.search", "ctrl+shift+f alt+s", "Search"),
    ),
)

TOOLKIT = (_SENDING, _EDITING, _MOVING, _SELECTING, _LISTS, _VIEW)

# Names that these actions had in early versions of pi, which it still reads.
_EARLIER_EDITOR_NAMES = (
    "cursorUp cursorDown cursorLeft cursorRight cursorWordLeft cursorWordRight cursorLineStart cursorLineEnd "
    "jumpForward jumpBackward pageUp pageDown deleteCharBackward deleteCharForward deleteWordBackward "
    "deleteWordForward deleteToLineStart deleteToLineEnd yank yankPop undo"
)
TOOLKIT_RENAMED = {
    **{name: f"tui.editor.{name}" for name in _EARLIER_EDITOR_NAMES.split()},
    **{name: f"tui.input.{name}" for name in ("newLine", "submit", "tab", "copy")},
    "selectUp": "tui.select.up",
    "selectDown": "tui.select.down",
    "selectPageUp": "tui.select.pageUp",
    "selectPageDown": "tui.select.pageDown",
    "selectConfirm": "tui.select.confirm",
    "selectCancel": "tui.select.cancel",
}
