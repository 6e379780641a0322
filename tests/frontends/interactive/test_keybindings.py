import json
import re
from itertools import combinations
from pathlib import Path

from kaa.frontends.interactive import keybindings
from kaa.frontends.interactive.keybindings import GROUPS, load_keybindings
from kaa.tui.events import Key
from kaa.tui.key_notation import needs_extended_keys, parse_key
from kaa.tui.keybindings import Action, ActionGroup
from kaa.tui.keymap import Keymap

ACTIONS = {action.id: action for group in GROUPS for action in group.actions}

# Pi 0.74: every id with its default keys, in its notation.
PI = {
    "tui.editor.cursorUp": "up",
    "tui.editor.cursorDown": "down",
    "tui.editor.cursorLeft": "left ctrl+b",
    "tui.editor.cursorRight": "right ctrl+f",
    "tui.editor.cursorWordLeft": "alt+left ctrl+left alt+b",
    "tui.editor.cursorWordRight": "alt+right ctrl+right alt+f",
    "tui.editor.cursorLineStart": "home ctrl+a",
    "tui.editor.cursorLineEnd": "end ctrl+e",
    "tui.editor.jumpForward": "ctrl+]",
    "tui.editor.jumpBackward": "ctrl+alt+]",
    "tui.editor.pageUp": "pageUp",
    "tui.editor.pageDown": "pageDown",
    "tui.editor.deleteCharBackward": "backspace",
    "tui.editor.deleteCharForward": "delete ctrl+d",
    "tui.editor.deleteWordBackward": "ctrl+w alt+backspace",
    "tui.editor.deleteWordForward": "alt+d alt+delete",
    "tui.editor.deleteToLineStart": "ctrl+u",
    "tui.editor.deleteToLineEnd": "ctrl+k",
    "tui.editor.yank": "ctrl+y",
    "tui.editor.yankPop": "alt+y",
    "tui.editor.undo": "ctrl+-",
    "tui.input.newLine": "shift+enter",
    "tui.input.submit": "enter",
    "tui.input.tab": "tab",
    "tui.input.copy": "ctrl+c",
    "tui.select.up": "up",
    "tui.select.down": "down",
    "tui.select.pageUp": "pageUp",
    "tui.select.pageDown": "pageDown",
    "tui.select.confirm": "enter",
    "tui.select.cancel": "escape ctrl+c",
    "app.interrupt": "escape",
    "app.clear": "ctrl+c",
    "app.exit": "ctrl+d",
    "app.suspend": "ctrl+z",
    "app.editor.external": "ctrl+g",
    "app.clipboard.pasteImage": "ctrl+v",
    "app.thinking.toggle": "ctrl+t",
    "app.model.select": "ctrl+l",
    "app.model.cycleForward": "ctrl+p",
    "app.model.cycleBackward": "shift+ctrl+p",
    "app.tools.expand": "ctrl+o",
    "app.message.followUp": "alt+enter",
    "app.message.dequeue": "alt+up",
    "app.session.new": "",
    "app.session.tree": "",
    "app.session.fork": "",
    "app.session.resume": "",
    "app.session.togglePath": "ctrl+p",
    "app.session.toggleSort": "ctrl+s",
    "app.session.toggleNamedFilter": "ctrl+n",
    "app.session.rename": "ctrl+r",
    "app.session.delete": "ctrl+d",
    "app.session.deleteNoninvasive": "ctrl+backspace",
    "app.models.save": "ctrl+s",
    "app.models.enableAll": "ctrl+a",
    "app.models.clearAll": "ctrl+x",
    "app.models.toggleProvider": "ctrl+p",
    "app.models.reorderUp": "alt+up",
    "app.models.reorderDown": "alt+down",
    "app.tree.foldOrUp": "ctrl+left alt+left",
    "app.tree.unfoldOrDown": "ctrl+right alt+right",
    "app.tree.editLabel": "shift+l",
    "app.tree.toggleLabelTimestamp": "shift+t",
    "app.tree.filter.default": "ctrl+d",
    "app.tree.filter.noTools": "ctrl+t",
    "app.tree.filter.userOnly": "ctrl+u",
    "app.tree.filter.labeledOnly": "ctrl+l",
    "app.tree.filter.all": "ctrl+a",
    "app.tree.filter.cycleForward": "ctrl+o",
    "app.tree.filter.cycleBackward": "shift+ctrl+o",
}


