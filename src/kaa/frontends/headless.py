"""Print and JSON mode: work on the messages of the command line, say what happens, exit with a code that tells.

The frontend holds no logic of its own: it opens a conversation, submits messages and writes events down.
"""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Protocol

from kaa.core.events import Event
from kaa.core.messages import Json, UserMessage
from kaa.frontends.exit_codes import ExitCode, of_reason
from kaa.frontends.json_output import JsonOutput
from kaa.frontends.text_output import TextOutput
from kaa.shell.home import Home
from kaa.shell.options import (
    ContinueSession,
    ConversationOptions,
    Live,
    NewSession,
    OpenSession,
    Record,
    Replay,
    SessionChoice,
    UnkeptSession,
    Wire,
)
from kaa.workspace.local import LocalWorkspace

# How long we wait for piped input before telling the user that we do.
_SILENT_WAIT_SECONDS = 2.0


class Output(Protocol):
    """A way to write a run down."""

    def event(self, event: Event) -> None:
        """Write one event."""
        ...

    def header(self, session: dict[str, Json] | None) -> None:
        """Write what identifies the session."""
        ...

    def reply(self, text: str) -> None:
        """Write what a slash command answered."""
        ...

    def progress(self, line: str) -> None:
        """Write a notice."""
        ...

    def failure(self, message: str) -> None:
        """Write why nothing was done."""
        ...


class UsageError(Exception):
    """The command line asks for something that cannot be."""


def main(arguments: argparse.Namespace) -> int:
    """Run print or JSON mode."""
    if arguments.list_models is None and not arguments.print and sys.stdin.isatty() and arguments.mode == "text":
        sys.stderr.write(_NO_TERMINAL_UI)
        return ExitCode.USAGE
