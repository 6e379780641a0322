r"""A terminal for tests: takes what a program writes, shows what a person would see, answers what a program asks.

    screen = Screen(80, 24)
    screen.feed("\x1b[1mhello")
    assert screen.lines()[0] == "hello"

It stands on pyte; `screen_grid.py` says where pyte is wrong. Sequences are parsed here, because pyte does not know SU,
SD and REP, takes `CSI > … u` and other sequences with a prefix for those without, has no alternate screen and no
synchronized output, and writes the text of APC, DCS and PM strings on the screen.
"""

import base64
import re
from collections.abc import Callable, Sequence

from tests.support.screen_actions import CELL_ACTIONS
from tests.support.screen_grid import Cell, Grid
from tests.support.screen_parser import Kind, Parser
from tests.support.screen_replies import Answers, Replies
from tests.support.screen_resize import resize
from tests.support.screen_style import apply

_CSI = re.compile(r"([<=>?!]?)([0-9:;]*)([ -/]*)([@-~])")

# Sequences that leave a pending wrap as it is: styles, modes, saving, and whatever only asks or tells.
_WITHOUT_MOTION = frozenset("mhlnctuqpsb")

_MAIN, _ALTERNATE = 0, 1


class Screen:
    """A terminal's screen.

    Args:
        columns: cells in a row.
        rows: rows.
        answers: which queries it answers: `all`, `none`, or the kinds that `screen_replies.py` names.
        graphemes: whether it measures grapheme clusters or, as xterm does, code points.
        synchronized: whether it knows synchronized output (?2026), and shows nothing of a frame before its end.
        pulls_back: what it does when it gets higher, `screen_resize.py` says more.
        reflows: what it does when its width changes.
        is_dark: its background.
        history: how many lines the scrollback keeps.

    Attributes:
        replies: the answers that were not sent to the program yet.
        queries: what the program asked for, answered or not.
        title: the window's title.
        clipboard: what was copied with OSC 52, None if nothing was.
        wipes: how often the scrollback was erased (ED 3).
        frames: how many synchronized frames were shown.
        bells: how often it rang.
        notifications: desktop notifications (OSC 9 and 777).
        progress: the progress shown in the taskbar (OSC 9;4), without its number.
        marks: semantic prompts (OSC 133), each with the row counted from the start of the scrollback.
        images: how many pictures were sent.
        modes: the private modes that are set.
        cursor_style: as DECSCUSR has it.
        unknown: sequences that it does not know; terminals ignore or misunderstand such.
    """

    def __init__(
        self,
        columns: int = 80,
        rows: int = 24,
        *,
        answers: Answers = "all",
        graphemes: bool = True,
        synchronized: bool = True,
        pulls_back: bool = True,
        reflows: bool = False,
        is_dark: bool = True,
        history: int = 100_000,
    ) -> None:
        self._grids = (
            Grid(columns, rows, history, by_grapheme=graphemes),
            Grid(columns, rows, 0, by_grapheme=graphemes),
        )
        self._which = _MAIN
        self._parser = Parser(synchronized=synchronized)
        self._pulls_back, self._reflows = pulls_back, reflows
        self._replies = Replies(self, answers, is_dark=is_dark)
        self._titles: list[str] = []
        self._keyboard: tuple[list[int], list[int]] = ([0], [0])
        self.title = ""
        self.clipboard: str | None = None
        self.wipes = self.frames = self.bells = self.images = 0
        self.notifications: list[str] = []
        self.progress = ""
        self.marks: list[tuple[str, int]] = []
        self.modes = {7, 25}
        self.cursor_style = 0
        self.unknown: list[str] = []

    # What is seen

    def lines(self) -> list[str]:
        """The rows, without the blanks at their ends."""
        return [self._grid.row(y).text() for y in range(self.rows)]

    def text(self) -> str:
        """All of the screen."""
        return "\n".join(self.lines())

    def scrollback(self) -> list[str]:
        """The lines above the main screen, oldest first."""
        return [row.text() for row in self._main.history]

    def everything(self) -> list[str]:
        """The scrollback and the main screen below it."""
        return self.scrollback() + [self._main.row(y).text() for y in range(self.rows)]

    def cells(self, row: int) -> list[Cell]:
        """What the cells of a row show, and how."""
        return self._grid.row(row).cells(self.columns)

    @property
    def columns(self) -> int:
        """Cells in a row."""
        return self._main.columns

    @property
    def rows(self) -> int:
        """Rows."""
        return self._main.lines

    @property
    def cursor(self) -> tuple[int, int]:
        """Row and column of the cursor, from 0."""
        return self._grid.cursor.y, min(self._grid.cursor.x, self.columns - 1)

    @property
    def cursor_visible(self) -> bool:
        """Whether the cursor is shown."""
        return 25 in self.modes

    @property
    def in_alternate_screen(self) -> bool:
        """Whether it shows the alternate screen."""
        return self._which == _ALTERNATE

    @property
    def keyboard(self) -> int:
        """The flags of the Kitty protocol in force; 0 for a terminal that does not answer the question for them."""
        return self._keyboard[self._which][-1] if self._replies.gives("kitty-keyboard") else 0

    @property
    def replies(self) -> list[str]:
        """Answers that were not taken yet."""
        return self._replies.waiting

    @property
    def queries(self) -> list[str]:
        """What was asked, in order."""
        return self._replies.asked

    @property
    def _main(self) -> Grid:
        return self._grids[_MAIN]

    @property
    def _grid(self) -> Grid:
        return self._grids[self._which]

    # What the terminal does

    def feed(self, data: bytes | str) -> None:
        """Take what the program writes, in pieces of any size."""
        for kind, content in self._parser.feed(data):
            _ACTIONS[kind](self, content)

    def resize(self, columns: int, rows: int) -> None:
        """Get another size. The alternate screen never reflows and has no history."""
        resize(self._main, columns, rows, pulls_back=self._pulls_back, reflows=self._reflows)
        resize(self._grids[_ALTERNATE], columns, rows, pulls_back=False, reflows=False)

    def _text(self, text: str) -> None:
        self._grid.draw(text)

    def _frame(self, border: str) -> None:
        if border == "begin":
            self.modes.add(2026)
        else:
            self.modes.discard(2026)
            self.frames += 1

    def _control(self, character: str) -> None:
        grid = self._grid
        match character:
            case "\r":
                grid.cursor.x = 0
            case "\n" | "\v" | "\f":
                grid.settle_cursor()
                grid.index()
            case "\b":
                grid.settle_cursor()
                grid.cursor_back()
            case "\t":
                if grid.cursor.x < grid.columns:  # a tab goes nowhere while a wrap is pending
                    grid.tab()
            case "\a":
                self.bells += 1
            case "\0" | "\x0e" | "\x0f" | "\x7f":
                pass
            case _:
                self.unknown.append(character)

    def _csi(self, sequence: str) -> None:
        match = _CSI.fullmatch(sequence)
        assert match is not None
        prefix, parameters, intermediate, final = match.groups()
        if final == "m" and not prefix and not intermediate:
            self._grid.style = apply(self._grid.style, parameters)
            return
        if final not in _WITHOUT_MOTION and not prefix:
            self._grid.settle_cursor()
        numbers = [int(number.partition(":")[0] or 0) for number in parameters.split(";")]
        if not self._act(prefix + intermediate, final, numbers) and not self._replies.answer(
            prefix, numbers, intermediate + final
        ):
            self.unknown.append(f"CSI {sequence}")

    def _act(self, marks: str, final: str, numbers: Sequence[int]) -> bool:
        """Do what a sequence says; False if this is none of those that do something."""
        first = numbers[0]
        match marks, final:
            case "", _ if final in CELL_ACTIONS:
                CELL_ACTIONS[final](self._grid, numbers)
            case "", "J":
                self._erase(first)
            case "?", "h" | "l":
                for mode in numbers:
                    self._set_mode(mode, on=final == "h")
            case "", "h" | "l":
                self.unknown += [f"mode {mode}" for mode in numbers]
            case " ", "q":
                self.cursor_style = first
            case "", "t" if first in (22, 23):
                self._stack_title(first)
            case ">" | "<" | "=", "u":
                self._change_keyboard(marks, numbers)
            case ">", "m":
                pass  # modifyOtherKeys: keys with the Kitty protocol go first
            case "!", "p":
                self._grid.style = apply(self._grid.style, "0")
                self._grid.margins = None
                self.modes |= {7, 25}
            case _:
                return False
        return True

    def _erase(self, how: int) -> None:
        self._grid.erase_in_display(how)
        if how == 3:
            self.wipes += 1
            self._main.history.clear()

    def _set_mode(self, mode: int, *, on: bool) -> None:
        (self.modes.add if on else self.modes.discard)(mode)
        if mode in (6, 7):
            (self._grid.set_mode if on else self._grid.reset_mode)(mode, private=True)
        elif mode in (47, 1047, 1049):
            self._switch(_ALTERNATE if on else _MAIN, saves_cursor=mode == 1049)

    def _switch(self, which: int, *, saves_cursor: bool) -> None:
        if which == self._which:
            return
        old, new = self._grid, self._grids[which]
        if which == _ALTERNATE:
            if saves_cursor:
                old.save_cursor()
            new.cursor.x, new.cursor.y = old.cursor.x, old.cursor.y
            new.style = apply(old.style, "0")
            new.erase_in_display(2)
        elif saves_cursor:
            column, row = new.cursor.x, new.cursor.y
            new.restore_cursor()
            # It has stayed in its line if the size has changed meanwhile, as in kitty, VTE and tmux.
            new.cursor.x, new.cursor.y = column, row
        new.mode = set(old.mode)
        self._which = which

    def _stack_title(self, operation: int) -> None:
        if operation == 22:
            self._titles.append(self.title)
        elif self._titles:
            self.title = self._titles.pop()

    def _change_keyboard(self, operation: str, numbers: Sequence[int]) -> None:
        """Kitty's protocol: https://sw.kovidgoyal.net/kitty/keyboard-protocol/#progressive-enhancement."""
        stack = self._keyboard[self._which]
        match operation:
            case ">":
                stack.append(numbers[0])
            case "<":
                del stack[max(1, len(stack) - max(1, numbers[0])) :]
            case _:
                how = numbers[1] if len(numbers) > 1 else 1
                stack[-1] = {2: stack[-1] | numbers[0], 3: stack[-1] & ~numbers[0]}.get(how, numbers[0])

    def _escape(self, sequence: str) -> None:
        grid = self._grid
        match sequence:
            case "7":
                grid.save_cursor()
            case "8":
                grid.restore_cursor()
            case "D" | "E":
                grid.settle_cursor()
                grid.index()
                grid.cursor.x = 0 if sequence == "E" else grid.cursor.x
            case "M":
                grid.settle_cursor()
                grid.reverse_index()
            case "c":
                self._reset()
            case "=" | ">" | "(B" | ")B" | "%G":
                pass  # keypads and character sets that are the usual ones
            case _:
                self.unknown.append(f"ESC {sequence}")

    def _reset(self) -> None:
        self._which = _MAIN
        for grid in self._grids:
            grid.reset()
            grid.style = apply(grid.style, "0")._replace(link="")
        self.modes = {7, 25}

    def _osc(self, body: str) -> None:
        code, _, rest = body.partition(";")
        match code:
            case "0" | "2":
                self.title = rest
            case "8":
                self._grid.style = self._grid.style._replace(link=rest.partition(";")[2])
            case "9" if rest.startswith("4;"):
                self.progress = rest[2:]
            case "9":
                self.notifications.append(rest)
            case "777":
                self.notifications.append(rest.removeprefix("notify;"))
            case "52" if not rest.endswith("?"):
                self.clipboard = base64.b64decode(rest.partition(";")[2]).decode("utf-8", "replace")
            case "133":
                self.marks.append((rest, len(self._main.history) + self._main.cursor.y))
            case "1337" if rest.startswith("File="):
                self.images += 1
            case _ if not self._replies.answer_colour(code, rest) and code not in ("1", "7"):
                self.unknown.append(f"OSC {body}")

    def _string(self, body: str) -> None:
        kind, rest = body[0], body[1:]
        if kind == "_" and rest.startswith("G"):
            keys = dict(pair.split("=", 1) for pair in rest[1:].partition(";")[0].split(",") if "=" in pair)
            if keys.get("a") == "q":
                self._replies.answer_graphics(keys.get("i", "0"))
            elif keys.get("a") in ("T", "p"):
                self.images += 1
        elif kind == "P" and re.match(r"[0-9;]*q", rest):
            self.images += 1  # Sixel
        elif kind != "P" or not self._replies.answer_setting(rest):
            self.unknown.append(f"ESC {body}")

    def _broken(self, sequence: str) -> None:
        self.unknown.append(sequence)


_ACTIONS: dict[Kind, Callable[[Screen, str], None]] = {
    "text": Screen._text,
    "control": Screen._control,
    "csi": Screen._csi,
    "osc": Screen._osc,
    "string": Screen._string,
    "escape": Screen._escape,
    "broken": Screen._broken,
    "frame": Screen._frame,
}
