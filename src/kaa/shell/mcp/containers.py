"""What a container executes of the directories that it is lent: its paths are those of the mounts."""

import csv
import os
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from kaa.host.paths import is_below
from kaa.shell.mcp.code_files import has_name_of_program
from kaa.shell.mcp.executed_words import is_interpreter, is_of_server_for_folders, is_option_of_data
from kaa.shell.mcp.named_code import MANIFESTS, is_data, is_loaded_from

_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})
_VOLUMES, _MOUNTS, _DIRECTORIES = ("-v", "--volume"), ("--mount",), ("-w", "--workdir")
_ATTACHED_VARIABLE = re.compile(r"-e[A-Za-z_]\w*=")
_VARIABLES = frozenset({"-e", "--env"})
_OF_CONTAINER = frozenset({*_VOLUMES, *_MOUNTS, *_DIRECTORIES})
# Where images have their programs, and what these load.
_OF_IMAGES = ("/usr", "/etc", "/opt", "/bin", "/sbin", "/lib", "/lib64", "/root", "/proc", "/dev", "/sys")
_OF_KERNEL = re.compile(r"(?<![\w.-])/(?:proc/|dev/fd\b)")
_RUNNERS = re.compile(r"npx|pnpx|bunx|uvx|pipx")
_SEPARATORS = re.compile(r"[\s'\"`();,=|&<>{}]+")


def run_words(words: Sequence[str]) -> range:
    """The numbers of the words behind `docker run`; empty for other programs."""
    if os.path.basename(words[0]) not in _CONTAINERS or len(words) < 2:
        return range(0)
    begin = 3 if tuple(words[1:3]) == ("container", "run") else 2 if words[1] == "run" else len(words)
    return range(begin, len(words))


def executed_in_container(words: Sequence[str]) -> Iterator[str]:
    """Paths outside of the container that it may execute by way of a mount, as far as words show.

    Every word in which the place of a mount occurs counts, in whatever spelling, unless it is known to be about data.

    Args:
        words: the command line. Mounts whose paths are not absolute do not count.
    """
    given = [words[number] for number in run_words(words)]
    mounts = sorted(_mounts(given), key=lambda one: len(one.target), reverse=True)
    if not mounts:
        return
    yield from (one.source for one in mounts if not _is_place_of_data(one.target))
    text = [part for word in given for part in (word, *_SEPARATORS.split(word))]
    runs = any(_RUNNERS.fullmatch(name) or is_interpreter(name) for name in map(_program, text))
    for path in filter(None, (_outside(directory, mounts) for directory in _values(given, _DIRECTORIES))):
        below = [os.path.join(path, word) for word in given if not word.startswith(("/", "-"))]
        if runs or any(has_name_of_program(one) or (os.path.isfile(one) and not is_data(one)) for one in below):
            yield path
    works_on_folders = any(map(is_of_server_for_folders, given))
    before = ""
    for word in given:
        option = word.partition("=")[0] if word.startswith("-") else before if before.startswith("-") else ""
        option = "-e" if _ATTACHED_VARIABLE.match(word) else option
        if option not in _OF_CONTAINER and word not in _OF_CONTAINER:
            for named in _named(word, mounts):
                if not _is_data(named, word, option, before, mounts, works_on_folders=works_on_folders):
                    yield named.outside
        before = word


class _Mount(NamedTuple):
    """A directory outside, and where it is in the container; both absolute."""

    source: str
    target: str


class _Named(NamedTuple):
    """A path in a word: as the container has it, and what that is outside."""

    inside: str
    outside: str


def _named(word: str, mounts: Sequence[_Mount]) -> Iterator[_Named]:
    """The paths in a word that are those of mounts, or below one."""
    plain = re.sub(r"/+(?:\./+)*", "/", unquote(word))
    plain = re.sub(r"\bfile:(?=/)", "", plain)
    if _OF_KERNEL.search(plain):  # the current directory, or another name of a mount
        yield _Named(plain, mounts[0].source)
    for mount in mounts:
        for found in re.finditer(rf"{re.escape(mount.target)}(?![\w.-])(?:/[^\s'\"`();,=|&<>{{}}:]*)?", plain):
            inside = os.path.normpath(found[0])
            if is_below(inside, (mount.target,)):
                yield _Named(
                    inside, os.path.normpath(os.path.join(mount.source, os.path.relpath(inside, mount.target)))
                )


def _is_data(
    path: _Named, word: str, option: str, before: str, mounts: Sequence[_Mount], *, works_on_folders: bool
) -> bool:
    """Whether a path of a mount is one of data in a word."""
    if option in _VARIABLES:
        assigned = word.partition("=")[2] if word.startswith("--") else word.removeprefix("-e")
        return not is_loaded_from(assigned.partition("=")[0]) and not has_name_of_program(path.inside)
    if " " in word or has_name_of_program(path.inside) or _OF_KERNEL.search(path.inside):
        return False
    if is_data(path.inside) or (option and is_option_of_data(option)):
        return True
    is_mount = any(path.inside == one.target for one in mounts)
    if option or word.rstrip("/") != path.inside or is_interpreter(_program(before)):
        return False
    return is_mount or (works_on_folders and not os.path.isfile(path.outside) and not _has_manifest(path.outside))


def _has_manifest(folder: str) -> bool:
    return any(os.path.exists(os.path.join(folder, name)) for name in MANIFESTS)


def _is_place_of_data(target: str) -> bool:
    """Whether the programs of an image look for nothing to execute in a place of it."""
    return target != "/" and not is_below(target, _OF_IMAGES) and not target.startswith("/docker-")


def _mounts(words: Sequence[str]) -> Iterator[_Mount]:
    """The mounts. One that cannot be understood is where the image has its programs."""
    for value in _values(words, _VOLUMES):
        source, _, target = value.partition(":")
        if source.startswith("/"):
            yield _Mount(source, os.path.normpath("/" + target.partition(":")[0].lstrip("/")))
    for value in _values(words, _MOUNTS):
        fields = dict(one.partition("=")[::2] for one in next(csv.reader([value]), []))
        source = fields.get("source") or fields.get("src") or ""
        target = fields.get("target") or fields.get("destination") or fields.get("dst") or ""
        if source.startswith("/"):
            yield _Mount(source, os.path.normpath("/" + target.lstrip("/")))


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


def _outside(path: str, mounts: Sequence[_Mount]) -> str | None:
    """What a path of the container is outside."""
    return next((one.outside for one in _named(path, mounts)), None) if path.startswith("/") else None


def _program(word: str) -> str:
    """The name of a program, or of an image that may start it (`node:22`)."""
    return os.path.basename(word).partition(":")[0]
