"""The two lines at the bottom: where we are and what holds the tools; what was used and which model answers."""

import os
from typing import NamedTuple

from kaa.tui.components.display import Display
from kaa.tui.context import Context
from kaa.tui.sanitize import one_line
from kaa.tui.style import Span, paint_spans
from kaa.tui.width import cells, clip

# From these shares of the window on, the context is shown as a warning and as an error (pi's figures).
_CONTEXT_WARNING = 0.7
_CONTEXT_ERROR = 0.9

_GAP = 2


class FooterState(NamedTuple):
    """What is shown; empty and zero where it is not known yet.

    Attributes:
        tokens_in: tokens sent that no cache had; then those received, read from caches and written to them, in all.
        turn_tokens: tokens received in the run that goes on, or the last one.
        cache_hits: share of what was sent that a cache had, 0 to 1.
        cost: US dollars; None where prices are not known.
        context_used: tokens of the next request.
        sandbox: what holds the tools, in a word; `unsafe` if nothing does although it should.
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
    sandbox: str = ""
    unsafe: bool = False
    network: str = ""
    approvals: str = ""
    mode: str = ""


class Footer(Display):
    """Shows a `FooterState`; what does not fit is left out."""

    def __init__(self, context: Context, state: FooterState | None = None) -> None:
        super().__init__(context)
        self._state = state or FooterState()

    @property
    def state(self) -> FooterState:
        """What is shown."""
        return self._state

    @state.setter
    def state(self, state: FooterState) -> None:
        if state != self._state:
            self._state = state
            self.changed()

    def _paint(self, width: int) -> list[str]:
        return [self._line(self._place(), self._safety(), width), self._line(self._use(), self._who(), width)]

    def _place(self) -> list[Span]:
        state, dim = self._state, self._context.palette["dim"]
        spans: list[Span] = [(one_line(state.directory), dim)]
        if state.branch:
            spans.append((f" ({one_line(state.branch)})", dim))
        if state.session_name:
            spans.append((f" {self._context.glyphs.bullet} {one_line(state.session_name)}", dim))
        return spans

    def _safety(self) -> list[Span]:
        state, palette = self._state, self._context.palette
        spans: list[Span] = []
        if state.sandbox:
            spans.append((one_line(state.sandbox), palette["error"] if state.unsafe else palette["dim"]))
        if state.network:
            token = "dim" if state.network == "off" else "warning"
            spans.append((f"net {one_line(state.network)}", palette[token]))
        if state.approvals:
            spans.append((f"approvals {state.approvals}", palette["dim"]))
        return self._separated(spans)

    def _use(self) -> list[Span]:
        state, palette = self._state, self._context.palette
        dim = palette["dim"]
        spans: list[Span] = []
        if state.mode:
            spans.append((state.mode, palette["accent"]))
        if state.tokens_in or state.tokens_out or state.cache_read:
            sent = f"in {short(state.tokens_in)} out {short(state.tokens_out)}"
            spans.append((sent + (f" (turn {short(state.turn_tokens)})" if state.turn_tokens else ""), dim))
            if state.cache_read or state.cache_write:
                hits = "" if state.cache_hits is None else f" {state.cache_hits:.0%}"
                spans.append((f"cache {short(state.cache_read)}{hits}", dim))
            spans.append(("$?" if state.cost is None else f"${state.cost:.3f}", dim))
        if state.context_window:
            share = state.context_used / state.context_window
            token = "error" if share > _CONTEXT_ERROR else "warning" if share > _CONTEXT_WARNING else "dim"
            spans.append((f"context {share:.0%} of {short(state.context_window)}", palette[token]))
        return self._separated(spans)

    def _who(self) -> list[Span]:
        state, palette = self._state, self._context.palette
        spans: list[Span] = [(one_line(state.model), palette["dim"])] if state.model else []
        if state.thinking and state.thinking != "off":
            token = f"thinking{state.thinking.capitalize()}"
            spans.append((f"thinking {state.thinking}", palette[token] or palette["dim"]))
        return self._separated(spans)

    def _separated(self, spans: list[Span]) -> list[Span]:
        """Shown beside each other."""
        between = (f" {self._context.glyphs.bullet} ", self._context.palette["dim"])
        return [piece for span in spans for piece in (between, span)][1:]

    @staticmethod
    def _line(left: list[Span], right: list[Span], width: int) -> str:
        """Both ends of a line; the right one goes first when there is no room."""
        taken = sum(cells(text) for text, _ in right)
        if taken > width:
            right, taken = [], 0
        left = _clipped(left, width - taken - (_GAP if taken else 0))
        gap = width - taken - sum(cells(text) for text, _ in left)
        return paint_spans([*left, (" " * gap, ""), *right]) if right else paint_spans(left)


def short(count: int) -> str:
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
