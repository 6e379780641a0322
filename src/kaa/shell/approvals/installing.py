"""Commands that install programs for the user, which the sandbox keeps in a directory of its own."""

import re

from kaa.core.messages import Json

_INSTALLS = re.compile(
    r"\bnpm\s+(?:link|ln)\b|\bnpm\s+(?:i|install|add)\b[^;&|\n]*\s(?:-g|--global)\b"
    r"|\b(?:cargo|go|pipx|uv\s+tool)\s+install\b"
)


def place_of_installed(command: Json) -> str:
    """Where a command that succeeded in the sandbox put programs, for its result; empty if it installed none."""
    found = _INSTALLS.search(command) if isinstance(command, str) else None
    if found is None:
        return ""
    program = " ".join(found[0].split())
    return (
        f"\n[sandbox] `{program}` installs for the commands of this project only, in $XDG_CACHE_HOME. (Typed behind"
        " `!`, it installs for the user.)"
    )
