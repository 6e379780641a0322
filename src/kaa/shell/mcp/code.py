"""What a server executes of what commands can write: scripts that its command line names, and what lies around them.

As far as it can be judged: a program can find further code in ways that no command line shows.
"""

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from kaa.host.paths import trail
from kaa.shell.mcp.config.entry import ConfiguredServer
from kaa.shell.mcp.place import CommandLine, Place
from kaa.shell.mcp.runners import imports_from_directory, is_path, package_of_runner

_Role: TypeAlias = Literal["data", "package", "code"]
"""Of a folder that is named: `package` is code if it has a manifest. Files that are named are code."""

# Programs that execute what a word or the current directory has; a folder for any other program is data.
_INTERPRETERS = re.compile(
    r"(?:python|pypy|perl|ruby|php|lua|node)[\d.]*|nodejs|deno|bun|tsx|ts-node|uv|poetry|pdm|hatch|rye|pipenv|npm|pnpm"
    r"|yarn|bundle|rake|mvn|gradle|mix|composer|sh|bash|dash|zsh|ksh|fish|java|dotnet|Rscript|go|cargo|make|just|task|mise|env|nice|timeout|docker|podman"
)
_SHELLS = re.compile(r"sh|bash|dash|zsh|ksh|fish|env|nice|timeout")
# They execute what a file in the current directory, or in a folder that is named, says.
_MANIFESTS = (
    *("package.json", "pyproject.toml", "uv.toml", "setup.py", "deno.json", "deno.jsonc", "bunfig.toml", ".npmrc"),
    *("Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", "Taskfile.yml", "go.mod", "Cargo.toml"),
    *("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml", "mise.toml"),
    *("Gemfile", "Rakefile", "pom.xml", "build.gradle", "build.gradle.kts", "mix.exs", "composer.json"),
    *("__main__.py", "index.js"),
)
_BY_MANIFEST = re.compile(
    r"uv|poetry|pdm|hatch|rye|pipenv|npm|pnpm|yarn|bun|deno|bundle|rake|mvn|gradle|mix|composer|go|cargo|make|just|task"
    r"|mise|docker|podman"
)
# Variables with folders and files that programs load code from.
_LOADED_FROM = frozenset(
    (
        *("PATH", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "NODE_PATH", "NODE_OPTIONS", "LD_LIBRARY_PATH"),
        *("LD_PRELOAD", "LD_AUDIT", "RUBYLIB", "RUBYOPT", "PERL5LIB", "PERL5OPT", "CLASSPATH", "JAVA_TOOL_OPTIONS"),
        *("BASH_ENV", "ENV", "GOFLAGS", "DENO_DIR", "BUN_INSTALL"),
    )
)
# Options of these with a folder.
_OF_FOLDERS = frozenset({"--directory", "--project", "-C", "--cwd", "--prefix", "--dir", "--manifest-path"})
_CODE = re.compile(
    r".+\.(?:py[cdw]?|pyi|pth|egg|whl|zip|so|dylib|dll|[cm]?jsx?|[cm]?tsx?|json|jsonc|node|wasm|sh|bash|zsh|fish|pl|pm|rb"
    r"|php|lua|jar|class|go|rs|toml|cfg|exe|gradle|kts|exs?)|Dockerfile"
)
# What a server reads or writes, though its command line names it.
_DATA = re.compile(
    r".+\.(?:db|sqlite3?|duckdb|csv|tsv|parquet|log|txt|md|rst|pdf|html?|png|jpe?g|gif|svg|lock|pid|sock|key|pem|crt)",
    re.IGNORECASE,
)
# Installed packages: known by the sizes and times of their files, not by their content.
_PACKAGES = frozenset({"node_modules", "site-packages", ".venv", "venv", "vendor", "target"})
_PASSED_OVER = frozenset({".git", "__pycache__"})
_SEPARATORS = re.compile(r"[\s'\"`();,=:|&<>\[\]{}]+")
_MAX_FILES = 3_000
_MAX_FILE_BYTES = 8 * 1024 * 1024
_MAX_DIFFERENCES = 10
_MAX_PROTECTED = 256  # each is a mount


def code_of(server: ConfiguredServer, place: Place) -> dict[str, str]:
    """The code that a server executes and commands can write: digests of files and folders, by path. Blocks.

    Args:
        server: the server.
        place: where it runs.

    Raises:
        VariableError: the command line needs a variable that it may not have.
        OSError: a file cannot be read.
    """
    line = CommandLine.of(server, place)
    found: dict[str, str] = {}
    for path in _named(line, place):
        if os.path.islink(path):
            found[path] = f"link to {os.readlink(path)}"
            _add_environment(path, found)
        elif os.path.isdir(path):
            _add_tree(path, place, found)
        else:
            found[path] = _digest(path)
            _add_surroundings(path, place, found)
    if found and imports_from_directory(line.words):
        base = os.path.realpath(line.base(place.project))
        if place.commands_can_write(base):
            _add_neighbours([path for path in found if path.endswith(".py")], base, place, found)
    return dict(sorted(found.items()))


