"""Vi's modes over the editor: Insert, in which the editor's own keys work, Normal, Visual, and a line for commands."""

from collections.abc import Callable, Generator, Sequence
from typing import Literal, TypeAlias

from kaa.tui.completion import CompletionSource
from kaa.tui.components.editor import Editor
from kaa.tui.context import Context
from kaa.tui.editing import movement
from kaa.tui.editing.buffer import Buffer
from kaa.tui.editing.movement import line_end, line_start
from kaa.tui.events import Input, Key
from kaa.tui.vim.command_line import CommandLine
from kaa.tui.vim.edits import Edits, text_object
from kaa.tui.vim.motions import MOTIONS, Find, Motion, Span, first_word_of_line, line_number, word_span

Mode = Literal["insert", "normal", "visual", "visual line", "command"]

# A command that is being typed: it is sent one character after the other, and ends when it is complete.
_Typing: TypeAlias = Generator[None, str, None]

_OPERATORS = "dcy"
_FINDS = "fFtT"
_REDO = "\x12"
# Keys that are characters to vi although they type none.
_CHARACTERS = {"backspace": "h", "ctrl+r": _REDO}
# What operates on a motion by itself: the operator and the motion.
_SHORT = {"x": ("d", "l"), "X": ("d", "h"), "D": ("d", "$"), "C": ("c", "$"), "s": ("c", "l")}
# What operates on whole lines.
_SHORT_LINES = {"S": "c", "Y": "y"}
# What an operator is called while something is selected.
_ON_SELECTION = {"x": "d", "X": "d", "s": "c", "D": "d", "C": "c", "S": "c", "Y": "y"}
_LINEWISE_ON_SELECTION = "SYDC"
# No motion goes further than the text is long, but what is put or undone is not bound to that.
_MOST_TIMES = 1000


