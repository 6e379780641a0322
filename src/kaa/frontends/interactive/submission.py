"""What is entered, and what it means: a message, a slash command, or a command for the shell."""

from collections.abc import Callable

from kaa.core.events import AgentEnd
from kaa.ext.invocation import invocation_in
from kaa.frontends.interactive.attachments import Attachments
from kaa.frontends.interactive.commands import Commands
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.prompt_history import PromptHistory
from kaa.frontends.interactive.ui_context import UIContext
from kaa.shell.conversation import CommandNotRun, CommandReply, SessionToOpen, SubmitOutcome

# Long enough to read what to do instead.
_REFUSAL_SECONDS = 10.0


class Submission:
    """Takes what is entered.

    Args:
        hold: keeps a text that was entered until what it returns is called.
        on_session: goes on with the session that a slash command leads to.
    """

    def __init__(
        self,
        ui: UIContext,
        commands: Commands,
        attachments: Attachments,
        history: PromptHistory,
        hold: Callable[[str], Callable[[], None]],
        on_reply: Callable[[str], None],
        on_failure: Callable[[BaseException], None],
        on_session: Callable[[SessionToOpen], None],
    ) -> None:
        self._ui = ui
        self._commands = commands
        self._attachments = attachments
        self._history = history
        self._hold = hold
        self._on_reply = on_reply
        self._on_failure = on_failure
        self._on_session = on_session
        self._history_problem = ""  # of the last entry

    def submit(self, *, follow_up: bool = False) -> None:
        """Do what stands in the editor.

        Args:
            follow_up: give a message to the model when it would stop, not as soon as possible.
        """
        text = self._ui.main_view.editor.text
        if text.strip() and not self._refuse(text):
            self._ui.main_view.editor.take()
            self.enter(text, follow_up=follow_up)

    @property
    def needs_no_conversation(self) -> bool:
        """Whether a command stands in the editor that can be run without one."""
        called = invocation_in(self._ui.main_view.editor.text)
        return called is not None and self._commands.is_independent(called)

    def command_line(self, text: str) -> None:
        """Run what was entered behind vi's colon."""
        from kaa.frontends.interactive.colon_commands import slash_command  # lazy: few use it

        command = slash_command(text)
        called = invocation_in(command)
        if called is None or not (self._commands.exists(called.name) or self._commands.absence(called)):
            self._ui.say(f"there is no command {text.strip()!r}; :help lists all", "warning")
        elif not self._refuse(command):
            self._ui.main_view.editor.history.add(command)
            self.enter(command)

    def run(
        self, command: str, then: Callable[[], None] = lambda: None, release: Callable[[], None] = lambda: None
    ) -> None:
        """Have the conversation run a slash command, and show its answer.

        Args:
            then: called after that.
            release: called when the session has what the command sends, or it has ended.
        """

        def replied(outcome: SubmitOutcome) -> None:
            self._replied(command, outcome)
            release()
            then()

        self._ui.call(lambda engine: engine.command(command, release), replied, self._failing(release))

    def enter(self, text: str, *, follow_up: bool = False, then: Callable[[], None] = lambda: None) -> None:
        """Do what was entered, now or before the start. A command that is refused goes back into the editor.

        Args:
            follow_up: give a message to the model when it would stop, not as soon as possible.
            then: called after a command.
        """
        if not self._refuse(text):
            self._ui.main_view.status.show("")  # what was said of an earlier command is over
            self._keep(text)
            self._do(text, follow_up=follow_up, then=then)
            return
        self._give_back(text)
        then()

    def _refuse(self, text: str) -> bool:
        """Whether it is a command that cannot be run like this, which is said then."""
        called = invocation_in(text)
        reason = self._commands.refusal(called) if called else None
        if reason is not None:
            self._ui.say(reason, "warning", _REFUSAL_SECONDS)
        return reason is not None

    def _do(self, text: str, *, follow_up: bool = False, then: Callable[[], None] = lambda: None) -> None:
        called = invocation_in(text)
        if called is not None and (nothing := self._commands.absence(called)) is not None:
            self._on_reply(nothing)
            then()
        elif called is not None:
            show = self._commands.runner(called.name, called.arguments)
            if show is None:
                self.run(text, then, self._hold(text))
            else:
                show(called.arguments)
                then()
        elif text.startswith("!"):
            self._run_in_shell(text.strip())
        else:
            self._say(text, follow_up=follow_up)

    def _say(self, text: str, *, follow_up: bool) -> None:
        release = self._hold(text)
        message = self._attachments.message(text)
        self._ui.call(
            lambda engine: engine.say(message, follow_up=follow_up, kept=release), None, self._failing(release)
        )

    def _failing(self, release: Callable[[], None]) -> Callable[[BaseException], None]:
        """What is told of a failure, and calls `release` behind what puts the text back into the editor."""

        def failed(error: BaseException) -> None:
            self._on_failure(error)
            self._ui.call(lambda engine: engine.in_turn(), lambda _: release())

        return failed

    def _run_in_shell(self, text: str) -> None:
        in_context = not text.startswith("!!")
        command = text.lstrip("!").strip()
        self._ui.call(lambda engine: engine.run_command(command, in_context=in_context), None, self._on_failure)

    def _replied(self, text: str, outcome: SubmitOutcome) -> None:
        match outcome:
            case CommandNotRun(text=reason):
                self._ui.say(reason, "warning", _REFUSAL_SECONDS)
                self._give_back(text)
            case CommandReply(text=reply, refused=refused):
                if reply:
                    self._on_reply(reply)
                if refused:
                    self._give_back(text)
            case SessionToOpen():
                self._on_session(outcome)
            case AgentEnd():
                pass  # its events told all

    def _give_back(self, text: str) -> None:
        """Put a refused command back into the editor, unless something else was typed since."""
        if self._ui.main_view.editor.is_empty:
            self._ui.main_view.editor.set_text(text)

    def _keep(self, text: str) -> None:
        async def kept(_engine: Engine) -> str:
            try:
                self._history.append(text)
            except OSError as error:
                return f"what you type is not kept for other sessions: {error.filename}: {error.strerror}"
            return ""

        def tell(problem: str) -> None:
            if problem and problem != self._history_problem:
                self._ui.say(problem, "warning")
            self._history_problem = problem

        self._ui.call(kept, tell, self._on_failure)
