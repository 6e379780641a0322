"""A command prepares what the user's next git executes: another repository, a rebase.

The canary is a file outside that only a program run outside can make.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.security.attacks.play import git, play
from tests.support.elsewhere import folder_elsewhere

pytestmark = pytest.mark.usefixtures("confined")

_EXECUTABLE_CONFIGURATION = "printf '[core]\\n\\tfsmonitor = {canary}\\n' >> .git/config"
_COMMIT = "git -c user.name=x -c user.email=x@example.com commit -q --allow-empty -m x"
_NEW_REPOSITORY = f"git init -q && {_COMMIT} && {_EXECUTABLE_CONFIGURATION}"


@pytest.fixture
def kaa() -> Iterator[Kaa]:
    with folder_elsewhere() as folder:
        made = Kaa(folder)
        git(made, "init", "-q", "-b", "main", check=True)
        for name, value in (("user.name", "x"), ("user.email", "x@example.com")):  # of the commands' git
            git(made, "config", name, value, check=True)
        for text in ("base", "ours", "theirs"):
            (made.project / "file").write_text(text)
            git(made, "add", "file", check=True)
            git(made, "commit", "-q", "-m", text, check=True)
        yield made


@pytest.mark.parametrize("order", ["repository first", "index first"])
def test_status_executes_nothing_of_a_repository_that_the_index_leads_to(kaa: Kaa, canary: Path, order: str) -> None:
    commands: list[str] = []
    for place in ("node_modules/a/b", ".venv/lib/x", "1/2/3/4/5/6/7/8/9/10"):
        repository = f"mkdir -p {place} && cd {place} && {_NEW_REPOSITORY.format(canary=canary.with_name('evil'))}"
        link = f"git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),{place}"
        commands += (repository, link) if order == "repository first" else (link, repository)

    play(kaa, *commands)
    git(kaa, "status", check=True)

    assert not canary.exists()


@pytest.mark.parametrize("when", ["started by the attack", "stopped before kaa started"])
def test_going_on_with_a_rebase_executes_nothing(kaa: Kaa, canary: Path, when: str) -> None:
    start = "git rebase -q --onto HEAD~2 HEAD~1 || true"
    add = f"printf 'x %s\\n' {canary.with_name('evil')} >> .git/rebase-merge/git-rebase-todo"
    if when != "started by the attack":
        git(kaa, "rebase", "-q", "--onto", "HEAD~2", "HEAD~1")

    play(kaa, *([start] if when == "started by the attack" else []), add)
    (kaa.project / "file").write_text("resolved")
    git(kaa, "add", "file", check=True)
    git(kaa, "rebase", "--continue")

    assert (kaa.project / ".git" / "ORIG_HEAD").exists()
    assert not canary.exists()


@pytest.mark.parametrize("prepared", [True, False])
def test_going_on_with_a_rebase_in_a_worktree_executes_nothing(kaa: Kaa, canary: Path, prepared: bool) -> None:
    """The state of the rebase is outside the project, in a repository that git writes make writable."""
    main = kaa.project.rename(kaa.project.with_name("main"))
    subprocess.run(["git", "worktree", "add", "-q", kaa.project], cwd=main, check=True, capture_output=True)
    start = "git rebase -q --onto HEAD~2 HEAD~1 || true"
    add = f"printf 'x %s\\n' {canary.with_name('evil')} >> $(git rev-parse --git-dir)/rebase-merge/git-rebase-todo"
    if prepared:
        git(kaa, "rebase", "-q", "--onto", "HEAD~2", "HEAD~1")

    play(kaa, *([] if prepared else [start]), add)
    (kaa.project / "file").write_text("resolved")
    git(kaa, "add", "file", check=True)
    git(kaa, "rebase", "--continue")

    assert (main / ".git" / "worktrees" / "project" / "ORIG_HEAD").exists()
    assert not canary.exists()


def test_a_working_tree_elsewhere_is_not_written(kaa: Kaa) -> None:
    """`git checkout` in a repository whose working tree is the home."""
    kaa_home = kaa.environ["HOME"]
    config = f"printf '[core]\\n\\tworktree = {kaa_home}\\n' >> .git/config"
    make = f"mkdir x && cd x && git init -q && : > .bashrc && git add . && {_COMMIT} && {config}"

    play(kaa, make)
    git(kaa, "-C", "x", "checkout", "-f")

    assert not os.path.exists(f"{kaa_home}/.bashrc")


def test_a_rebase_in_the_sandbox_works(kaa: Kaa) -> None:
    done, _ = play(
        kaa,
        "git rebase -q --onto HEAD~2 HEAD~1; git status",
        "echo resolved > file && git add file && GIT_EDITOR=true git rebase --continue",
    )

    assert done.code == 0, done.err
    assert "kaa-blocked" not in done.err
    assert git(kaa, "log", "--format=%s", check=True).split() == ["theirs", "base"]
    assert (kaa.project / "file").read_text() == "resolved\n"
