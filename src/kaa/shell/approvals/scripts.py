"""Which files a command would run: those of the project are as good as words that the model writes later."""

from collections.abc import Iterator

from kaa.shell.approvals.grammar import Words
from kaa.shell.approvals.programs import program_name

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
_CODE_OPTIONS = frozenset({"-c", "-e", "--eval", "-lc", "-ec", "-xc"})  # the code stands in the command


def files_named(words: Words) -> Iterator[str]:
    """Paths of the files that a program runs by its words, itself too; "." for a word that bash computes.

    Args:
        words: the program and its arguments.
    """
    program, *rest = words
    if program and "/" in program:
        yield program
    if _is_among(program, _INTERPRETERS) and not _CODE_OPTIONS.intersection(rest) and "-m" not in rest:
        yield from (word or "." for word in rest if word is None or not word.startswith("-"))


def files_described(words: Words) -> Iterator[str]:
    """The directory in which a program looks for what it runs; nothing if its words name that.

    Args:
        words: the program and its arguments.
    """
    program, *rest = words
    reads_input = all(word is not None and word.startswith("-") for word in rest)
    if _is_among(program, _RUNNERS) or (
        _is_among(program, _INTERPRETERS) and ("-m" in rest or reads_input) and not _CODE_OPTIONS.intersection(rest)
    ):
        yield "."


def _is_among(program: str | None, names: str) -> bool:
    return program is not None and program_name(program) in names.split()
