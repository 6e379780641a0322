"""Judges scripts of the user that hooks execute: whether they use only what commands of the model cannot write.

A script starts in the project. What it calls may load code from there (`python3 -c "import json"` loads `json.py`), and
what it opens may be a link of the model's. Such scripts run in the sandbox, and so does what is not understood.
"""

import functools
import os
import re
import stat
import time
from collections.abc import Sequence

from kaa.builtin.agent_hooks.own_files import expanded, imports_from_projects, is_outside
from kaa.builtin.agent_hooks.python_scripts import is_harmless_python, needs_no_packages
from kaa.builtin.agent_hooks.shell_scripts import is_harmless_shell
from kaa.host.hard_links import has_other_name
from kaa.host.paths import is_below, trail
from kaa.host.programs import written
from kaa.host.regular_files import regular

_MOST_BYTES = 64 * 1024
_MOST_DEPTH = 4
_OF_KERNEL = ("/dev", "/proc", "/sys")
_OF_MEMORY = ("/dev/shm",)  # noqa: S108 - files as elsewhere
_INTERPRETER = re.compile(
    r"#![ \t]*(?P<env>/usr/bin/env(?:[ \t]+-S)?[ \t]+)?(?P<program>\S+)(?:[ \t]+-[A-Za-z]+)*[ \t]*\n"
)
_SHELL = re.compile(r"(?:ba|da)?sh")  # others calculate with the operands of `[`, too
_PYTHON = re.compile(r"python(?:3(?:\.\d+)?)?")
_PYTHON3 = re.compile(r"python3(?:\.\d+)?")
_OPTIONS = re.compile(r"-[BEIOSsu]+")  # of Python: a script that follows them is executed as without
# What `site` gives programs, which it does not load with `-S`, and then the script as if it were the program.
_ALONE = (
    "-I",
    "-S",
    "-c",
    "import site, sys; site.setquit(); site.sethelper(); del sys.argv[0]; __file__ = sys.argv[0]; "
    "exec(compile(open(__file__, 'rb').read(), __file__, 'exec'))",
)
_BETWEEN_WORDS = re.compile(r"""[\s;|&<>()"']+""")
_OF_PROJECT = re.compile(r'"?\$\{?(?:CLAUDE|CODEX|GEMINI)_PROJECT_DIR\}?"?')
_STARTS_CODE = re.compile(r"\bpython[\d.]*(?:\s+-[A-Za-z]+)*?\s+(?:-[A-Za-z]*c\b|-(?=\s)|<<)")
_STARTS_MODULE = re.compile(r"\bpython[\d.]*(?:\s+-[A-Za-z]+)*?\s+-[A-Za-z]*m\b")


def is_harmless_script(path: str, interpreter: str, root: str, depth: int = 0) -> bool:
    """Whether a script executes and uses only what commands of the model cannot write.

    One that is missing does: the model cannot make it. What is no file may have any text when it is executed, such as
    `/dev/stdin`, which is another one then.

    Args:
        path: absolute, or one in the home.
        interpreter: the program that executes it; empty for the one that it names.
    """
    if depth > _MOST_DEPTH:
        return False
    *links, real = trail(os.path.abspath(expanded(path)))
    if any(is_below(place, _OF_KERNEL) and not is_below(place, _OF_MEMORY) for place in (*links, real)):
        return False
    try:
        state = os.stat(real)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    if not stat.S_ISREG(state.st_mode) or (state.st_nlink > 1 and has_other_name(real)):
        return False
    version = (state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
    # What it calls can change as well: a hook is judged several times for each call, but not for longer than that.
    return _is_harmless_now(real, interpreter, root, depth, version, written(), int(time.monotonic()))


@functools.lru_cache(maxsize=64)
def _is_harmless_now(
    path: str, interpreter: str, root: str, depth: int, _version: object, _written: object, _second: int
) -> bool:
    try:
        with open(path, "rb", opener=regular) as file:
            source = file.read(_MOST_BYTES + 1)
        text = source.decode()
    except (OSError, UnicodeDecodeError):
        return False
    if len(source) > _MOST_BYTES:
        return False
    if not interpreter:
        interpreter = _interpreter(text, root, depth)
    return is_harmless_text(text, interpreter, path, root, depth)


def first_line(path: str, root: str) -> list[str]:
    """The program that the first line of a script names by a path, with its options; nothing for another file."""
    named = _INTERPRETER.match(_text(os.path.join(root, path)))
    if named is None or named["env"]:
        return []
    return named[0][2:].split()


def _interpreter(text: str, root: str, depth: int) -> str:
    """The name of the program that the first line of a script names; empty if commands of the model may write it."""
    named = _INTERPRETER.match(text)
    if named is None:
        return ""
    program = named["program"]
    is_found = "/" not in program if named["env"] else is_outside(program, root)
    name = os.path.basename(program)
    if depth and not named["env"] and _PYTHON.fullmatch(name) and imports_from_projects(program):
        return ""  # what a hook names itself, kaa starts without packages
    return name if is_found else ""


def is_harmless_text(text: str, interpreter: str, path: str, root: str, depth: int = 0) -> bool:
    """Whether a program in the language of an interpreter is harmless. `path`: its file, or empty."""
    if _SHELL.fullmatch(interpreter):
        return is_harmless_shell(text, root, depth + 1)
    return _PYTHON.fullmatch(interpreter) is not None and is_harmless_python(text, path, root)


def starts_python_here(line: str, root: str, *, modules: bool) -> bool:
    """Whether a line of a hook, or a script that it names, has Python look for modules where it starts.

    Args:
        modules: whether those that are started by `-m` are meant as well.
    """
    paths = (word for word in _BETWEEN_WORDS.split(_OF_PROJECT.sub(root, line)) if "/" in word)
    texts = (line, *(_text(os.path.join(root, expanded(path))) for path in paths))
    return any(_STARTS_CODE.search(text) or (modules and _STARTS_MODULE.search(text)) for text in texts)


def start_without_packages(words: Sequence[str], root: str) -> tuple[int, list[str]]:
    """Words by which a command starts the Python of its script with the standard library only, and before which word.

    Returns:
        No words if it starts no script in Python, or one that may need packages.
    """
    is_python = _PYTHON3.fullmatch(os.path.basename(words[0])) is not None
    place = (
        next((at for at, word in enumerate(words) if at and not _OPTIONS.fullmatch(word)), len(words))
        if is_python
        else 0
    )
    if place == len(words) or "/" not in words[place] or words[place].startswith("-"):
        return 0, []
    path = os.path.abspath(os.path.join(root, expanded(words[place])))
    if not needs_no_packages(text := _text(path)):
        return 0, []
    if is_python:
        return place, [*_ALONE]
    line = text.partition("\n")[0].removeprefix("#!").split() if text.startswith("#!") else []
    if line and os.path.basename(line[0]) == "env":
        line = line[2:] if line[1:2] == ["-S"] else line[1:]
    is_usual = line and _PYTHON3.fullmatch(os.path.basename(line[0])) and all(map(_OPTIONS.fullmatch, line[1:]))
    return 0, [*line, *_ALONE] if is_usual else []


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace", opener=regular) as file:
            return file.read(_MOST_BYTES)
    except (OSError, ValueError):
        return ""
