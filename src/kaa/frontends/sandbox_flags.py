"""What the command line says of the sandbox. Light: the hands are told before the rest of kaa is loaded."""

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from kaa.shell.safety import SandboxFlags

if TYPE_CHECKING:
    from argparse import Namespace

_BEGINNINGS = ("/", "./", "../", "~/")
_DOCUMENTS = (".md", ".mdc", ".txt")


def sandbox_flags(arguments: "Namespace") -> SandboxFlags:
    """What was chosen for the project that kaa was started in.

    Args:
        arguments: as `kaa.cli` parses them.
    """
    texts = (arguments.system_prompt or "", *arguments.append_system_prompt)
    return SandboxFlags(
        arguments.sandbox,
        arguments.net,
        tuple(arguments.add_dir),
        not arguments.no_git,
        tuple(arguments.extension),
        tuple(filter(None, (arguments.mcp_config, *map(prompt_file, texts)))),
    )


def prompt_file(text: str) -> str | None:
    """The file that is named in place of a text; None for a text, also if a command made a file of that name."""
    if text.startswith(_BEGINNINGS) or (text.endswith(_DOCUMENTS) and len(text.split()) == 1):
        with suppress(ValueError):  # a character that no path has
            return text if os.path.isfile(os.path.expanduser(text)) else None
    return None
