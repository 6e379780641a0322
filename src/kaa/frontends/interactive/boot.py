"""The start: a prompt that can be typed into, before anything heavy is loaded. *Stage 1*.

Stage 2 runs on the core's thread: it starts the hands, imports the rest, and passes the main view to `ui.py`. Text
typed meanwhile stays in the editor; submitted messages are processed then.
"""

import contextlib
import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kaa.frontends.interactive.core_thread import CoreThread
from kaa.frontends.interactive.main_view import MainView
from kaa.host.prints import prints_in_log
from kaa.shell.preferences import load_preferences
from kaa.tui.events import Event, Key, Paste
from kaa.tui.reactor import Reactor
from kaa.tui.terminal import Terminal

if TYPE_CHECKING:
    from kaa.frontends.command_line import CommandLineOptions
    from kaa.frontends.interactive.early_text import EarlyText
    from kaa.frontends.interactive.engine import Engine
    from kaa.shell.safety import SandboxFlags

# Closing waits for the disk and for commands to end.
_CLOSE_SECONDS = 10.0
# As long as most of what a start loads takes, so that it ends in order. Nothing is lost if it does not.
_START_SECONDS = 1.0
_TAKE_BACK = "app.message.dequeue"
_FAILED, _USAGE_ERROR = 1, 2  # as in `kaa.frontends.exit_codes`


class TerminalOptions(NamedTuple):
    """How the terminal starts.

    Attributes:
        directory: the current one; None if it does not exist any more.
        plain: print lines instead of using a screen.
        fullscreen: begin with a screen of its own.
        choose_session: show the list of sessions first.
        sandbox: gives what was chosen for the project; called on the core's thread, before anything heavy is loaded.
        command_line: gives all that the user asked for; called on the core's thread, which loads what it needs.
        worktree: the name of that in which it starts; empty for none.
        keeps_session: whether anything of the conversation is written to files.
    """

    directory: str | None
    plain: bool
    fullscreen: bool
    choose_session: bool
    sandbox: "Callable[[], SandboxFlags]"
    command_line: "Callable[[], CommandLineOptions]"
    worktree: str = ""
    keeps_session: bool = True


def main(options: TerminalOptions) -> int:
    """Run the interactive terminal.

    Returns:
        The exit code.
    """
    try:
        terminal = Terminal()
    except OSError:
        sys.stderr.write("kaa: no terminal is available. Pass a task with -p; see kaa --help.\n")
        return _USAGE_ERROR
    reactor, folder = Reactor(), os.path.expanduser(os.environ.get("KAA_DIR") or "~/.kaa/agent")
    linear = load_preferences(folder).preferences.screen == "linear"
    if options.plain or linear or terminal.capabilities.dumb:
        from kaa.frontends.interactive.plain import PlainMainView  # lazy: few need it

        return Start(options, PlainMainView(folder, terminal, reactor)).run()
    return Start(options, MainView(folder, terminal, reactor)).run()


