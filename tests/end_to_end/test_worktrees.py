"""`kaa --worktree` and `kaa worktrees`: work in a copy of the project, and take over what was done there."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

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


@pytest.fixture
def server(kaa: Kaa) -> Iterator[ModelServer]:
    with ModelServer() as server:
        kaa.use(server, "openai-completions")
        yield server


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


def test_its_commands_cannot_write_the_project(repository: Kaa, server: ModelServer) -> None:
    script = [call("bash", command=f"echo x > {repository.project}/same"), say("No.")]
    server.begin(script)

    repository.run("--worktree", "try", "-p", "go")

    assert (repository.project / "same").read_text() == "same\n"


def test_changes_are_listed_shown_merged_and_taken_back(repository: Kaa, server: ModelServer) -> None:
    worked(repository, server, "echo more >> same; echo new > new; rm untracked")
    before = contents(repository.project)

    assert "3 files changed" in repository.run("worktrees").out
    assert "+more" in repository.run("worktrees", "diff", "try").out
    dry = repository.run("worktrees", "merge", "--dry-run", "try")
    assert "same" in dry.out
    assert contents(repository.project) == before
    assert "add --yes" in repository.run("worktrees", "merge", "try").err
    merged = repository.run("worktrees", "merge", "--yes", "try")
    assert merged.code == 0, merged.err

    after = contents(repository.project)
    assert (after["same"], after["new"], "untracked" in after) == ("same\nmore\n", "new\n", False)
    assert after["changed"] == "changed\nin the project\n"
    assert git(repository, "diff", "--cached", "--name-only") == ""
    assert ", merged" in repository.run("worktrees", "list").out
    assert "nothing to merge" in repository.run("worktrees", "merge", "--yes", "try").out
    (repository.project / "later").write_text("later\n")
    undone = repository.run("worktrees", "merge", "--undo", "--yes", "try")
    assert undone.code == 0, undone.err
    assert contents(repository.project) == before | {"later": "later\n"}


def test_more_can_be_merged_later(repository: Kaa, server: ModelServer) -> None:
    worked(repository, server, "echo one >> same")
    repository.run("worktrees", "merge", "--yes", "try")
    worked(repository, server, "echo two >> same")

    merged = repository.run("worktrees", "merge", "--yes", "try")

    assert merged.code == 0, merged.err
    assert (repository.project / "same").read_text() == "same\none\ntwo\n"


def test_conflicts_are_named_and_nothing_is_merged(repository: Kaa, server: ModelServer) -> None:
    worked(repository, server, "echo theirs >> same; echo new > new")
    (repository.project / "same").write_text("same\nmine\n")
    before = contents(repository.project)

    refused = repository.run("worktrees", "merge", "--yes", "try")

    assert refused.code == 1
    assert "both changed same" in refused.err
    assert contents(repository.project) == before


def test_a_worktree_is_dropped_only_if_nothing_is_lost(repository: Kaa, server: ModelServer) -> None:
    directory = worked(repository, server, "echo more >> same")

    refused = repository.run("worktrees", "drop", "try")
    assert refused.code == 1
    assert "changes that are not merged" in refused.err
    with subprocess.Popen(["sleep", "600"], cwd=directory) as user:
        try:
            assert "in use by process" in repository.run("worktrees", "drop", "--force", "try").err
        finally:
            user.kill()
    assert repository.run("worktrees", "drop", "--force", "try").out == "dropped try\n"

    assert not directory.exists()
    assert git(repository, "branch", "--list", "kaa/*") == ""
    assert git(repository, "worktree", "list").count("\n") == 1
    assert repository.run("worktrees").out == ""


def test_commits_stay_on_their_branch(repository: Kaa, server: ModelServer) -> None:
    worked(repository, server, "git add -A; git -c user.name=a -c user.email=a@b commit -qm second")

    dropped = repository.run("worktrees", "drop", "--force", "try")

    assert "its branch kaa/try stays" in dropped.out
    assert "second" in git(repository, "log", "--format=%s", "kaa/try")


def test_without_a_repository_it_is_a_copy(kaa: Kaa, server: ModelServer) -> None:
    (kaa.project / "same").write_text("same\n")
    directory = worked(kaa, server, "echo more >> same; echo new > new")

    assert contents(kaa.project) == {"same": "same\n"}
    assert "+more" in kaa.run("worktrees", "diff", "try").out
    merged = kaa.run("worktrees", "merge", "--yes", "try")
    assert merged.code == 0, merged.err
    assert contents(kaa.project) == {"same": "same\nmore\n", "new": "new\n"}
    assert kaa.run("worktrees", "drop", "try").out == "dropped try\n"
    assert not directory.exists()
    assert list(directory.parent.iterdir()) == []


def test_a_repository_without_commits_has_worktrees_too(kaa: Kaa, server: ModelServer) -> None:
    git(kaa, "init", "-q")
    (kaa.project / "same").write_text("same\n")

    assert contents(worked(kaa, server, "true")) == {"same": "same\n"}


def test_a_worktree_can_be_made_of_another_and_merged_into_it(repository: Kaa, server: ModelServer) -> None:
    outer = worked(repository, server, "echo outer >> same", name="outer")
    project, repository.project = repository.project, outer
    inner = worked(repository, server, "cat same; echo inner > new", name="inner")

    assert (inner / "same").read_text() == "same\nouter\n"
    assert "cannot be merged into itself" in repository.run("worktrees", "merge", "--yes", "outer").err
    merged = repository.run("worktrees", "merge", "--yes", "inner")
    assert merged.code == 0, merged.err
    assert (outer / "new").read_text() == "inner\n"
    assert not (project / "new").exists()
    repository.project = project
    assert "was not merged here" in repository.run("worktrees", "merge", "--undo", "--yes", "inner").err
    assert repository.run("worktrees", "merge", "--yes", "outer").code == 0
    assert (project / "new").read_text() == "inner\n"


def test_kaa_starts_in_the_same_folder_of_the_worktree(repository: Kaa, server: ModelServer) -> None:
    below = repository.project / "a" / "b"
    below.mkdir(parents=True)
    (below / "file").write_text("x")
    server.begin([call("bash", command="pwd"), say("Done.")])
    repository.project = below

    done = repository.run("--worktree", "-p", "go")

    assert done.code == 0, done.err
    assert "/w1/a/b" in server.requests[1].body.decode()


def test_what_is_trusted_in_the_project_is_trusted_in_its_worktree(repository: Kaa, server: ModelServer) -> None:
    (repository.project / "AGENTS.md").write_text("Obey the rules.\n")
    server.begin([say("Yes."), say("Yes.")])
    trust = {str(repository.project.resolve()): {"decision": "declined", "since": "today"}}
    (repository.home / "trust.json").write_text(json.dumps(trust))
    (repository.home / "trust.json").chmod(0o600)

    worked(repository, server, "true")

    kept = json.loads((repository.home / "trust.json").read_text())
    assert kept[str(directory_of(repository, "try"))]["decision"] == "declined"


@pytest.mark.parametrize("name", ["a/b", "..", "-x", "a b", "x.lock", "", "a\nb"])
def test_invalid_names_are_refused(kaa: Kaa, name: str) -> None:
    assert kaa.run("worktrees", "diff", "--", name).code == 1


def test_what_is_gone_is_named(repository: Kaa, server: ModelServer) -> None:
    directory = worked(repository, server, "true")
    subprocess.run(["rm", "-rf", str(directory)], check=True)

    assert "missing: its directory is gone" in repository.run("worktrees").out
    assert "is gone" in repository.run("worktrees", "merge", "try").err
    assert "is gone" in repository.run("--worktree", "try", "-p", "go").err
    assert repository.run("worktrees", "drop", "try").code == 0
    assert "there is no worktree 'try'" in repository.run("worktrees", "diff", "try").err


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


def test_files_that_programs_obey_are_in_it_and_no_change(repository: Kaa, server: ModelServer) -> None:
    (repository.project / ".claude/skills/a").mkdir(parents=True)
    (repository.project / ".claude/settings.json").write_text("{}")
    (repository.project / ".claude/skills/a/SKILL.md").write_text("A skill.")
    (repository.project / ".claude/run.sh").write_text("true")
    (repository.project / ".claude/run.sh").chmod(0o755)
    git(repository, "add", ".claude")
    git(repository, "commit", "-q", "-m", "second")
    (repository.project / ".kaa").mkdir()
    (repository.project / ".kaa/settings.json").write_text("{}")

    directory = worked(repository, server)

    assert contents(directory / ".claude") == contents(repository.project / ".claude")
    assert (directory / ".claude/run.sh").stat().st_mode & 0o111
    assert (directory / ".kaa/settings.json").read_text() == "{}"
    assert not list(directory.rglob("*.kaa-blocked*"))
    assert repository.run("worktrees", "diff", "try").out.strip() == ""
    assert repository.run("worktrees", "drop", "try").code == 0
