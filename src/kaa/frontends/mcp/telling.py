"""What all subcommands of `kaa mcp` do: read the configuration, and tell what is wrong with it."""

import argparse
import os
import sys

from kaa.frontends.delivery import deliver
from kaa.shell.home import Home
from kaa.shell.mcp.config.here import configured_here
from kaa.shell.mcp.config.reading import Configured
from kaa.tui.sanitize import sanitize


async def configured(parsed: argparse.Namespace, home: Home, *, untrusted: bool = False) -> Configured:
    """The servers that are configured in the directory that the command has, as `configured_here` finds them.

    What is wrong is told.

    Raises:
        SettingsError: the user's settings have a mistake.
        TrustError: earlier decisions about the project cannot be read.
    """
    found = await configured_here(parsed.directory, home, os.environ, untrusted=untrusted)
    for notice in found.notices:
        tell(notice)
    return found


def tell(text: str) -> None:
    """Write to the standard error what is no result of the command."""
    deliver(sys.stderr, f"kaa: {sanitize(text)}\n")
