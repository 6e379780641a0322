"""What a server without a sandbox must not name: anything that commands of the model can write, in any project.

No list of programs says which words are executed: whatever a word, a variable or the directory leads to may be. Only
containers may be given a project as a whole, which commands cannot exchange for a link, if they execute nothing of it.
"""

import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence

from kaa.host.paths import is_below, trail
from kaa.shell.mcp.containers import executed_in_container, run_words
from kaa.shell.mcp.place import ServerCommandLine, ServerPlace

_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)[^}]*\})")
_QUOTES = re.compile(r"['\"\\]")
_SEPARATORS = re.compile(r"[\s`();,=:|&<>{}]+")
_CHANGES_DIRECTORY = re.compile(r"\bcd\s+(?:--\s+)?([^\s;&|()]+)")
_UNKNOWN = re.compile(r"[$`]")


class HiddenWordError(ValueError):
    """A word computes what it names; the message says what to do."""


def writable_word(line: ServerCommandLine, place: ServerPlace) -> str | None:
    """A path that the command line of a server leads to and that commands can write; None if there is none. Blocks.

    Raises:
        HiddenWordError: a line of a shell computes its paths.
    """
    base = line.base(place.project)
    roots = place.writable()
    lent = _lent_to_container(line.words, roots)
    variables = {**place.environ, **line.variables, "PWD": base}
    if unknown := next((word for word in line.words if " " in word and _UNKNOWN.search(_plain(word, variables))), ""):
        raise HiddenWordError(
            f"it runs without a sandbox, and `{unknown}` computes what it executes: name it plainly, in a file outside"
            ' of projects, or leave out "sandbox": false'
        )
    program, *arguments = line.words
    if "/" in program:
        program = _absolute(program, base, variables.get("HOME", "/"))
    for number, word in enumerate((program, *arguments, *line.variables.values(), *filter(None, (line.cwd,)))):
        for path in _paths(word, base, variables, roots):
            if number in lent and path.rstrip("/") in lent[number]:
                continue
            if (written := next((one for one in trail(path) if is_below(one, roots)), None)) is not None:
                return written
    return executed_in_container(line.words, roots, variables)


def _lent_to_container(words: Sequence[str], roots: Sequence[str]) -> Mapping[int, frozenset[str]]:
    """Directories as a whole that words of `docker run` may name, by the numbers of the words.

    Only one in which commands can write, and not the one above: else they could put a link in its place.
    """
    if not (numbers := run_words(words)):
        return {}
    whole = frozenset(root for root in roots if not is_below(os.path.dirname(root), roots))
    return dict.fromkeys(numbers, whole)


def _paths(word: str, base: str, variables: Mapping[str, str], roots: Sequence[str]) -> Iterator[str]:
    """Absolute paths that a word may mean: as a whole, or in part, such as behind `--x=`, `-C` or `file://`."""
    text = _plain(word, variables)
    home = variables.get("HOME", "/")
    entered = [_absolute(found, base, home) for found in _CHANGES_DIRECTORY.findall(text)] if " " in text else []
    # The server does not start in a directory that commands can write: a name means no file there.
    has_names = not is_below(os.path.realpath(base), roots)
    for part in dict.fromkeys((*_SEPARATORS.split(text), text, word)):
        for start in (0, *(found.start() for found in re.finditer(r"[~/]|\.\.?/", part))):
            one = part[start:]
            path = _absolute(one, base, home)
            is_path = one.startswith(("/", "~", "./", "../")) or one in (".", "..")
            for found in (path, *glob.glob(path, include_hidden=True)) if glob.has_magic(path) else (path,):
                if one and (is_path or (has_names and os.path.lexists(found))):
                    yield found
            yield from (_absolute(one, directory, home) for directory in entered)


def _plain(word: str, variables: Mapping[str, str]) -> str:
    """A word without quotes, with its variables filled in."""
    return _VARIABLE.sub(lambda found: variables.get(found[1] or found[2], found[0]), _QUOTES.sub("", word))


def _absolute(path: str, base: str, home: str) -> str:
    return os.path.join(base, home + path[1:] if path == "~" or path.startswith("~/") else path)