class Vim:
    """Takes an editor's keys (`editor.mode = Vim(editor, context)`). It begins in Insert.

    Args:
        editor: what is edited.
        context: for the line that commands are entered in.

    Attributes:
        mode: the mode.
        on_mode_change: called after the mode changed.
        on_command: called with what was entered behind a colon.
        command_sources: complete what is entered there.
        entered_commands: gives what was entered there before, the newest last.
    """

    def __init__(self, editor: Editor, context: Context) -> None:
        self.mode: Mode = "insert"
        self.on_mode_change: Callable[[], None] | None = None
        self.on_command: Callable[[str], None] | None = None
        self.command_sources: Sequence[CompletionSource] = ()
        self.entered_commands: Callable[[], Sequence[str]] = lambda: ()
        self._editor = editor
        self._context = context
        self._buffer = editor.buffer
        self._edits = Edits(self._buffer)
        self._found: Find | None = None  # what was looked for in the line last
        self._selection = _VisualSelection(self._buffer)
        self._inserted_at = 0
        self._steps = 0  # that could be undone when the change began
        self._typed = ""  # of the command that is being typed or carried out
        self._last_change = ("", "")  # what was typed for it, and what was inserted then
        self._commands: dict[str, Callable[[int], object]] = {
            "i": lambda _: self._insert(self._buffer.caret),
            "a": lambda _: self._insert(self._right_of_caret()),
            "I": lambda _: self._insert(first_word_of_line(self._buffer.text, self._buffer.caret)),
            "A": lambda _: self._insert(line_end(self._buffer.text, self._buffer.caret)),
            "o": lambda _: self._insert(line_end(self._buffer.text, self._buffer.caret), "\n"),
            "O": lambda _: self._insert(line_start(self._buffer.text, self._buffer.caret), "\n", back=1),
            "p": lambda count: self._change(lambda: self._edits.put(count, after=True)),
            "P": lambda count: self._change(lambda: self._edits.put(count, after=False)),
            "J": lambda count: self._change(lambda: self._edits.join_lines(count)),
            "~": lambda count: self._change(lambda: self._toggle_case(count)),
            "u": lambda count: [self._buffer.undo() for _ in range(count)],
            _REDO: lambda count: [self._buffer.redo() for _ in range(count)],
            ".": self._repeat,
            "v": lambda _: self._select("visual"),
            "V": lambda _: self._select("visual line"),
            ":": lambda _: self._enter_command(),
        }
        self._typing = self._begin()

    def key(self, key: Input) -> bool:
        """Take a key, unless it is the editor's."""
        if self.mode == "insert" and isinstance(key, Key) and key.id == "escape":
            self._leave_insert()
            return True
        if self.mode in ("insert", "command") or not isinstance(key, Key):
            return False
        if key.id == "escape":
            return self._cancel()
        character = _CHARACTERS.get(key.id, key.text)
        if len(character) != 1 or not (character.isprintable() or character == _REDO):
            return False
        self._feed(character)
        return True

    def _cancel(self) -> bool:
        """Escape ends what is half typed, or the selection. False if there is neither."""
        is_needed = bool(self._typed) or self.mode != "normal"
        self._restart()
        if self.mode != "normal":
            self._end_selection(self._selection.head)
        return is_needed

    def _feed(self, character: str) -> None:
        self._typed += character
        try:
            self._typing.send(character)
        except StopIteration:
            self._restart()

    def _begin(self) -> _Typing:
        typing = self._read()
        next(typing)
        return typing

    def _restart(self) -> None:
        self._typing = self._begin()
        self._typed = ""

    def _enter(self, mode: Mode) -> None:
        if mode != self.mode:
            self.mode = mode
            if self.on_mode_change:
                self.on_mode_change()

    # Reading a command.

    def _read(self) -> _Typing:
        count, character = yield from self._count()
        if self.mode in ("visual", "visual line"):
            yield from self._read_on_selection(count, character)
        elif character in _OPERATORS:
            yield from self._read_operand(character, count)
        elif character in _SHORT:
            operator, motion = _SHORT[character]
            self._operate(operator, MOTIONS[motion].span(self._buffer.text, self._buffer.caret, count or 1))
        elif character in _SHORT_LINES:
            self._operate(_SHORT_LINES[character], self._lines(count or 1))
        elif character == "r":
            replacement = yield
            self._change(lambda: self._edits.replace_characters(count or 1, replacement))
        elif character in self._commands:
            self._commands[character](count or 1)
        elif motion_typed := (yield from self._motion(character, count)):
            to = motion_typed.go(self._buffer.text, self._buffer.caret, count or 1)
            self._edits.place(self._buffer.caret if to is None else to)

    def _count(self) -> Generator[None, str, tuple[int, str]]:
        """A count, 0 if there is none, and the character behind it."""
        digits = ""
        while True:
            character = yield
            if not (character.isascii() and character.isdigit()) or (character == "0" and not digits):
                return min(int(digits or 0), max(_MOST_TIMES, len(self._buffer.text) + 1)), character
            digits = (digits + character)[:6]

    def _read_operand(self, operator: str, count: int) -> _Typing:
        second, character = yield from self._count()
        times = (count or 1) * (second or 1)
        text, at = self._buffer.text, self._buffer.caret
        if character == operator:
            self._operate(operator, self._lines(times))
        elif character in "ia":
            self._operate(operator, text_object(text, at, (yield), around=character == "a"))
        elif character in "wW" and operator == "c" and at < len(text) and not text[at].isspace():
            # As vi does: the word is changed, but not the blanks behind it. From before its start, `e` goes to its end.
            end = MOTIONS["e" if character == "w" else "E"].go(text, at - 1, times) or 0
            self._operate(operator, Span(at, movement.right(text, end)))
        elif character in "wW":
            self._operate(operator, word_span(text, at, times, big=character == "W"))
        elif motion := (yield from self._motion(character, count or second)):
            self._operate(operator, motion.span(text, at, times))

    def _motion(self, character: str, count: int) -> Generator[None, str, Motion | None]:
        """The motion that a character is or begins."""
        if character in _FINDS:
            target = yield
            self._found = Find(target, forward=character in "ft", till=character in "tT")
            return self._found.motion()
        if character in ";," and self._found:
            return (self._found if character == ";" else self._found.reversed()).motion(again=True)
        if character == "G":
            return Motion(lambda text, _at, _times: line_number(text, count or text.count("\n") + 1), linewise=True)
        if character == "g":
            return (
                Motion(lambda text, _at, _times: line_number(text, count or 1), linewise=True)
                if (yield) == "g"
                else None
            )
        return MOTIONS.get(character)

    # Changing the text.

    def _lines(self, count: int) -> Span | None:
        at = self._buffer.caret
        below = MOTIONS["j"].go(self._buffer.text, at, count - 1)
        return None if below is None else Span(at, below, linewise=True)

    def _operate(self, operator: str, span: Span | None) -> None:
        if span is None or (operator != "c" and not span.linewise and span.start == span.end):
            return
        if operator == "y":
            self._edits.yank(span)
            if not span.linewise:
                self._edits.place(span.start)
        elif operator == "d":
            self._change(lambda: self._edits.delete(span))
        else:
            start, end = self._edits.yank(span)
            self._insert(start, end=end)

    def _change(self, change: Callable[[], object]) -> None:
        self._last_change = self._typed, ""
        change()

    def _toggle_case(self, count: int) -> None:
        text, at = self._buffer.text, self._buffer.caret
        self._edits.toggle_case(at, min(at + count, line_end(text, at)))
        self._edits.place(self._buffer.caret)

    def _right_of_caret(self) -> int:
        text, at = self._buffer.text, self._buffer.caret
        return min(movement.right(text, at), line_end(text, at))

    def _insert(self, at: int, text: str = "", *, back: int = 0, end: int | None = None) -> None:
        """Go to Insert at an offset, where `text` takes the place of what is there up to `end`."""
        self._last_change = self._typed, ""
        self._steps = self._buffer.steps
        self._buffer.replace(at, at if end is None else end, text, caret=at + len(text) - back)
        self._inserted_at = self._buffer.caret
        self._enter("insert")

    def _leave_insert(self) -> None:
        text, at = self._buffer.text, self._buffer.caret
        self._last_change = self._last_change[0], text[self._inserted_at : at]
        self._buffer.join_steps(self._steps)
        self._enter("normal")
        self._edits.place(max(line_start(text, at), movement.left(text, at)))

    def _repeat(self, count: int) -> None:
        """Make the last change again."""
        typed, inserted = self._last_change
        for _ in range(count if typed else 0):
            self._restart()
            for character in typed:
                self._feed(character)
            if self.mode == "insert":
                self._buffer.insert(inserted)
                self._leave_insert()
        self._last_change = typed, inserted

    # Selecting.

    def _select(self, mode: Mode) -> None:
        self._selection.begin(linewise=mode == "visual line")
        self._enter(mode)
        self._selection.show()

    def _end_selection(self, at: int) -> None:
        self._enter("normal")
        self._edits.place(at)

    def _read_on_selection(self, count: int, character: str) -> _Typing:
        selection = self._selection
        if character == "o":
            selection.swap()
        elif character in "vV":
            other: Mode = "visual" if character == "v" else "visual line"
            if other == self.mode:
                self._end_selection(selection.head)
                return
            selection.linewise = character == "V"
            self._enter(other)
        elif character in "ia":
            if chosen := text_object(self._buffer.text, selection.head, (yield), around=character == "a"):
                selection.take(chosen)
        elif character in "~JpP:" or character in _OPERATORS or character in _ON_SELECTION:
            span = selection.span._replace(linewise=selection.linewise or character in _LINEWISE_ON_SELECTION)
            self._end_selection(span.start)
            self._on_selection(character, span)
            return
        elif motion := (yield from self._motion(character, count)):
            to = motion.go(self._buffer.text, selection.head, count or 1)
            selection.head = selection.head if to is None else to
        selection.show()

    def _on_selection(self, character: str, span: Span) -> None:
        # To be made again, a change would need something selected: it is not.
        self._typed = ""
        text = self._buffer.text
        if character == "~":
            self._change(lambda: self._edits.toggle_case(span.start, span.end))
            self._edits.place(span.start)
        elif character == "J":
            self._change(lambda: self._edits.join_lines(text.count("\n", span.start, span.end) + 1))
        elif character in "pP":
            self._change(lambda: self._edits.exchange(span))
        elif character == ":":
            self._enter_command()
        else:
            self._operate(_ON_SELECTION.get(character, character), span)

    # Commands.

    def _enter_command(self) -> None:
        def end(entered: str) -> None:
            self._editor.close_prompt()
            self._enter("normal")
            if entered.strip() and self.on_command:
                self.on_command(entered.strip())

        self._editor.open_prompt(CommandLine(self._context, self.command_sources, self.entered_commands(), end))
        self._enter("command")


