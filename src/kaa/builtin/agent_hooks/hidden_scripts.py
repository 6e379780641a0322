"""Finds the scripts of the user's that a hook executes in the sandbox, whose folder is hidden there, such as ~/.claude.

The sandbox of such a hook shows its scripts, and the code beside them that they name, but nothing else of the folder.
What a hook or a script names counts only where commands of the model cannot have written that.
"""

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from kaa.builtin.agent_hooks.own_files import expanded, is_outside
from kaa.components.hooks import HookDefinition
from kaa.host.hard_links import has_other_name
from kaa.host.known_projects import in_known_project
from kaa.host.paths import is_below
from kaa.host.regular_files import regular
from kaa.workspace.protocol import Workspace

ShowScripts = Callable[[Workspace, Sequence[str]], Workspace]
"""Gives the project with files besides that can be read, and not written."""

_WORD = re.compile(r"""[^\s'";&|<>()]+""")
_CODE = frozenset({".sh", ".bash", ".zsh", ".py", ".js", ".cjs", ".mjs", ".ts", ".rb", ".pl"})
_NAME = re.compile(r"[A-Za-z0-9_-]+(?:[./][A-Za-z0-9_-]+)*")
_MOST_BYTES = 64 * 1024
_MOST_FILES = 32


def names_own_scripts(hook: HookDefinition, root: str) -> bool:
    """Whether a hook names scripts in the home, outside of projects, which its sandbox shows if it is the user's."""
    home = os.path.expanduser("~")
    return any(
        is_below(path, (home,)) and os.path.isfile(path) and _is_code(os.path.realpath(path)) and is_outside(path, root)
        for path in map(expanded, _words(hook))
    )


async def with_scripts(
    hook: HookDefinition, workspace: Workspace, show: ShowScripts
) -> tuple[HookDefinition, Workspace]:
    """Return a hook and where it runs: with the scripts that its command names, if the sandbox hides them.

    Links in hidden folders are not shown, so the command names the files that they lead to.

    Args:
        hook: one of the user's that runs in the sandbox.
        show: gives a workspace in which files can be read besides.
    """
    real = {word: path for word in _words(hook) if (path := _may_be_shown(expanded(word), hook, workspace.root))}
    # Where nothing can be mounted, a hidden file is there and cannot be read.
    readable = await workspace.read_existing([expanded(word) for word in real], 1) if real else {}
    hidden = {word: path for word, path in real.items() if expanded(word) not in readable}
    if not hidden:
        return hook, workspace
    scripts = dict.fromkeys(hidden.values())
    for script in tuple(scripts):
        _add_beside(script, scripts, workspace.root)
    return _renamed(hook, hidden), show(workspace, tuple(scripts))


def _words(hook: HookDefinition) -> Sequence[str]:
    return (hook.command, *hook.args) if hook.args is not None else _WORD.findall(hook.command)


def _renamed(hook: HookDefinition, real: Mapping[str, str]) -> HookDefinition:
    if hook.args is not None:
        program, *arguments = (real.get(word, word) for word in (hook.command, *hook.args))
        return msgspec.structs.replace(hook, command=program, args=tuple(arguments))
    plain = {word: path for word, path in real.items() if path != expanded(word) and shlex.quote(path) == path}
    command = _WORD.sub(lambda found: plain.get(found[0], found[0]), hook.command) if plain else hook.command
    return msgspec.structs.replace(hook, command=command)


def _may_be_shown(path: str, hook: HookDefinition, root: str) -> str:
    """Return the real path of a script that the hook may see; empty for none.

    Commands could have made a file in a project a link to a secret: what it leads to must lie in a project, too. So
    must all that a hook names that they could have written.
    """
    if not os.path.isabs(path) or not os.path.isfile(path) or not _is_code(real := os.path.realpath(path)):
        return ""
    if is_outside(path, root) and not hook.may_be_of_commands:
        return real
    lies_in_project = is_below(real, (root,)) or in_known_project(real, os.environ, root, added=True) is not None
    return real if lies_in_project and os.path.basename(real) == os.path.basename(path) else ""


def _is_code(path: str) -> bool:
    if os.path.splitext(path)[1] in _CODE:
        return True
    try:
        with open(path, "rb", opener=regular) as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


def _add_beside(script: str, found: dict[str, None], root: str) -> None:
    """Add the code in the folder of a script, or below, that it names: what it sources and imports."""
    folder, pending = os.path.dirname(script), [script]
    while pending and len(found) < _MOST_FILES:
        named_by = pending.pop()
        if not is_outside(named_by, root) or has_other_name(named_by):
            continue
        for name in _names_in(named_by):
            for path in _candidates(folder, name):
                if path not in found and os.path.realpath(path) == path and os.path.isfile(path):
                    found[path] = None
                    pending.append(path)


def _names_in(script: str) -> frozenset[str]:
    try:
        with open(script, encoding="utf-8", errors="replace", opener=regular) as file:
            return frozenset(_NAME.findall(file.read(_MOST_BYTES)))
    except OSError:
        return frozenset()


def _candidates(folder: str, name: str) -> Iterator[str]:
    """The files that a word of a script in a folder may mean."""
    if os.path.splitext(name)[1] in _CODE:
        parts = name.split("/")  # of "$DIR/lib/rules.sh", all but the variable
        yield from (os.path.join(folder, *parts[first:]) for first in range(len(parts)))
    elif "/" not in name:
        names = name.split(".")
        yield os.path.join(folder, *names) + ".py"
        # Of a package those above, too: Python executes them first.
        yield from (os.path.join(folder, *names[:count], "__init__.py") for count in range(1, len(names) + 1))
