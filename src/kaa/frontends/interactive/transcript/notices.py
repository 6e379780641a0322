"""What is said beside the conversation: notices, errors, retries, and how a run ended."""

import re
from collections import Counter
from math import ceil
from typing import Literal

import msgspec

from kaa.core.events import AgentEnd, AutoRetryStart, BudgetUpdate, CacheMiss, ModelFallback, RunEndReason
from kaa.frontends.interactive.footer import short_count
from kaa.frontends.interactive.transcript.piece import Piece
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.tui.components.text import harmless
from kaa.tui.layout import wrap
from kaa.tui.width import cells

NoticeKind = Literal["info", "warning", "error"]

_TOKENS: dict[NoticeKind, str] = {"info": "muted", "warning": "warning", "error": "error"}
# What a session does not tell of a run's end, in the words of the loop.
_REASONS: dict[RunEndReason, str] = {
    "length": "the reply reached the model's output limit before it was complete",
    "max_turns": "stopped: the run reached its turn limit",
    "max_messages": "stopped: the run reached its message limit",
    "max_continuations": "stopped: hooks reached the limit of continuations of the run",
    "budget": "stopped: the budget is used up",
}


class Notice(Piece):
    def __init__(self, view: ViewOptions, text: str, kind: NoticeKind = "info") -> None:
        super().__init__(view)
        self._text = text
        self._kind: NoticeKind = kind
        self.finished = True

    def layout(self, width: int) -> list[str]:
        """The text behind a mark that tells errors and warnings without colour."""
        glyphs = self.context.glyphs
        style = self.context.palette[_TOKENS[self._kind]]
        mark = {"info": glyphs.bullet, "warning": "!", "error": glyphs.cross}[self._kind]
        rest = " " * (cells(mark) + 1)
        return wrap([(harmless(self._text), style)], width, [(f"{mark} ", style)], [(rest, "")])


class Retry(Piece):
    """A request that is sent again."""

    def __init__(self, view: ViewOptions) -> None:
        super().__init__(view)
        self._error = ""
        self._how = ""

    def start(self, retry: AutoRetryStart) -> None:
        """It will be sent again, for the reason that `retry` gives."""
        self._error = retry.error_message
        self._how = f"retrying in {ceil(retry.delay_ms / 1000)} s, {retry.attempt} of {retry.max_attempts}"
        self.changed()

    def end(self, *, success: bool, attempts: int) -> None:
        """No further try is needed, or none is made."""
        tries = "1 retry" if attempts == 1 else f"{attempts} retries"
        self._how = f"worked after {tries}" if success else f"failed after {tries}"
        self.finished = True
        self.changed()

    def give_up(self) -> None:
        """Nothing more will be heard of this try."""
        self._how = ""
        self.finished = True
        self.changed()

    @property
    def verdict(self) -> int:
        """How it went is said even if the reason has left the screen."""
        return 1 if self.finished and self._how else 0

    def layout(self, width: int) -> list[str]:
        """The reason, and what is done about it below."""
        palette = self.context.palette
        lines = wrap([(harmless(self._error), palette["warning"])], width, [("! ", palette["warning"])], [("  ", "")])
        return [*lines, *(wrap([(self._how, palette["muted"])], width, [("  ", "")]) if self._how else [])]


def ending(view: ViewOptions, reason: RunEndReason, error: str | None) -> Notice | None:
    """What is said at the end of a run; nothing if the task was done."""
    match reason:
        case "done" | "denied":  # `reminding` says what was not permitted, and why
            return None
        case "aborted":
            return Notice(view, "Stopped.", "warning")
        case "error":
            return Notice(view, error or "The model could not be reached.", "error")
        case _:
            text = (error or _REASONS[reason]).removesuffix(".")
            return Notice(view, f"{text[:1].upper()}{text[1:]}.", "warning")


_TO_TYPE = re.compile(r"which runs it with their rights: `(![^`]+)`")  # of `kaa.shell.approvals.wording`


def reminding(view: ViewOptions, end: AgentEnd) -> Notice | None:
    """What the run leaves unresolved, below everything else; nothing if there is nothing."""
    lines = [f"{line[:1].upper()}{line[1:]}" for line in msgspec.structs.replace(end, denials=()).remarks]
    if end.denials:  # with the reasons, which the results show; some ran, and met a wall
        tools = Counter(denial.partition(":")[0] for denial in end.denials)
        calls = ", ".join(name if number == 1 else f"{name} ({number} times)" for name, number in tools.items())
        ways = dict.fromkeys(found[1] for denial in end.denials if (found := _TO_TYPE.search(denial)))
        lines[:0] = [
            f"Not everything was permitted: {calls}. The reasons are above.",
            *(f"To run it with your rights, type {way}" for way in ways),
        ]
    return Notice(view, "\n".join(lines), "warning") if lines else None


def cache_miss(view: ViewOptions, miss: CacheMiss) -> Notice:
    """What the provider's cache did not give, why, and what that cost."""
    price = "" if miss.cost is None else f", ${miss.cost:.3f} more"
    return Notice(view, f"The cache missed {short_count(miss.tokens)} tokens{price}: {miss.detail}.")


def model_fallback(view: ViewOptions, event: ModelFallback) -> Notice:
    """Which model was given up, why, and who continues."""
    text = f"{event.error_message} {event.from_model} was abandoned; {event.to_model} continues."
    return Notice(view, text, "warning")


def budget_update(view: ViewOptions, event: BudgetUpdate) -> Notice:
    return Notice(view, f"Budget: {event.message}.", "info" if event.state == "raised" else "warning")


class Earlier(Notice):
    """Stands for the messages before those that are painted."""

    def __init__(self, view: ViewOptions, count: int) -> None:
        messages = f"{count} earlier message{'s' if count != 1 else ''}"
        super().__init__(view, f"{messages}{view.hint('app.transcript', 'shows all')}")
