"""What the question about a checkout shows of protected files is what the guard accepts afterwards."""

import shutil
import threading
from pathlib import Path

import pytest

from kaa.workspace.blocked import Blocked, BlockedError
from kaa.workspace.git_held import HeldFiles, HeldFilesOfGit, Taken
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest
from kaa.workspace.sandbox.options import SandboxOptions
from tests.support.hostile_git import git
from tests.workspace.conftest import RunLocal

pytestmark = [pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")]


@pytest.fixture
def repository(project: Path) -> Path:
    git(project, "init", "-q", "-b", "main")
    (project / ".envrc").write_bytes(b"export A=1\n")
    (project / "a").write_bytes(b"a\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "first")
    return project


def _branch(repository: Path, content: bytes) -> None:
    """A branch with another `.envrc`, and one that is not in the first commit."""
    git(repository, "checkout", "-q", "-b", "other")
    (repository / ".envrc").write_bytes(content)
    (repository / ".vscode").mkdir()
    (repository / ".vscode" / "tasks.json").write_bytes(b"{}")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "second")
    git(repository, "checkout", "-q", "main")


def _held(local: RunLocal) -> HeldFiles | None:
    return local(lambda workspace: HeldFilesOfGit(workspace).differing_in("other"), sandbox=SandboxOptions())


@pytest.mark.usefixtures("mounts")
def test_a_skill_of_the_users_in_its_own_repository_is_held(local: RunLocal, repository: Path) -> None:
    skill = repository / "skills" / "one" / "SKILL.md"
    for branch, text in (("main", "one"), ("other", "two")):
        git(repository, "checkout", "-q", *(("-b", branch) if branch == "other" else (branch,)))
        skill.parent.mkdir(parents=True, exist_ok=True)
        skill.write_text(text)
        git(repository, "add", ".")
        git(repository, "commit", "-qm", branch)
    git(repository, "checkout", "-q", "main")

    held, stashed = local(
        lambda workspace: _both(HeldFilesOfGit(workspace, (str(skill),)), skill),
        sandbox=SandboxOptions(loaded=(str(skill),)),
    )

    assert held is not None
    assert held.paths == ("skills/one/SKILL.md",)
    assert "-one" in held.diff
    assert stashed is not None
    assert stashed.paths == ("skills/one/SKILL.md",)


@pytest.mark.usefixtures("mounts")
def test_what_a_hook_is_a_link_to_is_held(local: RunLocal, repository: Path) -> None:
    script = repository / "scripts" / "check it"
    for branch in ("main", "other"):
        git(repository, "checkout", "-q", *(("-b", branch) if branch == "other" else (branch,)))
        script.parent.mkdir(exist_ok=True)
        script.write_text(branch)
        git(repository, "add", ".")
        git(repository, "commit", "-qm", branch)
    git(repository, "checkout", "-q", "main")
    (repository / ".git" / "hooks").mkdir(exist_ok=True)
    (repository / ".git" / "hooks" / "pre-commit").symlink_to("../../scripts/check it")

    held, stashed = local(lambda workspace: _both(HeldFilesOfGit(workspace), script), sandbox=SandboxOptions())

    assert held is not None
    assert held.paths == ("scripts/check it",)
    assert "+other" in held.diff
    assert held.without == (":(top,exclude)scripts/check it",)
    assert stashed is not None
    assert stashed.paths == ("scripts/check it",)


@pytest.mark.usefixtures("mounts")
def test_a_tool_says_of_what_a_hook_is_a_link_to_that_it_is_protected(local: RunLocal, repository: Path) -> None:
    (repository / "check").write_text("mine")
    (repository / ".git" / "hooks").mkdir(exist_ok=True)
    (repository / ".git" / "hooks" / "pre-commit").symlink_to("../../check")

    async def write(workspace: LocalWorkspace) -> BlockedError:
        with pytest.raises(BlockedError) as error:
            await workspace.write("check", b"other")
        return error.value

    assert local(write, sandbox=SandboxOptions()).blocked == Blocked("protected", str(repository / "check"))


async def _both(asked: HeldFilesOfGit, skill: Path) -> tuple[HeldFiles | None, HeldFiles | None]:
    held = await asked.differing_in("other")
    skill.write_text("changed")
    return held, await asked.taken(Taken(changes=True))


@pytest.mark.usefixtures("mounts")
def test_a_worktree_that_a_command_made_can_be_removed_by_one(local: RunLocal, project: Path) -> None:
    git(project, "init", "-q", "-b", "main")
    git(project, "commit", "-q", "--allow-empty", "-m", "first")
    git(project, "worktree", "add", "-q", "before")

    async def scenario(workspace: LocalWorkspace) -> tuple[bool, ...]:
        asked = HeldFilesOfGit(workspace)
        await workspace.run(CommandRequest(["git", "worktree", "add", "-q", "since", "-b", "side"]))
        can = [await asked.can_remove_worktree(name) for name in ("before", "since", "nowhere", ".")]
        removed = await workspace.run(CommandRequest(["git", "worktree", "remove", "since"]))
        return (*can, removed.exit_code == 0)

    assert local(scenario, sandbox=SandboxOptions()) == (False, True, False, False, True)
    assert sorted(path.name for path in (project / ".git" / "worktrees").iterdir()) == ["before"]


@pytest.mark.usefixtures("mounts")
@pytest.mark.parametrize(
    "change",
    [
        "echo x > since/new",
        "echo new > since/.gitignore && git -C since add . && git -C since commit -qm x && echo x > since/new",
        "echo x > since/file",
        "echo x > since/file && git -C since add file",
        "echo x > since/file && git -C since update-index --assume-unchanged file",
        "git -C since checkout -q --detach && git -C since commit -q --allow-empty -m x",
    ],
)
def test_a_worktree_with_something_that_would_be_lost_is_not_free(local: RunLocal, project: Path, change: str) -> None:
    """The user may have made it since kaa started."""
    git(project, "init", "-q", "-b", "main")
    (project / "file").write_text("first")
    git(project, "add", "file")
    git(project, "commit", "-q", "-m", "first")

    async def scenario(workspace: LocalWorkspace) -> tuple[bool, bool]:
        asked = HeldFilesOfGit(workspace)
        await workspace.run(CommandRequest(["git", "worktree", "add", "-q", "since", "-b", "side"]))
        before = await asked.can_remove_worktree("since")
        person = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b"
        done = await workspace.run(CommandRequest(["sh", "-c", f"{person}; {change}"]))
        assert done.exit_code == 0
        return before, await asked.can_remove_worktree("since")

    assert local(scenario, sandbox=SandboxOptions()) == (True, False)


@pytest.mark.usefixtures("mounts")
@pytest.mark.parametrize("attributes", ["", ".git/info/attributes", ".gitattributes"])
def test_attributes_hide_nothing_of_what_is_accepted(local: RunLocal, repository: Path, attributes: str) -> None:
    _branch(repository, b"export A=1\ntouch CANARY\n")
    if attributes:
        (repository / attributes).parent.mkdir(exist_ok=True)
        (repository / attributes).write_text(".envrc -diff\n")

    held = _held(local)

    assert held is not None
    assert held.paths == (".envrc",)
    assert held.diff.splitlines() == [
        "diff --git a/.envrc b/.envrc",
        "--- a/.envrc",
        "+++ b/.envrc",
        "@@ -1 +1,2 @@",
        " export A=1",
        "+touch CANARY",
        "diff --git a/.vscode/tasks.json b/.vscode/tasks.json",
        "new file mode 100644",
        "--- /dev/null",
        "+++ b/.vscode/tasks.json",
        "@@ -0,0 +1 @@",
        "+{}",
        "\\ No newline at end of file",
    ]
    assert held.contents == {
        str(repository / ".envrc"): b"export A=1\ntouch CANARY\n",
        str(repository / ".vscode/tasks.json"): b"{}",
    }


@pytest.mark.usefixtures("mounts")
@pytest.mark.parametrize("content", [b"export A=\xff\n", b"export A=1\0\n"])
def test_what_cannot_be_shown_is_not_accepted(local: RunLocal, repository: Path, content: bytes) -> None:
    _branch(repository, content)

    held = _held(local)

    assert held is not None
    assert "The content cannot be shown" in held.diff
    assert held.contents == {str(repository / ".vscode/tasks.json"): b"{}"}


@pytest.mark.usefixtures("mounts")
def test_a_branch_that_is_moved_to_and_fro_is_not_offered(local: RunLocal, repository: Path) -> None:
    _branch(repository, b"export A=2\n")
    branch = repository / ".git" / "refs" / "heads" / "other"
    commits = [f"{git(repository, 'rev-parse', name).strip()}\n" for name in ("other", "main")]
    is_over = threading.Event()

    def move() -> None:
        while not is_over.is_set():
            for commit in commits:
                new = branch.with_name("new")
                new.write_text(commit)
                new.rename(branch)

    mover = threading.Thread(target=move)
    mover.start()
    try:
        # On a busy machine the branch stays where it is through a whole look now and then: these are shown as usual.
        looks = (_held(local) for _ in range(300))
        objection = next(held.objection for held in looks if held is not None and held.objection)
    finally:
        is_over.set()
        mover.join()

    assert objection == "commands move other at the moment"
