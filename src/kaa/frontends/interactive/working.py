"""What stands above the editor while something goes on: that it does, since when, and what waits to be said."""

import re
from collections.abc import Callable, Sequence

from kaa.frontends.interactive.footer import short_count
from kaa.tui.components.display import Display
from kaa.tui.context import Context
from kaa.tui.events import Input
from kaa.tui.layout import wrap
from kaa.tui.sanitize import one_line, squeezed
from kaa.tui.style import Span, paint, paint_spans
from kaa.tui.width import cells, clip

_MINUTE_SECONDS = 60
_QUEUED_SHOWN = 3
# Why something did not work takes a sentence or two, with the name of a file in it.
_STATUS_ROWS = 4


class WorkingLine:
    """One line while the agent works, none otherwise. `tick` turns its spinner, and shows how much was written by then.

    An answer that streams changes more often than that; the line would be a third of what is written to the terminal.

    Args:
        now: monotonic seconds.
    """

    def __init__(self, context: Context, now: Callable[[], float], hint: Callable[[], str]) -> None:
        self._context = context
        self._now = now
        self._hint = hint
        self._since: float | None = None
        self._instead_since = 0.0
        self._what = self._instead = self._own = ""
        self._tokens = self._shown_tokens = 0
        self._step = 0
        self._lines: list[str] = []

    @property
    def is_shown(self) -> bool:
        return self._since is not None

    def begin(self, what: str) -> None:
        """Something goes on from now on, called `what`."""
        self._since, self._what = self._now(), what
        self._tokens = self._shown_tokens = 0

    def change(self, what: str) -> None:
        """The same is called something else now."""
        self._what = what

    def call_it(self, what: str) -> None:
        """Whatever goes on is called this; empty for its own name."""
        self._own = what

    def show_instead(self, what: str) -> None:
        """It waits for something else from now on, called `what`; empty if it no longer does."""
        if not self._instead:
            self._instead_since = self._now()
        self._instead = what

    def add_tokens(self, count: int) -> None:
        """The model wrote about this many tokens more."""
        self._tokens += count

    def end(self) -> None:
        """Nothing goes on any more."""
        self._since = None

    def tick(self) -> None:
        self._step += 1
        self._shown_tokens = self._tokens

    def render(self, width: int) -> list[str]:
        """The line, if something continues."""
        if self._since is None:
            lines = []
        else:
            palette, glyphs = self._context.palette, self._context.glyphs
            spinner = glyphs.spinner[self._step % len(glyphs.spinner)]
            facts = [elapsed(self._now() - (self._instead_since if self._instead else self._since))]
            if self._shown_tokens and not self._instead:
                facts.append(f"about {short_count(self._shown_tokens)} tokens")
            if not self._instead:  # keys are for what it waits for
                facts.append(self._hint())
            what = one_line(self._instead or self._own or self._what)
            text = clip(f" {what} ({', '.join(filter(None, facts))})", max(0, width - cells(spinner)))
            lines = [paint_spans([(spinner, palette["accent"]), (text, palette["muted"])])]
        if lines != self._lines:
            self._lines = lines
        return self._lines

    def key(self, key: Input) -> bool:
        """Nothing can be typed here."""
        return False

    def cursor(self) -> None: ...


# What kaa's own extensions send says itself what it is.
_OWN_EXTENSION = re.compile(r"\A\[kaa\.[\w.]+\] ")


class QueuedMessages(Display):
    """What was said while the agent works, or entered while kaa starts, and is not given to it yet: a line for each."""

    def __init__(self, context: Context, hint: Callable[[], str]) -> None:
        super().__init__(context)
        self._hint = hint
        self._said: list[tuple[str, str]] = []
        self._entered: list[tuple[str, str]] = []

    def show(self, steering: Sequence[str], follow_up: Sequence[str]) -> None:
        """These wait in the conversation."""
        self._said = [*(("steering", text) for text in steering), *(("afterwards", text) for text in follow_up)]
        self.changed()

    def show_entered(self, texts: Sequence[str]) -> None:
        """These wait for a conversation."""
        self._entered = [("afterwards", text) for text in texts]
        self.changed()

    def _paint(self, width: int) -> list[str]:
        palette = self._context.palette
        waiting = [*self._said, *self._entered]
        shown = [squeezed(f"{when}: {_OWN_EXTENSION.sub('', text)}") for when, text in waiting[:_QUEUED_SHOWN]]
        if len(waiting) > _QUEUED_SHOWN:
            shown.append(f"and {len(waiting) - _QUEUED_SHOWN} more")
        lines = [paint(clip(f" {text}", width), palette["muted"]) for text in shown]
        if not all(_OWN_EXTENSION.match(text) for _, text in waiting):  # what kaa's own extensions sent stays
            lines.append(paint(clip(f" {self._hint()}", width), palette["dim"]))
        return lines


class StatusLine(Display):
    """A word about what just happened; it goes when something else does."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._text = ""
        self._token = "muted"

    @property
    def text(self) -> str:
        return self._text

    def show(self, text: str, token: str = "muted") -> None:
        """Show this instead; the empty text shows nothing."""
        self._text, self._token = text, token
        self.changed()

    def _paint(self, width: int) -> list[str]:
        text = squeezed(self._text)
        margin: list[Span] = [(" ", "")]
        return wrap([(text, self._context.palette[self._token])], width, margin, margin)[:_STATUS_ROWS] if text else []


def elapsed(seconds: float) -> str:
    whole = int(seconds)
    if whole < _MINUTE_SECONDS:
        return f"{whole} s"
    minutes, seconds = divmod(whole, _MINUTE_SECONDS)
    return f"{minutes} min {seconds:02} s"
