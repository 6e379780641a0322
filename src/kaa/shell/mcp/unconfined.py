"""What a server without a sandbox must not name: anything that commands of the model can write, in any project.

No list of programs says which words are executed: whatever a word, a variable or the directory leads to may be. Only
containers may be given a project as a whole, which commands cannot exchange for a link, if they execute nothing of it.
The paths of a container are those of its mounts, and what its image does with a word is not known: so a path of a mount
may only stand where it is data.
"""

import csv
import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple
from urllib.parse import unquote

from kaa.host.paths import is_below, trail
from kaa.host.regular_files import text_of
from kaa.shell.mcp.code_files import has_name_of_program
from kaa.shell.mcp.executed_words import (
    is_folder_option,
    is_interpreter,
    is_of_server_for_folders,
    is_option_of_data,
    scripts,
)
from kaa.shell.mcp.named_code import is_data, is_loaded_from
from kaa.shell.mcp.place import ServerCommandLine, ServerPlace
from kaa.shell.mcp.runners import package_of_runner

_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)[^}]*\})")
_QUOTES = re.compile(r"['\"\\]")
_BETWEEN_PARTS = re.compile(r"[\s`();,=:|&<>{}]+")
_CHANGES_DIRECTORY = re.compile(r"\bcd\s+(?:--\s+)?([^\s;&|()]+)")
_UNKNOWN = re.compile(r"[$`]")
_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})
_VOLUMES, _MOUNTS, _DIRECTORIES = ("-v", "--volume"), ("--mount",), ("-w", "--workdir")
_VARIABLES = ("-e", "--env")
_RUNNERS = re.compile(r"npx|pnpx|bunx|uvx|pipx")
_SEPARATORS = re.compile(r"[\s'\"`();,=|&<>{}\[\]]+")
_IN_PATHS = re.compile(r"[\s'\"`();,=|&<>{}\[\]:]+")  # of a variable such as PATH
# Options of `run` without a value, as docker-run(1) and podman-run(1) have them.
_SWITCHES = re.compile(
    r"-[dDiPqt]+|--(?:detach|disable-content-trust|env-host|http-proxy|init|interactive|no-healthcheck|no-hostname"
    r"|no-hosts|oom-kill-disable|passwd|privileged|publish-all|quiet|read-only|read-only-tmpfs|replace|rm|rmi|sig-proxy"
    r"|tls-verify|tty|unsetenv-all|use-api-socket)"
)
_ADDRESS = re.compile(r"\b(?:https?|wss?|git|ssh|redis|postgres(?:ql)?|mysql|mongodb(?:\+srv)?)://[^\s'\"]*")
_SLASHES = re.compile(r"/(?:\.?/)+")
# Where images have what they execute or obey.
_OF_IMAGES = re.compile(
    r"/(?:(?:usr|etc|opt|s?bin|lib\d*|root|boot|dev(?!/shm)|proc|run|sys|nix|var/(?:lib|run|spool))(?:/.*)?|docker-.*|entrypoint.*"
    r"|home(?:/[^/]+(?:/\..*)?)?|.*/(?:\.git|node_modules|(?:site|dist)-packages)(?:/.*)?)?"
)
# Directories in which the programs of many images start. An image does not say it in the command line.
_USUAL_DIRECTORIES = re.compile(r"/(?:app|code|server|src|work|workdir|workspace)")
_MAX_FILE_BYTES = 64 * 1024
# Variables whose value is loaded or starts something.
_LOADED = re.compile(
    r".*(?:PATH|OPTIONS?|OPTS?|LIB|PRELOAD|ENV|HOME|RC|DIR|FILE|CONFIG)|(?:PERL5|RUBY|PYTHON|NODE_|LD_).*"
)


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
    for part in dict.fromkeys((*_BETWEEN_PARTS.split(text), text, word)):
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


class _Mount(NamedTuple):
    """A directory outside, and where it is in the container. Both are normalized."""

    source: str
    target: str


class _Word(NamedTuple):
    """A word behind `docker run`.

    Attributes:
        text: the word; of an attached option its value.
        option: that it is the value of, or that stands before it; empty if it has none.
        is_of_image: whether it stands behind the image.
    """

    text: str
    option: str
    is_of_image: bool


def run_words(words: Sequence[str]) -> range:
    """The numbers of the words behind `docker run`; empty for other programs."""
    if os.path.basename(words[0]) not in _CONTAINERS or len(words) < 2:
        return range(0)
    begin = 3 if tuple(words[1:3]) == ("container", "run") else 2 if words[1] == "run" else len(words)
    return range(begin, len(words))