class Start:
    """The main view until the core is there, and the way out."""

    def __init__(self, options: TerminalOptions, main_view: MainView) -> None:
        self._options = options
        self._main_view = main_view
        self._submitted: list[str] = []
        self._early: EarlyText | None = None
        self._exit_code = 0
        self._farewell = ""
        self._crash: BaseException | None = None
        self._core: CoreThread[Engine] = CoreThread(
            self._make, lambda engine: engine.close(), main_view.app.reactor.post, self._crashed
        )

    def run(self) -> int:
        """Until the user leaves. Returns the exit code."""
        with prints_in_log():
            self._use_terminal()
        if self._farewell:
            sys.stdout.write(self._farewell)
            sys.stdout.flush()
        if not self._core.stop(_CLOSE_SECONDS if self._core.is_there else _START_SECONDS) and self._core.is_there:
            sys.stderr.write("kaa: running work did not stop in time; the session is saved up to this point\n")
        crash = self._crash or self._core.failure
        return self._exit_code if crash is None else _report(crash)

    def _use_terminal(self) -> None:
        app = self._main_view.app
        app.on_events = self._take
        fullscreen = self._options.fullscreen or self._main_view.preferences.screen == "full"
        app.on_gone = lambda: self.leave(128 + signal.SIGHUP)
        self._main_view.editor.on_submit = lambda _: self._submit()
        try:
            app.reactor.on_signal(signal.SIGINT, lambda: self.leave(128 + signal.SIGINT))
            app.start()
            if fullscreen:
                app.toggle_fullscreen()
            app.reactor.on_signal(signal.SIGTSTP, app.suspend)
            app.reactor.on_signal(signal.SIGTERM, lambda: self.leave(128 + signal.SIGTERM))
            app.reactor.on_signal(signal.SIGHUP, lambda: self.leave(128 + signal.SIGHUP))
            self._core.start()
            app.reactor.run()
        except Exception as error:  # noqa: BLE001 isolation boundary: the terminal is given back, and the bug is told
            self._crash = error
        finally:
            self._main_view.on_leave()
            self._give_back_terminal()

    def leave(self, exit_code: int = 0, farewell: str = "") -> None:
        """End `run`."""
        self._exit_code, self._farewell = exit_code, farewell
        self._main_view.app.reactor.stop()

    def _give_back_terminal(self) -> None:
        try:
            self._main_view.app.stop()
        except Exception as error:  # noqa: BLE001 isolation boundary: what cannot be painted cannot be painted now either
            self._crash = self._crash or error

    def _make(self) -> "Engine":
        """Stage 2, on the core's thread: all that the first frame does not need is imported here."""
        gc.disable()  # loading code makes many objects and no garbage
        from kaa.workspace.launch import launch

        hands = launch()  # starts on another core while the rest is imported here
        from kaa.shell.safety import open_workspace

        # What the hands need to know is little. They build their walls while the rest is imported.
        open_project = partial(open_workspace, hands, self._options.directory, self._options.sandbox())
        opened = open_project()
        import kaa.frontends.interactive.ui  # noqa: F401 - for `_hand_over`, which must not take long
        from kaa.frontends.interactive.engine import Engine

        command_line = self._options.command_line()
        post = self._main_view.app.reactor.post
        post(self._hand_over)
        # What is loaded by now lives as long as the process.
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        gc.enable()
        return Engine(command_line, opened, open_project, post)

    def _hand_over(self) -> None:
        from kaa.frontends.interactive.ui import InteractiveUI  # `_make` has loaded it

        self._keep_early()
        ui = InteractiveUI(self._main_view, self._core, self.leave, self._early)
        ui.presenter.worktree = self._options.worktree
        self._core.call(lambda engine: engine.serve(ui.presenter, ui.questions))
        ui.take_over(self._submitted, choose=self._options.choose_session)

    def _take(self, events: Sequence[Event]) -> None:
        """What is typed before the core is there: all of it is the editor's, but the ways out."""
        for event in events:
            match event:
                case Key(id="ctrl+c" | "ctrl+d") if self._main_view.editor.is_empty:
                    self.leave()
                case Key(id="ctrl+c"):
                    self._main_view.editor.set_text("")
                case Key(id=id_) if self._submitted and id_ in self._main_view.context.keymap.keys(_TAKE_BACK):
                    self._main_view.give_back([self._submitted.pop()], "\n\n")
                    self._main_view.queued.show_entered(self._submitted)
                case Key() | Paste():
                    self._main_view.typed_at = time.monotonic()
                    self._main_view.editor.key(event)
        if self._early is not None:
            self._keep(self._early)

    def _submit(self) -> None:
        if not self._main_view.editor.text.strip():
            return
        self._submitted.append(self._main_view.editor.take())
        self._main_view.queued.show_entered(self._submitted)
        self._main_view.say("starting…")
        self._keep_early()

    def _keep_early(self) -> None:
        """From now on what is entered is kept, if anything of the conversation is."""
        if self._early is None and self._options.keeps_session:
            from kaa.frontends.interactive.early_text import EarlyText  # lazy: few enter something this early

            self._early = EarlyText(self._main_view.folder)

    def _keep(self, early: "EarlyText") -> None:
        """Keep what was entered, and what stands in the editor behind it."""
        with contextlib.suppress(OSError):  # `DraftKeeper` tries it again soon, and says that it cannot be
            early.keep([*self._submitted, self._main_view.editor.text])

    def _crashed(self, error: BaseException) -> None:
        """The core ended by a bug of ours: the terminal is given back, and the bug is told."""
        self._crash = error
        self.leave(_FAILED)


def _report(error: BaseException) -> int:
    # Lazily: only a bug needs them.
    from kaa.frontends.failures import error_text
    from kaa.tui.sanitize import sanitize

    sys.stderr.write(f"kaa: {sanitize(error_text(error))}\n")
    return _FAILED
