import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.hands.confinement.bwrap import bwrap_view
from kaa.hands.policy import Policy
from tests.hands.confinement.arena import Arena
from tests.support.elsewhere import folder_elsewhere


def _policy(project: Path) -> Policy:
    return Policy("bwrap", "workspace-write", (str(project),), temporary=str(project.parent))


def arguments_of(policy: Policy, home: str) -> list[str]:
    return bwrap_view(policy, home).arguments


def _pairs(arguments: list[str], option: str) -> list[tuple[str, str]]:
    places = [place for place, argument in enumerate(arguments) if argument == option]
    return [(arguments[place + 1], arguments[place + 2]) for place in places]


def test_pins_are_buried_below_the_project(tmp_path: Path) -> None:
    project = tmp_path.resolve()
    (project / "a" / "b" / ".git").mkdir(parents=True)

    arguments = arguments_of(_policy(project), "/home/me")

    binds = [target for _, target in _pairs(arguments, "--bind") if target.startswith(str(project))]
    assert binds[0] == binds[-1] == str(project)
    assert set(binds[1:-1]) == {f"{project}/a", f"{project}/a/b"}
    git = f"{project}/a/b/.git"
    assert (git, git) in _pairs(arguments, "--ro-bind")


def test_network_is_the_hosts_only_on_request(tmp_path: Path) -> None:
    policy = _policy(tmp_path)

    assert "--unshare-net" in arguments_of(policy, "/home/me")
    assert "--unshare-net" not in arguments_of(policy._replace(network="host"), "/home/me")


def test_everything_starts_read_only_and_without_privileges(tmp_path: Path) -> None:
    arguments = arguments_of(_policy(tmp_path), "/home/me")

    assert _pairs(arguments, "--ro-bind")[0] == ("/", "/")
    assert arguments.index("--ro-bind") < arguments.index("--bind")
    assert arguments[arguments.index("--cap-drop") + 1] == "ALL"
    assert {"--unshare-pid", "--unshare-ipc", "--new-session", "--proc", "--dev"} <= set(arguments)
    assert arguments[-1] == "--"


def test_secrets_are_covered(tmp_path: Path) -> None:
    project = tmp_path.resolve() / "project"
    project.mkdir()
    secret, directory = project / ".env", project / "keys"
    secret.touch()
    directory.mkdir()

    arguments = arguments_of(_policy(project)._replace(hidden=(f"{project}/.env", str(directory))), "/home/me")

    assert ("/dev/null", str(secret)) in _pairs(arguments, "--ro-bind")
    place = arguments.index(str(directory))
    assert arguments[place - 3 : place] == ["--perms", "0000", "--tmpfs"]


def test_nothing_is_shown_through_a_link_that_came_meanwhile(someone: Arena) -> None:
    """A command can exchange a directory between the plan and the mounts."""
    if (program := shutil.which("bwrap")) is None:
        pytest.skip("needs bubblewrap")
    copy, live = someone.base / "copy", someone.project / "code/.ssh"
    for folder in (copy / "code/.ssh", live):
        folder.mkdir(parents=True)
    policy = someone.policy("bwrap", replaced=((str(someone.project), str(copy)), (str(live), str(live))))
    arguments, mounts = bwrap_view(policy, str(someone.home))
    shutil.rmtree(someone.project / "code")
    (someone.project / "code").symlink_to(someone.home)

    report = someone.probe(policy, ("read", str(live / "id")), wrapper=(program, *arguments), mounts=mounts)

    if report.refused:
        pytest.skip(f"this machine cannot hold tier bwrap: {report.refused}")
    assert str(live) in report.changed
    assert report.outcomes == []


@pytest.fixture
def home() -> Iterator[Path]:
    with folder_elsewhere() as folder:
        yield folder.resolve() / "home"


def test_worktrees_that_are_not_seen_exist(home: Path) -> None:
    project, tree = home / "project", home / ".trees" / "x"
    kept = project / ".git" / "worktrees" / "x"
    for directory in (tree, kept, home / ".config"):
        directory.mkdir(parents=True)
    (tree / ".git").write_text(f"gitdir: {kept}\n")
    (kept / "gitdir").write_text(f"{tree}/.git\n")
    policy = _policy(project)._replace(writable=(str(project),), git_writable=True, hidden=(f"{home}/.trees",))

    arguments = arguments_of(policy._replace(temporary=""), str(home))

    assert arguments[arguments.index(f"{tree}/.git") - 1] == "--dir"
