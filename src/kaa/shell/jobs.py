"""Background jobs that end by themselves: the user is told at once, and the model with its next request.

Both are told of jobs that end with kaa when the session is opened again. No request is made for it: what the end of a
job means for the task, the user decides.
"""

from collections.abc import Callable, Sequence

from kaa.core.agent import Agent
from kaa.core.events import AgentEnd, CompactionEnd, Event, MessageEnd, ToolExecutionEnd, TurnEnd
from kaa.core.messages import user_message
from kaa.ext.context import ConversationContext
from kaa.session.errors import SessionError
from kaa.session.recorder import SessionRecorder
from kaa.session.store import SessionStore
from kaa.session.unfinished import closed_in_order, note_work
from kaa.workspace.protocol import BackgroundProcess

_KIND = "jobs"  # of unfinished work


class Jobs:
    """The background processes of one conversation. All calls must come from its event loop.

    Args:
        open_ports: gives the ports of the user's machine that lead to servers of commands.
    """

    def __init__(
        self,
        agent: Agent,
        store: SessionStore,
        recorder: SessionRecorder,
        context: ConversationContext,
        notify: Callable[[str], None],
        open_ports: Callable[[], Sequence[int]],
    ) -> None:
        self._agent = agent
        self._store = store
        self._recorder = recorder
        self._context = context
        self._notify = notify
        self._open_ports = open_ports
        self._untold = False
        self._noted = ("", "")
        agent.subscribe(self._observe)

    def changed(self, process: BackgroundProcess) -> None:
        """Follow a process that has begun or ended, and tell of an end that is news."""
        from kaa.builtin.background import status_of, title_of  # lazy: few conversations have background processes
        from kaa.builtin.tools.process_view import model_view

        if process.state == "running":
            return  # the model does not know of it yet
        self._note()
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

    def close(self, *, somebody_looks: bool) -> None:
        """Leave a note of the jobs that end with kaa.

        Args:
            somebody_looks: a person should learn of it, also in another session.
        """
        self._note()
        closed_in_order(self._store.path, is_told=not somebody_looks)

    def _observe(self, event: Event) -> None:
        if isinstance(event, ToolExecutionEnd | TurnEnd | AgentEnd):
            self._note()
        if self._untold and isinstance(event, TurnEnd | AgentEnd | CompactionEnd):
            self._tell_model()

    def _note(self) -> None:
        """Note the jobs that would end with kaa now, if they are others than before."""
        from kaa.builtin.background import title_of  # lazy, as above
        from kaa.builtin.tools.process_view import model_view

        view = model_view(self._context)
        running = [one for one in self._context.workspace.processes.list() if one.state == "running"]
        jobs = [(one.id, title_of(one)) for one in running if view.knows(one.id)]
        ports = ", ".join(map(str, self._open_ports())) if jobs else ""
        about = ", ".join(f"{number} ({title})" for number, title in jobs)
        note = (
            f"Background jobs, which ended with kaa: {about}{f'. Ports that are closed now: {ports}' if ports else ''}"
            if jobs
            else "",
            "\n".join(f"[Process {number}: was stopped, because kaa ended] {title}" for number, title in jobs),
        )
        if note != self._noted:
            self._noted = note
            note_work(self._store.path, self._context.workspace.root, _KIND, *note)

    def _tell_model(self) -> None:
        """Say what a result of a tool has not said meanwhile. Nothing may come between a call and its result."""
        from kaa.builtin.tools.process_view import model_view  # lazy, as above

        self._untold = False
        if ends := model_view(self._context).endings():
            message = user_message("\n".join(ends), origin="extension")
            self._agent.inform(message)
            try:
                self._recorder.record(MessageEnd(message))
            except SessionError as error:
                self._notify(str(error))