class _VisualSelection:
    """Characters of a buffer.

    Attributes:
        head: the character that motions start from.
        linewise: whole lines are selected.
    """

    def __init__(self, buffer: Buffer) -> None:
        self._buffer = buffer
        self._anchor = 0
        self.head = 0
        self.linewise = False

    def begin(self, *, linewise: bool) -> None:
        """Select the character that the caret is on, or its line."""
        self._anchor = self.head = self._buffer.caret
        self.linewise = linewise

    def swap(self) -> None:
        """Let motions move the other end."""
        self._anchor, self.head = self.head, self._anchor

    def take(self, span: Span) -> None:
        """Select a span that is not empty."""
        self._anchor, self.head = span.start, movement.left(self._buffer.text, span.end)

    @property
    def span(self) -> Span:
        """What is selected, as operators take it."""
        start, end = sorted((self._anchor, self.head))
        return Span(start, end if self.linewise else movement.right(self._buffer.text, end), self.linewise)

    def show(self) -> None:
        """Let the buffer have it selected."""
        text, (start, end, linewise) = self._buffer.text, self.span
        if linewise:
            start, end = line_start(text, start), line_end(text, end)
        if self._anchor <= self.head:
            self._buffer.select(start, end)
        else:
            self._buffer.select(end, start)
