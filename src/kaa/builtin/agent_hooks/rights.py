"""Decides which commands of the user's hooks run with the user's rights: those that execute no file of the project.

Commands of the model can write such files, so a hook that executes one would lead out of the sandbox. The text of the
command decides, and where its paths lead, but not which files there are: those change until the command runs. What is
not understood runs in the sandbox.
"""

import os
import re
from collections.abc import Sequence
from typing import Final

from kaa.components.hooks import HookDefinition
from kaa.host.known_projects import in_known_project
from kaa.host.paths import is_below, trail
from kaa.host.programs import commands_can_write

# Words without anything that a shell expands but the home; and what separates commands and leads to files.
_TOKEN = re.compile(
    r"""[ \t]*(?:
        (?P<operator>&&|\|\||[;|]) |
        (?P<redirection>\d?>>?&?|<) |
        (?P<word>(?:[A-Za-z0-9_./:=@%+,~^-]|\$HOME\b|\$\{HOME\}|'[^']*'|"(?:[^"$`\\]|\$HOME\b|\$\{HOME\})*")+)
    )""",
    re.VERBOSE,
)
_PIECE = re.compile(r"""'([^']*)'|"([^"]*)"|([^'"]+)""")
_HOME = re.compile(r"\$HOME\b|\$\{HOME\}")
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_OPTION = re.compile(r"--?[A-Za-z][A-Za-z0-9-]*")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_STREAM = re.compile(r"[0-9-]")

# They execute the file that their first argument names; these options change nothing about that.
_SHELLS = (frozenset({"sh", "bash", "dash", "zsh", "ksh"}), frozenset({"-e", "-u", "-x", "-eu", "-ex", "-eux"}))
_PYTHONS = (re.compile(r"python(?:3(?:\.\d+)?)?"), frozenset({"-u", "-B", "-E", "-I", "-s", "-S", "-O"}))
_INTERPRETERS = frozenset({"node", "ruby", "perl", "php"})
# Their arguments are data.
_TELLING = frozenset(
    {"echo", "printf", "date", "logger", "notify-send", "terminal-notifier", "say", "exit", "true", "false", ":"}
)
# They take one argument that is no file, and with these options more.
_FILTERS: Final = {
    "jq": re.compile(r"-[A-Za-z]*[fL].*|--(?:from-file|slurpfile|rawfile|argfile|args|jsonargs|run-tests).*"),
    "grep": re.compile(r"-[A-Za-z]*[fred].*|--(?:file|recursive|include|exclude|devices|directories).*"),
}
# What they are followed by is data, unless it begins with `@`.
_CURL_OPTIONS = re.compile(
    r"-[sSfkLgGI]*[XdHmA]?|--(?:silent|show-error|fail|request|data|data-raw|data-binary|json|header|max-time|user-agent)"
)
# They work on the files that they name.
_ON_FILES = frozenset({"cat", "tee", "head", "tail", "wc", "mkdir", "touch"})
# Programs that somebody else wrote are known by their names only: most execute what lies in a project on some argument,
# or without one, such as `prove`, `tox` and all test runners. Here are those of systems, and of package managers.
_INSTALLED_BELOW = (
    "/bin",
    "/sbin",
    "/usr",
    "/lib",
    "/lib64",
    "/snap",
    "/nix",
    "/gnu",
    "/opt/homebrew",
    "/System",
    "/Library",
)
_INSTALLED_IN = frozenset(
    {".local", ".cargo", ".rustup", ".pyenv", ".rbenv", ".nodenv", ".asdf", ".nvm", ".volta", ".bun", ".deno", ".npm"}
    | {".npm-global", ".linuxbrew", "linuxbrew", ".nix-profile", ".sdkman", ".gem", ".yarn", "go", "mise", "shims"}
    | {"node_modules", "site-packages", "venv", ".venv", "miniconda3", "anaconda3", "virtualenvs"}
)
_MOST_OF_SCRIPT_LINE = 256  # Linux reads no more of the line after `#!` (BINPRM_BUF_SIZE)
# One file that does what the name says by which it is called.
_MULTICALL = frozenset({"busybox", "toybox", "coreutils"})
# What they execute depends on the directory in which they run, wherever they are.
_LED_BY_PROJECT = re.compile(
    r"busybox|toybox|coreutils|prove|tox|nox|pytest|py\.test|pre-commit|rspec|jest|vitest|mocha|phpunit|npm|npx|pnpm|pnpx|yarn|bun|bunx|deno|uv|uvx|poetry|pipx|pdm|hatch|make|gmake|just|task|rake|bundle|cargo|go|gradle"
    r"|mvn|ant|composer|env|xargs|find|sudo|nohup|nice|timeout|time|exec|eval|command|source|\.|cd|git|awk|sed"
)


def runs_sandboxed(hook: HookDefinition, root: str) -> bool:
    """Whether the command of a hook runs in the sandbox.

    Args:
        hook: has the command.
        root: the directory of the project.
    """
    if hook.of_project:
        return True
    if hook.sandboxed is not None:
        return hook.sandboxed
    if hook.args is not None:
        return not _is_harmless([_as_it_is(one) for one in (hook.command, *hook.args)], root)
    commands = _commands(hook.command, root)
    return commands is None or not all(_is_harmless(words, root) for words in commands)


