import os
from pathlib import Path
from typing import Any

import pytest

from kaa.hands.confinement.contract import ConfinementError, ViewChangedError
from kaa.hands.confinement.layout import Layout, ancestors_within, resolve
from kaa.hands.policy import Policy
from tests.support.ordinary import as_ordinary_user, open_directory


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    path.mkdir()
    return path


def layout(project: Path, **changes: Any) -> Layout:
    return resolve(Policy("full", "workspace-write", (str(project),))._replace(**changes))


def test_patterns_find_dotfiles_too(project: Path) -> None:
    for name in (".env", "env", "key.pem", "key.txt"):
        (project / name).touch()

    found = layout(project, hidden=(f"{project}/*.pem", f"{project}/*env"))

    assert set(found.hidden) == {str(project / "key.pem"), str(project / ".env"), str(project / "env")}


def test_links_are_followed_to_what_is_hidden(project: Path, tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / ".ssh").symlink_to(real)

    found = layout(project, hidden=(str(tmp_path / ".ssh"),))

    assert found.hidden == (str(real),)


@pytest.mark.parametrize("below", ["", "inner"])
def test_a_link_in_the_place_of_a_writable_directory_is_not_followed(project: Path, tmp_path: Path, below: str) -> None:
    (project / "inner").mkdir()
    (tmp_path / "linked").symlink_to(project)

    with pytest.raises(ViewChangedError, match="replaced by a symlink"):
        layout(tmp_path / "linked" / below)


