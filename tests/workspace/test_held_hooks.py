"""Hooks that lie in the project: git outside the sandbox runs those that were there, and none that it brings itself."""

import asyncio
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kaa.workspace.held_hooks import held_hooks
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest, CommandResult
from tests.support.elsewhere import folder_elsewhere
from tests.support.patience import HANG_SECONDS

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
]

_IDENTITY = "git config user.name a && git config user.email a@example.com"
# As the model makes them: a commit with other files, and one that takes them back, without writing any of these.
_PLUMBING = r"""
tree=$(git rev-parse HEAD^{tree}) commit=HEAD
export GIT_INDEX_FILE=$(mktemp -d)/index
git read-tree HEAD
for name in "$@"; do
    blob=$(printf '#!/bin/sh\necho evil >>../canary\n' | git hash-object -w --stdin)
    git update-index --add --cacheinfo "100755,$blob,$name"
done
for tree in $(git write-tree) "$tree"; do commit=$(git commit-tree -p $commit -m evil $tree); done
git -c core.hooksPath=/dev/null update-ref refs/heads/main $commit
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_elsewhere() as folder:
        yield folder


def _shell(directory: Path, script: str, *words: str) -> None:
    variables = {**os.environ, "HOME": str(directory.parent)}
    subprocess.run(["sh", "-eu", "-c", script, "sh", *words], cwd=directory, check=True, env=variables)


def _project(folder: Path, hooks_path: str, **files: str) -> Path:
    """A clone of a repository with hooks, both of which have a commit that the other one does not have."""
    _shell(folder, f"git init -q -b main up && cd up && {_IDENTITY}")
    for path, content in {"a": "a\n", **files}.items():
        (folder / "up" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "up" / path).write_text(content)
        (folder / "up" / path).chmod(0o755)
    _shell(folder / "up", "git add . && git commit -qm first")
    _shell(folder, f"git clone -q up project && cd project && {_IDENTITY} && git config core.hooksPath {hooks_path}")
    _shell(folder / "up", "echo b >b && git add . && git commit -qm second")
    return folder / "project"


_PULL = ("git", "-c", "protocol.file.allow=always", "pull", "-q", "--rebase")


def _run(folder: Path, *command: str, **variables: str) -> str:
    """What a command says that runs while the hooks of the project are held. There is no guard beside it."""

    async def whole() -> str:
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **variables}
        project = str(folder / "project")
        async with held_hooks(environment, project, (project,), str(folder)) as held:
            process = await asyncio.create_subprocess_exec(
                *command, cwd=project, env=held, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
            )
            return (await process.communicate())[0].decode()

    output = asyncio.run(whole())
    assert not list(folder.glob("hooks-*"))
    return output


def _said(folder: Path) -> str:
    return (folder / "canary").read_text() if (folder / "canary").exists() else ""


_HOOK = '#!/bin/sh\n. "$(dirname "$0")/lib"\nsay "$1 $(cat | wc -l)"\n'
_LIB = 'say() { echo "own ${0##*/} $1" >>../canary; }\n'
_CHANGED = "has changed since this command began, so git runs no hook of it"


@pytest.mark.parametrize("evil", ["reference-transaction", "lib"])
def test_a_hook_of_a_commit_that_git_replays_is_not_run(folder: Path, evil: str) -> None:
    project = _project(folder, "'hooks of'", **{"hooks of/reference-transaction": _HOOK, "hooks of/lib": _LIB})
    _shell(project, _PLUMBING, f"hooks of/{evil}")

    output = _run(folder, *_PULL)

    assert "evil" not in _said(folder)
    assert output.count(f"kaa: {project}/hooks of {_CHANGED}") == 1


def test_neither_is_one_where_there_was_none(folder: Path) -> None:
    project = _project(folder, "githooks")
    _shell(project, _PLUMBING, "githooks/reference-transaction")

    _run(folder, *_PULL)

    assert _said(folder) == ""


def test_hooks_that_stay_run_where_they_are_with_what_they_are_given(folder: Path) -> None:
    project = _project(folder, "githooks", **{"githooks/post-rewrite": _HOOK, "githooks/lib": _LIB})
    _shell(project, "echo c >c && git add c && git commit -qm mine")

    assert _run(folder, *_PULL) == ""

    assert _said(folder) == "own post-rewrite rebase 1\n"


def test_what_husky_runs_is_held_with_it(folder: Path) -> None:
    husky = '#!/bin/sh\nsh -e "$(dirname "$(dirname "$0")")/${0##*/}"\n'
    own = "echo own >>../canary\n"
    name = "reference-transaction"
    project = _project(folder, ".husky/_", **{f".husky/_/{name}": husky, f".husky/{name}": own})
    _shell(project, _PLUMBING, f".husky/{name}")

    output = _run(folder, *_PULL)

    assert set(_said(folder).split()) == {"own"}
    assert _CHANGED in output


def test_what_a_hook_is_a_link_to_is_held(folder: Path) -> None:
    project = _project(folder, "none", **{"scripts/check": "echo own >>../canary\n"})
    _shell(project, "git config --unset core.hooksPath; ln -s ../../scripts/check .git/hooks/reference-transaction")
    _shell(project, _PLUMBING, "scripts/check")

    output = _run(folder, *_PULL)

    assert set(_said(folder).split()) == {"own"}
    assert _CHANGED in output


def test_git_waits_for_little_before_each_hook(folder: Path) -> None:
    _project(folder, "githooks", **{"githooks/post-commit": ""})
    telling = 'sed "s/ -S / -S -X importtime /" "$(git config core.hooksPath)/post-commit" | sh'

    loaded = {line.split("|")[-1].strip() for line in _run(folder, "sh", "-c", telling).splitlines()}

    assert "hashlib" in loaded
    assert not loaded & {"asyncio", "contextlib", "kaa", "re", "subprocess", "typing"}


def test_names_of_hooks_may_be_no_text(folder: Path) -> None:
    _project(folder, os.fsdecode(b"caf\xe9"), **{os.fsdecode(b"caf\xe9/post-commit"): "echo own >>../canary\n"})

    _run(folder, "git", "commit", "-q", "--allow-empty", "-m", "x")

    assert _said(folder) == "own\n"


def test_each_repository_in_the_project_has_its_own_hooks(folder: Path) -> None:
    project = _project(folder, "githooks", **{"githooks/post-commit": "echo outer >>../canary\n"})
    _shell(project, f"git init -q '[in]' && cd '[in]' && {_IDENTITY} && git config core.hooksPath hooks && mkdir hooks")
    _shell(project / "[in]", "echo 'echo inner >>../../canary' >hooks/post-commit && chmod +x hooks/post-commit")

    _run(folder, "git", "-C", "[in]", "commit", "-q", "--allow-empty", "-m", "x")

    assert _said(folder) == "inner\n"


def test_a_worktree_that_the_command_makes_has_no_other_hooks(folder: Path) -> None:
    project = _project(folder, "githooks")
    _shell(project, _PLUMBING, "githooks/post-index-change")

    output = _run(folder, "git", "worktree", "add", "../wt", "main~")

    assert (folder / "wt" / "githooks" / "post-index-change").exists(), output
    assert _said(folder) == ""


def test_nothing_is_pushed_in_the_command_that_changed_the_hook_which_may_refuse_that(folder: Path) -> None:
    project = _project(folder, "githooks", **{"githooks/pre-push": "exit 0\n"})
    _shell(project, _PLUMBING, "githooks/pre-push")
    both = f"{shlex.join(_PULL)}; git push -q origin main:other"
    changing = f"echo >>githooks/pre-push; {both}; git checkout -q githooks"

    output = _run(folder, "sh", "-c", changing)
    assert "other" not in _run(folder, "git", "ls-remote", "origin")
    assert _CHANGED in output

    _run(folder, "sh", "-c", both)
    assert "other" in _run(folder, "git", "ls-remote", "origin")


@pytest.mark.parametrize("breaking", ["echo '[broken' >>.git/config", "git init -q \"$(printf 'a\\nb')\""])
def test_nothing_runs_where_git_does_not_say_which_hooks_there_are(folder: Path, breaking: str) -> None:
    project = _project(folder, "githooks")
    _shell(project, breaking)

    with pytest.raises(OSError, match="git does not say where the hooks"):
        _run(folder, *_PULL)


def test_a_folder_without_a_repository_needs_no_hooks(folder: Path) -> None:
    (folder / "project").mkdir()
    assert _run(folder, "echo", "ran") == "ran\n"


def test_of_a_repository_of_another_user_git_says_what_to_do(folder: Path) -> None:
    project = _project(folder, "githooks")

    with pytest.raises(OSError, match=f"git config --global --add safe.directory {project}"):
        _run(folder, *_PULL, GIT_TEST_ASSUME_DIFFERENT_OWNER="1")


async def _outside(folder: Path, *command: str, alone: Callable[[], str | None] | None) -> CommandResult:
    """How a command of the model ends outside the sandbox. `alone`: as for `LocalWorkspace.watched`."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    workspace = LocalWorkspace.start(str(folder / "project"), env=environment)
    try:
        if not (await workspace.sandbox.status()).confined:
            pytest.skip("this machine cannot confine anything")
        return await workspace.watched(alone=alone).run(CommandRequest(command, timeout=HANG_SECONDS))
    finally:
        await workspace.close()


@pytest.mark.usefixtures("mounts")
def test_git_of_the_model_outside_the_sandbox_holds_them(folder: Path) -> None:
    _project(folder, "githooks")

    result = asyncio.run(_outside(folder, "git", "config", "core.hooksPath", alone=lambda: None))

    assert b"/hooks-" in result.tail


@pytest.mark.usefixtures("mounts")
def test_a_command_without_git_runs_whatever_git_says(folder: Path) -> None:
    _shell(_project(folder, "githooks"), "echo '[broken' >>.git/config")

    result = asyncio.run(_outside(folder, "echo", "ran", alone=None))

    assert result.tail == b"ran\n"
