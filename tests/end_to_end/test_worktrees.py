"""`kaa --worktree` and `kaa worktrees`: work in a copy of the project, and take over what was done there."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.core.messages import Json
from tests.end_to_end.kaa_process import Kaa
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_server import ModelServer, call, say

pytestmark = pytest.mark.usefixtures("mounts")


@pytest.fixture
def kaa() -> Iterator[Kaa]:
    """Elsewhere: the sandbox shows nothing of temporary directories."""
    with folder_elsewhere() as folder:
        kaa = Kaa(folder)
        kaa.setenv(GIT_CEILING_DIRECTORIES=str(folder))
        yield kaa


def git(kaa: Kaa, *arguments: str, at: Path | None = None) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ["git", *identity, *arguments],
        cwd=at or kaa.project,
        env=kaa.environ,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout


@pytest.fixture
def repository(kaa: Kaa) -> Kaa:
    """A project with a commit, changes that are not committed, an untracked file and an ignored one."""
    git(kaa, "init", "-q")
    for name in ("changed", "same", "removed"):
        (kaa.project / name).write_text(f"{name}\n")
    (kaa.project / ".gitignore").write_text("ignored*\n")
    git(kaa, "add", ".")
    git(kaa, "commit", "-q", "-m", "first")
    (kaa.project / "changed").write_text("changed\nin the project\n")
    (kaa.project / "removed").unlink()
    (kaa.project / "untracked").write_text("untracked\n")
    (kaa.project / "ignored").write_text("ignored\n")
    (kaa.project / "ignored.env").write_text("included\n")
    (kaa.project / ".worktreeinclude").write_text("ignored.env\n")
    return kaa


def directory_of(kaa: Kaa, name: str) -> Path:
    (found,) = Path(kaa.environ["HOME"]).glob(f".local/share/kaa/worktrees/*/{name}")
    return found


def contents(folder: Path) -> dict[str, str]:
    paths = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.relative_to(folder).parts)
    return {str(path.relative_to(folder)): path.read_text() for path in paths}


def worked(kaa: Kaa, server: ModelServer, *commands: str, name: str = "try") -> Path:
    """Have the model run commands in a worktree."""
    server.begin([*(call("bash", command=command) for command in commands), say("Done.")])
    done = kaa.run("--worktree", name, "--approvals", "auto", "-p", "go")
    assert done.code == 0, done.err
    return directory_of(kaa, name)


def test_it_begins_in_the_present_state_and_leaves_the_project_alone(repository: Kaa, server: ModelServer) -> None:
    before = contents(repository.project)

    directory = worked(repository, server, "cat changed untracked; echo more >> same; git status --short", "pwd")

    assert contents(repository.project) == before
    expected = {name: text for name, text in before.items() if name != "ignored"}
    assert contents(directory) == expected | {"same": "same\nmore\n"}
    assert "in the project" in server.requests[1].body.decode()
    assert " M same" in server.requests[1].body.decode()
    assert str(directory) in server.requests[2].body.decode()
    assert git(repository, "branch", "--list", "kaa/*").split() == ["+", "kaa/try"]
    assert git(repository, "status", "--short").count("\n") == 4


def test_its_commands_start_in_the_same_folder_and_cannot_write_the_project(
    repository: Kaa, server: ModelServer
) -> None:
    below = repository.project / "a" / "b"
    below.mkdir(parents=True)
    (below / "file").write_text("x")
    same = repository.project / "same"
    server.begin([call("bash", command="pwd"), call("bash", command=f"echo x > {same}"), say("Done.")])
    repository.project = below

    repository.run("--worktree", "-p", "go")

    assert "/w1/a/b" in server.requests[1].body.decode()
    assert same.read_text() == "same\n"


def test_changes_are_listed_merged_and_taken_back(repository: Kaa, server: ModelServer) -> None:
    worked(repository, server, "echo more >> same; echo new > new; rm untracked; echo x > ignored.log")
    before = contents(repository.project)

    dry = repository.run("worktrees", "merge", "--dry-run", "try")
    assert "same" in dry.out
    assert "not merged, git ignores or cannot add it: ignored.log\n" in dry.out
    assert contents(repository.project) == before
    assert "add --yes" in repository.run("worktrees", "merge", "try").err
    merged = repository.run("worktrees", "merge", "--yes", "try")
    assert merged.code == 0, merged.err

    after = contents(repository.project)
    assert (after["same"], after["new"], "untracked" in after) == ("same\nmore\n", "new\n", False)
    assert after["changed"] == "changed\nin the project\n"
    assert git(repository, "diff", "--cached", "--name-only") == ""
    assert re.search(
        "3 files changed.*; merged; git ignores or cannot add ignored.log", repository.run("worktrees", "list").out
    )
    assert "nothing to merge" in repository.run("worktrees", "merge", "--yes", "try").out
    (repository.project / "later").write_text("later\n")
    undone = repository.run("worktrees", "merge", "--undo", "--yes", "try")
    assert undone.code == 0, undone.err
    assert contents(repository.project) == before | {"later": "later\n"}


def test_a_diff_in_a_file_is_a_patch_for_git(repository: Kaa, server: ModelServer) -> None:
    assert "no worktrees of this project" in repository.run("worktrees").out
    worked(repository, server, r"printf 'caf\351\n' > latin; printf '\0x' > binary")

    done = repository.run_in_shell("$KAA worktrees diff try > patch && git apply patch")

    assert done.code == 0, done.err
    assert (repository.project / "latin").read_bytes() == b"caf\xe9\n"
    assert (repository.project / "binary").read_bytes() == b"\0x"


def test_what_is_refused_is_an_error_of_the_command(repository: Kaa, server: ModelServer) -> None:
    directory = worked(repository, server, "echo more >> same; echo x > ignored; git add -f ignored")

    dry = repository.run("worktrees", "merge", "--dry-run", "try")
    assert (dry.code, "what this would replace: ignored\n" in dry.out) == (1, True)
    assert "+more" in repository.run("worktrees", "diff", "try").out
    refused = repository.run("worktrees", "drop", "try")
    assert (refused.code, "changes that are not merged" in refused.err) == (1, True)
    shutil.rmtree(directory)
    assert "missing: its directory is gone" in repository.run("worktrees").out
    assert "is gone" in repository.run("worktrees", "merge", "try").err
    assert "is gone" in repository.run("--worktree", "try", "-p", "go").err
    assert repository.run("worktrees", "drop", "try").out == "dropped try\n"
    unknown = repository.run("worktrees", "diff", "try")
    assert (unknown.code, "there is no worktree 'try'" in unknown.err) == (2, True)


def test_programs_that_the_repository_names_are_confined(repository: Kaa, server: ModelServer) -> None:
    canary = repository.project.parent / "canary"
    script = repository.project / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {canary}\ncat\n")
    script.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(script))
    git(repository, "config", "filter.evil.smudge", str(script))
    git(repository, "config", "filter.evil.clean", str(script))
    (repository.project / ".gitattributes").write_text("* filter=evil\n")
    hook = repository.project / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {canary}\n")
    hook.chmod(0o755)

    worked(repository, server, "echo more >> same")
    repository.run("worktrees", "diff", "try")
    repository.run("worktrees", "merge", "--yes", "try")
    repository.run("worktrees", "drop", "--force", "try")

    assert not canary.exists()


def test_what_the_settings_choose_for_the_project_holds_in_its_worktrees(repository: Kaa, server: ModelServer) -> None:
    beside, inside = repository.project.parent / "beside", repository.project / "inside"
    for folder in (beside, inside):
        folder.mkdir()
    (inside / "file").write_text("x")
    (repository.project / "hidden").write_text("hidden words\n")
    sandbox: Json = {"hidden": ["hidden"], "writable": ["../beside", "inside"], "git": True}
    repository.settings(projects={str(repository.project): {"sandbox": sandbox}})

    tries = (
        f"cat hidden; git cat-file --batch-all-objects --batch; touch {beside}/new; touch inside/new {inside}/canary"
    )
    server.begin([call("bash", command=tries), say("Done.")])

    repository.run("--worktree", "try", "--approvals", "auto", "-p", "go")

    assert "hidden words" not in server.requests[1].body.decode()
    assert (beside / "new").exists()
    assert (directory_of(repository, "try") / "inside" / "new").exists()
    assert not (inside / "canary").exists()
