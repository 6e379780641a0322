"""What a command line names of code that commands can write: scripts, modules, and folders that programs execute."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from glob import escape, glob
from typing import Literal, TypeAlias

from kaa.host.paths import is_below, trail
from kaa.host.writers import is_shared_text
from kaa.shell.mcp.code_files import entries, has_code
from kaa.shell.mcp.deciding_files import LISTS_OF_PACKAGES
from kaa.shell.mcp.directories import directory_of
from kaa.shell.mcp.executed_words import (
    ATTACHED,
    ORDERS,
    executed,
    executes_directory,
    first_argument,
    folders_of_options,
    is_container,
    is_interpreter,
    is_of_code,
    is_order,
    may_be_executed,
    may_be_library,
    runs_interpreter,
    scripts,
    texts_with_arguments,
)
from kaa.shell.mcp.place import ServerCommandLine, ServerPlace
from kaa.shell.mcp.runners import is_path, modules_of
from kaa.shell.mcp.shell_text import is_shell_text, read_shell

_Role: TypeAlias = Literal["data", "argument", "library", "package", "code", "script"]
"""Of what is named: a folder is code if it has a manifest (`package`, `script`), if it is one that interpreters execute
(`argument`: which program gets it is not known), if code lies in it (`library`), or always (`code`); a file is code
unless its name is one of data, or always (`script`)."""

MANIFESTS = (
    *("package.json", "pyproject.toml", "uv.toml", "setup.py", "deno.json", "deno.jsonc", "bunfig.toml", ".npmrc"),
    *("Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", "Taskfile.yml", "Taskfile.yaml", "go.mod"),
    *("Cargo.toml", "compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml", "mise.toml", "Pipfile"),
    *(
        "Gemfile",
        "Rakefile",
        "pom.xml",
        "build.gradle",
        "build.gradle.kts",
        "settings.gradle",
        "mix.exs",
        "composer.json",
    ),
    *("__main__.py", "index.js", "fastmcp.json", "flake.nix", "pixi.toml", "Project.toml", "shell.nix", "default.nix"),
    *("deps.edn", "bb.edn", "project.clj", "Package.swift", "pubspec.yaml", "build.sbt", "build.zig", "shard.yml"),
    *("stack.yaml", "dune-project", "devbox.json", "devenv.nix", ".flox"),
)
"""Programs execute what these say, in the current directory or in a folder that is named."""

# Variables with a folder that is worked on. Programs load code from folders in the others, such as PATH or GEM_HOME.
_OF_DATA = re.compile(
    r"(?:\w+_)?(?:ROOTS?|DATA|WORKSPACE|WORKSPACE_FOLDER|PROJECT|PROJECT_DIR|PROJECT_ROOT|REPO|REPOSITORY|REPO_PATH|DB"
    r"|DB_PATH|DATABASE|DATABASE_URL|LOGS?|LOG_DIR|LOG_FILE|OUTPUT|OUTPUT_DIR|DOCS|DOCS_DIR|NOTES|VAULT|VAULT_PATH"
    r"|DATA_DIR|ALLOWED_DIRECTORIES|ALLOWED_PATHS|MEMORY_FILE_PATH|DIRECTORY|PWD|TMPDIR)"
)
_WITH_VALUES = frozenset({"-p", "--python", "--extra", "--group", "--env-file"})  # of package managers
_GO_PACKAGE = re.compile(r"\w[\w-]*(?:\.[\w-]+)+/[\w./~-]+@[\w.+-]+")  # of a version that Go fetches
# What Node and TypeScript look for.
_ENDINGS = ("", ".js", ".mjs", ".cjs", ".ts", ".mts", ".tsx", "/index.js", "/index.mjs", "/index.ts")
# Fewer than what is no code beside others: `node hook.js.orig` executes what it names.
_DATA = re.compile(
    r".+\.(?:db|sqlite3?|duckdb|csv|tsv|parquet|log|txt|md|rst|pdf|html?|png|jpe?g|gif|svg|lock|pid|sock|key|pem|crt)",
    re.IGNORECASE,
)
_SEPARATORS = re.compile(r"[\s'\"`();,=:|&<>\[\]{}]+")
_INDEX = re.compile(r"package\.json|__main__\.\w+|index\.\w+|mod\.[cm]?[jt]sx?")
_MAX_FOLDERS = 12  # that a text names beside those that it enters
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)[^}]*\})")


def named_code(line: ServerCommandLine, place: ServerPlace, *, starts_there: bool = True) -> Iterator[str]:
    """Links and real paths of what a command line executes, as far as commands can write it.

    Args:
        starts_there: whether it starts in the directory that its paths are relative to, so that this can be a package.
    """
    seen: set[str] = set()
    for path in named_places(line, place, starts_there=starts_there):
        for one in trail(path):
            if one not in seen and (place.commands_can_write(one) or is_shared_text(one)):
                seen.add(one)
                yield one


def named_places(line: ServerCommandLine, place: ServerPlace, *, starts_there: bool = True) -> Iterator[str]:
    """Paths of what a command line executes, wherever it lies. Arguments as for `named_code`."""
    base = line.base(place.project)
    for word, role in _Line(line, place, starts_there=starts_there).candidates():
        path = os.path.join(base, os.path.expanduser(word))
        if not os.path.exists(path) or (role != "script" and is_data(path)):
            continue
        if os.path.isfile(path) or role == "code" or _is_executed(path, role, base, place):
            yield path


def _is_executed(folder: str, role: _Role, base: str, place: ServerPlace) -> bool:
    """Whether a folder has what programs execute."""
    if role == "argument":  # the whole of a project is worked on
        real = os.path.realpath(folder)
        return real not in (os.path.realpath(base), place.whole(real)) and _has_index(folder)
    return role != "data" and (_has_manifest(folder) or (role == "library" and has_code(folder)))


def has_program_outside(line: ServerCommandLine, place: ServerPlace) -> bool:
    """Whether a command line names a program outside of what commands can write, and not one of a package.

    So do `uv run ~/server.py` and `go run example.com/server@latest`: what they find where they start is not meant.
    """
    words = line.words
    for number, word in enumerate(words[1:], 1):
        is_before = word in ORDERS or is_interpreter(word)
        if is_before or word.startswith("-") or words[number - 1] in _WITH_VALUES:
            continue
        if os.path.basename(words[0]) == "go" and _GO_PACKAGE.fullmatch(word):
            return True
        path = os.path.expanduser(word)
        return os.path.isabs(path) and os.path.exists(path) and not any(map(place.commands_can_write, trail(path)))
    return False


def is_data(path: str) -> bool:
    """True for a path with the name of a file that programs read or write, and load no code from."""
    return _DATA.fullmatch(path) is not None and LISTS_OF_PACKAGES.fullmatch(path) is None


def is_loaded_from(variable: str) -> bool:
    """Whether programs may load code from a folder that a variable of this name has."""
    return _OF_DATA.fullmatch(variable) is None


def _has_manifest(folder: str) -> bool:
    is_there = any(os.path.exists(f"{folder}/{one}") for one in MANIFESTS)
    return is_there or bool(glob(f"{escape(folder)}/*.??proj")) or _has_index(folder)


def _has_index(folder: str) -> bool:
    """Whether a folder has what interpreters execute of one that they get."""
    return any(_INDEX.fullmatch(entry.name) and not is_data(entry.name) for entry in entries(folder))


class _Line:
    """A command line, and what its words may lead to.

    Args:
        starts_there: whether it starts in the directory that its paths are relative to.
    """

    def __init__(self, line: ServerCommandLine, place: ServerPlace, *, starts_there: bool) -> None:
        self._line = line
        self._words = line.words
        self._place = place
        self._base = line.base(place.project)
        self._starts_there = starts_there
        self._directory = directory_of(line.words)
        self._variables = {**place.environ, **line.variables, "PWD": self._base}
        self._scripts = scripts(line.words, self._exists)
        self._executed = executed(line.words, self._exists)
        self._may_be_executed = may_be_executed(line.words, self._exists)
        self._texts = texts_with_arguments(line.words)
        self._runs_code = runs_interpreter(line.words) and not is_container(line.words)
        self._folders = ["", *folders_of_options(line.words)] if self._directory is None else [self._directory.path]

    def candidates(self) -> Iterator[tuple[str, _Role]]:
        """Words that may be paths, and what a file or folder of this name would be."""
        for number, word in enumerate(self._words):
            if is_order(self._words, number):
                continue
            if is_shell_text(word) and not self._exists(word):
                yield from self._of_text(word, self._words[number + 1 :] if number in self._texts else ())
            elif self._directory is not None and number == self._directory.number:
                yield from self._of_word(self._filled(word), self._role(number), [""])
            else:
                yield from self._of_word(self._filled(word), self._role(number), self._folders)
        yield from self._of_variables()
        yield from self._of_modules(self._words, self._folders)
        if self._starts_there and executes_directory(self._words):
            yield self._base, "package"

    def _role(self, number: int) -> _Role:
        texts = [text for text in self._texts if text < number]
        if texts and not self._is_whole(self._words[number]):
            return "data" if self._is_data_of(min(texts), self._words[number]) else "code"
        is_executed = number in self._executed
        if is_executed and is_of_code(self._words, number):
            return "code"
        if number in self._may_be_executed | self._executed and not is_container(self._words):
            is_whole = any(map(self._is_whole, _parts(self._filled(self._words[number]))))
            if may_be_library(self._words, number, is_whole=is_whole):
                return "library"
        if number in self._scripts or (is_executed and number == first_argument(self._words)):
            return "script"
        return "package" if is_executed else "argument" if number in self._may_be_executed else "data"

    def _of_word(self, text: str, role: _Role, folders: Sequence[str]) -> Iterator[tuple[str, _Role]]:
        if text.startswith("@"):  # a file with options; of a runner, the name of a package
            is_file = os.path.isfile(os.path.join(self._base, os.path.expanduser(text[1:])))
            yield text[1:], "script" if is_file else "data"
        for one in _parts(text):
            for folder in folders:
                # In a path of classes, `lib/*` is all in `lib`.
                path = os.path.join(folder, re.sub(r"(?<![^/])\*$", ".", one) if role == "code" else one)
                yield path, role
                if self._runs_code and not one.startswith("-"):
                    yield from ((path + ending, "data") for ending in _ENDINGS[1:])

    def _is_whole(self, word: str) -> bool:
        """Whether a word leads to a project as a whole, which is worked on unless a text enters it."""
        real = os.path.realpath(os.path.join(self._base, os.path.expanduser(word)))
        return real in (os.path.realpath(self._base), self._place.whole(real))

    def _is_data_of(self, number: int, word: str) -> bool:
        """Whether a text of a shell gives an argument only to programs that work on it."""
        text, *arguments = self._words[number:]
        read = read_shell(text, self._variables, arguments)
        if any(word in one for one in (*read.entered, *read.values)) or "shift" in text:
            return False
        given = [(words, at) for words in read.commands for at, one in enumerate(words) if word in one]
        return bool(given) and all(
            words[at] == word and at not in executed(words, self._exists) | may_be_executed(words, self._exists)
            for words, at in given
        )

    def _of_text(self, text: str, arguments: Sequence[str]) -> Iterator[tuple[str, _Role]]:
        """What a text of a shell or of another language names, also in the folders that it enters or names."""
        read = read_shell(text, self._variables, arguments)
        entered = [os.path.join(folder, one) for folder in self._folders[:1] for one in read.entered]
        yield from ((folder, "code") for folder in entered)
        names = list(
            dict.fromkeys((*_parts(self._filled(text)), *(one for word in read.words for one in _parts(word))))
        )
        named = [one for one in names if self._is_below(one)][:_MAX_FOLDERS]
        folders = dict.fromkeys((*self._folders, *entered, *named))
        for one in names:
            for folder in folders:
                path = os.path.join(folder, one)
                yield path, "package"
                if not one.startswith("-"):
                    yield from ((path + ending, "data") for ending in (*_ENDINGS[1:], ".py"))
        for command in read.commands:
            yield from self._of_modules(command, folders)

    def _is_below(self, name: str) -> bool:
        """Whether a name is that of a folder below the current one."""
        path = os.path.normpath(os.path.join(self._base, os.path.expanduser(name)))
        return is_below(path, (self._base,)) and path != self._base and os.path.isdir(path)

    def _of_variables(self) -> Iterator[tuple[str, _Role]]:
        for name, value in self._line.naming.items():
            is_loaded = is_loaded_from(name)
            for one in _parts(value):
                if is_path(one) or (is_loaded and not one.isdigit()):
                    yield one, "code" if is_loaded else "data"
                    yield f"{one}.rb", "data"  # `-r` of Ruby adds it

    def _of_modules(self, words: Sequence[str], folders: Iterable[str]) -> Iterator[tuple[str, _Role]]:
        for module in modules_of(words):
            for folder in folders:
                path = os.path.join(folder, module)
                yield from ((f"{path}{end}", "data") for end in (".py", "/__init__.py", "/__main__.py"))

    def _filled(self, word: str) -> str:
        return _VARIABLE.sub(lambda found: self._variables.get(found[1] or found[2], found[0]), word)

    def _exists(self, word: str) -> bool:
        start = "" if self._directory is None else os.path.expanduser(self._directory.path)
        return any(os.path.exists(os.path.join(self._base, one, os.path.expanduser(word))) for one in {"", start})


def _parts(text: str) -> Iterator[str]:
    """What may be a path in a word: all of it, and what stands between separators, without options before it."""
    parts = (text, *_SEPARATORS.split(text))
    ways = (one for part in parts for one in (part, ATTACHED.sub("", part), part.partition("#")[0]))  # `./mcp#server`
    yield from filter(None, dict.fromkeys(ways))
