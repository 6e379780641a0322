"""Tells which words of a command line a program executes if they lead to a folder; folders of others are data."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from kaa.shell.mcp.code_files import has_name_of_program
from kaa.shell.mcp.runners import is_path, package_of_runner
from kaa.shell.mcp.shell_text import is_shell_text

# Programs that execute what a word or the current directory has.
_INTERPRETERS = re.compile(
    r"(?:python|pypy|perl|ruby|php|lua|node)[\d.]*|nodejs|deno|bun|tsx|ts-node|vite-node|nodemon|uv|poetry|pdm|hatch|rye"
    r"|pipenv|npm|pnpm|yarn|bundle|rake|mvnw?|gradlew?|mix|composer|sh|bash|dash|zsh|ksh|fish|java|dotnet|Rscript|go|cargo"
    r"|kotlin|groovy|scala|scala-cli|swift|raku|guile|ocaml|runghc|nim|bb|clj|clojure|lein|dart|crystal|zig|sbt|emacs"
    r"|jbang|elixir|iex|erl|escript|make|just|task|mise|pixi|conda|mamba|micromamba|env|nice|timeout"
    r"|docker|podman|nix|nix-shell|devbox|flox|fastmcp|uvicorn|gunicorn|hypercorn|julia"
)
_BY_MANIFEST = re.compile(
    r"uv|poetry|pdm|hatch|rye|pipenv|npm|pnpm|yarn|bun|deno|bundle|rake|mvnw?|gradlew?|mix|composer|go|cargo|make|just"
    r"|task|dotnet|mise|pixi|docker|podman|fastmcp"
)
# Servers that work on the folders they get, whoever starts them, and options with such a folder.
_WORKS_ON_FOLDERS = re.compile(
    r"(?:^|[/@._-])(?:file-?systems?|files?|fs|git|github|gitlab|memory|sqlite|duckdb|postgres|eslint|biome|prettier|nx"
    r"|turbo|playwright|serena|semgrep|ripgrep|search|docs?|markdown|obsidian|notes|repomix|language-server|lsp)(?:$|[/@._-])",
    re.IGNORECASE,
)
_WITH_DATA = re.compile(
    r"--(?:[\w-]+-)?(?:root|roots|repo|repository|repositories|workspace|workspace-folder|workspace-root|project-root"
    r"|project-path|db|database|data|docs|vault|notes|output|out|outdir|log|logs|log-file|allow|allowed|allowed-director(?:y|ies)"
    r"|cache|storage)(?:[-_]?(?:dirs?|folders?|paths?))?"
)
# Options behind which an interpreter gets code or a module; what follows are arguments of that.
_HAVE_CODE = re.compile(r"-[A-Za-z]*[mce]|--eval|--print|--exec|--module|--command")
# Of programs that execute a text: the option, and the word, behind which it stands.
_OF_TEXTS = (
    (re.compile(r"(?:ba|da|z|k|mk|a|c|tc|fi)?sh"), re.compile(r"-[A-Za-z]*c[A-Za-z]*|--command")),
    (re.compile(r"(?:python|pypy)[\d.]*"), re.compile(r"-[A-Za-z]*c")),
    (re.compile(r"node|nodejs|deno|bun|tsx|ts-node|vite-node"), re.compile(r"-(?:[ep]|pe)|--eval|--print|eval")),
    (re.compile(r"php[\d.]*"), re.compile(r"-r")),
    (
        re.compile(r"(?:perl|ruby|lua)[\d.]*|elixir|julia|Rscript|groovy|raku|guile"),
        re.compile(r"-[A-Za-z]*[eE]|--eval"),
    ),
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
# Options of any program with a folder from which code may be loaded, or in which something else is started: what they
# mean in one program is not known, so the folder counts if code lies in it.
_OF_LIBRARIES = re.compile(r"-[ILi].*|-cp|--?class-?path|--(?:load|library|lib)-?path")
_MAY_HAVE_CODE = re.compile(
    r"-[CDcdt]|-D.+|--(?:[\w-]+-)?path|--(?:wd|cd|cwd|chdir|private-cwd|base|dir|directory|work(?:ing)?-?dir(?:ectory)?)"
    r"|--(?:libs?|load|includes?|modules?|packages?|plugins?|extensions?|scripts?|tools?|hooks?)(?:-dirs?)?"
)
# Programs that build and execute the sources in a folder, without a manifest.
_BUILD_SOURCES = re.compile(r"scala(?:-cli)?|jbang|kotlin")
# The same of programs for which they mean this: a folder that is executed, or code in any case.
_OF_BUILDS, _OF_CONDA = frozenset({"-p", "--project-dir"}), frozenset({"-p", "--prefix"})
_OF_JAVA = frozenset({"-p", "--upgrade-module-path", "--patch-module", "-Djava.library.path", "-Dloader.path"})
_JAVA = re.compile(r"java|kotlin|scala|groovy")
_BUILDS, _CONDA = re.compile(r"gradlew?|pdm|hatch"), re.compile(r"conda|mamba|micromamba")
_OF_FILES = re.compile(r"(?:dir|directory|directories|folder|path|file|config|source|src|input|target)s?$")
_MAX_CHARACTERS = 1024
ORDERS = frozenset({"run", "exec", "x", "--"})
"""Words before the program that a package manager starts."""
ATTACHED = re.compile(r"^-(?:(?:[CILir]|[Mm](?:local::)?lib=)(?=[\w./~])|f(?=[\w-]*[./~]))")
"""Options to which a path can be attached."""


def is_interpreter(word: str) -> bool:
    """Whether a word is a program that executes what it gets, also as a package of a runner (`tsx@4`)."""
    return _INTERPRETERS.fullmatch(re.sub(r"(?<=.)@.*", "", os.path.basename(word))) is not None


def is_order(words: Sequence[str], number: int) -> bool:
    """Whether a word is what a package manager shall do: the `x` of `mise x` is no file."""
    return number == 1 and words[1] in ORDERS and _BY_MANIFEST.fullmatch(os.path.basename(words[0])) is not None


def is_container(words: Sequence[str]) -> bool:
    """Whether a container is started without a file that says how."""
    return os.path.basename(words[0]) in ("docker", "podman") and "compose" not in words


def is_folder_option(word: str) -> bool:
    """Whether an option has a folder that an interpreter or a package manager executes."""
    return word in _OF_FOLDERS | _OF_CODE


def executed(words: Sequence[str], exists: Callable[[str], bool]) -> frozenset[int]:
    """The numbers of the words whose folders would be executed.

    Args:
        exists: whether a word leads to a file or folder.
    """
    found = {number for number, word in enumerate(words) if is_shell_text(word) and not exists(word)}
    found |= scripts(words, exists)
    found |= {number for text in texts_with_arguments(words) for number in range(text + 1, len(words))}
    if (package := _package(words)) is not None:
        return frozenset({*range(package + 1), *found})
    if not runs_interpreter(words):
        return frozenset(found)
    options = _options_of_folders(words) | _options_of_code(words)
    found |= {number for number in range(1, len(words)) if words[number - 1] in options}
    found |= {number for number, word in enumerate(words) if word.partition("=")[0] in options or ATTACHED.match(word)}
    if os.path.basename(words[0]) in ("go", "nix", "fastmcp"):  # after the name of what they do
        found |= set(range(2, min(len(words), 4)))
    return frozenset({*range(first_argument(words) + 1), *found})


def scripts(words: Sequence[str], exists: Callable[[str], bool]) -> frozenset[int]:
    """The numbers of the words that interpreters execute, wherever these stand (`env X=1 timeout 9 node ./mcp`)."""
    if is_container(words):
        return frozenset()
    begins = (number for number, word in enumerate(words) if is_interpreter(word))
    return frozenset(one for begin in begins for one in _script(words, begin, exists))


def texts_with_arguments(words: Sequence[str]) -> frozenset[int]:
    """The numbers of the words that are texts of a shell or an interpreter. Those behind are its arguments."""
    if is_container(words):
        return frozenset()
    found = set[int]()
    for begin, word in enumerate(words):
        option = next((one for program, one in _OF_TEXTS if program.fullmatch(os.path.basename(word))), None)
        behind = range(begin + 1, len(words)) if option is not None else ()
        given = next(
            (number for number in behind if option is not None and option.fullmatch(words[number])), len(words)
        )
        found.update(islice((one for one in range(given + 1, len(words)) if words[one][:1] not in "-+"), 1))
    return frozenset(found)


def _package(words: Sequence[str]) -> int | None:
    """The number of the word with the package of a runner. Of a long text only the beginning can be one's line."""
    return package_of_runner([word[:_MAX_CHARACTERS] for word in words])


