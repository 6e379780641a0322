"""What the files of a project say of it: its languages, the programs that build it, and the commands of its tests."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from kaa.workspace.protocol import Workspace

_MOST_BYTES = 256 * 1024
_MAKE_TEST = re.compile(rb"^(test|check)\s*:(?!=)", re.MULTILINE)
_JUST_TEST = re.compile(rb"^(test)\b[^=\n]*:(?!=)", re.MULTILINE)
_SCRIPTS = ("check", "typecheck", "build", "lint")
_NO_TEST = "no test specified"  # what `npm init` writes


class ProjectFacts(msgspec.Struct, frozen=True):
    """What is known of a project.

    Attributes:
        languages: each with its package manager in brackets, if that is known.
        tests: commands that run all tests, the most general first.
        builds: commands that check or build it otherwise, likewise.
    """

    languages: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    builds: tuple[str, ...] = ()


# The files that say something, and for each language the files of its package managers.
_LOCKS: Final[dict[str, dict[str, str]]] = {
    "Python": {"uv.lock": "uv", "poetry.lock": "poetry", "pdm.lock": "pdm", "Pipfile.lock": "pipenv"},
    "JavaScript": {
        "pnpm-lock.yaml": "pnpm",
        "yarn.lock": "yarn",
        "bun.lock": "bun",
        "bun.lockb": "bun",
        "package-lock.json": "npm",
    },
}
_LANGUAGES: Final[dict[str, tuple[str, ...]]] = {
    "Python": ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "tox.ini", "pytest.ini"),
    "JavaScript": ("package.json",),
    "TypeScript": ("tsconfig.json",),
    "Rust": ("Cargo.toml",),
    "Go": ("go.mod",),
    "Java": ("pom.xml", "build.gradle", "build.gradle.kts"),
    "C or C++": ("CMakeLists.txt", "meson.build", "configure.ac"),
    "Ruby": ("Gemfile",),
    "PHP": ("composer.json",),
    "Elixir": ("mix.exs",),
    "C#": ("global.json", "Directory.Build.props"),
}
# Where people tell agents how to test, and what such a command looks like: it is repeated to the model.
_INSTRUCTIONS: Final = ("AGENTS.md", "CLAUDE.md")
_TOLD_TEST: Final = re.compile(
    rb"(?:^(?: {4}|\t)[ \t]*|^[ \t]*\$ |^[ \t]*```\w*\n[ \t]*|`[ \t]*)"
    rb"((?:(?:python3?|\.venv/bin/python) -m |(?:uv|poetry|pdm|pipenv) run |npx |bundle exec )?"
    rb"(?:pytest|unittest|tox|nox|vitest|jest|rspec|phpunit|ctest|(?:npm|pnpm|yarn|bun|deno|cargo|go|mvn|gradle|mix) "
    rb"(?:run )?test|(?:make|just) (?:test|check))(?: [\w./:=-]+){0,6})[ \t]*(?:`|$)",
    re.MULTILINE,
)
_RUNNERS: Final = ("Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", "conftest.py", "tests/conftest.py")
_FILES: Final = (
    *_INSTRUCTIONS,
    *_RUNNERS,
    *(name for names in _LANGUAGES.values() for name in names),
    *(name for locks in _LOCKS.values() for name in locks),
)


async def facts_of(workspace: Workspace) -> ProjectFacts:
    """Read the few files at the root of the project that say something, in one request."""
    found = await workspace.read_existing(_FILES, _MOST_BYTES)
    found = {name: data for name, data in found.items() if name in _FILES}
    languages = [_with_manager(one, found) for one, names in _LANGUAGES.items() if any(n in found for n in names)]
    tests = [*_tests(found)]
    # A manifest of another language says nothing of Python beside it, which needs none.
    if languages and not languages[0].startswith("Python"):
        from kaa.builtin.python_tests import python_beside  # lazy: many projects have one language

        if command := await python_beside(workspace):
            languages.append("Python")
            tests.append(command)
    return ProjectFacts(tuple(languages), tuple(dict.fromkeys(tests)), tuple(_builds(found)))


def _with_manager(language: str, found: Mapping[str, bytes]) -> str:
    manager = next((name for lock, name in _LOCKS.get(language, {}).items() if lock in found), "")
    return f"{language} ({manager})" if manager else language


def _tests(found: Mapping[str, bytes]) -> Iterator[str]:
    for name in _INSTRUCTIONS:
        if told := _TOLD_TEST.search(found.get(name, b"")):
            yield told[1].decode("ascii", "ignore")
            break
    for name in ("Makefile", "makefile", "GNUmakefile"):
        if match := _MAKE_TEST.search(found.get(name, b"")):
            yield f"make {match[1].decode()}"
            break
    if _JUST_TEST.search(found.get("justfile", found.get("Justfile", b""))):
        yield "just test"
    for is_there, command in _BY_LANGUAGE:
        if is_there(found):
            yield command(found)


def _builds(found: Mapping[str, bytes]) -> Iterator[str]:
    if any(name in found for name in ("Makefile", "makefile", "GNUmakefile")):
        yield "make"
    scripts = _scripts(found)
    yield from (f"{_npm(found)} run {name}" for name in _SCRIPTS if scripts.get(name))


def _has_pytest(found: Mapping[str, bytes]) -> bool:
    if "pytest.ini" in found or "conftest.py" in found or "tests/conftest.py" in found:
        return True
    return any(b"pytest" in found.get(name, b"") for name in _LANGUAGES["Python"])


def _pytest(found: Mapping[str, bytes]) -> str:
    return next((f"{name} run pytest" for lock, name in _LOCKS["Python"].items() if lock in found), "pytest")


def _has_script(found: Mapping[str, bytes]) -> bool:
    test = _scripts(found).get("test", "")
    return bool(test) and _NO_TEST not in test


def _scripts(found: Mapping[str, bytes]) -> dict[str, str]:
    try:
        scripts = msgspec.json.decode(found.get("package.json", b"{}"), type=dict[str, msgspec.Raw]).get("scripts")
        return msgspec.json.decode(scripts, type=dict[str, str]) if scripts is not None else {}
    except (msgspec.DecodeError, ValueError):
        return {}


def _npm(found: Mapping[str, bytes]) -> str:
    return next((name for lock, name in _LOCKS["JavaScript"].items() if lock in found), "npm")


def _npm_test(found: Mapping[str, bytes]) -> str:
    return f"{_npm(found)} test"


def _any_of(*names: str) -> Callable[[Mapping[str, bytes]], bool]:
    return lambda found: any(name in found for name in names)


def _always(command: str) -> Callable[[Mapping[str, bytes]], str]:
    return lambda _found: command


_BY_LANGUAGE: Final[tuple[tuple[Callable[[Mapping[str, bytes]], bool], Callable[[Mapping[str, bytes]], str]], ...]] = (
    (_has_pytest, _pytest),
    (_has_script, _npm_test),
    (_any_of("Cargo.toml"), _always("cargo test")),
    (_any_of("go.mod"), _always("go test ./...")),
    (_any_of("pom.xml"), _always("mvn test")),
    (_any_of("build.gradle", "build.gradle.kts"), _always("gradle test")),
    (_any_of("mix.exs"), _always("mix test")),
)
