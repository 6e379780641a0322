"""What the words of a command in git's configuration name, besides paths from the top of the working tree.

People write `$(git rev-parse --show-toplevel)/scripts/x`, `$HOME/dev/app/x`, `cd scripts && ./x` and `python3 -m a.b`.
What the shell computes is not computed here: known expressions stand for their directory, and behind all others there
may be a file at the top or in the home.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from kaa.hands.confinement.named import BETWEEN_WORDS, Looks, absolute
from kaa.hands.lazy_pattern import LazyPattern

_TOP, _HOME, _GIT, _UNKNOWN = "\x01", "\x02", "\x03", "\x04"  # in place of what the shell computes
_MARKS = frozenset((_TOP, _HOME, _GIT, _UNKNOWN))
# Without commands and expansions in them: the innermost ones come first.
_EXPANSION = LazyPattern(r"\$\([^()$`]*\)|`[^`$]*`|\$\{[^{}$`]*\}|\$\w+|\$[@*#?!$-]")
_MAX_NESTED = 8
_KNOWN = {
    "PWD": _TOP,
    "pwd": _TOP,
    "pwd -P": _TOP,
    "git rev-parse --show-toplevel": _TOP,
    "HOME": _HOME,
    "GIT_DIR": _GIT,
    "git rev-parse --git-dir": _GIT,
    "git rev-parse --git-common-dir": _GIT,
    "git rev-parse --absolute-git-dir": _GIT,
}
# The word behind one of these is a directory in which others are looked for.
_BEFORE_DIRECTORY = frozenset(
    ("cd", "pushd", "-C", "--chdir", "--directory", "--cwd", "--prefix", "--project", "PYTHONPATH", "NODE_PATH")
)
_PYTHON = LazyPattern(r"(?i)python|pypy|\b(?:py|uv|coverage)\b")
_JAVASCRIPT = LazyPattern(r"(?i)\b(?:node|nodejs|bun|tsx)\b")
_OF_JAVASCRIPT = (".js", "/index.js", "/package.json")  # what `node x` loads for want of a file x
_MODULE = LazyPattern(r"\w+(?:\.\w+)*")
_MAX_WORDS = 64
_MAX_DIRECTORIES = 4


def further_paths(
    command: str, top: str, home: str, looks: Looks, *, is_shell: bool, skips: Callable[[str], bool]
) -> Iterator[str]:
    """Absolute paths that a command may execute or read, most of which exist.

    Args:
        command: short, without the `!` of an alias.
        is_shell: the shell reads it, so words without a slash count.
        skips: whether such a word does not.
    """
    marked = _marked(command)
    sequences = list(_sequences(marked))
    words = list(dict.fromkeys(word for words in sequences for word in words))[:_MAX_WORDS]
    directories = _directories(sequences, top, home)
    is_python, is_javascript = (_is_in(pattern, command) for pattern in (_PYTHON, _JAVASCRIPT))
    loaded = ("/__main__.py",) if is_python and is_shell else _OF_JAVASCRIPT if is_javascript and is_shell else ()
    for word in words:
        counts = "/" in word or not _MARKS.isdisjoint(word) or (is_shell and not skips(word))
        for path, is_sure in _meant(word, directories, top, home) if counts or loaded else ():
            looks.left -= 1 + len(loaded)
            if looks.left < 0:
                return
            if os.path.isfile(path):
                yield from (path,) if counts else ()
                continue
            if counts and is_sure and not os.path.lexists(path):
                yield path
            yield from filter(os.path.isfile, (path + end for end in loaded))
    for module in _modules(sequences) if is_python and is_shell else ():
        looks.left -= len(directories) * (4 + module.count("."))
        if looks.left < 0:
            return
        yield from (path for directory in directories for path in _of_module(directory, module))


def _marked(command: str) -> str:
    """The command with marks in place of what the shell computes."""
    for _ in range(_MAX_NESTED):
        found = _EXPANSION.search(command)
        if found is None:
            break
        command = _EXPANSION.sub(lambda found: _mark(found[0]), command)
    return command


def _mark(expansion: str) -> str:
    inner = expansion.strip("`") if expansion[0] == "`" else expansion[1:].strip("(){}")
    return _KNOWN.get(" ".join(inner.split()), _UNKNOWN)


def _sequences(marked: str) -> Iterator[Sequence[str]]:
    """The words in order: between blanks, quotes and signs, and as the shell takes quotes, if there are any."""
    yield [word for word in BETWEEN_WORDS.split(marked) if word]
    if {"'", '"', "\\"}.isdisjoint(marked):
        return
    import shlex  # lazy: few commands are quoted

    lexer = shlex.shlex(marked, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        yield [word for word in lexer if word]
    except ValueError:
        return


def _directories(sequences: Iterable[Sequence[str]], top: str, home: str) -> list[str]:
    """Where words are looked for: the top, and directories that the command changes to."""
    found = [top]
    for words in sequences:
        follows = False
        for word in words[:_MAX_WORDS]:
            if follows and not word.startswith("-"):
                found += [path for path, _ in _meant(word, found, top, home) if path not in found]
                del found[_MAX_DIRECTORIES:]  # before the next: each may be in each
                follows = False
            follows = follows or word in _BEFORE_DIRECTORY
    return found


def _meant(word: str, directories: Sequence[str], top: str, home: str) -> Iterator[tuple[str, bool]]:
    """What a word may name, each with whether it surely is a path, so that it counts before it exists."""
    cut = max(map(word.rfind, _MARKS)) + 1
    rest = word[cut:]
    if not cut:
        yield from ((path, False) for one in directories if (path := absolute(word, one, home)))
        return
    is_known = cut == 1 and word[0] != _UNKNOWN
    places = {_TOP: directories, _HOME: (home,), _GIT: (os.path.join(top, ".git"),)}
    bases = places[word[0]] if is_known else (*directories, home, *places[_GIT])
    for base in filter(None, bases):
        if path := absolute(rest.lstrip("/") or ".", base, home):
            yield path, is_known and base == bases[0] and rest.startswith("/")


def _modules(sequences: Iterable[Sequence[str]]) -> Iterator[str]:
    """What stands behind `-m`."""
    for words in sequences:
        for index, word in enumerate(words[:_MAX_WORDS]):
            name = word[2:] or next(iter(words[index + 1 : index + 2]), "") if word.startswith("-m") else ""
            if _MODULE.fullmatch(name):
                yield name


def _of_module(directory: str, name: str) -> Iterator[str]:
    """The files that `python -m` executes."""
    *packages, _ = names = name.split(".")
    path = os.path.join(directory, *names)
    files = [f"{path}.py", f"{path}/__init__.py", f"{path}/__main__.py"]
    files += [os.path.join(directory, *packages[: end + 1], "__init__.py") for end in range(len(packages))]
    return filter(os.path.isfile, files)


def _is_in(pattern: LazyPattern[str], command: str) -> bool:
    return pattern.search(command) is not None
