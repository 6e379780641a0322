"""What a command line names of code that commands can write: scripts, modules, and folders that programs execute."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from glob import escape, glob
from typing import Literal, TypeAlias

from kaa.host.paths import trail
from kaa.shell.mcp.deciding_files import LISTS_OF_PACKAGES
from kaa.shell.mcp.place import CommandLine, Place
from kaa.shell.mcp.runners import is_path, modules_of, package_of_runner

_Role: TypeAlias = Literal["data", "package", "code", "script"]
"""Of what is named: a folder is code if it has a manifest (`package`, `script`), or always (`code`); a file is code
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
    *("__main__.py", "index.js", "fastmcp.json", "flake.nix", "pixi.toml"),
)
"""Programs execute what these say, in the current directory or in a folder that is named."""

# Programs that execute what a word or the current directory has; a folder for any other program is data.
_INTERPRETERS = re.compile(
    r"(?:python|pypy|perl|ruby|php|lua|node)[\d.]*|nodejs|deno|bun|tsx|ts-node|vite-node|nodemon|uv|poetry|pdm|hatch|rye"
    r"|pipenv|npm|pnpm|yarn|bundle|rake|mvn|gradle|mix|composer|sh|bash|dash|zsh|ksh|fish|java|dotnet|Rscript|go|cargo"
    r"|kotlin|groovy|scala|jbang|elixir|iex|erl|escript|make|just|task|mise|pixi|conda|mamba|micromamba|env|nice|timeout|docker|podman|nix|fastmcp|uvicorn|gunicorn|hypercorn"
)
_BY_MANIFEST = re.compile(
    r"uv|poetry|pdm|hatch|rye|pipenv|npm|pnpm|yarn|bun|deno|bundle|rake|mvn|gradle|mix|composer|go|cargo|make|just|task"
    r"|dotnet|mise|pixi|docker|podman|fastmcp"
)
# Variables with a folder that is worked on. Programs load code from folders in the others, such as PATH or GEM_HOME.
_OF_DATA = re.compile(
    r"(?:\w+_)?(?:ROOTS?|DATA|WORKSPACE|WORKSPACE_FOLDER|PROJECT|PROJECT_DIR|PROJECT_ROOT|REPO|REPOSITORY|REPO_PATH|DB"
    r"|DB_PATH|DATABASE|DATABASE_URL|LOGS?|LOG_DIR|LOG_FILE|OUTPUT|OUTPUT_DIR|DOCS|DOCS_DIR|NOTES|VAULT|VAULT_PATH"
    r"|DATA_DIR|ALLOWED_DIRECTORIES|ALLOWED_PATHS|MEMORY_FILE_PATH|DIRECTORY|PWD|TMPDIR)"
)
# Options with a folder that is executed.
_OF_FOLDERS = frozenset(
    (
        *("--directory", "--project", "-C", "--cwd", "--prefix", "--dir", "--manifest-path", "--root"),
        *("--cd", "--chdir", "--project-directory", "--project-dir", "--working-directory", "--working-dir"),
        *("-r", "--require", "--import", "--import-map", "--with", "--with-editable"),
    )
)
_OF_DIRECTORIES = frozenset(  # in which they start, too
    {"--directory", "--project", "-C", "--cwd", "--dir", "--cd", "--chdir", "--working-directory", "--working-dir"}
)
# Options with folders that code is loaded from, whatever is in them.
_OF_CODE = frozenset(
    {
        *("-cp", "-classpath", "--class-path", "--module-path", "-I", "-L", "--loader", "--experimental-loader"),
        *("--app-dir", "--chdir", "--pythonpath", "include_path", "-pa", "-pz"),
    }
)
# The same of programs for which they mean this: a folder that is executed, or code in any case.
_OF_BUILDS, _OF_CONDA = frozenset({"-p", "--project-dir"}), frozenset({"-p", "--prefix"})
_OF_JAVA = frozenset({"-p", "--upgrade-module-path", "--patch-module", "-Djava.library.path", "-Dloader.path"})
_JAVA = re.compile(r"java|kotlin|scala|groovy")
_BUILDS, _CONDA = re.compile(r"gradlew?|pdm|hatch"), re.compile(r"conda|mamba|micromamba")
_ATTACHED = re.compile(r"^-(?:(?:[CILr]|[Mm](?:local::)?lib=)(?=[\w./~])|f(?=[\w-]*[./~]))")
# What Node and TypeScript look for.
_ENDINGS = ("", ".js", ".mjs", ".cjs", ".ts", ".mts", ".tsx", "/index.js", "/index.mjs", "/index.ts")
_DATA = re.compile(
    r".+\.(?:db|sqlite3?|duckdb|csv|tsv|parquet|log|txt|md|rst|pdf|html?|png|jpe?g|gif|svg|lock|pid|sock|key|pem|crt)",
    re.IGNORECASE,
)
_SEPARATORS = re.compile(r"[\s'\"`();,=:|&<>\[\]{}]+")
_CHANGES_DIRECTORY = re.compile(r"\bcd\s+(?:--\s+)?([^\s;&|]+)")
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)[^}]*\})")


def named_code(line: CommandLine, place: Place) -> Iterator[str]:
    """Links and real paths of what a command line executes, as far as commands can write it.

    Args:
        line: the command line.
        place: where it runs.
    """
    base = line.base(place.project)
    seen: set[str] = set()
    for word, role in _candidates(line, base, place.environ):
        path = os.path.join(base, os.path.expanduser(word))
        if not os.path.exists(path) or (role != "script" and is_data(path)):
            continue
        has_manifest = role in ("package", "script") and _has_manifest(path)
        for one in trail(path) if has_manifest or role == "code" or os.path.isfile(path) else ():
            if one not in seen and place.commands_can_write(one):
                seen.add(one)
                yield one


