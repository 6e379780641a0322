from kaa.frontends.interactive.keybindings import GROUPS
from kaa.frontends.interactive.selectors.help import HelpRow, help_markdown, help_sections, matching
from kaa.tui.keybindings import ActionGroup, action
from kaa.tui.keymap import Keymap

PLAIN = ActionGroup(
    "Plain",
    frozenset({"prompt"}),
    (
        action("a.undo", "ctrl+- ctrl+shift+z", "Undo"),
        action("a.back", "ctrl+shift+p", "Go back"),
        action("a.none", "", "Nothing"),
    ),
)
TREE = ActionGroup("Tree", frozenset({"tree"}), (action("a.fold", "f5", "Fold"),))


def keymap() -> Keymap:
    return Keymap({action.id: action.keys for group in (PLAIN, TREE) for action in group.actions})


def test_help_tells_the_bindings_in_force() -> None:
    bound = keymap()
    bound.replace(Keymap({"a.undo": ("alt+u",)}))

    first = help_sections((PLAIN, TREE), bound, ())[0]

    assert first.title == "Plain"
    assert first.rows == (HelpRow("Alt+U", "Undo"),)


def test_a_group_with_nothing_bound_is_left_out() -> None:
    assert [section.title for section in help_sections((PLAIN, TREE), Keymap({}), ())] == [
        "At the beginning of a message"
    ]


def test_old_terminals_are_told_what_they_cannot_send() -> None:
    rows = help_sections((PLAIN,), keymap(), (), extended_keys=False)[0].rows

    assert rows == (
        HelpRow("Ctrl+-", "Undo"),
        HelpRow("Ctrl+Shift+P", "Go back (this terminal cannot send it)"),
    )


def test_commands_and_prefixes_are_told() -> None:
    sections = help_sections((), Keymap({}), [("model", "Select the model")])

    assert [row.what for row in sections[0].rows] == ["/", "@", "!", "!!"]
    assert sections[1].rows == (HelpRow("/model", "Select the model", "/model "),)


def test_markdown_survives_any_character() -> None:
    text = help_markdown(help_sections((), Keymap({}), [("a`b``c", "one | two\nthree")]))

    assert text.endswith("| ``` /a`b``c ``` | one \\| two three |")


def test_the_whole_help_has_a_row_for_every_action_with_a_key() -> None:
    bound = Keymap({action.id: action.keys for group in GROUPS for action in group.actions})

    rows = [row for section in help_sections(GROUPS, bound, ()) for row in section.rows]

    assert len(rows) == 4 + sum(bool(action.keys) for group in GROUPS for action in group.actions)
    assert any("Fold" in row.does for row in rows)


def test_a_query_finds_rows_with_all_its_words() -> None:
    sections = help_sections((PLAIN, TREE), keymap(), [("model", "Select the model")])

    assert [row.what for section in matching("SELECT model", sections) for row in section.rows] == ["/model"]
    assert matching("nonsense", sections) == []
    assert matching("", sections) == sections
