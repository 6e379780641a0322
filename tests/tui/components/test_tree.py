from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from kaa.tui.components.tree import Tree, TreeActions, TreeFilter, TreeNode, rows_of
from tests.support.keyboard import keyboard_context, keys
from tests.support.painted import assert_well_formed, visible

ACTIONS = TreeActions("t.fold", "t.unfold", "t.next", "t.previous")
KEYS = {
    "t.fold": ["ctrl+left"],
    "t.unfold": ["ctrl+right"],
    "t.next": ["ctrl+o"],
    "t.previous": ["ctrl+shift+o"],
    "t.short": ["ctrl+t"],
}
FILTERS = [
    TreeFilter("all"),
    TreeFilter("short", lambda node: len(node.id) == 1, "t.short"),
    TreeFilter("none", lambda _: False),
]


def node(id_: str, *children: TreeNode) -> TreeNode:
    return TreeNode(id_, [("node ", "2"), (id_, "")], children)


def chain(length: int) -> TreeNode:
    last = node(str(length - 1))
    for number in reversed(range(length - 1)):
        last = node(str(number), last)
    return last


FAMILY = node("a", node("bb", node("c"), node("d", node("e"))), node("f"))


class Walked:
    """A tree and what was done with it."""

    def __init__(
        self,
        *roots: TreeNode,
        filters: Sequence[TreeFilter] = (),
        selected: str | None = None,
        max_rows: int = 20,
        indents_only_children: bool = True,
        ascii_only: bool = False,
    ) -> None:
        self.chosen: list[str] = []
        self.cancelled = 0
        self.tree = Tree(
            keyboard_context(KEYS, rows=60, ascii_only=ascii_only),
            roots or (FAMILY,),
            ACTIONS,
            on_select=lambda each: self.chosen.append(each.id),
            on_cancel=self._cancel,
            filters=filters,
            selected=selected,
            max_rows=max_rows,
            indents_only_children=indents_only_children,
        )

    def _cancel(self) -> None:
        self.cancelled += 1

    def press(self, *ids: str) -> None:
        assert all(self.tree.key(key) for key in keys(*ids))

    def rows(self, width: int = 40) -> list[str]:
        return visible(self.tree.render(width))[1:]

    @property
    def at(self) -> str | None:
        return self.tree.selected.id if self.tree.selected else None


def test_guides_lead_from_parents_to_children() -> None:
    assert Walked().rows() == [
        "  ▾ node a",
        "  │ ▾ node bb",
        "  │ │   node c",
        "  │ ╰ ▾ node d",
        "  │   ╰   node e",
        "› ╰   node f",
        "  (6/6)",
    ]


def test_terminals_without_unicode_get_plain_guides() -> None:
    assert Walked(ascii_only=True).rows()[:5] == [
        "  v node a",
        "  | v node bb",
        "  | |   node c",
        "  | + v node d",
        "  |   +   node e",
    ]


def test_chains_may_go_straight_down() -> None:
    tree = node("1", node("2", node("3", node("4", node("5")), node("6", node("7")))))

    assert Walked(tree, indents_only_children=False).rows() == [
        "  ▾ node 1",
        "    node 2",
        "    node 3",
        "  │ ▾ node 4",
        "  │   node 5",
        "  ╰ ▾ node 6",
        "›     node 7",
        "  (7/7)",
    ]


def test_several_roots_stand_below_each_other_unindented() -> None:
    assert Walked(node("a"), node("b", node("c"))).rows() == [
        "    node a",
        "  ▾ node b",
        "› ╰   node c",
        "  (3/3)",
    ]


def test_choosing_and_cancelling() -> None:
    walked = Walked(selected="d")

    walked.press("enter", "escape")

    assert walked.chosen == ["d"]
    assert walked.cancelled == 1


def test_folding_and_unfolding() -> None:
    walked = Walked(selected="bb")

    walked.press("ctrl+left")
    assert walked.rows() == ["  ▾ node a", "› │ ▸ node bb (+3)", "  ╰   node f", "  (2/3)"]

    walked.press("ctrl+right")
    assert len(walked.rows()) == 7
    assert walked.at == "bb"


def test_with_nothing_to_fold_it_goes_up() -> None:
    walked = Walked(selected="c")

    walked.press("ctrl+left")
    assert walked.at == "bb"
    walked.press("ctrl+left", "ctrl+left")

    assert walked.at == "a"


def test_with_nothing_to_unfold_it_goes_down_to_where_there_is() -> None:
    walked = Walked(selected="a")

    walked.press("ctrl+right", "ctrl+right")
    assert walked.at == "d"
    walked.press("ctrl+right")

    assert walked.at == "f"


def test_folds_survive_another_tree_with_the_same_nodes() -> None:
    walked = Walked(selected="bb")
    walked.press("ctrl+left")

    walked.tree.set_roots([node("a", node("bb", node("c")), node("f"), node("g"))])

    assert walked.rows() == ["  ▾ node a", "› │ ▸ node bb (+1)", "  │   node f", "  ╰   node g", "  (2/4)"]


