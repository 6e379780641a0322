"""The lines at the bottom: the project and the sandbox; usage and the model; status sections of extensions."""

import os
from collections.abc import Sequence
from typing import NamedTuple

from kaa.tui.components.display import Display
from kaa.tui.context import Context
from kaa.tui.sanitize import one_line
from kaa.tui.style import Span, Style, paint_spans
from kaa.tui.width import cells, clip

# From these shares of the window on, the context is shown as a warning and as an error (pi's figures).
_CONTEXT_WARNING = 0.7
_CONTEXT_ERROR = 0.9

_GAP = 2
# Less of a directory than this says nothing.
_SHORTEST = 8
# More of a reason belongs into a notice.
_LONGEST_REASON = 48
_MOST_PORTS = 2


class FooterState(NamedTuple):
    """What is shown; empty and zero where it is not known yet.

    Attributes:
        tokens_in: tokens sent that no cache had; then those received, read from caches and written to them, in all.
        turn_tokens: tokens received in the run that goes on, or the last one.
        cache_hits: share of what was sent that a cache had, 0 to 1.
        cost: US dollars; None where prices are not known.
        context_used: tokens of the next request.
        permissions: what tools may do without a question, in a word: `auto`.
        unsafe: that nothing holds the tools, in two words; empty if something does.
        jobs: how many background processes run.
        beside: how many agents work in the background, or other works that no run waits for.
        ports: those of the sandbox that are open on this machine.
        checkpoints_problem: why no checkpoints of files are taken; empty if they are.
    """

    directory: str = ""
    branch: str = ""
    session_name: str = ""
    model: str = ""
    thinking: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cache_read: int = 0
    cache_write: int = 0
    turn_tokens: int = 0
    cache_hits: float | None = None
    cost: float | None = 0.0
    context_used: int = 0
    context_window: int = 0
    permissions: str = ""
    unsafe: str = ""
    network: str = ""
    jobs: int = 0
    beside: int = 0
    ports: tuple[int, ...] = ()
    checkpoints_problem: str = ""
    mode: str = ""


class _Part(NamedTuple):
    """Something that is shown or left out.

    Attributes:
        rank: what has the highest is left out first.
        is_apart: a bullet is put between it and the part before it.
    """

    text: str
    style: Style
    rank: int
    is_apart: bool = True


