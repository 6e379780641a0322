import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kaa.hands.confinement import repositories
from kaa.hands.confinement.layout import resolve
from kaa.hands.policy import REPOSITORY_DEPTH, Policy
from tests.support.ordinary import as_ordinary_user, open_directory


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path.resolve()


def git(where: Path, *arguments: str) -> None:
    options = ("-c", "user.name=a", "-c", "user.email=b@c", "-c", "protocol.file.allow=always")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", *options, *arguments], cwd=where, check=True, env=environment, capture_output=True)


def repository(path: Path) -> Path:
    path.mkdir(parents=True)
    git(path, "init", "-q")
    (path / "file").touch()
    git(path, "add", "file")
    git(path, "commit", "-q", "-m", "first")
    return path / ".git"


def layout(project: Path, **changes: Any) -> Any:
    return resolve(Policy("full", "workspace-write", (str(project),), git_writable=True)._replace(**changes))


@pytest.mark.parametrize("mode", [0o300, 0o311], ids=oct)
def test_repositories_are_found_in_a_directory_that_may_not_be_listed(mode: int) -> None:
    with open_directory() as place, as_ordinary_user():
        (place / "libs" / "tool" / ".git").mkdir(parents=True)
        (place / "libs").chmod(mode)

        assert [found.entry for found in repositories.find(str(place))] == [f"{place}/libs/tool/.git"]
        assert (place / "libs").stat().st_mode & 0o777 == mode


def test_repositories_are_found_to_a_depth(place: Path) -> None:
    paths = [place, place / "a", place / "b" / "c" / "d", place / "e" / "f" / "g" / "h", place / "node_modules" / "x"]
    for path in paths:
        (path / ".git").mkdir(parents=True)

    found = [Path(each.entry).parent for each in repositories.find(str(place))]

    assert REPOSITORY_DEPTH == 3
    assert found == paths[:3]


def test_a_worktree_is_found_in_a_directory_without_directories(place: Path) -> None:
    for name in ("a", "b"):
        (place / name).mkdir()
        (place / name / ".git").write_text("gitdir: /nowhere\n")

    assert {found.entry for found in repositories.find(str(place))} == {f"{place}/a/.git", f"{place}/b/.git"}


def test_directories_without_directories_are_not_listed(place: Path) -> None:
    for number in range(20):
        (place / "outer" / f"inner {number}").mkdir(parents=True)
    if (place / "outer").stat().st_nlink != 22:
        pytest.skip("this file system does not count the directories in a directory")
    listing = (
        "import sys; from kaa.hands.confinement.repositories import find; listed = []\n"
        "sys.addaudithook(lambda event, given: listed.append(given[0]) if event == 'os.scandir' else None)\n"
        "list(find(sys.argv[1])); print(*listed)"
    )

    run = subprocess.run([sys.executable, "-c", listing, str(place)], capture_output=True, text=True, check=True)

    assert run.stdout.split() == [str(place), f"{place}/outer"]


def test_what_was_found_ahead_is_forgotten(place: Path) -> None:
    repositories.look_ahead(str(place))
    (place / ".git").mkdir()
    repositories.forget_found()

    assert [found.entry for found in repositories.find(str(place))] == [f"{place}/.git"]


def test_what_was_found_ahead_becomes_old(place: Path) -> None:
    repositories.look_ahead(str(place))
    (place / ".git").mkdir()
    time.sleep(1.0)

    assert [found.entry for found in repositories.find(str(place))] == [f"{place}/.git"]


def test_what_was_found_ahead_is_returned_once(place: Path) -> None:
    found: list[repositories.Repository] = []
    while not found:  # else the machine was busy for longer than that counts
        (place / ".git").mkdir()
        repositories.look_ahead(str(place))
        (place / ".git").rmdir()
        found = list(repositories.find(str(place)))

    assert [each.entry for each in found] == [f"{place}/.git"]
    assert list(repositories.find(str(place))) == []


def test_a_directory_named_head_hides_no_submodule(place: Path) -> None:
    module = repository(place / "library")
    (place / ".git" / "modules" / "a" / "objects").mkdir(parents=True)
    os.rename(module, place / ".git" / "modules" / "a" / "objects" / "ab")
    (place / ".git" / "modules" / "a" / "HEAD").mkdir()

    assert f"{place}/.git/modules/a/objects/ab/config" in repositories.obeyed(f"{place}/.git")


def test_symlinks_lead_nowhere(place: Path) -> None:
    (place / "real" / ".git").mkdir(parents=True)
    (place / "project").mkdir()
    (place / "project" / "linked").symlink_to(place / "real")

    assert list(repositories.find(str(place / "project"))) == []


