"""What a container executes of the directories that it is lent: its paths are those of the mounts."""

import os
import re
from collections.abc import Iterator, Sequence

from kaa.host.paths import is_below
from kaa.shell.mcp.code_files import has_name_of_program
from kaa.shell.mcp.executed_words import is_interpreter
from kaa.shell.mcp.named_code import MANIFESTS, is_data

_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})
_VOLUMES, _MOUNTS, _DIRECTORIES = ("-v", "--volume"), ("--mount",), ("-w", "--workdir")
_RUNNERS = re.compile(r"npx|pnpx|bunx|uvx|pipx")
_SEPARATORS = re.compile(r"[\s'\"`();,=|&<>{}]+")


def run_words(words: Sequence[str]) -> range:
    """The numbers of the words behind `docker run`; empty for other programs."""
    if os.path.basename(words[0]) not in _CONTAINERS or len(words) < 2:
        return range(0)
    begin = 3 if tuple(words[1:3]) == ("container", "run") else 2 if words[1] == "run" else len(words)
    return range(begin, len(words))


def executed_in_container(words: Sequence[str]) -> str | None:
    """A path outside of the container that it executes by way of a mount; None if there is none, as far as words show.

    Args:
        words: the command line. Mounts whose paths are not absolute do not count.
    """
    given = [words[number] for number in run_words(words)]
    mounts = sorted(_mounts(given), key=lambda one: len(one[1]), reverse=True)
    if not mounts:
        return None
    text = [part for word in given for part in (word, *_SEPARATORS.split(word))]
    runs = any(_RUNNERS.fullmatch(name) or is_interpreter(name) for name in map(_program, text))
    for path in filter(None, (_outside(directory, mounts) for directory in _values(given, _DIRECTORIES))):
        below = (os.path.join(path, word) for word in given if "/" in word)
        if runs or any(os.path.isfile(one) and not is_data(one) for one in below):
            return path
    of_mounts = {*_values(given, _VOLUMES), *_values(given, _MOUNTS)}
    for word in given:
        if word not in of_mounts and word.partition("=")[0] not in (*_VOLUMES, *_MOUNTS, *_DIRECTORIES):
            for part in dict.fromkeys((word, *_SEPARATORS.split(word))):
                named = _outside(part, mounts)
                if named is not None and _is_executed(named, enters=" " in word, runs=runs):
                    return named
    return None


def _is_executed(path: str, *, enters: bool, runs: bool) -> bool:
    if os.path.isdir(path):  # `node /app`, or `sh -c 'cd /app; node x.js'`
        return runs and (enters or any(os.path.exists(os.path.join(path, name)) for name in MANIFESTS))
    return not is_data(path) if os.path.exists(path) else has_name_of_program(path)


def _mounts(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Directories outside, and where they are in the container."""
    for value in _values(words, _VOLUMES):
        source, _, target = value.partition(":")
        yield source, target.partition(":")[0]
    for value in _values(words, _MOUNTS):
        fields = dict(one.partition("=")[::2] for one in value.split(","))
        source = fields.get("source") or fields.get("src") or ""
        yield source, fields.get("target") or fields.get("destination") or fields.get("dst") or ""


def _values(words: Sequence[str], options: Sequence[str]) -> Iterator[str]:
    """The values of options, whether they are attached or not."""
    for number, word in enumerate(words):
        option, is_attached, value = word.partition("=")
        if word in options and number + 1 < len(words):
            yield words[number + 1]
        elif is_attached and option in options:
            yield value
        elif not word.startswith("--") and word[:2] in options and len(word) > len("-v"):
            yield word[2:]


def _outside(path: str, mounts: Sequence[tuple[str, str]]) -> str | None:
    """What a path of the container is outside."""
    if not path.startswith("/"):
        return None
    path = os.path.normpath(path)
    for source, target in mounts:
        if source.startswith("/") and target.startswith("/") and is_below(path, (os.path.normpath(target),)):
            return os.path.normpath(os.path.join(source, os.path.relpath(path, target)))
    return None


def _program(word: str) -> str:
    """The name of a program, or of an image that may start it (`node:22`)."""
    return os.path.basename(word).partition(":")[0]
