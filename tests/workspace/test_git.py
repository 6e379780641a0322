import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kaa.workspace.git import ChangedFiles, Head, ProjectRepository
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.protocol import CommandRequest, CommandResult
from tests.support.agents import run
from tests.support.hostile_git import git, hostile_repository
from tests.workspace.conftest import RunLocal

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def repository(project: Path) -> Path:
    git(project, "init", "-q", "-b", "main")
    return project


async def head(workspace: LocalWorkspace) -> Head | None:
    return await ProjectRepository(workspace).head()


def changed(local: RunLocal, limit: int = 100, *, untracked: bool = False) -> ChangedFiles | None:
    return local(lambda workspace: ProjectRepository(workspace).changed_files(limit, untracked=untracked))


def commit(repository: Path, **files: str) -> str:
    for name, text in files.items():
        (repository / name).write_text(text)
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "change")
    return git(repository, "rev-parse", "HEAD").strip()


@pytest.mark.parametrize(
    ("directories", "ignored"),
    [
        (["build"], True),
        (["build/deep"], True),
        (["build", "sub/build"], True),
        (["tracked"], False),
        (["build", "tracked"], False),
        (["src"], False),
        (["absent"], False),
        (["b*"], False),
        (["inner/build"], False),
        (["/etc"], False),
        (["../build"], False),
    ],
)
def test_ignored_directories_hold_nothing_that_git_tracks(
    repository: Path, local: RunLocal, directories: list[str], ignored: bool
) -> None:
    for name in ("build/deep/o", "sub/build/o", "tracked/o", "src/a", "inner/build/o"):
        (repository / name).parent.mkdir(parents=True)
        (repository / name).write_text("x")
    (repository / ".gitignore").write_text("build/\ntracked/\n")
    git(repository, "add", "-f", "tracked")
    git(repository / "inner", "init", "-q")

    assert local(lambda workspace: ProjectRepository(workspace).ignores(directories)) is ignored


class TestHead:
    def test_is_a_branch(self, repository: Path, local: RunLocal) -> None:
        commit(repository, a="1")
        git(repository, "switch", "-qc", "feature/käfer")

        assert local(head) == Head("feature/käfer")

    def test_is_read_without_a_process_where_it_is_a_plain_branch(self) -> None:
        workspace = MemoryWorkspace({".git/HEAD": b"ref: refs/heads/topic/one\n", ".git/config": b""})

        assert run(ProjectRepository(workspace).head()) == Head("topic/one")

    def test_is_asked_of_git_where_references_are_in_no_files(self) -> None:
        workspace = MemoryWorkspace({".git/HEAD": b"ref: refs/heads/.invalid\n", ".git/config": b""})

        assert run(ProjectRepository(workspace).head()) is None  # there is no git in memory

    @pytest.mark.parametrize("place", ["", ".git", ".git/config", "/.git/HEAD", "HEAD", "/HEAD"])
    def test_is_asked_of_git_only_where_there_can_be_a_repository(self, place: str) -> None:
        asked: list[CommandRequest] = []

        def answer(command: CommandRequest) -> CommandResult:
            asked.append(command)
            return CommandResult(0, None, b"main\n", 5, 1)

        workspace = MemoryWorkspace({place: b"x"} if place else {}, commands=answer)

        found = run(ProjectRepository(workspace).head())

        assert (found, len(asked)) == ((Head("main"), 1) if place else (None, 0))

    def test_of_a_repository_without_a_working_tree(self, project: Path, local: RunLocal) -> None:
        git(project, "init", "-q", "--bare", "-b", "bare")

        assert local(head) == Head("bare")

    def test_need_not_have_commits(self, repository: Path, local: RunLocal) -> None:
        assert local(head) == Head("main")

    def test_may_be_detached(self, repository: Path, local: RunLocal) -> None:
        name = commit(repository, a="1")
        git(repository, "checkout", "-q", "--detach")

        assert local(head) == Head(name, detached=True)

    def test_of_a_worktree_is_its_own(self, project: Path, local: RunLocal) -> None:
        main = project.parent / "main"
        main.mkdir()
        git(main, "init", "-q", "-b", "main")
        commit(main, a="1")
        project.rmdir()
        git(main, "worktree", "add", "-q", "-b", "side", str(project))

        assert local(head) == Head("side")

    def test_is_found_from_a_folder_in_it(self, project: Path, local: RunLocal) -> None:
        git(project.parent, "init", "-q", "-b", "above")

        assert local(head) == Head("above")

    def test_in_the_reftable_format(self, project: Path, local: RunLocal) -> None:
        try:
            git(project, "init", "-q", "-b", "main", "--ref-format=reftable")
        except subprocess.CalledProcessError:
            pytest.skip("this git does not know reftable (2.45 does)")

        assert local(head) == Head("main")

    def test_is_unknown_where_there_is_no_repository(self, project: Path, local: RunLocal) -> None:
        assert local(head, GIT_CEILING_DIRECTORIES=str(project.parent)) is None

    def test_is_unknown_without_git(self) -> None:
        assert run(ProjectRepository(MemoryWorkspace()).head()) is None

    def test_is_that_of_the_project_whatever_started_kaa(self, repository: Path, local: RunLocal) -> None:
        other = repository.parent / "other"
        other.mkdir()
        git(other, "init", "-q", "-b", "other")

        assert local(head, GIT_DIR=str(other / ".git"), GIT_WORK_TREE=str(other)) == Head("main")


