"""Blocks and a dock for tests of presenters: lines that are told what to be."""

from kaa.tui.events import Input


class LinesBlock:
    """Keeps what has left the screen, whatever it is told afterwards."""

    def __init__(self, lines: list[str], *, finished: bool = True, is_prompt: bool = False) -> None:
        self._lines = lines
        self._frozen: list[str] = []
        self._shown: list[str] = []
        self.finished = finished
        self.is_prompt = is_prompt
        self.times_asked = 0

    def change(self, lines: list[str]) -> None:
        self._lines = lines

    @property
    def lines(self) -> list[str]:
        return [*self._frozen, *self._lines[len(self._frozen) :]]

    @property
    def frozen(self) -> int:
        return len(self._frozen)

    def render(self, width: int) -> list[str]:
        self.times_asked += 1
        lines = self.lines
        if lines != self._shown:
            self._shown = lines
        return self._shown

    def freeze(self, lines: int) -> None:
        self._frozen = self._shown[:lines]

    @property
    def settled(self) -> int:
        return len(self._shown) if self.finished else 0


class Dock:
    def __init__(self, *lines: str, cursor: tuple[int, int] | None = (0, 0)) -> None:
        self.lines = list(lines)
        self.at = cursor

    def render(self, width: int) -> list[str]:
        return self.lines

    def key(self, key: Input) -> bool:
        return False

    def cursor(self) -> tuple[int, int] | None:
        return self.at