def executed_in_container(words: Sequence[str], roots: Sequence[str], variables: Mapping[str, str]) -> str | None:
    """A path outside of a container that it may execute by way of a mount; None if there is none, as words show.

    Args:
        roots: the directories that commands can write: real paths. Mounts of others do not count.
        variables: those that docker gets: `-e NAME` passes one on.
    """
    given = [words[number] for number in run_words(words)]
    mounts = [_Mount(*one) for source, target in _mounts(given) for one in _lent(source, target, roots)]
    for mount in mounts:
        if not mount.target.startswith("/") or _OF_IMAGES.fullmatch(mount.target):
            return mount.source
    named = [word for word in given if any(root in unquote(word) for root in roots)]
    named = [word for word in named if not any(mount.source in word for mount in mounts)]
    if named and any(re.match(r"--?(?:v|volume|mount)\b", word) for word in given):
        return next(root for root in roots if any(root in unquote(word) for word in named))
    return _Run(given, mounts, variables).executed() if mounts else None


class _Run:
    """A line of `docker run` that lends directories in which commands can write."""

    def __init__(self, given: Sequence[str], mounts: Sequence[_Mount], variables: Mapping[str, str]) -> None:
        self._mounts = sorted(mounts, key=lambda one: len(one.target), reverse=True)
        self._image = _image(given)
        self._words = [_with_value(word, variables) for word in _words(given, self._image)]
        for file in (word.text for word in self._words if word.option == "--env-file"):
            lines = os.fsdecode(text_of(file, _MAX_FILE_BYTES)).splitlines() if os.path.isfile(file) else ()
            self._words += (_with_value(_Word(line.strip(), "-e", is_of_image=False), variables) for line in lines)
        image = given[self._image] if self._image < len(given) else ""
        self._command = [_program(image), *given[self._image + 1 :]] if image else []
        self._works_on_folders = is_of_server_for_folders(image)
        parts = [part for word in given for part in (word, *_SEPARATORS.split(word))]
        self._runs = any(_RUNNERS.fullmatch(name) or is_interpreter(name) for name in map(_program, parts))

    def executed(self) -> str | None:
        """A path outside that may be executed."""
        directories = [word.text for word in self._words if word.option in _DIRECTORIES and not word.is_of_image]
        for directory in directories[-1:]:
            if (found := self._outside(_normalized(directory))) is not None and self._executes_relative():
                return found
        if not directories and (usual := self._in_usual_directory()) is not None and self._executes_script():
            return usual
        for word in self._words:
            is_mount = word.option in (*_VOLUMES, *_MOUNTS, *_DIRECTORIES) and not word.is_of_image
            if not is_mount and (found := self._named(word)) is not None:
                return found
        return None

    def _executes_relative(self) -> bool:
        """Whether something is executed, or may be, of the directory in which the container starts."""
        if self._runs or self._executes_script():
            return True
        for word in self._words:
            if word.option in _VARIABLES and not word.is_of_image:
                name, _, value = word.text.partition("=")
                if _LOADED.fullmatch(name) and any(not one.startswith("/") for one in filter(None, value.split(":"))):
                    return True
        return any(re.search(r"/proc/\S+/cwd", word.text) for word in self._words)

    def _executes_script(self) -> bool:
        """Whether a relative path behind the image is that of a program."""
        texts = [word.text for word in self._words if word.is_of_image or word.option == "--entrypoint"]
        parts = (part for text in texts for part in _SEPARATORS.split(_ADDRESS.sub("", text)))
        relative = [part for part in parts if part and not part.startswith(("/", "-", "@"))]
        return any(
            has_name_of_program(one) or one.startswith(("./", "../")) for one in relative if not is_data(one)
        ) or (not self._works_on_folders and any("/" in one and not is_data(one) for one in relative))

    def _in_usual_directory(self) -> str | None:
        return next((one.source for one in self._mounts if _USUAL_DIRECTORIES.fullmatch(one.target)), None)

    def _named(self, word: _Word) -> str | None:
        """What a word names of a mount outside, unless it is data there."""
        text = _SLASHES.sub("/", unquote(_ADDRESS.sub("", word.text)))
        parts = list(dict.fromkeys((text, *_SEPARATORS.split(text), *_IN_PATHS.split(text))))
        for mount in self._mounts:
            target = re.escape(mount.target)
            relative = rf"|^(?:\.\.?/)*{re.escape(mount.target[1:])}/" if word.is_of_image else ""
            occurs = re.compile(rf"(?:^-\w|(?<!\w)){target}(?![\w.-])(?:/[^\s'\"`;,|&<>]*)?{relative}")
            for part in parts:
                found = occurs.search(part) or occurs.search(os.path.normpath(part))
                if found is None and not _is_pattern_of(part, mount.target):
                    continue
                path = found[0] if found is not None else mount.target
                if not self._is_data(word, path, mount):
                    return self._outside(os.path.normpath(f"/{path}")) or mount.source
        return None

    def _is_data(self, word: _Word, path: str, mount: _Mount) -> bool:
        """Whether a path of a mount that a word names is worked on."""
        plain = _normalized(word.text) if word.text.startswith("/") else ""
        if word.option in _VARIABLES and not word.is_of_image:
            return not is_loaded_from(word.text.partition("=")[0]) and not has_name_of_program(path)
        if not plain or not word.is_of_image:  # in a text, in a part of a word, or an option of docker
            return False
        is_given_to_package = package_of_runner(self._command) is not None
        is_executed = self._runs and not is_given_to_package and is_folder_option(word.option)
        is_of_data = is_option_of_data(word.option) and not is_executed
        if is_of_data or is_data(path):
            return True
        executed = scripts(self._command, lambda _: False)
        is_script = any(self._command[number] == word.text for number in executed)
        is_argument = not word.option and (plain == mount.target or self._works_on_folders)
        return not is_script and is_argument and not has_name_of_program(plain)

    def _outside(self, path: str) -> str | None:
        """What a path of the container is outside."""
        for mount in self._mounts:
            if is_below(path, (mount.target,)):
                return os.path.normpath(os.path.join(mount.source, os.path.relpath(path, mount.target)))
        return None


