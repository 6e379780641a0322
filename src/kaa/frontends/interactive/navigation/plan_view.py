"""What restoring files would do, as lines to read before it is done."""

from collections import Counter
from collections.abc import Iterator, Sequence

from kaa.builtin.amounts import counted
from kaa.tui.components.text import truncated
from kaa.tui.context import Context
from kaa.tui.layout import wrap
from kaa.tui.sanitize import one_line, squeezed
from kaa.tui.style import Span, paint_spans
from kaa.tui.width import cells, fit
from kaa.workspace.checkpoints.many_files import by_reason, named
from kaa.workspace.checkpoints.plans import FileStep, RestorePlan

# What each step is called, and in which colour.
_ACTIONS = {
    "restore": ("restored", "text"),
    "create": ("recreated", "success"),
    "delete": ("deleted", "error"),
}
# Of files that somebody else may have changed too, by what ran then.
_MARKS = {"background": "?", "command": "~"}
_MOST_STEPS = 200  # with a line of their own
_ACTION_WIDTH = max(len(name) for name, _ in _ACTIONS.values())


class PlanView:
    """A plan as it is read (`kaa.frontends.interactive.dialogs.frame.Body`).

    Args:
        context: colours and glyphs.
        plan: what would be done.
        lead: said above it.
        is_redo: it takes an undo back, so that `/redo` brings back nothing more.
    """

    def __init__(self, context: Context, plan: RestorePlan, lead: str, *, is_redo: bool = False) -> None:
        self._context = context
        self._plan = plan
        self._lead = lead
        self._is_redo = is_redo

    def lines(self, width: int) -> list[str]:
        """What cannot be restored, with the reasons; the lead and a line for each file, of which there may be many."""
        return [fit(line, width) for part in self._parts(width) for line in part]

    def _parts(self, width: int) -> Iterator[list[str]]:
        palette, glyphs = self._context.palette, self._context.glyphs
        if self._plan.conflicts:
            yield wrap([("Not restored:", palette["warning"])], width)
            for paths, reason in by_reason(self._plan.conflicts, one_line):
                text = f"{paths}: {squeezed(reason)}"
                yield wrap(
                    [(text, palette["muted"])], width, [(f" {glyphs.bullet} ", palette["warning"])], [("   ", "")]
                )
        for gap in self._plan.gaps:
            yield wrap([(f"Not restored: {squeezed(gap)}", palette["warning"])], width)
        yield wrap([(squeezed(self._lead), palette["text"])], width)
        yield [self._step(step, width) for step in self._plan.steps[:_MOST_STEPS]]
        if len(self._plan.steps) > _MOST_STEPS:
            yield wrap([(self._others(self._plan.steps[_MOST_STEPS:]), palette["muted"])], width)
        if self._plan.uncertain:
            said = "? changed while only a background process of kaa's ran: maybe you or another program changed it"
            yield wrap([(said, palette["warning"])], width)
        if partial := [one_line(step.path) for step in self._plan.steps if step.is_partial]:
            said = f"As someone else left them between two changes of kaa's: {named(partial)}"
            yield wrap([(said, palette["warning"])], width)
        if self._plan.of_commands:
            way_back = "" if self._is_redo else "/redo, or "
            said = (
                "~ changed while a command ran: what you or another program wrote there meanwhile goes too. To get it"
                f" back: {way_back}/tree and the entry after that command"
            )
            yield wrap([(said, palette["muted"])], width)
        for rule in self._plan.uncovered:
            yield wrap([(f"Not covered: {squeezed(rule)}", palette["dim"])], width)

    def _others(self, steps: Sequence[FileStep]) -> str:
        """Sum up the files that have no line of their own."""
        counts = Counter[str](step.action for step in steps)
        parts = [f"{counts[action]:,} {name}" for action, (name, _) in _ACTIONS.items() if counts[action]]
        return f" and {counted(len(steps), 'more file')}: {', '.join(parts)}"

    def _step(self, step: FileStep, width: int) -> str:
        palette = self._context.palette
        name, token = _ACTIONS[step.action]
        counts: list[Span] = []
        if step.added:
            counts.append((f" +{step.added}", palette["toolDiffAdded"]))
        if step.removed:
            counts.append((f" -{step.removed}", palette["toolDiffRemoved"]))
        before = f"{_MARKS.get(step.by, ' ')}{name.ljust(_ACTION_WIDTH)}  "
        room = width - cells(before) - sum(cells(text) for text, _ in counts)
        path = truncated(one_line(step.path), max(1, room), self._context.glyphs.ellipsis)
        return paint_spans([(before, palette[token]), (path, palette["text"]), *counts])
