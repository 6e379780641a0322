"""Leaving for another place in the session: what that means is shown, what goes along is asked, and then it is done."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from kaa.builtin.amounts import counted
from kaa.frontends.interactive.activity import Activity
from kaa.frontends.interactive.conversation_tasks import ConversationTasks
from kaa.frontends.interactive.dialogs.choices import DialogChoice, DialogChoices
from kaa.frontends.interactive.dialogs.frame import DialogFrame
from kaa.frontends.interactive.dialogs.paragraph import paragraph
from kaa.frontends.interactive.dialogs.text_entry import TextEntry
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.navigation.result import NavigationResult
from kaa.frontends.interactive.ui_context import UIContext
from kaa.shell.navigating import Along, Arrival, BranchSummaryRequest, Navigation, NavigationTarget, Restore
from kaa.tui.components.text import truncated
from kaa.tui.context import Context
from kaa.tui.layout import wrap
from kaa.tui.sanitize import one_line, squeezed
from kaa.tui.style import Span, paint_spans
from kaa.tui.width import cells, fit
from kaa.workspace.checkpoints.plans import FileStep, RestorePlan, by_reason, named

_LOOKING = "Comparing files with what they were"
_QUIET_SECONDS = 0.3  # a spinner that comes and goes at once only distracts


class MoveRequest(NamedTuple):
    """Where somebody wants to go, and how.

    Attributes:
        find: finds it; None if there is no such place.
        nothing: the text for a place that does not exist.
        proposed: what goes there if Enter is pressed, as the letter of the answer.
        restore: what goes there, if the user has said it already. Nothing is asked then, unless it is impossible.
        may_summarize: what is left behind may be summed up for the model.
        kind: what the user asked for; extensions learn it.
    """

    find: Callable[[Navigation], Awaitable[NavigationTarget | None]]
    nothing: str
    proposed: str = "c"
    restore: Along | None = None
    may_summarize: bool = False
    kind: Literal["tree", "undo", "redo"] = "tree"


class NavigationSteps:
    """Asks and goes.

    Args:
        activity: shows that a summary is being written, and lets it be stopped.
    """

    def __init__(
        self,
        ui: UIContext,
        tasks: ConversationTasks,
        activity: Activity,
        on_arrived: Callable[[NavigationResult], None],
    ) -> None:
        self._ui = ui
        self._tasks = tasks
        self._activity = activity
        self._on_arrived = on_arrived

    def go(self, request: MoveRequest) -> None:
        """Look where that leads, ask what is to be asked, and go."""
        # Where many files changed, it takes a while to compare them with what they were.
        late = self._ui.main_view.app.reactor.call_later(_QUIET_SECONDS, lambda: self._activity.begin_work(_LOOKING))

        def looked() -> None:
            late.cancel()
            self._activity.end_work(_LOOKING)

        def failed(error: BaseException) -> None:
            looked()
            self._ui.show_failure(error)

        def found(destination: NavigationTarget | None) -> None:
            looked()
            if destination is None:
                self._ui.say(request.nothing)
            elif request.restore == "conversation" or destination.leaves_files_alone:
                self._ask_for_summary(destination, request, "conversation")
            elif request.restore == "both" and destination.files_problem is None:
                self._ask_for_summary(destination, request, "both")
            else:
                self._ask_for_files(destination, request)

        self._ui.call(lambda engine: request.find(engine.conversation.navigation), found, failed)

    def _ask_for_files(self, destination: NavigationTarget, request: MoveRequest) -> None:
        plan = destination.files
        if plan.steps:
            title = f"Restore {counted(len(plan.steps), 'file')} too?"
            lead = "kaa would change these files:"
        else:
            title, lead = "Files are unchanged", "No file is restored."
            if destination.files_problem is not None:
                lead = f"kaa cannot restore files: {destination.files_problem}"

        def chosen(restore: Restore, there: NavigationTarget = destination) -> None:
            self._close(dialog)
            if restore == "files":
                self._depart(there, request, restore, None)
            else:
                self._ask_for_summary(there, request, restore)

        choices = [DialogChoice("c", "The conversation only", lambda: chosen("conversation"))]
        proposed = request.proposed
        if plan.steps:
            choices = [
                DialogChoice("b", "Both: the conversation and the files", lambda: chosen("both")),
                *choices,
                DialogChoice("f", "The files only", lambda: chosen("files")),
            ]
        of_commands = plan.of_commands
        if of_commands and len(of_commands) < len(plan.steps):
            others = destination.keeping_of_commands()
            what = f"Both, but keep files marked ~ ({counted(len(of_commands), 'file')})"
            choices.insert(1, DialogChoice("m", what, lambda: chosen("both", others)))
        if plan.uncertain:
            proposed = "k" if proposed == "b" else proposed
            kept = destination.keeping_uncertain()
            what = f"Both, but keep changes marked ? ({counted(len(plan.uncertain), 'file')})"
            choices.insert(0, DialogChoice("k", what, lambda: chosen("both", kept)))
        control = DialogChoices(self._ui.main_view.context, choices, lambda: self._close(dialog), proposed)
        dialog = DialogFrame(
            self._ui.main_view.context,
            title,
            PlanView(self._ui.main_view.context, plan, lead, is_redo=request.kind == "redo").lines,
            control,
            "Esc cancels; /redo reverts an undo" if request.kind == "undo" and plan.steps else "Esc cancels",
        )
        self._open(dialog)

    def _ask_for_summary(self, destination: NavigationTarget, request: MoveRequest, restore: Restore) -> None:
        if (
            not request.may_summarize
            or not destination.left
            or self._ui.main_view.preferences.branch_summary_skip_prompt
        ):
            self._depart(destination, request, restore, None)
            return
        context = self._ui.main_view.context

        def depart(summary: BranchSummaryRequest | None) -> None:
            self._close(dialog)
            self._depart(destination, request, restore, summary)

        def ask_for_instructions() -> None:
            entry = TextEntry(
                context,
                "Focus of the summary:",
                "",
                on_enter=lambda text: depart(BranchSummaryRequest(text.strip())),
                on_cancel=lambda: dialog.exchange(choices, hint),
            )
            dialog.exchange(entry, "Enter summarizes, Esc goes back")

        choices = DialogChoices(
            context,
            [
                DialogChoice("n", "No", lambda: depart(None)),
                DialogChoice("s", "Yes", lambda: depart(BranchSummaryRequest())),
                DialogChoice("i", f"Yes, with a focus{context.glyphs.ellipsis}", ask_for_instructions),
            ],
            lambda: self._close(dialog),
        )
        said = (
            f"{counted(destination.left, 'message')} will be on another branch. The model no longer sees them, "
            "unless you request a summary."
        )
        hint = "Esc cancels"
        dialog = DialogFrame(
            context,
            "Summarize the branch you leave?",
            lambda width: paragraph(context, said, "text", width),
            choices,
            hint,
        )
        self._open(dialog)

    def _depart(
        self,
        destination: NavigationTarget,
        request: MoveRequest,
        restore: Restore,
        summary: BranchSummaryRequest | None,
    ) -> None:
        async def go(engine: Engine) -> NavigationResult:
            conversation = engine.conversation
            arrival: Arrival = await conversation.navigation.go(
                destination, restore=restore, summary=summary, kind=request.kind
            )
            entries = conversation.transcript()
            gaps = () if arrival.files is None else destination.files.gaps
            there = restore if arrival.is_complete else "files"
            remark = destination.remark if there != "files" else ""
            problem = destination.files_problem
            return NavigationResult(there, arrival.message, arrival.files, problem, entries, gaps, remark)

        takes_long = summary is not None or restore != "conversation"
        doing = "Restoring files" if summary is None else "Summarizing the branch you leave"

        def arrived(there: NavigationResult) -> None:
            if takes_long:
                self._activity.end_work(doing)
            self._on_arrived(there)

        def failed(error: BaseException) -> None:
            if takes_long:
                self._activity.end_work(doing)
            self._ui.show_failure(error)

        if takes_long:
            self._activity.begin_work(doing)
        self._tasks.do(go, arrived, failed)

    def _open(self, dialog: DialogFrame) -> None:
        self._ui.main_view.dock.open(dialog)
        self._ui.refresh()

    def _close(self, dialog: DialogFrame) -> None:
        self._ui.main_view.dock.close(dialog)
        self._ui.refresh()


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