class TestChangedFiles:
    def test_are_those_that_differ_from_the_last_commit(self, repository: Path, local: RunLocal) -> None:
        commit(repository, same="1", edited="1", staged="1", removed="1")
        (repository / "edited").write_text("2")
        (repository / "staged").write_text("2")
        git(repository, "add", "staged")
        (repository / "removed").unlink()
        (repository / "new").write_text("1")

        assert changed(local) == ChangedFiles(("edited", "removed", "staged"))
        assert changed(local, untracked=True) == ChangedFiles(("edited", "new", "removed", "staged"))

    def test_say_whether_only_the_index_has_some_content(self, repository: Path, local: RunLocal) -> None:
        commit(repository, a="1", b="1")
        (repository / "a").write_text("2")
        git(repository, "add", "a")
        (repository / "b").write_text("2")
        assert changed(local, untracked=True) == ChangedFiles(("a", "b"))

        (repository / "a").write_text("3")

        assert changed(local) == ChangedFiles(("a", "b"), mixed=True)

    def test_are_none_after_a_commit(self, repository: Path, local: RunLocal) -> None:
        commit(repository, a="1")
        os.utime(repository / "a", (1, 1))

        assert changed(local) == ChangedFiles()

    def test_may_have_any_name(self, repository: Path, local: RunLocal) -> None:
        names = {"a b", "line\nfeed", 'quo"te', "käfer", os.fsdecode(b"\xff"), ":(glob)*"}
        for name in names:
            (repository / name).write_text("1")

        found = changed(local, untracked=True)

        assert found is not None
        assert set(found.paths) == names

    def test_have_a_limit(self, repository: Path, local: RunLocal) -> None:
        for number in range(5):
            (repository / f"file{number}").write_text("1")

        assert changed(local, 3, untracked=True) == ChangedFiles(("file0", "file1", "file2"), more=True)

    def test_too_many_to_list_are_still_some(self, repository: Path, local: RunLocal) -> None:
        for number in range(6_000):
            (repository / f"{'x' * 200}{number:04}").touch()

        found = changed(local, 10, untracked=True)

        assert found is not None
        assert found.more
        assert len(found.paths) == 10
        assert all(len(path) == 204 for path in found.paths)

    def test_are_unknown_where_there_is_no_repository(self, project: Path, local: RunLocal) -> None:
        assert (
            local(
                lambda workspace: ProjectRepository(workspace).changed_files(),
                GIT_CEILING_DIRECTORIES=str(project.parent),
            )
            is None
        )


