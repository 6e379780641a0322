import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.tui.key_notation import KeyNotationError, needs_extended_keys, parse_key, show_key
from tests.support.tables import each

KEYS = [
    ("a", "a", "a"),
    ("shift+ctrl+P", "ctrl+shift+p", "Ctrl+Shift+P"),
    ("super+shift+alt+ctrl+up", "ctrl+alt+shift+super+up", "Ctrl+Alt+Shift+Super+Up"),
    ("esc", "escape", "Esc"),
    ("Return", "enter", "Enter"),
    ("pageUp", "pageup", "PageUp"),
    ("F12", "f12", "F12"),
    ("ctrl+]", "ctrl+]", "Ctrl+]"),
    ("ctrl+-", "ctrl+-", "Ctrl+-"),
    ("ctrl++", "ctrl++", "Ctrl++"),
    ("+", "+", "+"),
    (" ", "space", "Space"),
    ("ctrl + del", "ctrl+delete", "Ctrl+Delete"),
    ("cmd+k", "super+k", "Super+K"),
    ("option+ä", "alt+ä", "Alt+Ä"),
    ("?", "?", "?"),
]


@each(("text", "key", "shown"), KEYS)
def test_keys_are_read_and_shown(text: str, key: str, shown: str) -> None:
    assert parse_key(text) == key
    assert show_key(key) == shown


@each(
    ("text", "reason"),
    [
        ("", "empty"),
        ("ctrl+", "no key follows"),
        ("ctrl", "no key called 'ctrl'"),
        ("hyper+x", "'hyper' is not one of ctrl, alt, shift, super"),
        ("ctrl+ctrl+a", "ctrl twice"),
        ("f25", "no key called 'f25'"),
        ("a+b", "'a' is not one of"),
        ("\n", "empty"),
        ("ctrl+\x1b", "no key called"),
    ],
)
def test_what_is_no_key_is_told_why(text: str, reason: str) -> None:
    with pytest.raises(KeyNotationError, match=reason):
        parse_key(text)


@given(st.text(max_size=30) | st.lists(st.sampled_from(["ctrl", "SHIFT", "+", " ", "up", "x", "esc"])).map("+".join))
def test_any_text_is_a_key_or_an_error(text: str) -> None:
    try:
        key = parse_key(text)
    except KeyNotationError:
        return
    assert parse_key(key) == key
    assert show_key(key)


@each(
    ("key", "needed"),
    [
        ("ctrl+p", False),
        ("ctrl+shift+p", True),
        ("shift+p", False),
        ("alt+p", False),
        ("alt+shift+p", False),
        ("ctrl+alt+p", False),
        ("ctrl+i", True),
        ("ctrl+1", True),
        ("ctrl+-", False),
        ("ctrl++", True),
        ("shift+enter", True),
        ("alt+enter", False),
        ("shift+tab", False),
        ("ctrl+tab", True),
        ("ctrl+space", False),
        ("ctrl+backspace", True),
        ("ctrl+shift+left", False),
        ("f5", False),
        ("super+x", True),
    ],
)
def test_what_old_terminals_cannot_send(key: str, needed: bool) -> None:
    assert needs_extended_keys(key) == needed
