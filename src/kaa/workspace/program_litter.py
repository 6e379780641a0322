"""Removes the temporary directories that servers of tools and extensions left when they were killed."""

import contextlib
import os

from kaa.workspace.places import opened, part_of, sweep

_AT_ONCE = 4


def sweep_programs(directory: int) -> None:
    """Sweep the temporary directories of a few programs, of others each time.

    Args:
        directory: descriptor of the one in which each program has a cache directory; closed here.
    """
    with contextlib.ExitStack() as closing:
        closing.callback(os.close, directory)
        for name in part_of(os.listdir(directory), _AT_ONCE):
            with contextlib.suppress(OSError):  # most have left nothing
                own = opened(name, directory)
                closing.callback(os.close, own)
                temporary = opened("tmp", own)
                closing.callback(os.close, temporary)
                sweep(temporary)
