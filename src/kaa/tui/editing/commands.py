"""What keys do to a buffer, by the ids of actions; the same for one line and for many."""

from collections import deque
from collections.abc import Callable

from kaa.tui.editing import movement
from kaa.tui.editing.buffer import Buffer
from kaa.tui.editing.movement import Movement
from kaa.tui.events import Input, Key
from kaa.tui.keymap import Keymap

_KILL_RING_CAPACITY = 60  # as in Emacs (`kill-ring-max` before it was doubled)


class KillRing:
    """Killed texts, the newest first."""

    def __init__(self) -> None:
        self._texts: deque[str] = deque(maxlen=_KILL_RING_CAPACITY)

    def kill(self, text: str, *, joins: bool, before: bool = False) -> None:
        """Keep `text`.

        Args:
            text: what was cut off; nothing happens if it is empty.
            joins: it belongs to the kill before.
            before: it stood before that one.
        """
        if not text:
            return
        if joins and self._texts:
            self._texts[0] = text + self._texts[0] if before else self._texts[0] + text
        else:
            self._texts.appendleft(text)

    def newest(self) -> str:
        """The text to be put back; empty if there is none."""
        return self._texts[0] if self._texts else ""

    def rotate(self) -> str:
        """Let the one before be the newest, the newest the oldest."""
        self._texts.rotate(-1)
        return self.newest()


# The part of an action's id after `tui.editor.`: where the caret goes, or what it takes with it.
_MOVES: dict[str, Movement] = {
    "cursorLeft": movement.left,
    "cursorRight": movement.right,
    "cursorWordLeft": movement.word_left,
    "cursorWordRight": movement.word_right,
    "cursorLineStart": movement.line_start,
    "cursorLineEnd": movement.line_end,
    "cursorStart": movement.text_start,
    "cursorEnd": movement.text_end,
}
_SELECTIONS: dict[str, Movement] = {
    "selectLeft": movement.left,
    "selectRight": movement.right,
    "selectWordLeft": movement.word_left,
    "selectWordRight": movement.word_right,
    "selectLineStart": movement.line_start,
    "selectLineEnd": movement.line_end,
    "selectStart": movement.text_start,
    "selectEnd": movement.text_end,
}
_DELETIONS: dict[str, Movement] = {
    "deleteCharBackward": movement.left,
    "deleteCharForward": movement.right,
}
_KILLS: dict[str, Movement] = {
    "deleteWordBackward": movement.word_left,
    "deleteWordForward": movement.word_right,
    "deleteToLineStart": movement.line_start,
    "deleteToLineEnd": movement.line_end,
}
_COPY = "tui.input.copy"
_CUT = "tui.input.cut"


class EditingCommands:
    """Actions on a buffer.

    Args:
        buffer: what is edited.
        keymap: which keys trigger them.
        expand: what the buffer's text stands for, to be copied.

    Attributes:
        kill_ring: what was cut off.
        on_copy: takes what is copied; None if there is nobody who can.
    """

    def __init__(self, buffer: Buffer, keymap: Keymap, expand: Callable[[str], str] = str) -> None:
        self.kill_ring = KillRing()
        self.on_copy: Callable[[str], None] | None = None
        self._buffer = buffer
        self._keymap = keymap
        self._expand = expand
        self._revision = -1  # of the buffer after the last kill or yank
        self._yanked = 0  # length of what the last yank put there, as long as the revision is that one
        self._jump: Callable[[str, int, str], int | None] | None = None
        self._actions = self._table()

    def key(self, key: Input) -> bool:
        """Do what a key is bound to. False if it is bound to nothing here."""
        if self._jump:
            jump, self._jump = self._jump, None
            if isinstance(key, Key) and key.text:
                self._to(jump(self._buffer.text, self._buffer.caret, key.text))
                return True
        # Keys that copy are bound to other things, too: that is what they mean as long as nothing is selected.
        if self.on_copy and self._buffer.selection and (action := self._keymap.first(key, _COPY, _CUT)):
            self.on_copy(self._expand(self._buffer.selected))
            if action == _CUT:
                self._buffer.insert("")
            return True
        if action := self._keymap.first(key, *self._actions):
            self._actions[action]()
            return True
        return False

    @property
    def waits_for_character(self) -> bool:
        """Whether the next key names the character to jump to."""
        return self._jump is not None

    def _table(self) -> dict[str, Callable[[], object]]:
        def bound(run: Callable[[Movement], None], target: Movement) -> Callable[[], None]:
            return lambda: run(target)

        named: dict[str, Callable[[], object]] = {
            "selectAll": lambda: self._buffer.select(0, len(self._buffer.text)),
            "yank": self._yank,
            "yankPop": self._yank_pop,
            "undo": self._buffer.undo,
            "redo": self._buffer.redo,
            "jumpForward": lambda: self._wait(movement.next_occurrence),
            "jumpBackward": lambda: self._wait(movement.previous_occurrence),
        }
        for targets, run in (
            (_MOVES, self._move),
            (_SELECTIONS, self._select),
            (_DELETIONS, self._delete),
            (_KILLS, self._kill),
        ):
            named |= {name: bound(run, target) for name, target in targets.items()}
        return {f"tui.editor.{name}": action for name, action in named.items()}

    def _move(self, target: Movement) -> None:
        buffer = self._buffer
        if buffer.selection and target in (movement.left, movement.right):
            buffer.move(buffer.selection[target is movement.right])
        else:
            buffer.move(target(buffer.text, buffer.caret))

    def _select(self, target: Movement) -> None:
        self._buffer.move(target(self._buffer.text, self._buffer.caret), selecting=True)

    def _range_to(self, target: Movement) -> tuple[int, int]:
        at = self._buffer.caret
        to = target(self._buffer.text, at)
        return self._buffer.selection or (min(at, to), max(at, to))

    def _delete(self, target: Movement) -> None:
        start, end = self._range_to(target)
        if start != end:
            self._buffer.replace(start, end, "", continues=self._buffer.selection is None)
        self._revision = -1  # also where nothing was left to delete: a kill after this one begins anew

    def _kill(self, target: Movement) -> None:
        buffer = self._buffer
        start, end = self._range_to(target)
        if start == end and target in (movement.line_start, movement.line_end):
            # With nothing left on this side of the line, what separates it from the next goes.
            start, end = self._range_to(movement.left if target is movement.line_start else movement.right)
        if start == end:
            return
        is_before = end == buffer.caret
        self.kill_ring.kill(buffer.text[start:end], joins=self._follows_kill(), before=is_before)
        buffer.replace(start, end, "")
        self._revision, self._yanked = buffer.revision, 0

    def _follows_kill(self) -> bool:
        return self._buffer.revision == self._revision and not self._yanked

    def _yank(self) -> None:
        self._put(self.kill_ring.newest())

    def _yank_pop(self) -> None:
        buffer = self._buffer
        if buffer.revision == self._revision and self._yanked:
            steps = buffer.steps - 1
            start = buffer.caret - self._yanked
            text = self.kill_ring.rotate()
            buffer.replace(start, buffer.caret, text)
            buffer.join_steps(steps)
            self._revision, self._yanked = buffer.revision, len(text)

    def _put(self, text: str) -> None:
        if text:
            self._buffer.insert(text)
            self._revision, self._yanked = self._buffer.revision, len(text)

    def _wait(self, jump: Callable[[str, int, str], int | None]) -> None:
        self._jump = jump

    def _to(self, offset: int | None) -> None:
        if offset is not None:
            self._buffer.move(offset)
