"""Package runners: programs that fetch a package and execute it, unless they find one of its name where they start."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from kaa.shell.mcp.directories import directory_of

_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
# With the name of the module or the code, if it is attached. `uv run -m` is like `python -m`.
_IMPORTING = re.compile(r"-(?![XW])[A-Za-z]*?[mc](.*)")
_NAMES_ONE = re.compile("python|pypy|corn|lua|executable")  # most texts have none, and are read quickly
# In a text: a line of a shell, or the words of one in a list, also one of several lines.
_IMPORTS_HERE = re.compile(
    r"\b(?:python|pypy)[\d.]*\b[^\n;|&]{0,300}?[\s\"',]-[A-Za-z]*[mc]\b|\b(?:uvicorn|gunicorn|hypercorn|lua(?:jit)?)\b"
    r"|(?:\b(?:python|pypy)[\d.]*[\"']|\bsys\.executable)(?:\s*,\s*[\"']-\w+[\"']){0,8}?\s*,\s*[\"']-[A-Za-z]*[mc]\b"
)
_SERVERS_OF_MODULES = re.compile(r"uvicorn|gunicorn|hypercorn|fastmcp")
_ALONE = frozenset({"npx", "pnpx", "bunx", "uvx"})
_WITH_WORDS = (
    ("npm", "exec"),
    ("npm", "x"),
    ("pnpm", "dlx"),
    ("yarn", "dlx"),
    ("bun", "x"),
    ("uv", "tool", "run"),
    ("pipx", "run"),
)
_FIRST = frozenset(one[0] for one in _WITH_WORDS)
_ADDRESSES = ("npm:", "jsr:", "https:", "http:")


def package_of_runner(words: Sequence[str]) -> int | None:
    """The number of the word that names the package which a runner executes; None if no runner starts.

    Options before it count as its parts. The number is that of the last word if none is a package.
    """
    if (begin := _after_runner(words)) is None:
        return None
    for number in range(begin, len(words)):
        if not words[number].startswith("-") and not is_path(words[number]):
            return number
    return len(words) - 1


def environment_of_uv(words: Sequence[str], base: str, top: str, cache: str) -> dict[str, str]:
    """Variables by which `uv run` writes nothing in the project: it would renew the environment there at each start.

    Args:
        words: the command line of a server that may not write the project.
        base: the directory that its paths are relative to.
        cache: the server's own folder for caches, where an environment is made if there is none.
    """
    if os.path.basename(words[0]) != "uv" or "run" not in words[1:]:
        return {}
    directory = directory_of(words)
    folder = os.path.join(base, os.path.expanduser(directory.path)) if directory is not None else base
    while not os.path.exists(os.path.join(folder, "pyproject.toml")) and folder not in (top, "/"):
        folder = os.path.dirname(folder)
    has_one = os.path.isdir(os.path.join(folder, ".venv"))
    return {"UV_NO_SYNC": "1"} if has_one else {"UV_PROJECT_ENVIRONMENT": f"{cache}/venv"}


def imports_from_directory(words: Sequence[str]) -> bool:
    """Whether Python is started so that it imports modules from the current directory, before its own (`-m`, `-c`)."""
    parts = [part for word in words for part in word.split()]
    names = [os.path.basename(part) for part in parts]
    if any(map(_SERVERS_OF_MODULES.fullmatch, names)):
        return True
    starts = next((number for number, name in enumerate(names) if _PYTHON.fullmatch(name) or name == "uv"), None)
    if starts is None:
        return False
    return any(_IMPORTING.fullmatch(part) for part in parts[starts + 1 :])


def imports_here(text: str) -> bool:
    """Whether a text of code may start a Python or Lua that looks for modules in the current directory."""
    return _NAMES_ONE.search(text) is not None and _IMPORTS_HERE.search(text) is not None


def modules_of(words: Sequence[str]) -> Iterator[str]:
    """Paths without endings of modules that are imported from the current directory, as far as words may name them."""
    if imports_from_directory(words):
        attached = [found[1] for word in words if (found := _IMPORTING.fullmatch(word)) and found[1]]
        names = (word for word in (*words, *attached) if " " in word or not word.startswith(("/", "~")))
        for name in (part for word in names for part in re.findall(r"[A-Za-z_][\w.]*", word)):
            parts = name.split(".")
            yield from ("/".join(parts[: number + 1]) for number in range(len(parts)))


def outside(words: Sequence[str], base: str, *, names: bool = True) -> list[str]:
    """The command line of a runner for a start in another directory: paths in it become absolute.

    Args:
        base: the directory that its paths are relative to.
        names: whether names with a slash are paths if a file has them; else only what begins with `./` or `../` is.
    """
    is_ours = is_path if names else _is_relative
    return [words[0], *(_absolute(word, base, is_ours) for word in words[1:])]


def is_path(word: str) -> bool:
    """Whether a word is written as a path, and not as a name: packages can be called `@scope/name`."""
    return word in (".", "..") or word.startswith(("./", "../", "/", "~/")) or ("/" in word and word[0] not in "@-")


def _is_relative(word: str) -> bool:
    return word in (".", "..") or word.startswith(("./", "../"))


def _absolute(word: str, base: str, is_path: Callable[[str], bool]) -> str:
    option, is_option, value = word.partition("=") if word.startswith("-") else ("", "", word)
    if value.startswith(("/", "~")) or not is_path(value):
        return word
    path = os.path.normpath(os.path.join(base, value))
    return f"{option}{is_option}{path}" if os.path.lexists(path) else word


def _after_runner(words: Sequence[str]) -> int | None:
    """The number of the word after a runner and the words that belong to it."""
    for number, word in enumerate(words):
        names = [os.path.basename(part) for part in word.split()] if number else [os.path.basename(word)]
        if _ALONE.intersection(names):
            return number + 1
        if len(names) > 1 and any(
            _begins(names[start : start + 3], one) for start in range(len(names)) for one in _WITH_WORDS
        ):
            return number + 1
        if (name := os.path.basename(word)) in _FIRST:
            behind = (one for one in words[number + 1 :] if not one.startswith("-"))
            plain = [name, *islice(behind, 2)]
            for one in _WITH_WORDS:
                if _begins(plain, one):
                    return words.index(one[-1], number + 1) + 1
    if os.path.basename(words[0]) == "deno" and any(word.startswith(_ADDRESSES) for word in words):
        return next(number for number, word in enumerate(words) if word.startswith(_ADDRESSES))
    return None


def _begins(words: Sequence[str], beginning: Sequence[str]) -> bool:
    return tuple(words[: len(beginning)]) == tuple(beginning)
