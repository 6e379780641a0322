"""Decides which commands of the user's hooks run with the user's rights: those that execute no file of the project.

Commands of the model can write such files, so a hook that executes one would lead out of the sandbox. The text of the
command decides, and where its paths lead, but not which files there are: those change until the command runs. What is
not understood runs in the sandbox.
"""

import os
import re
import shlex
from collections.abc import Mapping

import msgspec

from kaa.builtin.agent_hooks.own_files import is_outside
from kaa.builtin.agent_hooks.programs import is_harmless, python_without_packages
from kaa.components.hooks import HookDefinition

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
_STREAM = re.compile(r"[0-9-]")


def runs_sandboxed(hook: HookDefinition, root: str) -> bool:
    """Whether the command of a hook runs in the sandbox."""
    if hook.of_project:
        return True
    if hook.sandboxed is not None:
        return hook.sandboxed
    if hook.args is not None:
        return not is_harmless([_as_it_is(one) for one in (hook.command, *hook.args)], root)
    commands = _commands(hook.command, root)
    return commands is None or not all(is_harmless(one.words, root) for one in commands)


def without_packages(hook: HookDefinition, root: str, environ: Mapping[str, str]) -> tuple[HookDefinition, str]:
    """Have each Python that a hook starts find its standard library only: editable installs lead into projects.

    Args:
        hook: a command that kaa has read, so that it needs no more.

    Returns:
        The hook, and its PATH.

    Raises:
        OSError: kaa's own folder cannot be written.
    """
    from kaa.host.lone_pythons import folders_without_packages  # lazy: few users have such hooks

    path = os.pathsep.join((*folders_without_packages(environ), environ.get("PATH", os.defpath)))
    if hook.args is not None:
        words = python_without_packages(_as_it_is(hook.command), root, environ)
        return (msgspec.structs.replace(hook, command=words[0], args=(*words[1:], *hook.args)) if words else hook), path
    command = hook.command.strip()
    for one in reversed(_commands(command, root) or ()):
        if words := python_without_packages(one.words[0], root, environ):
            start, end = one.spans[0]
            command = f"{command[:start]}{shlex.join(words)}{command[end:]}"
    return msgspec.structs.replace(hook, command=command), path


def without_packages_inside(hook: HookDefinition, root: str) -> HookDefinition:
    """Have a hook in the sandbox start the Python of its scripts with the standard library only, where that suffices.

    Else a module in a project, to which an editable install leads, could end it before it has decided.
    """
    from kaa.builtin.agent_hooks.scripts import start_without_packages  # lazy: few users have such hooks

    if hook.args is not None:
        words = [_as_it_is(one) for one in (hook.command, *hook.args)]
        place, inserted = start_without_packages(words, root)
        given = [*(hook.command, *hook.args)[:place], *inserted, *(hook.command, *hook.args)[place:]]
        return msgspec.structs.replace(hook, command=given[0], args=tuple(given[1:]))
    command = hook.command.strip()
    for one in reversed(_commands(command, root) or ()):
        place, inserted = start_without_packages(one.words, root)
        if inserted:
            start = one.spans[place][0]
            command = f"{command[:start]}{shlex.join(inserted)} {command[start:]}"
    return msgspec.structs.replace(hook, command=command)


def needs_safe_path(hook: HookDefinition, root: str) -> bool:
    """Whether Python must not look for modules where a hook starts, which is also the place beside its scripts."""
    if not runs_sandboxed(hook, root) and hook.sandboxed is None:
        return True  # kaa has read all of it: it loads nothing but the standard library
    from kaa.builtin.agent_hooks.scripts import starts_python_here  # lazy: few users have such hooks

    # A module that a hook of the project starts is most often one of the project.
    return starts_python_here(" ".join((hook.command, *(hook.args or ()))), root, modules=not hook.of_project)


class _Command:
    """A simple command of a line, without its redirections.

    Attributes:
        words: the program and its arguments.
        spans: where each begins and ends in the line.
    """

    def __init__(self) -> None:
        self.words: list[str] = []
        self.spans: list[tuple[int, int]] = []


def _commands(text: str, root: str) -> list[_Command] | None:
    """The simple commands of a line; None if it is not certain that these are all."""
    commands = [_Command()]
    place, leads_to = 0, ""
    text = text.strip()
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None or (leads_to and found["word"] is None):
            return None
        place = found.end()
        if leads_to:
            target, is_stream = _literal(found["word"]), leads_to.endswith("&")
            if not (_STREAM.fullmatch(target) if is_stream else is_outside(target, root)):
                return None
            leads_to = ""
        elif found["operator"]:
            commands.append(_Command())
        elif found["redirection"]:
            leads_to = found["redirection"]
        else:
            commands[-1].spans.append(found.span("word"))
            commands[-1].words.append(_literal(found["word"]))
    return None if leads_to or not all(one.words for one in commands) else commands


def _literal(word: str) -> str:
    """What a word is without its quotes. What a shell leaves as it is within them is no home: it gets a NUL."""
    found = ""
    for single, double, bare in _PIECE.findall(word):
        found += _as_it_is(single) + double.replace("~", "\0") + bare
    return found


def _as_it_is(word: str) -> str:
    """A word that no shell expands: what would be a home in another one gets a NUL."""
    return word.replace("~", "\0").replace("$", "\0")
