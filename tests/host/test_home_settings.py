"""Settings of the home that lead where commands write are switched off for programs that kaa has fetch something."""

import os
from pathlib import Path

import pytest

from kaa.host.programs import HostPrograms
from kaa.workspace.places import Places


@pytest.mark.parametrize(
    ("file", "variable", "value"),
    [
        (".gitconfig", "GIT_CONFIG_GLOBAL", os.devnull),
        (".config/git/config", "GIT_CONFIG_GLOBAL", os.devnull),
        (".ssh/config", "GIT_SSH_COMMAND", "ssh -F /dev/null"),
        (".npmrc", "npm_config_userconfig", os.devnull),
        (".config/pip/pip.conf", "PIP_CONFIG_FILE", os.devnull),
    ],
)
def test_a_link_of_the_home_into_a_project_is_not_followed(
    tmp_path: Path, file: str, variable: str, value: str
) -> None:
    project = tmp_path / "dotfiles"
    project.mkdir()
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    programs = HostPrograms({"HOME": str(tmp_path), "PATH": "/usr/bin"}, [str(project)])
    (tmp_path / file).write_text("")
    before, told_before = programs.fetching()
    (tmp_path / file).unlink()

    (tmp_path / file).symlink_to(project / "settings")
    after, told = programs.fetching()

    assert (before.get(variable), told_before) == (None, "")
    assert after[variable] == value
    assert told == (
        f"kaa does not use {tmp_path / file}: commands in the sandbox can write {project / 'settings'}, or could in"
        " another run: move it out of projects"
    )


def test_a_variable_of_the_user_stays(tmp_path: Path) -> None:
    project = tmp_path / "dotfiles"
    project.mkdir()
    (tmp_path / ".gitconfig").symlink_to(project / "settings")
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin", "GIT_CONFIG_GLOBAL": "/etc/own"}

    assert HostPrograms(environ, [str(project)]).fetching() == (HostPrograms(environ, [str(project)]).environment(), "")


def test_a_setting_with_another_name_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles/npmrc").write_text("")
    (tmp_path / ".npmrc").hardlink_to(tmp_path / "dotfiles/npmrc")

    variables, told = HostPrograms({"HOME": str(tmp_path), "PATH": "/usr/bin"}, []).fetching()

    assert variables["npm_config_userconfig"] == os.devnull
    assert f"kaa does not use {tmp_path}/.npmrc: {tmp_path}/.npmrc is a hard link" in told
    assert f"`cp -p {tmp_path}/.npmrc" in told


def test_a_link_into_a_folder_that_was_added_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / ".gitconfig").symlink_to("dotfiles/gitconfig")
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin", "KAA_DIR": str(tmp_path / "kaa")}
    Places.of(environ, str(tmp_path), str(tmp_path / "elsewhere")).note_added([str(tmp_path / "dotfiles")])

    variables, told = HostPrograms(environ, []).fetching()

    assert variables["GIT_CONFIG_GLOBAL"] == os.devnull
    assert f"{tmp_path}/dotfiles was added to a project (--add-dir): look at the file, then remove the line of" in told
