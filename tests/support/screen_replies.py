"""What an emulated terminal answers to a program's questions, as kitty and xterm do."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from tests.support.screen import Screen

# What can be asked for.
Query = Literal[
    "attributes",  # DA1
    "secondary-attributes",
    "tertiary-attributes",
    "status",
    "cursor",
    "kitty-keyboard",
    "mode",
    "version",
    "foreground",
    "background",
    "cursor-colour",
    "palette",
    "colour-scheme",
    "cell-size",
    "window-size",
    "graphics",
    "termcap",
    "setting",
]
Answers: TypeAlias = Literal["all", "none"] | frozenset[Query]

CELL_WIDTH, CELL_HEIGHT = 9, 18  # pixels

# Private modes that it says it knows, set or not.
_MODES = frozenset({1, 6, 7, 25, 47, 1000, 1002, 1003, 1004, 1006, 1007, 1047, 1049, 2004, 2026, 2031})
_COLOURS: dict[str, Query] = {"10": "foreground", "11": "background", "12": "cursor-colour"}


class Replies:
    """Answers the questions of a program.

    Attributes:
        waiting: answers that nobody took yet.
        asked: what was asked, answered or not.
    """

    def __init__(self, screen: "Screen", answers: Answers, *, is_dark: bool) -> None:
        self._screen = screen
        self._answers = answers
        self._is_dark = is_dark
        self.waiting: list[str] = []
        self.asked: list[str] = []

    def gives(self, query: Query) -> bool:
        """Whether it answers this question."""
        return self._answers == "all" or query in self._answers

    def _give(self, query: Query, answer: str) -> bool:
        self.asked.append(query)
        if self.gives(query):
            self.waiting.append(answer)
        return True

    def answer(self, prefix: str, numbers: Sequence[int], final: str) -> bool:
        """Answer a CSI sequence; False if it asks nothing."""
        first = numbers[0]
        row, column = self._screen.cursor
        match prefix, final:
            case "", "c":
                return self._give("attributes", "\x1b[?62;22c")
            case ">", "c":
                return self._give("secondary-attributes", "\x1b[>1;4000;0c")
            case "=", "c":
                return self._give("tertiary-attributes", "\x1bP!|00000000\x1b\\")
            case ">", "q":
                return self._give("version", "\x1bP>|screen(1.0)\x1b\\")
            case "?", "u":
                return self._give("kitty-keyboard", f"\x1b[?{self._screen.keyboard}u")
            case "?", "$p":
                return self._give("mode", f"\x1b[?{first};{self._mode_state(first)}$y")
            case "", "n" if first == 5:
                return self._give("status", "\x1b[0n")
            case "", "n" if first == 6:
                return self._give("cursor", f"\x1b[{row + 1};{column + 1}R")
            case "?", "n" if first == 6:
                return self._give("cursor", f"\x1b[?{row + 1};{column + 1}R")
            case "?", "n" if first == 996:
                return self._give("colour-scheme", f"\x1b[?997;{1 if self._is_dark else 2}n")
            case "", "t":
                return self._answer_size(first)
            case _:
                return False

    def _mode_state(self, mode: int) -> int:
        """As DECRPM says it: unknown, set, reset."""
        if mode not in _MODES:
            return 0
        return 1 if mode in self._screen.modes else 2

    def _answer_size(self, what: int) -> bool:
        rows, columns = self._screen.rows, self._screen.columns
        match what:
            case 14:
                return self._give("window-size", f"\x1b[4;{rows * CELL_HEIGHT};{columns * CELL_WIDTH}t")
            case 16:
                return self._give("cell-size", f"\x1b[6;{CELL_HEIGHT};{CELL_WIDTH}t")
            case 18:
                return self._give("window-size", f"\x1b[8;{rows};{columns}t")
            case _:
                return False

    def answer_colour(self, code: str, rest: str) -> bool:
        """Answer an OSC sequence; False if it is none about colours."""
        if code in _COLOURS and rest == "?":
            is_light = self._is_dark == (code != "11")
            return self._give(_COLOURS[code], f"\x1b]{code};rgb:{'/'.join(['eeee' if is_light else '1e1e'] * 3)}\x1b\\")
        if code == "4" and rest.endswith("?"):
            return self._give("palette", f"\x1b]4;{rest[:-2]};rgb:8080/8080/8080\x1b\\")
        return code in ("4", "104", "110", "111", "112", *_COLOURS)

    def answer_graphics(self, identity: str) -> None:
        """Answer the question for Kitty's graphics protocol."""
        self._give("graphics", f"\x1b_Gi={identity};OK\x1b\\")

    def answer_setting(self, body: str) -> bool:
        """Answer a DCS string; False if it asks nothing."""
        if body.startswith("+q"):
            return self._give("termcap", f"\x1bP0+r{body[2:]}\x1b\\")
        return body.startswith("$q") and self._give("setting", "\x1bP0$r\x1b\\")
