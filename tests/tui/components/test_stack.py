from kaa.tui.components.stack import Spacer, Stack
from kaa.tui.components.text import Text
from kaa.tui.events import Input, Key
from tests.support.painted import make_context, visible


class Field:
    def __init__(self) -> None:
        self.keys: list[Input] = []

    def render(self, width: int) -> list[str]:
        return ["> "]

    def key(self, key: Input) -> bool:
        self.keys.append(key)
        return True

    def cursor(self) -> tuple[int, int] | None:
        return 0, 2


def test_children_below_each_other() -> None:
    context = make_context()
    stack = Stack([Text(context, "one"), Spacer(), Text(context, "two")])

    assert visible(stack.render(10)) == ["one", "", "two"]


def test_focused_child_gets_keys_and_shows_the_cursor() -> None:
    field = Field()
    stack = Stack([Spacer(2), field], focus=field)
    stack.render(10)

    assert stack.key(Key("a"))
    assert field.keys == [Key("a")]
    assert stack.cursor() == (2, 2)


def test_without_focus_no_key_is_taken() -> None:
    stack = Stack([Field()])
    stack.render(10)

    assert not stack.key(Key("a"))
    assert stack.cursor() is None


def test_same_lines_object_until_a_child_changes() -> None:
    context = make_context()
    child = Text(context, "one")
    stack = Stack([child, Spacer()])

    first = stack.render(10)
    assert stack.render(10) is first
    child.set_text("two")
    assert visible(stack.render(10)) == ["two", ""]
    stack.children.append(Spacer())
    assert len(stack.render(10)) == 3
