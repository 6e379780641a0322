"""Copies text to the user's clipboard: with a program of the desktop, or through the terminal (OSC 52)."""

import sys
import threading
from collections.abc import Callable, Mapping, Sequence

from kaa.tui.terminal import Terminal

# Of the encoded text: what hterm and others take. xterm takes less unless it is told otherwise.
_LONGEST_ENCODED = 100_000
# A program that takes longer waits for a desktop that is not there.
_TIMEOUT_SECONDS = 2.0


class Clipboard:
    """Where copied text goes.

    Over SSH it goes through the terminal, because the clipboard is on the other side. tmux by default ignores programs
    that write to the clipboard through it, but does it for its own command.

    Args:
        terminal: of the user.
        post: calls back in the thread that owns the terminal.
        environment: variables of the process, for the programs too.
        find: the path of a program, if there is one that may be executed.
    """

    def __init__(
        self,
        terminal: Terminal,
        post: Callable[[Callable[[], object]], object],
        environment: Mapping[str, str],
        find: Callable[[str], str | None],
    ) -> None:
        self._terminal = terminal
        self._post = post
        self._environment = environment
        wanted = _commands(environment, is_remote=terminal.capabilities.over_ssh)
        self._commands = [(found, *options) for name, *options in wanted if (found := find(name))]

    def copy(self, text: str, done: Callable[[str], object] = lambda problem: None) -> None:
        """Copy, without waiting for it.

        Args:
            text: to be copied.
            done: told afterwards, in the terminal's thread, what went wrong; empty if nothing is known to have.
        """
        if not self._commands:
            done(self._through_terminal(text))
            return

        def work() -> None:
            if _run_first(self._commands, text, self._environment):
                self._post(lambda: done(""))
            else:
                self._post(lambda: done(self._through_terminal(text)))

        threading.Thread(target=work, name="kaa-clipboard", daemon=True).start()

    def _through_terminal(self, text: str) -> str:
        # Start-up: needed only when something is copied.
        from binascii import b2a_base64

        if not self._terminal.capabilities.takes_strings:
            return "not copied: this terminal has no clipboard; install wl-copy, xclip or xsel"
        encoded = b2a_base64(text.encode("utf-8", "replace"), newline=False).decode()
        if len(encoded) > _LONGEST_ENCODED:
            return f"not copied: that is more than the {_LONGEST_ENCODED * 3 // 4:,} bytes that a terminal takes"
        self._terminal.write(f"\x1b]52;c;{encoded}\x1b\\")
        return ""


def _commands(environment: Mapping[str, str], *, is_remote: bool) -> list[tuple[str, ...]]:
    """The programs that may copy, in order."""
    commands: list[tuple[str, ...]] = []
    if not is_remote:
        if sys.platform == "darwin":
            commands.append(("pbcopy",))
        if environment.get("WAYLAND_DISPLAY"):
            commands.append(("wl-copy",))
        if environment.get("DISPLAY"):
            commands += [("xclip", "-selection", "clipboard"), ("xsel", "--clipboard", "--input")]
        if environment.get("TERMUX_VERSION"):
            commands.append(("termux-clipboard-set",))
    if environment.get("TMUX"):
        commands.append(("tmux", "load-buffer", "-w", "-"))
    return commands


def _run_first(commands: Sequence[tuple[str, ...]], text: str, environment: Mapping[str, str]) -> bool:
    """Give the text to the first of the programs that is there and succeeds."""
    # Start-up: needed only when something is copied.
    import subprocess

    for command in commands:
        try:
            # A session of its own: the program stays to serve what was copied, also when our terminal is closed.
            subprocess.run(
                command,
                env=environment,
                input=text.encode("utf-8", "replace"),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_TIMEOUT_SECONDS,
                check=True,
                start_new_session=True,
            )
        except (OSError, subprocess.SubprocessError):
            continue
        return True
    return False