def _script(words: Sequence[str], begin: int, exists: Callable[[str], bool]) -> Iterator[int]:
    """What an interpreter executes: the first word that is a path, and values of options before it that may be."""
    for number in range(begin + 1, len(words)):
        word, before = words[number], words[number - 1]
        if is_interpreter(word) or _HAVE_CODE.fullmatch(before):
            return
        if word.startswith("-") or not (is_path(word) or exists(word)):  # also a value such as `utf8`
            continue
        yield number
        is_value = before.startswith("-") and before != "--" and "=" not in before
        if not is_value or (has_name_of_program(word) and not word.endswith(".json") and "r" not in before.lower()):
            return


def may_be_executed(words: Sequence[str], exists: Callable[[str], bool]) -> frozenset[int]:
    """The numbers of the words whose folders any program may execute: all but those that name what is worked on.

    Args:
        exists: whether a word leads to a file or folder.
    """
    if is_container(words):
        return frozenset()
    known = [number for number in _servers(words, exists) if _WORKS_ON_FOLDERS.search(_name(words[number]))]
    found = set[int]()
    for number in range(1, min(known, default=len(words))):
        option = words[number].partition("=")[0] if words[number].startswith("-") else words[number - 1]
        if not _WITH_DATA.fullmatch(option):
            found.add(number)
    return frozenset(found)


