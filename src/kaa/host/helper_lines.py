"""Lines of a shell in the user's own files that kaa runs with the user's rights, such as one that prints a key.

They must execute nothing that commands of the model can write. A text does not say everything that a shell executes:
what it names plainly is found here, and what it may name in another way is to be hidden from it (`hiding`).
"""

import glob
import os
import re
from collections.abc import Callable, Mapping, Sequence

from kaa.host.hard_links import has_other_name, how_to_part
from kaa.host.known_projects import way_back
from kaa.host.paths import is_below, trail
from kaa.host.writers import writable_places

_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)[^}]*\})")
_PLAIN_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")
_QUOTES = re.compile(r"['\"\\]")
_BETWEEN_WORDS = re.compile(r"[\s`();,=:|&<>\[\]{}]+")
_COMMAND = re.compile(r"""((?:'[^']*'|"[^"]*"|\\.|(?<=>)&|[^'"\\|&;\n])*)(\|\|?|&&?|;|\n|\Z)""", re.DOTALL)
_LITERAL = re.compile(r"""'[^']*'|"[^"$`\\]*\"""")
_COMPUTES = re.compile(r"[$`(){}\[\]*?\\]|(?:^|[;&|\n])\s*\w+=")
_TAKES_LINE = re.compile(r"-\w*[ce]")  # its value is a program
_JOINED = re.compile("-.*/|~[^/]")  # an option with its value in one word, and the home of another user
# What they execute can be a name without a path, such as that of a module below the directory they start in.
_INTERPRETERS = re.compile(
    r"python[\d.]*|pypy\d*|perl[\d.]*|ruby[\d.]*|node|nodejs|deno|bun|php[\d.]*|lua[\d.]*|[a-z]*sh|awk|[gmn]awk|sed|make"
    r"|gmake|env|sudo|doas|busybox|toybox|timeout|nohup|nice|setsid|git|ssh|npx|npm|uv|uvx|source|\.|exec|command"
)
_UNFORESEEN = frozenset({"cd", "pushd", "popd", "eval", "find", "xargs", "export", "alias"})
# They execute none of the files that they are given, and the options that would are in none of their usual lines.
_READ = frozenset({"cat", "head", "tail", "cut", "tr", "grep", "jq", "base64", "age", "rage", "gpg", "gpg2"})


def named_path(line: str, environ: Mapping[str, str], base: str, is_written: Callable[[str], bool]) -> str | None:
    """What a line names plainly and commands of the model can write; None if nothing.

    Args:
        is_written: whether commands can write a real path.
    """
    variables = {**environ, "PWD": base}
    text = _VARIABLE.sub(lambda found: variables.get(found[1] or found[2], found[0]), _QUOTES.sub("", line))
    home = environ.get("HOME", "/")
    for word in filter(None, _BETWEEN_WORDS.split(text)):
        path = os.path.join(base, home + word[1:] if word == "~" or word.startswith("~/") else word)
        found = glob.glob(path, include_hidden=True) if glob.has_magic(path) else [path]
        for one in found if "/" in word or os.path.lexists(path) or len(found) != 1 else ():
            path_written = next(filter(is_written, trail(os.path.abspath(one))), None)
            if path_written is not None:
                return path_written
    return None


def why_not_run(path: str, environ: Mapping[str, str]) -> str:
    """Say why a line that names a path is not run, and what to do."""
    if has_other_name(path) and not is_below(path, writable_places(environ)):
        return f"which is a hard link, so commands in the sandbox may have written it: {how_to_part(path)}"
    way = way_back(path, environ) or "move it out of projects"
    return f"which commands in the sandbox can write, or could in another run, and would run with your rights: {way}"


def without_reading(line: str) -> str:
    """A line without the commands that only read the files they are given, such as `cat ~/dotfiles/key`.

    What another program gets through a pipe may be code: only at the end of a pipe they count.
    """
    kept: list[str] = []
    is_read = True  # by nobody else than by such commands
    for command, separator in reversed(_COMMAND.findall(line)):
        is_read = (is_read or separator != "|") and (not command.strip() or _reads(command))
        if not is_read:
            kept.append(command)
    return "\n".join(reversed(kept))


def says_all(line: str, environ: Mapping[str, str], base: str, places: Sequence[str]) -> bool:
    """Whether a line names all that it executes plainly: it is one program, and goes to none of some places.

    Args:
        places: directories that commands of the model can write.
    """
    filled = _PLAIN_VARIABLE.sub(lambda found: environ.get(found[1] or found[2], found[0]), line)
    words = re.split(r"[\s;|&<>]+", _QUOTES.sub("", filled))
    if _COMPUTES.search(filled if any(map(_TAKES_LINE.fullmatch, words)) else _LITERAL.sub("", filled)):
        return False
    home = environ.get("HOME", "/")
    if "\n" in line or any(_JOINED.match(word) or _INTERPRETERS.fullmatch(os.path.basename(word)) for word in words):
        return False
    return not any(word in _UNFORESEEN or _is_above(word, home, base, places) for word in words)


def plain_words(line: str, environ: Mapping[str, str]) -> list[str]:
    """The words of a line that says all, with its variables filled in; paths in the home begin with that."""
    filled = _PLAIN_VARIABLE.sub(lambda found: environ.get(found[1] or found[2], found[0]), line)
    words = re.split(r"[\s;|&<>]+", _QUOTES.sub("", filled))
    home = environ.get("HOME", "/")
    return [home + word[1:] if word.startswith("~/") else word for word in words if word]


def _is_above(word: str, home: str, base: str, places: Sequence[str]) -> bool:
    """Whether a word, or a part of it such as behind `--x=`, is a directory with one of some places in it."""
    for part in filter(None, (*re.split("[=:,@]", word), word[2:] if word.startswith("-") else "")):
        path = os.path.realpath(os.path.join(base, home + part[1:] if part.startswith("~") else part))
        if not part.startswith("//") and any(is_below(one, (path,)) for one in places):
            return True
    return False


def _reads(command: str) -> bool:
    words = command.split()
    written = _LITERAL.sub("", _PLAIN_VARIABLE.sub("", command))
    return bool(words) and words[0] in _READ and not _COMPUTES.search(written)
