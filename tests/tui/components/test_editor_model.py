"""The editor against a model: a list of characters and two positions, and each action written down plainly again."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kaa.tui.components.editor import Editor
from kaa.tui.events import Paste
from tests.support.keyboard import keyboard_context, press, type_text

# None of these joins with a neighbour; one is wide, one is two code points.
_CHARACTERS = ("a", "b", " ", ".", "(", "日", "e\u0301")
_WIDTHS = {"日": 2}
_WIDTH = 400  # nothing is wrapped


def _kind(character: str) -> str:
    if character.isspace():
        return "blank"
    return "symbol" if character in ".(" else "word"


class _Model:
    def __init__(self) -> None:
        self.characters: list[str] = []
        self.caret = 0
        self.anchor: int | None = None
        self.column: int | None = None
        self.killed: list[str] = []
        self.kills_join = False

    @property
    def text(self) -> str:
        return "".join(self.characters)

    @property
    def selection(self) -> tuple[int, int] | None:
        if self.anchor in (None, self.caret):
            return None
        assert self.anchor is not None
        return min(self.anchor, self.caret), max(self.anchor, self.caret)

    def move(self, to: int, *, selecting: bool = False, column: int | None = None) -> None:
        if selecting and self.anchor is None:
            self.anchor = self.caret
        if not selecting:
            self.anchor = None
        self.caret = to
        self.column = column
        self.kills_join = False

    def cut(self, start: int, end: int) -> list[str]:
        cut = self.characters[start:end]
        self.characters[start:end] = []
        self.move(start)
        return cut

    def insert(self, characters: list[str]) -> None:
        if self.selection:
            self.cut(*self.selection)
        self.characters[self.caret : self.caret] = characters
        self.move(self.caret + len(characters))

    def delete_to(self, to: int) -> None:
        self.cut(*(self.selection or sorted((self.caret, to))))

    def kill_to(self, to: int) -> None:
        joins, is_before = self.kills_join, to < self.caret
        start, end = self.selection or sorted((self.caret, to))
        if self.selection:
            is_before = end == self.caret
        if start == end:
            return
        cut = self.cut(start, end)
        before = self.killed if joins else []
        self.killed = cut + before if is_before else before + cut
        self.kills_join = True

    def line_start(self) -> int:
        at = self.caret
        while at > 0 and self.characters[at - 1] != "\n":
            at -= 1
        return at

    def line_end(self) -> int:
        at = self.caret
        while at < len(self.characters) and self.characters[at] != "\n":
            at += 1
        return at

    def word_left(self) -> int:
        at, start = self.caret, self.line_start()
        if at == start:
            return max(0, at - 1)
        while at > start and _kind(self.characters[at - 1]) == "blank":
            at -= 1
        kind = _kind(self.characters[at - 1]) if at > start else ""
        while at > start and _kind(self.characters[at - 1]) == kind:
            at -= 1
        return at

    def word_right(self) -> int:
        at, end = self.caret, self.line_end()
        if at == end:
            return min(len(self.characters), at + 1)
        while at < end and _kind(self.characters[at]) == "blank":
            at += 1
        kind = _kind(self.characters[at]) if at < end else ""
        while at < end and _kind(self.characters[at]) == kind:
            at += 1
        return at

    def vertical(self, by: int, *, selecting: bool) -> None:
        lines = self.text.split("\n")
        before = self.characters[: self.caret]
        row = before.count("\n")
        column = self.column
        if column is None:
            column = sum(_WIDTHS.get(character, 1) for character in self.characters[self.line_start() : self.caret])
        if not 0 <= row + by < len(lines):
            self.move(0 if by < 0 else len(self.characters), selecting=selecting)
            return
        at = self.line_start() - 1 if by < 0 else self.line_end() + 1
        keep, self.caret = self.caret, at
        at, end = self.line_start(), self.line_end()
        self.caret = keep
        left = column
        while at < end and left >= _WIDTHS.get(self.characters[at], 1):
            left -= _WIDTHS.get(self.characters[at], 1)
            at += 1
        self.move(at, selecting=selecting, column=column)


class EditorMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.editor = Editor(keyboard_context(columns=_WIDTH))
        self.model = _Model()
        self.seen = {""}

    @rule(characters=st.lists(st.sampled_from(_CHARACTERS), min_size=1, max_size=6))
    def type(self, characters: list[str]) -> None:
        for character in characters:
            type_text(self.editor, character)
            self.seen.add(self.editor.text)
        self.model.insert(characters)

    @rule(characters=st.lists(st.sampled_from((*_CHARACTERS, "\n")), max_size=12))
    def paste(self, characters: list[str]) -> None:
        self.editor.key(Paste("".join(characters)))
        self.model.insert(characters)

    @initialize(lines=st.lists(st.lists(st.sampled_from(_CHARACTERS), max_size=8), max_size=4))
    def begin(self, lines: list[list[str]]) -> None:
        for line in lines:
            self.paste([*line, "\n"])
            self.seen.add(self.editor.text)

    @rule()
    def new_line(self) -> None:
        press(self.editor, "shift+enter")
        self.model.insert(["\n"])

    @rule(times=st.integers(1, 3))
    def backspace(self, times: int) -> None:
        for _ in range(times):
            press(self.editor, "backspace")
            self.seen.add(self.editor.text)
            self.model.delete_to(max(0, self.model.caret - 1))

    @rule(times=st.integers(1, 3))
    def delete(self, times: int) -> None:
        for _ in range(times):
            press(self.editor, "delete")
            self.seen.add(self.editor.text)
            self.model.delete_to(min(len(self.model.characters), self.model.caret + 1))

    @rule()
    def delete_word_backward(self) -> None:
        press(self.editor, "ctrl+w")
        self.model.kill_to(self.model.word_left())

    @rule()
    def delete_word_forward(self) -> None:
        press(self.editor, "alt+d")
        self.model.kill_to(self.model.word_right())

    @rule()
    def delete_to_line_start(self) -> None:
        press(self.editor, "ctrl+u")
        start = self.model.line_start()
        self.model.kill_to(start if start != self.model.caret else max(0, start - 1))

    @rule()
    def delete_to_line_end(self) -> None:
        press(self.editor, "ctrl+k")
        end = self.model.line_end()
        self.model.kill_to(end if end != self.model.caret else min(len(self.model.characters), end + 1))

    @rule()
    def yank(self) -> None:
        press(self.editor, "ctrl+y")
        if self.model.killed:
            self.model.insert(self.model.killed)

    @rule(selecting=st.booleans())
    def left(self, selecting: bool) -> None:
        press(self.editor, "shift+left" if selecting else "left")
        if self.model.selection and not selecting:
            self.model.move(self.model.selection[0])
        else:
            self.model.move(max(0, self.model.caret - 1), selecting=selecting)

    @rule(selecting=st.booleans())
    def right(self, selecting: bool) -> None:
        press(self.editor, "shift+right" if selecting else "right")
        if self.model.selection and not selecting:
            self.model.move(self.model.selection[1])
        else:
            self.model.move(min(len(self.model.characters), self.model.caret + 1), selecting=selecting)

    @rule(selecting=st.booleans())
    def word_left(self, selecting: bool) -> None:
        press(self.editor, "ctrl+shift+left" if selecting else "ctrl+left")
        self.model.move(self.model.word_left(), selecting=selecting)

    @rule(selecting=st.booleans())
    def word_right(self, selecting: bool) -> None:
        press(self.editor, "ctrl+shift+right" if selecting else "ctrl+right")
        self.model.move(self.model.word_right(), selecting=selecting)

    @rule(selecting=st.booleans())
    def line_start(self, selecting: bool) -> None:
        press(self.editor, "shift+home" if selecting else "home")
        self.model.move(self.model.line_start(), selecting=selecting)

    @rule(selecting=st.booleans())
    def line_end(self, selecting: bool) -> None:
        press(self.editor, "shift+end" if selecting else "end")
        self.model.move(self.model.line_end(), selecting=selecting)

    @rule(by=st.sampled_from((-1, 1)), times=st.integers(1, 4), selecting=st.booleans())
    def vertical(self, by: int, times: int, selecting: bool) -> None:
        for _ in range(times):
            press(self.editor, ("shift+" if selecting else "") + ("up" if by < 0 else "down"))
            self.model.vertical(by, selecting=selecting)

    @rule()
    def select_all(self) -> None:
        press(self.editor, "alt+a")
        self.model.move(0)
        self.model.move(len(self.model.characters), selecting=True)

    @rule(times=st.integers(1, 5))
    def undo_and_redo(self, times: int) -> None:
        text = self.editor.text
        done = 0
        while done < times and self.editor.buffer.undo():
            done += 1
        for _ in range(done):
            press(self.editor, "alt+/")
        assert self.editor.text == text
        # Where the caret was before is not for the model to know.
        at = len("".join(self.model.characters[: self.model.caret]))
        self.editor.buffer.move(at)
        self.model.move(self.model.caret)

    @invariant()
    def same_text(self) -> None:
        assert self.editor.text == self.model.text
        self.seen.add(self.editor.text)

    @invariant()
    def same_caret(self) -> None:
        assert self.editor.buffer.caret == len("".join(self.model.characters[: self.model.caret]))

    @invariant()
    def same_selection(self) -> None:
        selection = self.model.selection
        assert self.editor.buffer.selected == ("".join(self.model.characters[slice(*selection)]) if selection else "")

    def teardown(self) -> None:
        while self.editor.buffer.undo():
            assert self.editor.text in self.seen
        assert self.editor.is_empty
        while self.editor.buffer.redo():
            pass
        assert self.editor.text == self.model.text


TestEditor = EditorMachine.TestCase