def executed_words(words: Sequence[str]) -> Sequence[str]:
    """Words of a command line in which an interpreter finds what it executes; none for other programs."""
    name = os.path.basename(words[0])
    if not _INTERPRETERS.fullmatch(name) or _is_container(words):
        return ()
    first = next((number for number, word in enumerate(words) if number and not word.startswith("-")), 0)
    return words if _SHELLS.fullmatch(name) else words[: first + 1]


def _is_container(words: Sequence[str]) -> bool:
    """Whether a container is started without a file that says how."""
    return os.path.basename(words[0]) in ("docker", "podman") and "compose" not in words


def protected_files(code: Mapping[str, str]) -> tuple[str, ...]:
    """What of a server's code the server must not write itself."""
    return tuple(path for path in code if os.path.isfile(path))[:_MAX_PROTECTED]


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """What changed, in lines."""
    lines = [
        *(f"changed: {path}" for path in now if path in before and before[path] != now[path]),
        *(f"{'new: ' if before else ''}{path}" for path in now if path not in before),
        *(f"gone: {path}" for path in before if path not in now),
    ]
    more = len(lines) - _MAX_DIFFERENCES
    return [*lines[:_MAX_DIFFERENCES], *([f"and {more} more"] if more > 0 else [])]


def _named(line: CommandLine, place: Place) -> Iterator[str]:
    """Real paths of what a command line executes, as far as commands can write it: files, and folders with code."""
    base = line.base(place.project)
    seen: set[str] = set()
    for word, role in _candidates(line, base):
        path = os.path.join(base, os.path.expanduser(word))
        if not os.path.exists(path) or _DATA.fullmatch(path):
            continue
        has_manifest = role == "package" and any(os.path.exists(f"{path}/{one}") for one in _MANIFESTS)
        for one in trail(path) if has_manifest or role == "code" or os.path.isfile(path) else ():
            if one not in seen and place.commands_can_write(one):
                seen.add(one)
                yield one


def _candidates(line: CommandLine, base: str) -> Iterator[tuple[str, _Role]]:
    """Words that may be paths, and what a folder of this name would be."""
    words, executed = line.words, _executed(line.words)
    for number, word in enumerate(words):
        for one in filter(None, dict.fromkeys((word, *_SEPARATORS.split(word)))):
            yield one, "package" if number in executed else "data"
    for name, value in line.variables.items():
        is_loaded = name in _LOADED_FROM
        for one in filter(None, dict.fromkeys((value, *_SEPARATORS.split(value)))):
            if is_loaded or is_path(one):
                yield one, "code" if is_loaded else "data"
    if imports_from_directory(words):
        for name in (part for word in words for part in re.findall(r"[A-Za-z_][\w.]*", word)):
            parts = name.split(".")
            for number in range(len(parts)):
                module = "/".join(parts[: number + 1])
                yield from ((f"{module}{end}", "data") for end in (".py", "/__init__.py", "/__main__.py"))
    names_folder = any(word.partition("=")[0] in _OF_FOLDERS for word in words)
    by_manifest = _runs(_BY_MANIFEST, words) and not _is_container(words)
    if by_manifest and package_of_runner(words) is None and not names_folder:
        yield base, "package"


def _executed(words: Sequence[str]) -> frozenset[int]:
    """The numbers of the words whose folders would be executed; folders of other words are data."""
    if (package := package_of_runner(words)) is not None:
        return frozenset(range(package + 1))
    if not _runs(_INTERPRETERS, words):
        return frozenset()
    named = {number for number in range(1, len(words)) if words[number - 1] in _OF_FOLDERS}
    named |= {number for number, word in enumerate(words) if word.partition("=")[0] in _OF_FOLDERS or " " in word}
    first = next((number for number, word in enumerate(words) if number and not word.startswith("-")), 0)
    return frozenset({*range(first + 1), *named})


def _runs(programs: re.Pattern[str], words: Sequence[str]) -> bool:
    return any(programs.fullmatch(os.path.basename(word)) for word in _programs(words))


def _programs(words: Sequence[str]) -> Iterator[str]:
    """Words that may be programs: the first one, and those of a command in one word."""
    yield words[0]
    for word in words[1:]:
        yield from word.split() if " " in word else (word,)


