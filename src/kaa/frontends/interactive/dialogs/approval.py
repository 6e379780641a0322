"""The question whether a call may run, and what the user can answer."""

from collections.abc import Callable

from kaa.ext.escalations import OUTSIDE
from kaa.ext.questions import (
    Abort,
    AllowAlways,
    AllowByAuto,
    AllowForSession,
    AllowInProject,
    AllowOnce,
    Approval,
    ApprovalAnswer,
    Deny,
    PutBack,
)
from kaa.frontends.interactive.dialogs.approval_view import ApprovalView, rules_on_a_button
from kaa.frontends.interactive.dialogs.choices import DialogChoice, DialogChoices
from kaa.frontends.interactive.dialogs.frame import QuestionDialog
from kaa.frontends.interactive.dialogs.text_entry import TextEntry
from kaa.tui.context import Context


class ApprovalDialog(QuestionDialog[ApprovalAnswer]):
    """Asks whether a call may run. A no is taken at once, a yes only when all of the question was on the screen."""

    def __init__(self, context: Context, request: Approval, on_answer: Callable[[ApprovalAnswer], None]) -> None:
        self.request = request
        token = "error" if request.warning else "warning"
        super().__init__(context, _title(request), ApprovalView(context, request).lines, on_answer, token)
        self.urge = "Scroll to the end to allow"

    def _answering(self) -> DialogChoices:
        more, wide = self._context.glyphs.ellipsis, self.request.broader_rule
        choices = [
            DialogChoice("y", "Yes, this time", self._once_read(lambda: self._answer(AllowOnce()))),
            DialogChoice(
                "s",
                f"Yes, for the session: {'this tool' if wide else rules_on_a_button(self.request.suggestion)}",
                self._once_read(lambda: self._answer(AllowForSession(self.request.suggestion))),
            ),
        ]
        if self.request.writes_files:
            choices = [
                DialogChoice(
                    "y", "The command made this: write it", self._once_read(lambda: self._answer(AllowOnce()))
                ),
                DialogChoice("p", "I made this: put it back", self._once_read(lambda: self._answer(PutBack()))),
            ]
        if self.request.stepping:
            run = "Run it, with this permission for the session" if self.request.lasting else "Run it"
            choices = [DialogChoice("y", run, self._once_read(lambda: self._answer(AllowOnce())))]
        elif self.request.lasting:
            choices = [
                DialogChoice("y", "Yes, for this session", self._once_read(lambda: self._answer(AllowForSession())))
            ]
        if self.request.server is not None and wide is not None:
            choices.append(
                DialogChoice(
                    "t",
                    f"Yes, for the session: all tools of {self.request.server.name}",
                    self._once_read(lambda: self._answer(AllowForSession(wide))),
                )
            )
        if self.request.suggestion is not None:
            choices.append(
                DialogChoice(
                    "a", f"Yes, always, in all projects: edit the rule{more}", self._once_read(self._ask_for_rule)
                )
            )
        if self.request.directories:
            choices.append(
                DialogChoice(
                    "a", "Yes, always, in this project", self._once_read(lambda: self._answer(AllowInProject()))
                )
            )
        if self.request.auto:
            choices.append(
                DialogChoice(
                    "d",
                    "Run it, and the next ones without waiting (auto)"
                    if self.request.stepping
                    else "Yes, do not ask again in the sandbox (auto)",
                    self._once_read(lambda: self._answer(AllowByAuto())),
                )
            )
        if not self.request.is_of_call:  # no model waits for the answer, and perhaps nothing runs
            choices.append(DialogChoice("n", "No, leave it moved away", lambda: self._answer(Deny())))
        else:
            choices += [
                DialogChoice(
                    "n",
                    f"{'Skip it' if self.request.stepping else 'No'}, and tell the model why{more}",
                    self._ask_for_reason,
                ),
                DialogChoice(
                    "x",
                    "Stop the run" if self.request.stepping else "No, and stop the run",
                    lambda: self._answer(Abort()),
                ),
            ]
        # Where something would be lost, no sandbox confines the call or later ones could use more of the machine, a yes
        # takes more than Enter.
        is_grave = self.request.warning or self.request.leaves_sandbox or self.request.opens_machine
        proposed = "n" if is_grave else "y"
        stop = (lambda: self._answer(Abort())) if self.request.is_of_call else None
        return DialogChoices(self._context, choices, lambda: self._answer(Deny()), proposed, stop)

    def _once_read(self, take: Callable[[], None]) -> Callable[[], None]:
        return lambda: take() if self.is_read else self.insist("No answer yet, read to the end")

    def _ask_for_rule(self) -> None:
        """Rules, one on each line; a session's answer takes rules as well as an answer for good."""
        suggested = self.request.suggestion or ""
        self.exchange(
            TextEntry(
                self._context,
                "Rules, one per line:",
                suggested,
                on_enter=lambda text: self._answer(AllowAlways(text)),
                on_cancel=self.offer,
            ),
            "Enter saves the rule, Esc goes back",
        )

    def _ask_for_reason(self) -> None:
        self.exchange(
            TextEntry(
                self._context,
                "Reason, or what to do instead (optional):",
                "",
                on_enter=lambda text: self._answer(Deny(text.strip())),
                on_cancel=self.offer,
            ),
            "Enter denies the call, Esc goes back",
        )


def _title(request: Approval) -> str:
    """What is asked. That it is about the sandbox comes first, where a narrow screen does not cut it off."""
    tool = request.tool if request.agent is None else f"{request.tool} for {request.agent}"
    if request.only_permits:
        whose = "model" if request.agent is None else f"agent {request.agent}"
        return f"Permit what the {whose} asks for?"
    if request.only_connects:
        return f"Allow network access for {tool}?"
    if request.writes_files:
        whose = "" if request.agent is None else f" beside {request.agent}"
        return f"kaa moved this away{whose}: put it back?"
    if request.server is not None and request.server.host:
        return f"Allow {tool} at {request.server.host}?"
    if OUTSIDE in request.escalations or request.risk == "outside":
        runs_again = request.was_run and request.risk != "write"
        return f"Outside the sandbox: {f'run {tool} again?' if runs_again else f'allow {tool}?'}"
    if request.was_run:
        return f"Run {tool} again with more allowed?"
    return f"Step: run {tool}?" if request.stepping else f"Allow {tool}?"
