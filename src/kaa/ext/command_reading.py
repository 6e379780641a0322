"""What a command of bash would run, as far as can be seen before it runs."""

from typing import TypeAlias

import msgspec

Words: TypeAlias = tuple[str | None, ...]


class CommandReading(msgspec.Struct, frozen=True):
    """A command, taken apart.

    Attributes:
        programs: each with its arguments, in their order, also those that `sudo`, `xargs` or `sh -c` would run; None
            for a word that bash computes. Options of git before its subcommand are left out.
        redirections: those that write or read files or texts, as they are written, such as `> a.txt`.
        is_complete: nothing is hidden by syntax, by words that bash computes or by depth.
    """

    programs: tuple[Words, ...]
    redirections: tuple[str, ...]
    is_complete: bool
