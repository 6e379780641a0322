"""Background jobs that end by themselves: the user is told at once, and the model with its next request.

No request is made for it: what the end of a job means for the task, the user decides.
"""

from collections.abc import Callable

from kaa.core.agent import Agent
from kaa.core.events import AgentEnd, CompactionEnd, Event, MessageEnd, TurnEnd
from kaa.core.messages import user_message
from kaa.ext.context import ConversationContext
from kaa.session.errors import SessionError
from kaa.session.recorder import SessionRecorder
from kaa.workspace.protocol import BackgroundProcess


class Jobs:
    """The background processes of one conversation. All calls must come from its event loop.

    Args:
        agent: learns of ends.
        recorder: notes them in the session.
        context: of the conversation, whose tools start processes.
        notify: tells the user.
    """

    def __init__(
        self, agent: Agent, recorder: SessionRecorder, context: ConversationContext, notify: Callable[[str], None]
    ) -> None:
        self._agent = agent
        self._recorder = recorder
        self._context = context
        self._notify = notify
        self._untold = False
        agent.subscribe(self._observe)

    def ended(self, process: BackgroundProcess) -> None:
        """Tell of the end of a process, if it is news."""
        from kaa.builtin.background import status_of, title_of  # lazy: few conversations have background processes
        from kaa.builtin.tools.process import model_view

        if process.state == "stopped" or not model_view(self._context).knows(process.id):
            return  # somebody wanted that; or another conversation's, or the call that started it tells of its end
        failed = process.result is None or process.result.exit_code != 0
        verb = "failed" if failed else "ended"
        self._notify(
            f"background job {process.id} {verb}: {title_of(process)} ({status_of(process)}); /bg {process.id} shows"
            " its output"
        )
        self._untold = True
        if not self._agent.is_running:
            self._tell_model()

    def _observe(self, event: Event) -> None:
        if self._untold and isinstance(event, TurnEnd | AgentEnd | CompactionEnd):
            self._tell_model()

    def _tell_model(self) -> None:
        """Say what a result of a tool has not said meanwhile. Nothing may come between a call and its result."""
        from kaa.builtin.tools.process import model_view  # lazy, as above

        self._untold = False
        if ends := model_view(self._context).endings():
            message = user_message("\n".join(ends), origin="extension")
            self._agent.inform(message)
            try:
                self._recorder.record(MessageEnd(message))
            except SessionError as error:
                self._notify(str(error))