def _add_environment(interpreter: str, found: dict[str, str]) -> None:
    """Add the virtual environment that a link to an interpreter is in."""
    top = os.path.dirname(os.path.dirname(interpreter))
    if os.path.exists(os.path.join(top, "pyvenv.cfg")):
        found[top] = _fingerprint(top)


def _add_surroundings(script: str, place: Place, found: dict[str, str]) -> None:
    """Add what interpreters load code from: the folder of a script, and packages beside it and above."""
    folder = os.path.dirname(script)
    if place.commands_can_write(os.path.dirname(folder)):
        _add_tree(folder, place, found)
    elif place.commands_can_write(folder):
        _add_neighbours([script], folder, place, found)
    while place.commands_can_write(folder):
        for name in ("node_modules", "package.json"):
            path = os.path.join(folder, name)
            if path not in found and os.path.lexists(path):
                found[path] = _fingerprint(path) if os.path.isdir(path) else _digest(path)
        folder = os.path.dirname(folder)


def _add_neighbours(scripts: Sequence[str], folder: str, place: Place, found: dict[str, str]) -> None:
    """Add the code directly in a folder that scripts load from, packages of Python in it, and folders they mention.

    A script at the top of a project lies beside everything else.
    """
    skipped = _PASSED_OVER | _PACKAGES
    entries = [entry for entry in sorted(os.scandir(folder), key=lambda one: one.name) if entry.name not in skipped]
    mentioned = _mentions(scripts, entries)
    for entry in entries:
        if entry.is_dir():
            if entry.name in mentioned or os.path.exists(os.path.join(entry.path, "__init__.py")):
                _add_tree(entry.path, place, found)
        elif _is_code(entry.name):
            found.setdefault(entry.path, _digest(entry.path))


def _mentions(scripts: Sequence[str], entries: Sequence[os.DirEntry[str]]) -> set[str]:
    """The names of entries of a folder that texts of scripts have, and the code files among these entries in turn."""
    mentioned: set[str] = set()
    pending = [*scripts]
    while pending:
        script = pending.pop()
        if not os.path.isfile(script):
            continue
        with open(script, "rb") as file:
            words = {os.fsdecode(word) for word in re.findall(rb"[\w-]+", file.read(_MAX_FILE_BYTES))}
        for entry in entries:
            if entry.name not in mentioned and (entry.name in words or entry.name.partition(".")[0] in words):
                mentioned.add(entry.name)
                pending += [entry.path] if _is_code(entry.name) else []
    return mentioned


def _add_tree(top: str, place: Place, found: dict[str, str]) -> None:
    """Add all code in a folder. Links to folders are followed as far as commands can write there."""
    seen: set[str] = set()
    pending = [top]
    while pending:
        folder = pending.pop()
        if (real := os.path.realpath(folder)) in seen:
            continue
        seen.add(real)
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.name in _PASSED_OVER or entry.path in found:
                continue
            if entry.is_dir():
                if entry.is_symlink() and not place.commands_can_write(os.path.realpath(entry.path)):
                    found[entry.path] = f"link to {os.readlink(entry.path)}"
                elif entry.name in _PACKAGES:
                    found[entry.path] = _fingerprint(entry.path)
                else:
                    pending.append(entry.path)
            elif _is_code(entry.name) or (entry.is_file() and entry.stat().st_mode & stat.S_IXUSR):
                found[entry.path] = _digest(entry.path) if len(found) < _MAX_FILES else _fingerprint(entry.path)


def _is_code(name: str) -> bool:
    return name in _MANIFESTS or _CODE.fullmatch(name) is not None


def _digest(path: str) -> str:
    """SHA-256 of a regular file, with what a link says; of anything else, what it is."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return f"unreadable: {error.errno}"
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_FILE_BYTES:
            return _fingerprint(path)
        link = os.fsencode(os.readlink(path)) if os.path.islink(path) else b""
        return hashlib.sha256(link + b"\0" + file.read()).hexdigest()


def _fingerprint(top: str) -> str:
    """A digest of the names, sizes, times and inodes of a file or of all in a folder. Commands cannot set the ctime."""
    found, paths = hashlib.sha256(), [top]
    for folder, folders, files in os.walk(top):
        paths += (os.path.join(folder, name) for name in (*folders, *files))
    for path in sorted(paths):
        try:
            status = os.lstat(path)
        except OSError:
            continue
        if not stat.S_ISDIR(status.st_mode) and "/__pycache__/" not in path:
            facts = (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
            found.update(os.fsencode(path) + repr(facts).encode())
    return found.hexdigest()