def test_children_of_what_a_filter_leaves_out_belong_to_the_next_above() -> None:
    walked = Walked(filters=FILTERS)

    walked.press("ctrl+t")

    assert walked.rows() == [
        "  ▾ node a",
        "  │   node c",
        "  │ ▾ node d",
        "  │ ╰   node e",
        "› ╰   node f",
        "  (5/5) short",
    ]


def test_filters_in_turn() -> None:
    walked = Walked(filters=FILTERS, selected="bb")

    walked.press("ctrl+o")
    assert walked.at == "a"
    walked.press("ctrl+o")
    assert walked.rows() == ["Nothing found"]
    assert walked.tree.selected is None
    walked.press("enter", "down", "ctrl+left", "ctrl+right", "ctrl+shift+o", "ctrl+shift+o")
    assert len(walked.rows()) == 7


def test_typing_searches_also_what_is_folded() -> None:
    walked = Walked(selected="bb")

    walked.press("ctrl+left", "e", " ", "N", "O")
    assert visible(walked.tree.render(40)) == [
        "Search: e NO",
        "  ▾ node a",
        "› │ ▾ node bb",
        "  │ │   node c",
        "  │ ╰ ▾ node d",
        "  │   ╰   node e",
        "  ╰   node f",
        "  (2/6)",
    ]
    walked.press("backspace", "backspace", "backspace", "backspace", "b", "b")

    assert walked.rows() == ["›   node bb", "  (1/1)"]


def test_a_label_that_is_too_long_ends_with_an_ellipsis() -> None:
    walked = Walked(TreeNode("1", [("some", ""), (" words too many", "")]))

    assert visible(walked.tree.render(14))[1] == "›   some word…"


def test_a_long_chain_needs_neither_recursion_nor_room() -> None:
    walked = Walked(chain(10_000), max_rows=3)

    assert_well_formed(walked.tree.render(40), 40)
    assert walked.rows()[-2:] == ["› …        ╰   node 9999", "  (10000/10000)"]
    walked.press("home", "ctrl+left")
    assert walked.rows() == ["› ▸ node 0 (+9999)", "  (1/1)"]


def test_only_what_is_in_view_is_painted() -> None:
    asked: list[str] = []

    class Counted(TreeNode):
        __slots__ = ()

        def __getattribute__(self, name: str) -> object:
            if name == "label":
                asked.append(super().__getattribute__("id"))
            return super().__getattribute__(name)

    roots = [Counted(str(number), [("x", "")]) for number in range(10_000)]
    walked = Walked(*roots, max_rows=10)

    walked.rows()
    walked.press("pageup", "up")
    walked.rows()

    assert len(asked) <= 20


def test_a_filter_looks_at_each_node_once_however_much_is_typed() -> None:
    asked: list[str] = []

    def accepts(node: TreeNode) -> bool:
        asked.append(node.id)
        return node.id != "500"

    walked = Walked(chain(1_000), filters=[TreeFilter("but one", accepts)])

    walked.press("4", "9")

    assert len(asked) == 1_000
    assert walked.rows()[-1].strip().startswith("(20/20)")


def test_the_same_lines_until_something_changes() -> None:
    walked = Walked()
    first = walked.tree.render(40)

    assert walked.tree.render(40) is first
    walked.press("up")
    assert walked.tree.render(40) is not first


SHAPES = st.recursive(st.just(()), lambda inner: st.lists(inner, max_size=4).map(tuple), max_leaves=25)


def built(shapes: Sequence[object], prefix: str = "") -> list[TreeNode]:
    return [
        node(f"{prefix}{index}", *built(shape if isinstance(shape, tuple) else (), f"{prefix}{index}"))
        for index, shape in enumerate(shapes)
    ]


def model(nodes: Sequence[TreeNode], folded: set[str], hidden: set[str]) -> list[str]:
    """What is shown, told by recursion."""
    shown: list[str] = []
    for each in nodes:
        is_shown = each.id not in hidden
        shown += [each.id] if is_shown else []
        shown += model(each.children, folded, hidden) if not (is_shown and each.id in folded) else []
    return shown


@given(
    SHAPES, st.sets(st.sampled_from(["0", "1", "00", "01", "10", "000"])), st.sets(st.sampled_from(["0", "01", "1"]))
)
def test_rows_agree_with_a_model(shape: tuple[object, ...], folded: set[str], hidden: set[str]) -> None:
    roots = built(shape)

    rows = rows_of(roots, lambda each: each.id not in hidden, folded)

    assert [row.node.id for row in rows] == model(roots, folded, hidden)
    everything = model(roots, set(), hidden)
    assert len(rows) + sum(row.hidden for row in rows) == len(everything)


@given(
    SHAPES,
    st.lists(
        st.sampled_from(["up", "down", "pageup", "ctrl+left", "ctrl+right", "ctrl+t", "ctrl+o", "0", "backspace"])
    ),
    st.integers(1, 30),
    st.booleans(),
)
def test_lines_keep_to_the_width(shape: tuple[object, ...], pressed: list[str], width: int, indented: bool) -> None:
    walked = Walked(*built(shape), filters=FILTERS, max_rows=5, indents_only_children=indented)
    for key in pressed:
        walked.tree.key(keys(key)[0])
        lines = walked.tree.render(width)

        assert_well_formed(lines, width)
        assert len(lines) <= 7
