"""What the rows of a session's tree say."""

from kaa.frontends.interactive.navigation.tree_nodes import filters_of, here, tree_of
from kaa.session.outline import Outline, OutlineRow
from tests.support.painted import make_context

_ROWS = (
    OutlineRow("1", None, "user", "build it", is_current=True),
    OutlineRow("2", "1", "assistant", "Built.", is_current=True, label="good"),
    OutlineRow("3", "1", "assistant", "Not built.", failed=True),
    OutlineRow("4", "2", "label", "good", is_current=True),
)
_OUTLINE = Outline(_ROWS, "4")


def test_rows_hang_below_what_they_answer_and_say_what_they_are() -> None:
    (root,) = tree_of(_OUTLINE, make_context())

    assert root.text == "• you: build it"
    assert [child.text for child in root.children] == ["• [good] (you are here) Built.", "Not built. ✗"]


def test_one_is_where_something_was_said_last_not_at_a_label() -> None:
    assert here(_OUTLINE) == "2"
    assert here(Outline((), None)) is None
    assert here(Outline(_ROWS[3:], "4")) == "4"  # nothing else is there


def test_a_row_whose_parent_is_not_there_is_a_root() -> None:
    roots = tree_of(Outline((OutlineRow("2", "gone", "user", "hello"),), None), make_context())

    assert [root.id for root in roots] == ["2"]


def test_the_filter_of_the_settings_comes_first_and_the_others_follow_it() -> None:
    filters = filters_of(lambda _id, _filter: True, "user-only")

    assert [each.action.rpartition(".")[2] for each in filters] == [
        "userOnly",
        "labeledOnly",
        "all",
        "default",
        "noTools",
    ]