def test_what_git_obeys_stays_protected(place: Path) -> None:
    inner = repository(place / "library")
    outer = repository(place / "project")
    git(place / "project", "submodule", "add", "-q", str(inner.parent), "third/party")
    git(place / "project", "worktree", "add", "-q", str(place / "tree"))

    protected = set(layout(place / "project").protected)

    module, worktree = outer / "modules" / "third" / "party", outer / "worktrees" / "tree"
    expected = {outer / "config", outer / "hooks", module / "config", module / "hooks", worktree / "commondir"}
    expected |= {worktree / "gitdir", worktree / "index"}
    expected |= {place / "project" / "third" / "party" / ".git", place / "project" / ".gitmodules"}
    assert protected == {str(path) for path in expected if path.exists()}
    assert str(outer) not in protected


def test_closed_repositories_are_protected_as_a_whole(place: Path) -> None:
    outer = repository(place / "project")

    assert layout(place / "project", git_writable=False).protected == (str(outer),)


def test_worktree_opens_the_repository_it_belongs_to(place: Path) -> None:
    outer = repository(place / "main")
    git(place / "main", "worktree", "add", "-q", str(place / "tree"))

    found = layout(place / "tree")

    assert found.writable == (str(place / "tree"), str(outer))
    assert {str(outer / name) for name in ("config", "hooks", "HEAD", "index")} <= set(found.protected)
    assert str(place / "tree" / ".git") in found.protected
    assert (
        str(outer / "index")
        not in layout(place / "main", writable=(str(place / "main"), str(place / "tree"))).protected
    )


def test_submodule_opens_its_git_directory_only(place: Path) -> None:
    inner = repository(place / "library")
    outer = repository(place / "project")
    git(place / "project", "submodule", "add", "-q", str(inner.parent), "sub")

    found = layout(place / "project" / "sub")

    assert found.writable == (str(place / "project" / "sub"), str(outer / "modules" / "sub"))


@pytest.mark.parametrize("what", ["home", "other worktree", "other module", "nonsense", "binary", "directory"])
def test_git_file_of_a_hostile_project_opens_nothing(place: Path, what: str) -> None:
    home = place / "home"
    (home / ".ssh").mkdir(parents=True)
    victim = repository(place / "victim")
    git(place / "victim", "worktree", "add", "-q", str(place / "honest"))
    library = repository(place / "library").parent
    git(place / "victim", "submodule", "add", "-q", str(library), "sub")
    project = place / "project"
    project.mkdir()
    claims: dict[str, bytes] = {
        "home": f"gitdir: {home}".encode(),
        "other worktree": f"gitdir: {victim}/worktrees/honest".encode(),
        "other module": f"gitdir: {victim}/modules/sub".encode(),
        "nonsense": b"gitdir:",
        "binary": b"\xff\x00gitdir: /",
        "directory": f"gitdir: {victim}".encode(),
    }
    (project / ".git").write_bytes(claims[what])

    found = layout(project)

    assert found.writable == (str(project),)
    assert found.protected == (str(project / ".git"),)


def test_git_directory_made_in_the_project_opens_nothing_outside(place: Path) -> None:
    project = place / "worktrees" / "project"
    (project / "objects").mkdir(parents=True)
    (place / "objects").mkdir()
    for directory in (project, place):
        (directory / "HEAD").touch()
    (project / "gitdir").write_text(str(project / ".git"))
    (project / "commondir").write_text("../..")
    (project / ".git").write_text(f"gitdir: {project}")

    found = layout(project)

    assert found.writable == (str(project),)


def test_hooks_and_configuration_kept_in_the_project_are_protected(place: Path) -> None:
    repository(place / "project")
    hooks, included = place / "project" / ".githooks", place / "project" / "shared.gitconfig"
    hooks.mkdir()
    included.touch()
    git(place / "project", "config", "core.hooksPath", ".githooks")
    git(place / "project", "config", "include.path", "../shared.gitconfig")

    for git_writable in (True, False):
        assert {str(hooks), str(included)} <= set(layout(place / "project", git_writable=git_writable).protected)


@pytest.mark.parametrize("value", [".", "..", "/", "", "\0", "[", "~/hooks"])
def test_odd_configuration_protects_nothing_odd(place: Path, value: str) -> None:
    outer = repository(place / "project")
    (outer / "config").write_text(f"[]\n[ \n[core]\nhooksPath = {value}\n[include] path = {value}\nworktree")

    protected = layout(place / "project", git_writable=False).protected

    assert protected == (str(outer),)
