"""Projects in which commands could write are known, however long or odd their paths are."""

import os
import shutil
from pathlib import Path

import msgspec
import pytest

from kaa.hands.confinement.layout import resolve
from kaa.host.known_projects import in_known_project, known_projects
from kaa.workspace.places import Places
from kaa.workspace.sandbox.options import ConfinedMode, SandboxOptions, policy_for
from kaa.workspace.sandbox.program import ProgramRights
from tests.support.known_project import make_known


@pytest.mark.parametrize(
    "name", ["app", "Обработка данных/Проекты/Документы", "深い" * 20, "x" * 250, "a%2Fb", "b\udcff"]
)
def test_a_project_in_which_kaa_ran_is_known(tmp_path: Path, name: str) -> None:
    project = str(tmp_path / "work" / name)
    environ = {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    os.makedirs(environ["HOME"])

    for _ in range(2):
        assert Places(str(tmp_path / "cache" / "kaa"), project).caches

    assert known_projects(environ, "/elsewhere") == (project,)
    assert in_known_project(f"{project}/tools/server.py", environ, "/elsewhere") == project
    assert in_known_project(str(tmp_path / "work"), environ, "/elsewhere") is None


@pytest.mark.parametrize("change", ["remove the cache", "another cache", "rename the project", "rename a folder above"])
def test_a_project_stays_known_without_the_cache_and_under_another_name(tmp_path: Path, change: str) -> None:
    project, home = tmp_path / "work" / "app", tmp_path / "home"
    project.mkdir(parents=True)
    (tmp_path / "work" / "other").mkdir()
    environ = {"HOME": str(home), "KAA_DIR": str(tmp_path / "kaa")}
    for _ in range(2):
        assert Places.of(environ, str(home), str(project)).caches
    assert in_known_project(str(project / "x"), environ, "/elsewhere") == str(project)

    match change:
        case "remove the cache":
            shutil.rmtree(home / ".cache")
        case "another cache":
            environ["XDG_CACHE_HOME"] = str(tmp_path / "cache")
        case "rename the project":
            project = project.rename(tmp_path / "work" / "renamed")
            os.utime(tmp_path / "kaa" / "projects")  # as the next start with a new project
        case "rename a folder above":
            (tmp_path / "work").rename(tmp_path / "moved")
            project = tmp_path / "moved" / "app"
            os.utime(tmp_path / "kaa" / "projects")

    assert in_known_project(str(project / "tools" / "x.py"), environ, "/elsewhere") == str(project)
    assert in_known_project(str(project.parent / "other" / "x.py"), environ, "/elsewhere") is None
    assert (tmp_path / "kaa" / "projects").read_bytes().count(b"\n") == 1


def test_the_list_is_bounded_and_survives_half_a_line(tmp_path: Path) -> None:
    project, listed = tmp_path / "app", tmp_path / "kaa" / "projects"
    project.mkdir()
    listed.parent.mkdir()
    listed.write_bytes(b"".join(b"1 %d /gone/project-%d\n" % (one, one) for one in range(30_000)) + b"12")
    environ = {"HOME": str(tmp_path / "home"), "KAA_DIR": str(listed.parent)}

    assert Places.of(environ, environ["HOME"], str(project)).caches

    assert listed.stat().st_size < 512 * 1024
    assert in_known_project(f"{project}/x", environ, "/elsewhere") == str(project)
    assert in_known_project("/gone/project-29999/x", environ, "/elsewhere") is not None
    assert in_known_project("/gone/project-1/x", environ, "/elsewhere") is None
    assert listed.read_bytes().endswith(f"{project}\n".encode())


@pytest.mark.parametrize("mode", ["workspace-write", "read-only"])
def test_an_added_directory_is_known_where_what_kaa_obeys_is_judged(tmp_path: Path, mode: ConfinedMode) -> None:
    kaa, project, added = tmp_path / "kaa", tmp_path / "app", tmp_path / "tools"
    for folder in (project, added, kaa / "plugin-data" / "memory"):
        folder.mkdir(parents=True)
    environ = {"HOME": str(tmp_path / "home"), "KAA_DIR": str(kaa)}
    places = Places.of(environ, environ["HOME"], str(project))
    options = SandboxOptions(mode=mode, writable=(str(added), str(kaa / "plugin-data" / "memory")))

    policy = policy_for(
        "landlock", options, root=str(project), home=environ["HOME"], places=places, environment=environ
    )

    assert policy.untrusted == ((str(project), str(added)) if mode == "workspace-write" else (str(project),))
    is_known = in_known_project(str(added / "x.py"), environ, "/elsewhere", added=True) == str(added)
    assert is_known is (mode == "workspace-write")
    assert in_known_project(str(added / "x.py"), environ, "/elsewhere") is None  # it may be a toolchain
    assert in_known_project(str(kaa / "plugin-data" / "memory" / "x"), environ, "/elsewhere", added=True) is None


def test_a_file_with_the_inode_of_a_removed_project_is_in_no_project(tmp_path: Path) -> None:
    project, home = tmp_path / "work" / "app", tmp_path / "home"
    project.mkdir(parents=True)
    environ = {"HOME": str(home), "KAA_DIR": str(tmp_path / "kaa")}
    assert Places.of(environ, str(home), str(project)).caches
    inode = project.stat().st_ino
    project.rmdir()
    file, folder = home / "mcp.json", home / "folder"
    file.parent.mkdir(exist_ok=True)
    file.touch()
    folder.mkdir()

    listed = tmp_path / "kaa" / "projects"
    found = {}
    for now in (file, folder):  # which of them gets the inode is up to the file system
        listed.write_text(listed.read_text().replace(f" {inode} ", f" {now.stat().st_ino} "))
        inode = now.stat().st_ino
        found[now] = in_known_project(str(now), environ, "/elsewhere")

    assert found == {file: None, folder: str(folder)}


@pytest.mark.parametrize("of_server", [False, True])
def test_a_plugin_behind_a_link_of_a_command_shows_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of_server: bool
) -> None:
    home, kaa, project = tmp_path / "home", tmp_path / "home/.kaa/agent", tmp_path / "dotfiles"
    for folder in (kaa, home / ".ssh", project / "plugins/good", tmp_path / "app", tmp_path / "data"):
        folder.mkdir(parents=True)
    (project / "plugins/bad").symlink_to(home / ".ssh")
    (kaa / "plugins").symlink_to(project / "plugins")
    make_known(project, kaa, monkeypatch)
    environ = {"HOME": str(home), "KAA_DIR": str(kaa)}
    places = Places.of(environ, str(home), str(tmp_path / "app"))

    def readable(plugin: str) -> tuple[str, ...]:
        options = SandboxOptions(mode="workspace-write", plugins=(str(kaa / "plugins" / plugin),))
        if of_server:
            rights = ProgramRights("x", str(tmp_path / "data"), str(tmp_path / "app"), code=options.plugins[0])
            options = rights.options(str(home))
        private = msgspec.structs.replace(options, private=(str(kaa),))
        root = str(tmp_path / "app")
        policy = policy_for("full", private, root=root, home=str(home), places=places, environment=environ)
        return resolve(policy, str(home)).readable

    assert str(project / "plugins/good") in readable("good")
    assert str(home / ".ssh") not in readable("bad")