def test_pi_s_keys_do_here_what_they_do_there() -> None:
    for id_, keys in PI.items():
        assert {parse_key(key) for key in keys.split()} <= set(ACTIONS[id_].keys), id_


def overlaps(one: ActionGroup, other: ActionGroup) -> set[tuple[str, str, str]]:
    pairs = combinations(one.actions, 2) if one is other else ((a, b) for a in one.actions for b in other.actions)
    return {shared(a, b, key) for a, b in pairs for key in set(a.keys) & set(b.keys)}


def shared(one: Action, other: Action, key: str) -> tuple[str, str, str]:
    first, second = sorted((one.id, other.id))
    return key, first, second


def test_only_keys_that_depend_on_the_situation_have_two_meanings_by_default() -> None:
    found: set[tuple[str, str, str]] = set()
    for index, group in enumerate(GROUPS):
        for other in GROUPS[index:]:
            if group.places & other.places:
                found |= overlaps(group, other)

    assert found == {
        ("ctrl+c", "app.clear", "tui.input.copy"),
        ("ctrl+d", "app.exit", "tui.editor.deleteCharForward"),
        ("ctrl+x", "app.message.copy", "tui.input.cut"),
    }


def test_every_action_of_the_help_has_a_key_that_every_terminal_sends_or_none_at_all() -> None:
    lost = {
        action.id
        for group in GROUPS
        for action in group.actions
        if action.keys and all(map(needs_extended_keys, action.keys))
    }

    # Pi's keys. Others do it too: /model, going through the filters forwards, Ctrl+D.
    assert lost == {"app.model.cycleBackward", "app.tree.filter.cycleBackward", "app.session.deleteNoninvasive"}


def test_no_file_means_the_defaults(tmp_path: Path) -> None:
    keys, problems = load_keybindings(str(tmp_path))

    assert keys == {id_: action.keys for id_, action in ACTIONS.items()}
    assert not problems


def test_the_user_s_file(tmp_path: Path) -> None:
    (tmp_path / "keybindings.json").write_text('// mine\n{"app.help": "shift+ctrl+H", "selectModel": [],}')

    keys, problems = load_keybindings(str(tmp_path))

    assert not problems
    keymap = Keymap(keys)
    assert keymap.matches(Key("ctrl+shift+h"), "app.help")
    assert not keymap.matches(Key("f1"), "app.help")
    assert keymap.keys("app.model.select") == ()


def test_a_file_of_pi_is_read_without_complaints(tmp_path: Path) -> None:
    file = {id_: keys.split() for id_, keys in PI.items()}
    (tmp_path / "keybindings.json").write_text(json.dumps(file))

    assert not load_keybindings(str(tmp_path)).problems


def test_a_file_from_before_pi_named_its_actions_anew(tmp_path: Path) -> None:
    old = {
        "cursorUp": "alt+k",
        "expandTools": "f9",
        "deleteSessionNoninvasive": "f8",
        "treeFoldOrUp": "f7",
        "tab": "f6",
    }
    (tmp_path / "keybindings.json").write_text(json.dumps(old))

    keys, problems = load_keybindings(str(tmp_path))

    assert not problems
    assert keys["tui.editor.cursorUp"] == ("alt+k",)
    assert keys["app.tools.expand"] == ("f9",)
    assert keys["app.session.deleteNoninvasive"] == ("f8",)
    assert keys["app.tree.foldOrUp"] == ("f7",)
    assert keys["tui.input.tab"] == ("f6",)


def test_a_broken_file_is_told_and_the_defaults_are_in_force(tmp_path: Path) -> None:
    (tmp_path / "keybindings.json").write_text('{"app.help": ')

    keys, problems = load_keybindings(str(tmp_path))

    assert keys["app.help"] == ("f1",)
    assert len(problems) == 1
    assert "keybindings.json is not JSON" in problems[0]


def test_every_action_that_the_code_asks_for_can_be_bound() -> None:
    source = Path(keybindings.__file__).parents[2]
    asked = {
        id_
        for folder in ("tui", "frontends")
        for file in (source / folder).rglob("*.py")
        for id_ in re.findall(r'"((?:tui|app)\.\w+\.?\w+(?:\.\w+)?)"', file.read_text(encoding="utf-8"))
    }

    assert len(asked) > 50
    assert asked <= set(ACTIONS)
