from hypothesis import given
from hypothesis import strategies as st

from kaa.tui.key_notation import parse_key
from kaa.tui.keybinding_file import Bindings, resolve
from kaa.tui.keybindings import TOOLKIT, TOOLKIT_RENAMED, ActionGroup, action

GROUPS = (
    ActionGroup(
        "Editor",
        frozenset({"prompt"}),
        (
            action("undo", "ctrl+-", "Undo"),
            action("copy", "ctrl+c", "Copy"),
            action("clear", "ctrl+c ctrl+l", "Clear"),
            action("left", "left ctrl+b", "Left"),
            action("new", "", "New"),
        ),
    ),
    ActionGroup("List", frozenset({"list", "tree"}), (action("cancel", "escape ctrl+c", "Cancel"),)),
    ActionGroup("Tree", frozenset({"tree"}), (action("fold", "alt+left", "Fold"),)),
)


def resolved(values: object) -> Bindings:
    return resolve(GROUPS, values, "keys.json", {"undone": "undo"})


def test_without_a_file_the_defaults_are_in_force() -> None:
    keys, problems = resolved({})

    assert keys["left"] == ("left", "ctrl+b")
    assert keys["new"] == ()
    assert not problems


def test_what_is_given_replaces_the_default() -> None:
    keys, problems = resolved({"left": "alt+H", "new": ["F5", "f5", "shift+ctrl+n"], "undo": []})

    assert (keys["left"], keys["new"], keys["undo"]) == (("alt+h",), ("f5", "ctrl+shift+n"), ())
    assert not problems


def test_earlier_names_are_read() -> None:
    assert resolved({"undone": "f1"}).keys["undo"] == ("f1",)


def test_the_present_name_goes_before_the_earlier_one() -> None:
    assert resolved({"undone": "f1", "undo": "f2"}) == resolved({"undo": "f2"})


def test_unknown_actions_are_kept_and_reported() -> None:
    keys, problems = resolved({"dance": "ctrl+b"})

    assert keys["dance"] == ("ctrl+b",)
    assert keys["left"] == ("left", "ctrl+b")
    assert problems == ('keys.json: there is no action "dance".',)


def test_what_is_no_key_leaves_the_rest_of_the_list() -> None:
    keys, problems = resolved({"left": ["hyper+x", "f3"], "undo": "nonsense", "new": 3})

    assert (keys["left"], keys["undo"], keys["new"]) == (("f3",), ("ctrl+-",), ())
    assert [problem.split(":")[1].strip() for problem in problems[:2]] == ['"left"', '"undo"']
    assert "must be a key or a list of keys" in problems[2]


def test_a_key_given_to_one_action_is_taken_from_another() -> None:
    keys, problems = resolved({"new": "ctrl+b"})

    assert (keys["new"], keys["left"]) == (("ctrl+b",), ("left",))
    assert not problems


def test_an_action_that_loses_its_only_key_is_reported() -> None:
    keys, problems = resolved({"new": "ctrl+-"})

    assert keys["undo"] == ()
    assert len(problems) == 1
    assert "Ctrl+- now means new, which leaves undo without a key" in problems[0]


def test_losing_the_only_key_on_purpose_is_not_reported() -> None:
    assert not resolved({"new": "ctrl+-", "undo": []}).problems


def test_a_key_given_twice_stays_with_the_first() -> None:
    keys, problems = resolved({"left": ["f1", "f2"], "new": ["f2", "f3"]})

    assert (keys["left"], keys["new"]) == (("f1", "f2"), ("f3",))
    assert problems == ("keys.json: F2 is given to left and to new; it stays with the first.",)


def test_a_key_may_mean_another_thing_elsewhere() -> None:
    keys, problems = resolved({"fold": "ctrl+b"})

    assert (keys["fold"], keys["left"]) == (("ctrl+b",), ("left", "ctrl+b"))
    assert not problems


def test_actions_of_a_list_and_of_a_special_list_conflict() -> None:
    assert resolved({"fold": "escape"}).keys["cancel"] == ("ctrl+c",)


def test_actions_that_share_a_key_by_default_may_share_others() -> None:
    keys, problems = resolved({"copy": ["ctrl+c", "f6"], "clear": ["ctrl+c", "f6"]})

    assert keys["copy"] == keys["clear"] == ("ctrl+c", "f6")
    assert not problems


def test_a_file_that_is_no_object_is_reported() -> None:
    keys, problems = resolved(["undo"])

    assert keys["undo"] == ("ctrl+-",)
    assert len(problems) == 1


KEYS = st.sampled_from(["ctrl+c", "ctrl+b", "left", "f1", "f2", "escape", "alt+left", "ctrl+-", "shift+tab"])
NAMES = st.sampled_from(["undo", "undone", "copy", "clear", "left", "new", "cancel", "fold", "dance"])


@given(st.dictionaries(NAMES, KEYS | st.lists(KEYS, max_size=4)))
def test_no_key_means_two_things_in_a_place_unless_made_to(values: dict[str, object]) -> None:
    keys = resolved(values).keys

    for group in GROUPS:
        for other in GROUPS:
            if group.places & other.places:
                for one in group.actions:
                    for two in other.actions:
                        if one.id != two.id and not set(one.keys) & set(two.keys):
                            assert not set(keys[one.id]) & set(keys[two.id])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON | st.dictionaries(NAMES | st.text(), JSON | KEYS | st.lists(KEYS | st.text())))
def test_any_json_gives_bindings(values: object) -> None:
    keys = resolved(values).keys

    assert all(parse_key(key) == key for bound in keys.values() for key in bound)


def test_the_toolkit_s_own_actions() -> None:
    actions = [action for group in TOOLKIT for action in group.actions]

    assert len({action.id for action in actions}) == len(actions)
    assert all(parse_key(key) == key for action in actions for key in action.keys)
    assert {action.id for action in actions} >= set(TOOLKIT_RENAMED.values())
    assert not any(action.description.endswith(".") for action in actions)