def _lent(source: str, target: str, roots: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The directories that commands can write in a directory that is mounted, or around it, and where they are."""
    if not source.startswith("/"):  # a volume that Docker keeps
        return
    real, target = os.path.realpath(source), _normalized(target) if target else ""
    if is_below(real, roots):
        yield os.path.normpath(source), target
    else:
        yield from (
            (root, os.path.join(target, os.path.relpath(root, real))) for root in roots if is_below(root, (real,))
        )


def _mounts(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Directories outside, and where they are in the container."""
    for value in _values(words, _VOLUMES):
        source, _, target = value.partition(":")
        yield source, target.partition(":")[0]
    for value in _values(words, _MOUNTS):
        fields = dict(one.partition("=")[::2] for one in next(csv.reader([value]), ()))
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


def _image(words: Sequence[str]) -> int:
    """The number of the word that names the image; that behind the last word if none does."""
    number = 0
    while number < len(words) and words[number].startswith("-") and words[number] != "--":
        is_alone = _SWITCHES.fullmatch(words[number]) or "=" in words[number] or _attached(words[number])
        number += 1 if is_alone else 2
    return number + 1 if words[number : number + 1] == ["--"] else number


def _attached(word: str) -> bool:
    """True for an option of one letter with its value, such as `-v/a:/b`."""
    return not word.startswith("--") and len(word) > len("-v")


def _words(given: Sequence[str], image: int) -> Iterator[_Word]:
    """The words without the name of the image."""
    for number, word in enumerate(given):
        if number == image:
            continue
        is_of_image = number > image
        before = given[number - 1] if number and number - 1 != image else ""
        option, is_attached, value = word.partition("=")
        if word.startswith("--") and is_attached:
            yield _Word(value, option, is_of_image)
        elif word.startswith("-") and _attached(word) and not is_of_image and not _SWITCHES.fullmatch(word):
            yield _Word(word[2:], word[:2], is_of_image)
        else:
            is_value = before.startswith("-") and "=" not in before and not _SWITCHES.fullmatch(before)
            yield _Word(word, before if is_value else "", is_of_image)


def _with_value(word: _Word, variables: Mapping[str, str]) -> _Word:
    """A word; of `-e NAME` with the value that docker passes on."""
    if word.option not in _VARIABLES or word.is_of_image or "=" in word.text:
        return word
    return word._replace(text=f"{word.text}={variables.get(word.text, '')}")


def _normalized(path: str) -> str:
    return os.path.normpath(_SLASHES.sub("/", path))


def _is_pattern_of(part: str, target: str) -> bool:
    """Whether a pattern of a shell may mean a target, or something below it."""
    if not part.startswith("/") or not re.search(r"[*?\[]", part):
        return False
    names, patterns = target[1:].split("/"), part[1:].split("/")
    return len(patterns) >= len(names) and all(map(fnmatchcase, names, patterns))


def _program(word: str) -> str:
    """The name of a program, or of an image that may start it (`node:22`)."""
    return os.path.basename(word).partition(":")[0]
