"""What commands about many sessions have in common: where sessions are, numbers, and a word while files are read."""

import argparse
import os
import sys
from collections.abc import Callable

from kaa.shell.home import Home, session_folder
from kaa.shell.sessions import Sessions
from kaa.shell.settings import load_user_settings


def add_session_dir(parser: argparse.ArgumentParser) -> None:
    """The flag that `sessions_of` wants to know."""
    parser.add_argument("--session-dir", metavar="DIR", help="where sessions are kept")


def sessions_of(directory: str, session_dir: str | None) -> Sessions:
    """The sessions of the user, seen from a directory.

    Raises:
        SettingsError: the user's settings have a mistake, or it is not known where they are.
    """
    home = Home.of(os.environ)
    return Sessions(home, directory, session_folder(session_dir, load_user_settings(home.settings).session_dir))


def positive(text: str) -> int:
    """A whole number from 1 on, as an argument."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


def reading_progress() -> Callable[[int, int], None] | None:
    """Says on the terminal how many files are read, which happens once for each; None where there is no terminal."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, of: int) -> None:
        sys.stderr.write(f"\rreading sessions: {done:,} of {of:,}" if done < of else "\r\x1b[K")
        sys.stderr.flush()

    return show
