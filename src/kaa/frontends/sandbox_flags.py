"""What the command line says of the sandbox. Light: the hands are told before the rest of kaa is loaded."""

from typing import TYPE_CHECKING

from kaa.shell.safety import SandboxFlags

if TYPE_CHECKING:
    from argparse import Namespace


def sandbox_flags(arguments: "Namespace") -> SandboxFlags:
    """What was chosen for the project that kaa was started in.

    Args:
        arguments: as `kaa.cli` parses them.
    """
    return SandboxFlags(
        arguments.sandbox,
        arguments.net,
        tuple(arguments.add_dir),
        not arguments.no_git,
        tuple(arguments.extension),
        () if arguments.mcp_config is None else (arguments.mcp_config,),
    )
