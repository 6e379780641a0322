"""A server that a package runner starts has a home of its own, and the user's toolchains."""

from pathlib import Path

import pytest

from kaa.shell.mcp.own_folder import variables_of_home, with_users_home


def test_a_server_of_a_runner_keeps_files_in_its_own_folder_and_finds_the_toolchains(tmp_path: Path) -> None:
    for name in (".nvm", "share/uv/python"):
        (tmp_path / name).mkdir(parents=True)
    environ = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "share"), "CARGO_HOME": "/nowhere"}

    found = variables_of_home(["npx", "-y", "@x/y"], environ, "/data")

    assert found == {
        "HOME": "/data",
        "XDG_CONFIG_HOME": "/data/.config",
        "XDG_DATA_HOME": "/data/.local/share",
        "XDG_STATE_HOME": "/data/.local/state",
        "NVM_DIR": str(tmp_path / ".nvm"),
        "UV_PYTHON_INSTALL_DIR": str(tmp_path / "share/uv/python"),
    }


@pytest.mark.parametrize("command", ["node server.js", "my-server", "python3 -m server"])
def test_another_server_has_the_home_of_the_user(tmp_path: Path, command: str) -> None:
    assert variables_of_home(command.split(), {"HOME": str(tmp_path)}, "/data") == {}


@pytest.mark.parametrize(
    ("word", "meant"),
    [("~/notes", "/home/u/notes"), ("--root=~/notes", "--root=/home/u/notes"), ("~", "/home/u"), ("a~/b", "a~/b")],
)
def test_a_tilde_in_arguments_is_the_home_of_the_user(word: str, meant: str) -> None:
    assert with_users_home(word, "/home/u") == meant
