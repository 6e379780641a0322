"""Hooks of git that lie in the project: outside the sandbox, git runs none that has changed since the command began.

With `core.hooksPath = githooks`, `git pull --rebase` writes hooks of the commits that it replays, which the model may
have made, and runs them before the guard can look. So git gets hooks of kaa's own instead, which run `hook_check`.
"""

import asyncio
import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import NamedTuple

from kaa.hands.confinement import repositories
from kaa.hands.protected import is_protected
from kaa.host.paths import is_below
from kaa.host.programs import host_programs
from kaa.workspace import hook_check
from kaa.workspace.environment import git_settings

_QUESTION = ("rev-parse", "--absolute-git-dir", "--git-common-dir", "--git-path", "hooks")
_ANSWERS = 3
_SECONDS = 10.0
# Without what may refuse it, nothing is pushed; a merge, which may have brought these hooks, ends without them.
_HOOK = """\
#!/bin/sh
{check} </dev/null || case $0 in */pre-push) exit 1 ;; *) exit 0 ;; esac
exec {hooks}/"${{0##*/}}" "$@"
"""


class _Hooks(NamedTuple):
    """Where a repository has its hooks.

    Attributes:
        git_directory: of the repository, or of its worktree.
        directory: that git looks into.
        folder: all of what hooks there may load.
    """

    git_directory: str
    directory: str
    folder: str


@contextlib.asynccontextmanager
async def held_hooks(
    environment: Mapping[str, str], root: str, written: Sequence[str], work: str
) -> AsyncIterator[dict[str, str]]:
    """Hold the hooks of repositories in the project while a command runs. Gives the variables of the command.

    Args:
        environment: the variables without this.
        root: the project.
        written: real paths of directories that commands can write.
        work: a directory that they cannot write.

    Raises:
        OSError: the hooks cannot be read, or git does not say where they are.
    """
    hooks = await asyncio.to_thread(lambda: list(_of_project(environment, root, written)))
    if not hooks:
        yield {**environment}
        return
    own = tempfile.mkdtemp(prefix="hooks-", dir=work)
    try:
        included: dict[str, str] = {}  # a command may work in several repositories, each with its hooks
        for number, one in enumerate(hooks):
            place = os.path.join(own, str(number))
            await asyncio.to_thread(_hold, one, place)
            pattern = "".join(f"\\{letter}" if letter in "*?[]\\" else letter for letter in one.git_directory)
            new_worktrees = f"{pattern}/worktrees/*"  # each of which has hooks of its own if their path is relative
            included |= dict.fromkeys((pattern, new_worktrees), f"{place}.config")
        settings = [(f"includeIf.gitdir:{pattern}.path", path) for pattern, path in included.items()]
        yield {**environment, **git_settings(environment, settings)}
    finally:
        await asyncio.to_thread(shutil.rmtree, own, ignore_errors=True)


def _of_project(environment: Mapping[str, str], root: str, written: Sequence[str]) -> Iterable[_Hooks]:
    """The hooks that commands could bring: git writes them into the project, or what links among them lead to."""
    if (git := host_programs(environment).find("git")) is None:
        return
    for top in dict.fromkeys((root, *(os.path.dirname(found.entry) for found in repositories.find(root)))):
        answer = _ask(git, environment, top)
        lines = os.fsdecode(answer.stdout).splitlines() if answer.returncode == 0 else []
        if not lines and not (top == root and os.path.lexists(os.path.join(root, ".git"))):
            continue
        if len(lines) != _ANSWERS:  # it may at another moment, or a name holds a line feed
            reason = os.fsdecode(answer.stderr).strip()  # names the remedy for a repository of another user
            raise OSError(
                f"git does not say where the hooks of {top} are, so the command was not run. {reason}".rstrip()
            )
        git_directory, common, hooks = (os.path.join(top, line) for line in lines)
        of_git = (git_directory, os.path.realpath(common))
        paths = [hooks]
        with contextlib.suppress(OSError), os.scandir(hooks) as entries:
            paths += [entry.path for entry in entries if entry.is_symlink()]
        if any(is_below(path, written) and not is_below(path, of_git) for path in map(os.path.realpath, paths)):
            names = os.path.relpath(hooks, top).split("/")
            protected = (end for end in range(1, len(names)) if is_protected(names[:end]))  # `.husky` of `.husky/_`
            end = next(protected, len(names))
            yield _Hooks(git_directory, hooks, os.path.normpath(os.path.join(top, *names[:end])))


def _ask(git: str, environment: Mapping[str, str], top: str) -> "subprocess.CompletedProcess[bytes]":
    nowhere = subprocess.DEVNULL
    try:
        return subprocess.run(
            [git, *_QUESTION],
            cwd=top,
            env=environment,
            stdin=nowhere,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(f"git does not say where the hooks of {top} are") from error


def _hold(hooks: _Hooks, place: str) -> None:
    """Make hooks that run those of a repository as long as these stay as they are, and their configuration."""
    os.mkdir(place)
    check = (
        sys.executable,
        "-I",
        "-S",
        hook_check.__file__,
        hooks.folder,
        hook_check.digest(hooks.folder),
        f"{place}.told",
    )
    text = _HOOK.format(check=shlex.join(check), hooks=shlex.quote(hooks.directory))
    for name in os.listdir(hooks.directory) if os.path.isdir(hooks.directory) else ():
        if os.access(os.path.join(hooks.directory, name), os.X_OK):
            _write(os.path.join(place, name), text)
    quoted = place.replace("\\", "\\\\").replace('"', '\\"')
    _write(f"{place}.config", f'[core]\n\thooksPath = "{quoted}"\n')


def _write(path: str, text: str) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o700), "wb") as file:
        file.write(os.fsencode(text))  # names may be no UTF-8