def is_data(path: str) -> bool:
    """True for a path with the name of a file that programs read or write, and load no code from."""
    return _DATA.fullmatch(path) is not None and LISTS_OF_PACKAGES.fullmatch(path) is None


def _has_manifest(folder: str) -> bool:
    return any(os.path.exists(f"{folder}/{one}") for one in MANIFESTS) or bool(glob(f"{escape(folder)}/*.??proj"))


def is_container(words: Sequence[str]) -> bool:
    """Whether a container is started without a file that says how."""
    return os.path.basename(words[0]) in ("docker", "podman") and "compose" not in words


def _candidates(line: CommandLine, base: str, environ: Mapping[str, str]) -> Iterator[tuple[str, _Role]]:
    """Words that may be paths, and what a file or folder of this name would be."""
    words, numbers = line.words, executed(line.words)
    runs_code, script = _runs(_INTERPRETERS, words), _first_argument(line.words)
    variables = {**environ, **line.variables, "PWD": base}
    of_code = _options_of_code(words)
    for number, word in enumerate(words):
        role: _Role = "data" if number not in numbers else "script" if number == script else "package"
        if number in numbers and (
            _ATTACHED.match(word) or of_code & {*words[number - 1 : number], word.partition("=")[0]}
        ):
            role = "code"
        text = _VARIABLE.sub(lambda found: variables.get(found[1] or found[2], found[0]), word)
        entered = _CHANGES_DIRECTORY.findall(text) if " " in text else ()
        folders = ["", *entered, *_folders_of_options(words)]
        yield from ((folder, "code") for folder in entered)
        if text.startswith("@"):  # a file with options
            yield text[1:], "data"
        for one in _parts(text):
            for folder in folders:
                # In a path of classes, `lib/*` is all in `lib`.
                path = os.path.join(folder, re.sub(r"(?<![^/])\*$", ".", one) if role == "code" else one)
                yield path, role
                if runs_code and not one.startswith("-"):
                    yield from ((path + ending, "data") for ending in _ENDINGS[1:])
    for name, value in line.variables.items():
        is_loaded = _OF_DATA.fullmatch(name) is None
        for one in _parts(value):
            if is_path(one) or (is_loaded and not one.isdigit()):
                yield one, "code" if is_loaded else "data"
                yield f"{one}.rb", "data"  # `-r` of Ruby adds it
    for module in modules_of(words):
        yield from ((f"{module}{end}", "data") for end in (".py", "/__init__.py", "/__main__.py"))
    options = _options_of_folders(words)
    names_folder = any(word.partition("=")[0] in options for word in words)
    by_manifest = _runs(_BY_MANIFEST, words) and not is_container(words)
    if by_manifest and package_of_runner(words) is None and not names_folder:
        yield base, "package"


def _parts(text: str) -> Iterator[str]:
    """What may be a path in a word: all of it, and what stands between separators, without options before it."""
    parts = (text, *_SEPARATORS.split(text))
    yield from filter(None, dict.fromkeys(one for part in parts for one in (part, _ATTACHED.sub("", part))))


def executed(words: Sequence[str]) -> frozenset[int]:
    """The numbers of the words whose folders would be executed; folders of other words are data."""
    if (package := package_of_runner(words)) is not None:
        return frozenset(range(package + 1))
    if not _runs(_INTERPRETERS, words):
        return frozenset()
    options = _options_of_folders(words) | _options_of_code(words)
    named = {number for number in range(1, len(words)) if words[number - 1] in options}
    named |= {
        number
        for number, word in enumerate(words)
        if word.partition("=")[0] in options or " " in word or _ATTACHED.match(word)
    }
    if os.path.basename(words[0]) in ("go", "nix", "fastmcp"):  # after the name of what they do
        named |= set(range(2, min(len(words), 4)))
    return frozenset({*range(_first_argument(words) + 1), *named})


def _options_of_code(words: Sequence[str]) -> frozenset[str]:
    """The options of a command line that name folders from which code is loaded, whatever is in them."""
    options = _OF_CODE | _OF_CONDA if _runs(_CONDA, words) else _OF_CODE
    return options | _OF_JAVA if _runs(_JAVA, words) else options


def _options_of_folders(words: Sequence[str]) -> frozenset[str]:
    """The options of a command line that name a folder which is executed."""
    options = _OF_FOLDERS | _OF_CONDA if _runs(_CONDA, words) else _OF_FOLDERS
    return options | _OF_BUILDS if _runs(_BUILDS, words) else options


def _folders_of_options(words: Sequence[str]) -> Iterator[str]:
    """Folders in which a program looks for what its other words name, such as those of `--directory`."""
    for number, word in enumerate(words):
        option, _, value = word.partition("=")
        if option in _OF_DIRECTORIES and (value or number + 1 < len(words)):
            yield value or words[number + 1]
        elif word.startswith("-C") and len(word) > 2:
            yield word[2:]


def _first_argument(words: Sequence[str]) -> int:
    return next((number for number, word in enumerate(words) if number and not word.startswith("-")), 0)


def _runs(programs: re.Pattern[str], words: Sequence[str]) -> bool:
    return any(programs.fullmatch(os.path.basename(word)) for word in _programs(words))


def _programs(words: Sequence[str]) -> Iterator[str]:
    """Words that may be programs: the first one, and those of a command in one word."""
    yield words[0]
    for word in words[1:]:
        yield from word.split() if " " in word else (word,)