def is_of_server_for_folders(word: str) -> bool:
    """Whether a word names a server that works on the folders it gets."""
    return not word.startswith("-") and _WORKS_ON_FOLDERS.search(_name(word)) is not None


def is_option_of_data(option: str) -> bool:
    """Whether an option has a folder or file that is worked on."""
    return _WITH_DATA.fullmatch(option) is not None


def names_folder(option: str) -> bool:
    """Whether an option names a folder or file, of data or of code."""
    return (
        is_option_of_data(option) or option in _OF_FOLDERS or option in _OF_CODE or _OF_FILES.search(option) is not None
    )


def _servers(words: Sequence[str], exists: Callable[[str], bool]) -> Iterator[int]:
    """The numbers of the words that may name a server: a program, the package of a runner, a script or a module."""
    yield 0
    if (package := _package(words)) is not None:
        yield package
    yield from scripts(words, exists)
    yield from (number for number in range(1, len(words)) if words[number - 1] == "-m")


def _name(word: str) -> str:
    """The name of a server; of a path its last part."""
    return os.path.basename(word) if word.startswith(("/", "~", ".")) else word


def executes_directory(words: Sequence[str]) -> bool:
    """Whether a program executes what a manifest in its current directory says."""
    options = _options_of_folders(words)
    names_folder = any(word.partition("=")[0] in options for word in words)
    by_manifest = _runs(_BY_MANIFEST, words) and not is_container(words)
    return by_manifest and _package(words) is None and not names_folder


def is_of_code(words: Sequence[str], number: int) -> bool:
    """Whether a word names folders from which code is loaded, whatever is in them."""
    word = words[number]
    return bool(ATTACHED.match(word) or _options_of_code(words) & {*words[number - 1 : number], word.partition("=")[0]})


def may_be_library(words: Sequence[str], number: int, *, is_whole: bool) -> bool:
    """Whether a folder that a word names is code if code lies in it, since any program may load code from there.

    Args:
        is_whole: whether the word leads to a project as a whole, on which most programs work.
    """
    word = words[number]
    option = re.split(r"[=:]", word)[0] if word.startswith("-") else words[number - 1] if number else ""
    if _OF_LIBRARIES.fullmatch(option):
        return True
    builds = _runs(_BUILD_SOURCES, words) and not word.startswith("-")
    return not is_whole and (builds or (option.startswith("-") and _MAY_HAVE_CODE.fullmatch(option) is not None))


def folders_of_options(words: Sequence[str]) -> Iterator[str]:
    """Folders in which a program looks for what its other words name, such as those of `--directory`."""
    for number, word in enumerate(words):
        option, _, value = word.partition("=")
        if option in _OF_DIRECTORIES and (value or number + 1 < len(words)):
            yield value or words[number + 1]
        elif word.startswith("-C") and len(word) > 2:
            yield word[2:]


def runs_interpreter(words: Sequence[str]) -> bool:
    """Whether one of the programs in a command line is an interpreter."""
    return _runs(_INTERPRETERS, words)


def first_argument(words: Sequence[str]) -> int:
    """The number of the first word behind the program that is no option; 0 if all are."""
    return next((number for number, word in enumerate(words) if number and not word.startswith("-")), 0)


def _options_of_code(words: Sequence[str]) -> frozenset[str]:
    options = _OF_CODE | _OF_CONDA if _runs(_CONDA, words) else _OF_CODE
    return options | _OF_JAVA if _runs(_JAVA, words) else options


def _options_of_folders(words: Sequence[str]) -> frozenset[str]:
    options = _OF_FOLDERS | _OF_CONDA if _runs(_CONDA, words) else _OF_FOLDERS
    return options | _OF_BUILDS if _runs(_BUILDS, words) else options


def _runs(programs: re.Pattern[str], words: Sequence[str]) -> bool:
    return any(programs.fullmatch(os.path.basename(word)) for word in _programs(words))


def _programs(words: Sequence[str]) -> Iterator[str]:
    """Words that may be programs: the first one, and those of a command in one word."""
    yield words[0]
    for word in words[1:]:
        yield from word.split() if " " in word else (word,)
