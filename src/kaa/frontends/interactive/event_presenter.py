"""Shows what the core tells, and what else there is to say: in the transcript, around the editor, and in the footer."""

import os
import shlex
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kaa.core.events import Event, MessageEnd
from kaa.ext.errors import CommandError
from kaa.frontends.failures import error_text
from kaa.frontends.interactive.activity import Activity
from kaa.frontends.interactive.attention import Attention
from kaa.frontends.interactive.footer import FooterState, short_path
from kaa.frontends.interactive.main_view import MainView
from kaa.frontends.interactive.navigation.result import NavigationResult, restored_files
from kaa.frontends.interactive.transcript.notices import NoticeKind
from kaa.frontends.interactive.transcript.transcript_view import TranscriptView
from kaa.session.errors import SessionWriteError
from kaa.session.naming import session_id_in
from kaa.session.transcript import Transcript
from kaa.shell.status import Status
from kaa.workspace.git import Head

if TYPE_CHECKING:
    from kaa.ext.display import DisplayKind, DisplayUpdate
    from kaa.frontends.interactive.reporter import Additions


class EventPresenter:
    """What is told becomes what is seen (`kaa.frontends.interactive.reporter.EngineListener`).

    Attributes:
        on_additions: is given what extensions have added to the conversation when it changes.
        worktree: the name of that in which the conversation works; empty for none.
    """

    def __init__(
        self, main_view: MainView, transcript: TranscriptView, activity: Activity, attention: Attention
    ) -> None:
        self.on_additions: Callable[[Additions], None] = lambda _: None
        self.on_display: Callable[[DisplayUpdate], None] = lambda _: None
        self.worktree = ""
        self._main_view = main_view
        self._transcript = transcript
        self._activity = activity
        self._attention = attention
        self._status: Status | None = None
        self._session_path: Path | None = None
        self._head: Head | None = None
        self._has_content = False  # something was said in the session
        self._mode = ""

    @property
    def has_file(self) -> bool:
        """Whether the session is kept in a file."""
        return self._session_path is not None

    @property
    def is_worth_resuming(self) -> bool:
        """Whether the session is kept and has anything in it."""
        return self._has_content and self._session_path is not None

    @property
    def works_beside(self) -> int:
        """How many works go on beside the run, such as agents in the background."""
        return 0 if self._status is None else self._status.beside

    @property
    def jobs(self) -> int:
        """How many background processes run."""
        return 0 if self._status is None else self._status.jobs

    @property
    def farewell(self) -> str:
        """How to go on with the session, if there is anything in it; the last word of the program."""
        path = self._session_path
        if path is None or not self.is_worth_resuming:
            return ""
        flags = "-c" if _is_newest(path) else f"--session {session_id_in(path.name) or shlex.quote(str(path))}"
        place = f"--worktree {self.worktree} " if self.worktree else ""
        return f"kaa {place}{flags} resumes this session\n"

    def show_session(self, entries: Transcript, path: Path | None) -> None:
        """Show a session behind what is there. `path`: its file; None if it is not kept."""
        self._session_path = path
        self._has_content = len(entries) > 0
        self._transcript.load(entries)
        self._main_view.app.refresh()

    def clear(self) -> None:
        """Erase everything that is shown, and what has left the screen."""
        self._transcript.clear()
        self._main_view.app.repaint(clear_scrollback=True)

    def show_events(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, MessageEnd):
                self._has_content = True
            self._transcript.show(event)
        self._activity.observe(events)
        self._main_view.app.refresh()

    def show_arrival(self, there: NavigationResult) -> None:
        """The conversation continues from another place of its session."""
        if there.restored != "files":
            before = "from before that message" if there.message is not None else "from here"
            self._transcript.notice(f"The conversation continues {before}.")
            self._transcript.go_on(there.entries)
        for text, kind in restored_files(there):
            self._transcript.notice(text, kind)
        self._main_view.app.refresh()

    def show_notice(self, text: str, kind: NoticeKind = "info") -> None:
        self._transcript.notice(text, kind)
        self._main_view.app.refresh()

    def show_failure(self, error: BaseException) -> None:
        """Something went wrong, or, which is no fault, cannot be done now."""
        if isinstance(error, SessionWriteError):
            self._activity.break_off()
        self.show_notice(error_text(error), "warning" if isinstance(error, CommandError) else "error")

    def show_document(self, markdown: str) -> None:
        """Something to read, such as the help."""
        from kaa.tui.components.markdown import MarkdownStream  # lazy: it parses Markdown with a library

        document = MarkdownStream(self._main_view.context)
        document.append(markdown)
        document.finish()
        self._transcript.add(document)
        self._main_view.app.refresh()

    def show_status(self, status: Status) -> None:
        self._status = status
        self._main_view.header.show_model(status.model.name)
        self._attention.name_session(status.session_name or "")
        self._refresh_footer()

    @property
    def shows(self) -> "Collection[DisplayKind]":
        """What can be shown of what extensions want to be seen."""
        return self._main_view.shows

    def show_display(self, update: "DisplayUpdate") -> None:
        self.on_display(update)

    def show_additions(self, additions: "Additions") -> None:
        self._main_view.view.title_calls(additions.call_titles)
        self.on_additions(additions)

    def show_head(self, head: Head | None) -> None:
        self._head = head
        self._refresh_footer()

    def show_mode(self, mode: str) -> None:
        """The editor is in this mode; empty if it has none."""
        self._mode = mode
        self._refresh_footer()

    def _refresh_footer(self) -> None:
        if self._status is not None:
            self._main_view.footer.state = _footer_state(self._status, self._head, self._mode)
            self._main_view.mark_editor()
            self._main_view.app.refresh()