class TestOfAHostileRepository:
    @pytest.fixture
    def canaries(self, tmp_path: Path) -> Path:
        return tmp_path / "canaries"

    @pytest.fixture
    def hostile(self, project: Path, canaries: Path) -> Path:
        project.rmdir()
        hostile_repository(project, canaries)
        return project

    def test_plain_git_is_caught(self, hostile: Path, canaries: Path) -> None:
        """Otherwise the tests below would show nothing."""
        subprocess.run(["git", "status", "--porcelain"], cwd=hostile, check=False, capture_output=True)

        assert {"core.fsmonitor", "filter.evil.process"} <= {canary.name for canary in canaries.iterdir()}

    def test_nothing_is_executed(self, hostile: Path, canaries: Path, local: RunLocal) -> None:
        async def everything(workspace: LocalWorkspace) -> tuple[object, ...]:
            asked = ProjectRepository(workspace)
            here = await asked.commit("HEAD")
            assert here is not None
            assert "+after" in (await asked.diff(here) or "")
            assert "changed.txt" in (await asked.diff(here, stat=True) or "")
            assert await asked.merge_base(here, here) == here
            assert await asked.branches() == ("main",)
            return await asked.head(), await asked.changed_files(), await asked.changed_files(untracked=True)

        answers = local(everything)

        assert list(canaries.iterdir()) == []
        assert answers == (
            Head("main"),
            ChangedFiles(("changed.txt", "staged.txt")),
            ChangedFiles(("changed.txt", "staged.txt", "untracked.txt")),
        )

    def test_nothing_is_fetched_for_a_missing_object(self, hostile: Path, canaries: Path, local: RunLocal) -> None:
        for objects in (hostile / ".git" / "objects").glob("??"):
            shutil.rmtree(objects)

        local(lambda workspace: ProjectRepository(workspace).changed_files())

        assert list(canaries.iterdir()) == []

    @pytest.mark.parametrize("name", ["a=b", "with space", 'quo"te', "dots.in.it", "käfer", ""])
    def test_filters_of_any_name_stay_off(self, repository: Path, canaries: Path, local: RunLocal, name: str) -> None:
        canaries.mkdir()
        commit(repository, a="1")
        (repository / ".git" / "info" / "attributes").write_text(f"* filter={name}\n")
        git(repository, "config", f"filter.{name}.clean", f"touch {canaries}/clean; cat")
        os.utime(repository / "a", (1, 1))

        changed(local)

        assert list(canaries.iterdir()) == []

    def test_a_pipe_as_configuration_does_not_hold_kaa_up(
        self, repository: Path, local: RunLocal, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("kaa.workspace.git._TIMEOUT_SECONDS", 0.2)
        os.mkfifo(repository / "pipe")
        with (repository / ".git" / "config").open("a") as config:
            config.write(f"[include]\n\tpath = {repository / 'pipe'}\n")

        assert local(head) == Head("main")
        assert local(lambda workspace: ProjectRepository(workspace).changed_files()) is None
        assert changed(local) is None


class TestDiff:
    def test_is_between_commits_or_from_one_to_the_files(self, repository: Path, local: RunLocal) -> None:
        first = commit(repository, a="1\n")
        second = commit(repository, a="2\n")
        (repository / "a").write_text("3\n")

        async def diffs(workspace: LocalWorkspace) -> tuple[str | None, str | None]:
            return await ProjectRepository(workspace).diff(first, second), await ProjectRepository(workspace).diff(
                second
            )

        between, to_files = local(diffs)

        assert between is not None
        assert between.endswith("-1\n+2\n")
        assert to_files is not None
        assert to_files.endswith("-2\n+3\n")

    def test_a_name_that_looks_like_a_flag_is_no_commit(self, repository: Path, local: RunLocal) -> None:
        commit(repository, a="1")

        async def commits(workspace: LocalWorkspace) -> list[str | None]:
            names = ("--output=stolen", "-h", "HEAD^{tree}", "absent", "")
            return [await ProjectRepository(workspace).commit(name) for name in names]

        assert local(commits) == [None] * 5
        assert not (repository / "stolen").exists()

    def test_branches_begin_with_the_newest(self, repository: Path, local: RunLocal) -> None:
        commit(repository, a="1")
        git(repository, "branch", "other")

        assert set(local(lambda workspace: ProjectRepository(workspace).branches())) == {"main", "other"}
