"""Which files a command would run: those of the project are as good as words that the model writes later."""

import os
import re
from collections.abc import Iterator, Sequence

from kaa.host.home_settings import obeyed
from kaa.host.known_projects import in_known_project
from kaa.host.paths import is_below, trail
from kaa.shell.approvals import wording
from kaa.shell.approvals.grammar import Words
from kaa.shell.approvals.programs import program_name
from kaa.shell.boundary import SandboxControl

_INTERPRETERS = (
    "sh bash rbash dash zsh fish ksh mksh csh tcsh ash source . python pypy ipython perl ruby node nodejs ts-node tsx "
    "deno bun lua luajit php tclsh osascript java groovy rscript julia guile elixir"
)
# Programs that run what files of the project describe.
_RUNNERS = (
    "make gmake cmake ctest cpack ninja meson bazel bazelisk buck scons waf rake ant mvn gradle sbt lein tox nox just "
    "task mage invoke inv fab doit gulp grunt turbo nx lerna procs foreman honcho overmind stack cabal dune composer "
    "npm pnpm yarn npx pnpx bunx cargo bundle poetry uv uvx pdm hatch docker-compose"
)
_PATTERN_PROGRAMS = "awk gawk mawk nawk sed gsed"  # what their option -f names, they run
_FILE_OPTION = re.compile(r"-[A-Za-z]*f(?P<joined>.*)|--(?:file|exec)(?:=(?P<value>.*))?")
_IS_PATH = re.compile(r"^-\w.*[./]")  # joined to a short option, such as `-r./x`
_OF_PYTHON = re.compile(r"python[\d.]*|pypy[\d.]*|ipython[\d.]*")
# With these options the code stands in the command. Short ones can be joined with others, and with the code.
_CODE_OPTIONS = (
    (_OF_PYTHON, re.compile(r"-[bBdEhiIOqsSuvx]*c.*")),
    (re.compile(r"(?:ba|rba|da|z|fi|k|mk|c|tc|a)?sh|guile"), re.compile(r"-[A-Za-z]*c|--command(?:=.*)?")),
    (re.compile(r"perl[\d.]*|ruby[\d.]*"), re.compile(r"-[acilnpsStTuUwWx0-9]*[eE].*")),
    (re.compile("php[0-9.]*"), re.compile("-[rRBE].*|--(?:run|process-.*)")),
    (re.compile(".*"), re.compile(r"-[eEp]|-pe|--(?:eval|print)(?:=.*)?")),
)
_MODULE_OPTION = re.compile(r"-[bBdEhiIOqsSuvx]*m.*")


def files_named(words: Words) -> Iterator[str]:
    """Paths of the files that a program runs by its words, itself too; "." for a word that bash computes."""
    program, *rest = words
    if program and "/" in program:
        yield program
    if _is_among(program, _INTERPRETERS):
        yield from _files_of_interpreter(program_name(program or ""), rest)
    elif _is_among(program, _PATTERN_PROGRAMS):
        yield from _files_of_option(rest)


def files_described(words: Words) -> Iterator[str]:
    """The directory in which a program looks for what it runs; nothing if its words name that."""
    program, *rest = words
    if _is_among(program, _RUNNERS) or (_is_among(program, _INTERPRETERS) and _runs_input(program or "", rest)):
        yield "."


def _files_of_interpreter(name: str, arguments: Sequence[str | None]) -> Iterator[str]:
    """Words that may be a script, its arguments, or values of options, such as what `--require` names."""
    for word in arguments:
        if word is None or not word.startswith("-"):
            yield word or "."
        elif _ends_options(name, word):
            return
        elif value := word.partition("=")[2] or (word[2:] if _IS_PATH.search(word) else ""):
            yield value


def _files_of_option(arguments: Sequence[str | None]) -> Iterator[str]:
    is_file = False
    for word in arguments:
        if is_file:
            yield word or "."
        option = _FILE_OPTION.fullmatch(word) if word and not is_file else None
        joined = option and (option["joined"] or option["value"])
        if joined:
            yield joined
        is_file = option is not None and not joined


def _runs_input(program: str, arguments: Sequence[str | None]) -> bool:
    """Whether an interpreter runs a module, or what it is given to read; not if the command has the code."""
    for word in arguments:
        if word is None or not word.startswith("-"):
            return False
        if _ends_options(program_name(program), word):
            return _is_module_option(program_name(program), word)
    return True


def _ends_options(name: str, word: str) -> bool:
    """Whether an option has the code, or names a module; what follows are arguments."""
    code = next(option for names, option in _CODE_OPTIONS if names.fullmatch(name))
    return code.fullmatch(word) is not None or _is_module_option(name, word)


def _is_module_option(name: str, word: str) -> bool:
    return _OF_PYTHON.fullmatch(name) is not None and _MODULE_OPTION.fullmatch(word) is not None


def _is_among(program: str | None, names: str) -> bool:
    return program is not None and program_name(program) in names.split()


def led_by_settings(commands: Sequence[Words], sandbox: SandboxControl) -> str | None:
    """Which settings of the home that a program obeys commands can write, since a link leads there; None if none."""
    user = os.path.realpath(os.path.expanduser("~"))
    roots = [root for root in sandbox.writable if not is_below(user, (root,))]
    for name in dict.fromkeys(os.path.basename(words[0] or "") for words in commands if words):
        for file in obeyed(name, os.environ):
            for place in trail(file):
                if is_below(place, roots) or in_known_project(place, os.environ, sandbox.root, added=True):
                    return wording.runs_writable(name, f"{file}, by {place}")
    return None