def _is_newest(session: Path) -> bool:
    """Return True if `kaa -c` resumes this session. Another kaa may have worked in the same project meanwhile."""
    try:
        written = session.stat().st_mtime_ns
        with os.scandir(session.parent) as entries:
            others = [entry for entry in entries if entry.name.endswith(".jsonl") and entry.name != session.name]
            return all(other.stat().st_mtime_ns <= written for other in others)
    except OSError:
        return False


_HASH_CHARACTERS = 8


def _footer_state(status: Status, head: Head | None, mode: str) -> FooterState:
    """What the footer shows.

    Args:
        mode: of the editor, empty if it has none.
    """
    total, context = status.usage.total, status.usage.context
    return FooterState(
        directory=short_path(status.cwd),
        branch="" if head is None else f"at {head.name[:_HASH_CHARACTERS]}" if head.detached else head.name,
        session_name=status.session_name or "",
        model=status.model.name,
        thinking=status.model.thinking,
        tokens_in=total.usage.input,
        tokens_out=total.usage.output,
        cache_read=total.usage.cache_read,
        cache_write=total.usage.cache_write,
        turn_tokens=status.usage.turn.usage.output,
        cache_hits=total.cache_hit_rate,
        cost=total.cost,
        context_used=context.tokens,
        context_window=context.window,
        permissions=status.mode,
        unsafe=_unsafe(status),
        network="" if status.sandbox is None else network_in_short(status.sandbox.network),
        jobs=status.jobs,
        beside=status.beside,
        ports=status.ports,
        checkpoints_problem=status.checkpoints_problem or "",
        mode=mode,
    )


def network_in_short(state: str) -> str:
    """The state of the network; a list of hosts as their number."""
    parts = state.split(",")
    is_list = len(parts) > 1 and all("." in part and "/" not in part for part in parts)
    return f"{len(parts)} hosts" if is_list else state


def _unsafe(status: Status) -> str:
    """That nothing holds the tools; empty if something does, or nothing needs to."""
    if status.sandbox_problem is not None:
        return "no sandbox"
    if status.sandbox is None or status.sandbox.confined:
        return ""
    return "full access" if status.sandbox.mode == "full-access" else "no sandbox"