def test_what_does_not_exist_is_left_out(project: Path, tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")

    found = layout(project, hidden=(str(tmp_path / "dangling"), str(tmp_path / "none")), cache=str(tmp_path / "none"))

    assert found.hidden == ()
    assert found.writable == (str(project),)


def test_exceptions_from_what_is_hidden(project: Path, tmp_path: Path) -> None:
    ssh, keep = tmp_path / ".ssh", tmp_path / "keep"
    for directory in (ssh, keep):
        directory.mkdir()
        (directory / "known").touch()

    found = layout(project, hidden=(str(ssh), str(keep), str(keep / "known")), shown=(str(ssh / "known"), str(keep)))

    assert found.hidden == (str(ssh),)
    assert {str(ssh / "known"), str(keep)} <= set(found.readable)


def test_directory_to_work_in_is_not_hidden(project: Path, tmp_path: Path) -> None:
    assert layout(project, hidden=(str(project), str(tmp_path))).hidden == (str(tmp_path),)


def test_whole_file_system_is_no_project() -> None:
    with pytest.raises(ConfinementError, match="whole file system"):
        layout(Path("/"))


def test_protected_names_where_they_exist(project: Path, tmp_path: Path) -> None:
    added = tmp_path / "added"
    (added / ".idea").mkdir(parents=True)
    (project / ".vscode").mkdir()
    (project / "below" / ".vscode").mkdir(parents=True)

    found = layout(project, writable=(str(project), str(added)))

    assert set(found.protected) == {str(project / ".vscode"), str(added / ".idea")}


def test_target_of_a_protected_symlink_is_protected(project: Path, tmp_path: Path) -> None:
    (project / "config").mkdir()
    (project / ".claude").symlink_to("config")
    (project / ".envrc").symlink_to(tmp_path)

    assert layout(project).protected == (str(project / "config"),)


def test_text_behind_a_protected_symlink_can_be_written(project: Path) -> None:
    (project / "AGENTS.md").touch()
    (project / ".clinerules").symlink_to("AGENTS.md")
    (project / "envrc.md").touch()
    (project / ".envrc").symlink_to("envrc.md")

    assert layout(project).protected == (str(project / "envrc.md"),)


def test_read_only_has_nothing_to_protect(project: Path, tmp_path: Path) -> None:
    (project / ".git").mkdir()

    found = layout(project, mode="read-only", cache=str(tmp_path))

    assert found.writable == (str(tmp_path),)
    assert str(project) not in found.writable


def test_ancestors_within_roots() -> None:
    assert list(ancestors_within("/a/b/c/d", ["/a", "/x"])) == ["/a/b/c", "/a/b"]
    assert list(ancestors_within("/a/b", ["/a"])) == []
    assert list(ancestors_within("/ab/c/d", ["/a"])) == []


def test_own_code_can_be_read(project: Path) -> None:
    readable = layout(project).readable

    assert any(Path(os.__file__).resolve().is_relative_to(path) for path in readable)
    assert any(Path(resolve.__code__.co_filename).resolve().is_relative_to(path) for path in readable)


def test_what_the_brain_runs_from_is_protected(project: Path, tmp_path: Path) -> None:
    environment = project / ".venv"
    (environment / "lib").mkdir(parents=True)
    (tmp_path / "linked").symlink_to(environment)
    outside = tmp_path / "outside"
    outside.mkdir()
    executed = (str(tmp_path / "linked"), str(outside), str(project / "missing.zip"))

    assert layout(project, executed=executed).protected == (str(environment),)


def test_a_virtual_environment_that_is_the_project_is_protected_in_parts(project: Path) -> None:
    (project / "lib").mkdir()
    (project / "pyvenv.cfg").touch()
    parts = (str(project / "lib"), str(project / "pyvenv.cfg"))

    assert layout(project, executed=(str(project), *parts)).protected == parts


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    for name in (".config/gh", ".config/tool", ".ssh", "work"):
        (path / name).mkdir(parents=True)
    (path / ".profile").touch()
    (path / ".link").symlink_to(".profile")
    os.mkfifo(path / "fifo")
    return path


def carved(home: Path, *hidden: str, **changes: Any) -> Layout:
    changes = {"writable": (str(home / "work"),)} | changes
    policy = Policy("full", "workspace-write", hidden=tuple(f"{home}/{name}" for name in hidden))
    return resolve(policy._replace(**changes), str(home))


def test_home_is_carved_where_a_secret_is_or_may_appear(home: Path) -> None:
    found = carved(home, ".config/gh", ".config/none/token", ".netrc", ".*_history").carved

    assert set(found) == {str(home), str(home / ".config")}
    assert set(found[str(home)]) == {str(home / name) for name in (".config", ".ssh", "work", ".profile", ".link")}
    assert set(found[str(home / ".config")]) == {str(home / ".config" / name) for name in ("gh", "tool")}


def test_home_is_not_carved_for_secrets_elsewhere(home: Path) -> None:
    policy = Policy("full", "workspace-write", (str(home / "work"),), hidden=("/etc/shadow*",))

    assert resolve(policy, str(home)).carved == {}


def test_what_a_pattern_may_find_in_directories_of_many_names_is_carved(home: Path) -> None:
    found = carved(home, ".con*/*/token").carved

    assert set(found) == {str(home / name) for name in ("", ".config", ".config/gh", ".config/tool")}


@pytest.mark.parametrize("mode", ["workspace-write", "read-only"])
@pytest.mark.parametrize("project", ["", "..", ".config"])
def test_where_the_user_works_is_not_carved(home: Path, project: str, mode: str) -> None:
    root = (home / project).resolve()

    found = carved(home, ".config/gh", ".netrc", writable=(str(root),), mode=mode)

    assert set(found.carved) == ({str(home)} if project == ".config" else set())


def test_links_of_the_home_are_followed(home: Path, tmp_path: Path) -> None:
    (home / ".config").rename(home / "work" / "config")
    (home / ".config").symlink_to("work/config")
    linked = tmp_path / "linked"
    linked.symlink_to(home)
    policy = Policy("full", "workspace-write", hidden=(f"{linked}/.config/gh",))

    assert set(resolve(policy, str(linked)).carved) == {str(home), str(home / "work"), str(home / "work" / "config")}


def test_what_is_hidden_is_not_carved(home: Path) -> None:
    assert set(carved(home, ".config", ".config/gh").carved) == {str(home)}


def test_home_with_too_many_files_is_shown_whole_and_warned_of(home: Path) -> None:
    for number in range(600):
        (home / str(number)).touch()

    found = carved(home, ".config/gh", ".netrc")

    assert set(found.carved) == {str(home / ".config")}
    assert [warning for warning in found.warnings if str(home) in warning]
    assert not carved(home / ".config", "gh").warnings


@pytest.mark.parametrize("home", ["/", "/none", ""])
def test_no_home_is_carved_where_there_is_none(home: str, project: Path) -> None:
    policy = Policy("full", "workspace-write", (str(project),), hidden=(f"{home}/.netrc", "/etc/shadow"))

    assert resolve(policy, home).carved == {}


def test_a_link_of_the_home_does_not_show_a_secret(home: Path) -> None:
    (home / ".ssh").mkdir(exist_ok=True)
    (home / "shown").symlink_to(".ssh")
    policy = Policy("full", "workspace-write", hidden=(f"{home}/.ssh",), unlisted=(f"{home}/.*",))

    assert str(home / ".ssh") not in resolve(policy, str(home)).readable


def test_names_at_the_top_of_a_project_that_may_not_be_listed_are_protected() -> None:
    with open_directory() as place, as_ordinary_user():
        (place / "x.code-workspace").touch()
        place.chmod(0o311)

        layout = resolve(Policy("full", "workspace-write", (str(place),)))

        assert f"{place}/x.code-workspace" in layout.protected


def test_a_link_that_takes_the_place_of_the_project_while_it_is_looked_at_uncovers_nothing(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / ".ssh"
    secret.mkdir()
    realpath = os.path.realpath

    def exchange_then(path: str) -> str:
        found = realpath(path)
        if path == str(project) and not project.is_symlink():
            project.rmdir()
            project.symlink_to(secret)
        return found

    monkeypatch.setattr(os.path, "realpath", exchange_then)

    found = layout(project, hidden=(str(secret),))

    assert project.is_symlink()
    assert found.hidden == (str(secret),)
    assert str(secret) not in found.writable


@pytest.mark.parametrize("is_own", [True, False])
def test_no_link_that_a_command_may_have_made_shows_what_is_hidden(home: Path, is_own: bool) -> None:
    """Neither by an exception of the user's nor by an entry that is listed; what the project itself has is shown."""
    project = home / ("work" if is_own else "dotfiles")
    (project / "private").mkdir(parents=True)
    (home / ".kept").mkdir()
    for name, target in (("npmrc", home / ".ssh"), ("cargo", home / ".kept"), ("inside", project / "private")):
        (project / name).symlink_to(target)
        (home / f".{name}").symlink_to(project / name)
    policy = Policy(
        "full",
        "workspace-write",
        (str(home / "work"),),
        hidden=(f"{home}/.ssh", f"{project}/private"),
        unlisted=(f"{home}/.*",),
        listed=(f"{home}/.cargo",),
        shown=(f"{home}/.n*rc", f"{home}/.inside"),
        untrusted=(str(home / "dotfiles"),),
    )

    found = resolve(policy, str(home))

    assert str(home / ".ssh") in found.hidden
    assert {str(home / ".ssh"), str(home / ".kept")}.isdisjoint(found.readable)
    assert str(project / "private") in found.readable
