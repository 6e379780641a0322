"""What could be run in a project to see whether a change works: the commands of its tests, or else test files."""

import posixpath
import re
import shlex
from collections.abc import Iterable

from kaa.builtin.project_facts import facts_of
from kaa.builtin.python_tests import PYTHON_TEST, python_test
from kaa.workspace.protocol import Workspace

_MOST = 3
_MOST_DIRECTORIES = 6
_MOST_BYTES = 64 * 1024
_JAVASCRIPT = re.compile(r".*\.test\.[cm]?js|test\.[cm]?js")
_SHELL = re.compile(r"(?:run_?)?tests?\.sh")


async def runnable(workspace: Workspace, changed: Iterable[str]) -> tuple[str, ...]:
    """Commands that could be run, the most general first; none if nothing is found.

    Args:
        workspace: the project.
        changed: the files that changed, relative to the project.
    """
    facts = await facts_of(workspace)
    found = facts.tests[:_MOST]
    if found:
        return found
    beside = (posixpath.dirname(path) for path in changed if path)
    for directory in list(dict.fromkeys(["", "tests", "test", *beside]))[:_MOST_DIRECTORIES]:
        if command := await _in_directory(workspace, directory):
            return (command,)
    return facts.builds[:_MOST]


async def _in_directory(workspace: Workspace, directory: str) -> str:
    try:
        entries = await workspace.list(directory or ".")
    except OSError:
        return ""
    names = sorted(entry.name for entry in entries if entry.kind == "file")
    place = shlex.quote(directory)
    if test := next((name for name in names if PYTHON_TEST.fullmatch(name)), ""):
        path = posixpath.join(directory, test)
        text = (await workspace.read_existing((path,), _MOST_BYTES)).get(path, b"")
        return python_test(text, shlex.quote(path), "" if place == "''" else place)
    if any(_JAVASCRIPT.fullmatch(name) for name in names):
        return f"node --test {place}".rstrip(" '")
    if script := next((name for name in names if _SHELL.fullmatch(name)), ""):
        return f"sh {shlex.quote(posixpath.join(directory, script))}"
    return ""
