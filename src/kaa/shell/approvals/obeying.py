"""Which programs execute or obey a protected file, for the question whether it may be written."""

import re

from kaa.hands.executed_names import (
    AGENTS,
    BEGINNINGS,
    CHOICES,
    EDITORS,
    ENDINGS,
    INTERPRETERS,
    LANGUAGE_SERVERS,
    MADE_BY_TOOLS,
    OF_GIT,
    SHELLS,
)

_MANUAL_SECTION = re.compile(r"\(\d\)")
_TABLES = (AGENTS, EDITORS, LANGUAGE_SERVERS, SHELLS, INTERPRETERS, OF_GIT, MADE_BY_TOOLS, CHOICES)


def obeying(path: str) -> str:
    """What executes or obeys a protected file, as the end of a sentence that names the program and the file."""
    known = {name.casefold(): (program, name) for table in _TABLES for name, program in table.items()}
    names = path.casefold().split("/")
    for index, name in enumerate(names):
        if name == ".git":
            return "git executes or obeys (.git)"
        for length in (1, 2, 3):
            if (found := known.get("/".join(names[index : index + length]))) is not None:
                return _told(*found)
        for ending, program in ENDINGS.items():
            if name.endswith(ending):
                return _told(program, f"*{ending}")
        for (beginning, end), program in BEGINNINGS.items():
            if name.startswith(beginning) and name.endswith(end):
                return _told(program, f"{beginning}*{end}")
    return f"other programs execute or obey ({path})"


def _told(source: str, name: str) -> str:
    program, colon, what = source.partition(": ")
    return f"{_MANUAL_SECTION.sub('', program)} executes or obeys ({name}{colon}{what})"
