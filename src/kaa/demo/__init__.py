"""`kaa demo`: kaa repairs a bug in a small project, for real, with a model whose replies were recorded.

Files, commands, tools, the loop and the wire adapter all run; only the network is played from a cassette, which
was recorded from a run of kaa with a real model (docs/demo.md).
"""

from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Run the demo. Returns the exit code: 0 if the project's tests pass at the end."""
    if arguments:
        from kaa.frontends.command_parser import CommandParser  # lazy: mostly there are none

        about = "Watch kaa fix a failing test in a small project. Needs no key and no network."
        CommandParser("kaa demo", about, ("kaa demo",)).parse_args(arguments)
    from kaa.demo.performance import perform  # lazy: `kaa demo --help` needs none of it

    return perform()