def _commands(text: str, root: str) -> list[list[str]] | None:
    """The simple commands of a line, without their redirections; None if it is not certain that these are all."""
    commands: list[list[str]] = [[]]
    place, leads_to = 0, ""
    text = text.strip()
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None or (leads_to and found["word"] is None):
            return None
        place = found.end()
        if leads_to:
            target, is_stream = _literal(found["word"]), leads_to.endswith("&")
            if not (_STREAM.fullmatch(target) if is_stream else _is_outside(target, root)):
                return None
            leads_to = ""
        elif found["operator"]:
            commands.append([])
        elif found["redirection"]:
            leads_to = found["redirection"]
        else:
            commands[-1].append(_literal(found["word"]))
    return None if leads_to or not all(commands) else commands


def _literal(word: str) -> str:
    """What a word is without its quotes. What a shell leaves as it is within them is no home: it gets a NUL."""
    found = ""
    for single, double, bare in _PIECE.findall(word):
        found += _as_it_is(single) + double.replace("~", "\0") + bare
    return found


def _as_it_is(word: str) -> str:
    """A word that no shell expands: what would be a home in another one gets a NUL."""
    return word.replace("~", "\0").replace("$", "\0")


def _is_harmless(words: Sequence[str], root: str) -> bool:
    """Whether a simple command executes only programs that commands of the model cannot write."""
    program, *arguments = words
    if _ASSIGNMENT.match(program) or ("/" in program and not _is_outside(program, root)):
        return False
    return all(_is_harmless_as(name, program, arguments, root) for name in _names(program))


def _names(program: str) -> set[str]:
    """Return the names by which a program decides what it does: its own, and that of the file that a link leads to."""
    names = {os.path.basename(program)}
    if "/" in program:
        names |= {os.path.basename(os.path.realpath(_expanded(program)))} - _MULTICALL
    return names


def _is_harmless_as(name: str, program: str, arguments: Sequence[str], root: str) -> bool:
    """Whether a command with a program of this name executes only programs that commands of the model cannot write."""
    if _LED_BY_PROJECT.fullmatch(name):
        return False
    if name in _SHELLS[0]:
        return _executes_outside(arguments, _SHELLS[1], root)
    if _PYTHONS[0].fullmatch(name):
        return _executes_outside(arguments, _PYTHONS[1], root)
    if name in _INTERPRETERS:
        return _executes_outside(arguments, frozenset(), root)
    if name in _TELLING:
        return True
    if (more := _FILTERS.get(name)) is not None:
        values = [one for one in arguments if not one.startswith("-")]
        return len(values) <= 1 and not any(more.fullmatch(one) for one in arguments)
    if name == "curl":
        return all(
            _CURL_OPTIONS.fullmatch(one) if one.startswith("-") else one == "@-" or not one.startswith("@")
            for one in arguments
        )
    is_known = name in _ON_FILES or ("/" in program and _is_script(program) and not _is_installed(program))
    return is_known and all(
        _OPTION.fullmatch(one) or _is_outside(one, root) or (name not in _ON_FILES and _PLAIN.fullmatch(one))
        for one in arguments
    )


def _is_script(program: str) -> bool:
    """Whether a program is a script that was not installed beside its interpreter, as pip does; a missing one is."""
    path = os.path.realpath(_expanded(program))
    try:
        with open(path, "rb") as file:
            line = file.read(_MOST_OF_SCRIPT_LINE).partition(b"\n")[0]
    except FileNotFoundError:
        return True  # nothing runs
    except OSError:
        return False
    interpreter = os.fsdecode(line[2:].strip()).partition(" ")[0]
    return line.startswith(b"#!") and os.path.dirname(interpreter) != os.path.dirname(path)


def _is_installed(program: str) -> bool:
    """Whether a program of this path, or the file it leads to, is no script of the user's own."""
    paths = {_expanded(program), os.path.realpath(_expanded(program))}
    return any(is_below(path, _INSTALLED_BELOW) or not _INSTALLED_IN.isdisjoint(path.split("/")) for path in paths)


def _executes_outside(arguments: Sequence[str], harmless: frozenset[str], root: str) -> bool:
    """Whether the first argument that is no option is a script of the user's; what follows are arguments of that."""
    for one in arguments:
        if one not in harmless:
            is_own = _is_outside(one, root) and not _is_installed(one)
            return is_own and not any(map(_LED_BY_PROJECT.fullmatch, _names(one)))
    return False


def _expanded(word: str) -> str:
    """Return a word with the home that it names."""
    return os.path.expanduser(_HOME.sub(os.path.expanduser("~").replace("\\", r"\\"), word))


def _is_outside(word: str, root: str) -> bool:
    """Whether a word is an absolute path that leads through nothing that commands of the model can write."""
    path = _expanded(word)
    if not os.path.isabs(path) or path.startswith("/proc/") or not {".", ".."}.isdisjoint(path.split("/")):
        return False
    if path in ("/dev/null", "/dev/stderr", "/dev/stdout"):
        return True
    return not any(
        commands_can_write(one) or is_below(one, (root,)) or in_known_project(one, os.environ, root) is not None
        for one in (path, *trail(path))
    )