class Footer(Display):
    """Shows a `FooterState`; what does not fit is left out."""

    def __init__(self, context: Context, state: FooterState | None = None) -> None:
        super().__init__(context)
        self._state = state or FooterState()
        self._sections: tuple[tuple[str, str], ...] = ()

    @property
    def state(self) -> FooterState:
        return self._state

    @state.setter
    def state(self, state: FooterState) -> None:
        if state != self._state:
            self._state = state
            self.changed()

    def show_sections(self, sections: Sequence[tuple[str, str]]) -> None:
        """Show status sections in a line of their own: texts with the theme's tokens."""
        self._sections = tuple(sections)
        self.changed()

    def _paint(self, width: int) -> list[str]:
        lines = [self._line(self._place(), self._safety(), width), self._line(self._use(), self._who(), width)]
        if not self._sections:
            return lines
        palette = self._context.palette
        parts = [_Part(one_line(text), palette[token], rank) for rank, (text, token) in enumerate(self._sections)]
        return [*lines, self._line(parts, [], width)]

    def _place(self) -> list[_Part]:
        state, dim = self._state, self._context.palette["dim"]
        parts = [_Part(one_line(state.directory), dim, 2)]
        if state.branch:
            parts.append(_Part(f" ({one_line(state.branch)})", dim, 3, is_apart=False))
        if state.session_name:
            parts.append(_Part(one_line(state.session_name), dim, 5))
        return parts

    def _safety(self) -> list[_Part]:
        state, palette = self._state, self._context.palette
        parts = []
        if state.unsafe:
            parts.append(_Part(state.unsafe, palette["error"], 0))
        if state.permissions:
            parts.append(_Part(state.permissions, palette["accent" if state.permissions == "plan" else "dim"], 0))
        if state.network:
            parts.append(
                _Part(f"net {one_line(state.network)}", palette["dim" if state.network == "off" else "warning"], 1)
            )
        if state.jobs:
            parts.append(_Part("1 job" if state.jobs == 1 else f"{state.jobs} jobs", palette["accent"], 1))
        if state.beside:
            parts.append(_Part(f"{state.beside} in background", palette["accent"], 1))
        if state.ports:
            parts.append(_Part(_ports(state.ports), palette["accent"], 3))
        if state.checkpoints_problem:
            reason = clip(one_line(state.checkpoints_problem), _LONGEST_REASON)
            parts.append(_Part("checkpoints off", palette["warning"], 0))
            parts.append(_Part(f": {reason}", palette["warning"], 6, is_apart=False))
        return parts

    def _use(self) -> list[_Part]:
        state, palette = self._state, self._context.palette
        dim = palette["dim"]
        parts = []
        if state.mode:
            parts.append(_Part(state.mode, palette["accent"], 0))
        if state.tokens_in or state.tokens_out or state.cache_read:
            sent = f"in {short_count(state.tokens_in)} out {short_count(state.tokens_out)}"
            parts.append(
                _Part(sent + (f" (turn {short_count(state.turn_tokens)})" if state.turn_tokens else ""), dim, 5)
            )
            if state.cache_read or state.cache_write:
                hits = "" if state.cache_hits is None else f" {state.cache_hits:.0%}"
                parts.append(_Part(f"cache {short_count(state.cache_read)}{hits}", dim, 6))
            parts.append(_Part("$?" if state.cost is None else f"${state.cost:.3f}", dim, 4))
        if state.context_window:
            share = state.context_used / state.context_window
            token = "error" if share > _CONTEXT_ERROR else "warning" if share > _CONTEXT_WARNING else "dim"
            parts.append(_Part(f"context {share:.0%} of {short_count(state.context_window)}", palette[token], 1))
        return parts

    def _who(self) -> list[_Part]:
        state, palette = self._state, self._context.palette
        parts = [_Part(one_line(state.model), palette["dim"], 2)] if state.model else []
        if state.thinking and state.thinking != "off":
            token = f"thinking{state.thinking.capitalize()}"
            parts.append(_Part(f"thinking {state.thinking}", palette[token] or palette["dim"], 3))
        return parts

    def _line(self, left: list[_Part], right: list[_Part], width: int) -> str:
        """Both ends of a line; what matters least goes first when there is no room."""
        while True:
            begin, end = self._beside(left), self._beside(right)
            room = width - _width(begin) - _width(end) - (_GAP if left and right else 0)
            if room >= 0 or len(left) + len(right) == 1:
                break
            least = max((*left, *right), key=lambda part: part.rank)
            wanted = cells(least.text) + room
            if least in left and len(left) == 1 and wanted >= _SHORTEST:
                # The end of a path says more than its beginning.
                ellipsis = self._context.glyphs.ellipsis
                left = [least._replace(text=ellipsis + _end_of(least.text, wanted - cells(ellipsis)))]
            else:
                left = [part for part in left if part is not least]
                right = [part for part in right if part is not least]
        if not right:
            return paint_spans(_clipped(begin, width))
        return paint_spans(_clipped([*begin, (" " * (width - _width(begin) - _width(end)), ""), *end], width))

    def _beside(self, parts: list[_Part]) -> list[Span]:
        between = (f" {self._context.glyphs.bullet} ", self._context.palette["dim"])
        spans: list[Span] = []
        for part in parts:
            if spans and part.is_apart:
                spans.append(between)
            spans.append((part.text, part.style))
        return spans


def _ports(ports: tuple[int, ...]) -> str:
    """The open ports in few characters."""
    more = f" +{len(ports) - _MOST_PORTS}" if len(ports) > _MOST_PORTS else ""
    return f"port{'' if len(ports) == 1 else 's'} {', '.join(map(str, ports[:_MOST_PORTS]))}{more}"


def short_count(count: int) -> str:
    """A number of tokens in few characters."""
    if count < 1_000:
        return str(count)
    if count < 10_000:
        return f"{count / 1_000:.1f}k"
    return f"{count / 1_000:.0f}k" if count < 1_000_000 else f"{count / 1_000_000:.1f}M"


def short_path(path: str) -> str:
    """The path with `~` for the user's home."""
    home = os.path.expanduser("~")
    return "~" + path[len(home) :] if path == home or path.startswith(home.rstrip("/") + "/") else path


def _clipped(spans: list[Span], width: int) -> list[Span]:
    kept: list[Span] = []
    for text, style in spans:
        room = width - sum(cells(shown) for shown, _ in kept)
        if room <= 0:
            break
        kept.append((text if cells(text) <= room else clip(text, room), style))
    return kept


def _width(spans: list[Span]) -> int:
    return sum(cells(text) for text, _ in spans)


def _end_of(text: str, width: int) -> str:
    """As much of the text, up to its end, as `width` cells hold."""
    end = len(text)
    for start in range(max(0, end - width), end):
        if cells(text[start:]) <= width:
            return text[start:]
    return ""
