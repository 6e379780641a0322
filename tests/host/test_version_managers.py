"""Programs that kaa finds are those of the versions that hold in the home, and no shims that obey the project."""

import json
from pathlib import Path

import pytest

from kaa.host.programs import HostPrograms


def _installed(home: Path, *paths: str) -> None:
    for path in paths:
        program = home / path
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)


def _programs(home: Path, *entries: str, **variables: str) -> HostPrograms:
    path = ":".join(str(home / entry) for entry in entries)
    return HostPrograms({"PATH": path, "HOME": str(home), **variables}, (str(home / "project"),))


@pytest.mark.parametrize("shims", [".asdf/shims", ".asdf/shims/"])
def test_asdf_executes_the_versions_of_the_file_in_the_home(tmp_path: Path, shims: str) -> None:
    _installed(tmp_path, ".asdf/shims/python3", ".asdf/shims/go", ".asdf/shims/jq", "bin/gh")
    _installed(tmp_path, ".asdf/installs/python/3.12.1/bin/python3", ".asdf/installs/python/3.9.1/bin/python3")
    _installed(tmp_path, ".asdf/installs/golang/1.22/go/bin/go", ".asdf/installs/jq/1.7/bin/jq")
    (tmp_path / ".tool-versions").write_text("python 3.12.1 system # ours\ngolang 1.22\njq path:/project/jq\n")
    programs = _programs(tmp_path, shims, "bin")

    installs = tmp_path / ".asdf/installs"
    assert programs.find("python3") == f"{installs}/python/3.12.1/bin/python3"
    assert programs.find("go") == f"{installs}/golang/1.22/go/bin/go"
    assert (
        programs.environment()["PATH"]
        == f"{installs}/python/3.12.1/bin:{installs}/golang/1.22/go/bin:{tmp_path / 'bin'}"
    )
    assert programs.find("jq") is None
    assert "Choose a version of jq for your home" in programs.refusal("jq")


def test_mise_executes_the_versions_of_its_settings_in_the_home(tmp_path: Path) -> None:
    data = ".local/share/mise"
    _installed(tmp_path, f"{data}/shims/node", f"{data}/installs/node/22.1.0/bin/node")
    _installed(tmp_path, f"{data}/installs/node/9.9.9/bin/node", f"{data}/installs/npm-acme-x/1.0/bin/x")
    settings = tmp_path / ".config/mise/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[tools]\nnodejs = ["latest"]\n"npm:@acme/x" = {version = "1"}\n')
    programs = _programs(tmp_path, f"{data}/shims")

    assert programs.find("node") == str(tmp_path / data / "installs/node/22.1.0/bin/node")
    assert programs.find("x") == str(tmp_path / data / "installs/npm-acme-x/1.0/bin/x")


def test_pyenv_executes_its_global_version_or_that_of_the_shell(tmp_path: Path) -> None:
    _installed(tmp_path, ".pyenv/shims/python3", "bin/python3")
    _installed(tmp_path, ".pyenv/versions/3.12.1/bin/python3", ".pyenv/versions/3.11.2/bin/python3")
    (tmp_path / ".pyenv/version").write_text("3.12\n")

    def found(**variables: str) -> str | None:
        return _programs(tmp_path, ".pyenv/shims", "bin", **variables).find("python3")

    versions = tmp_path / ".pyenv/versions"
    assert found() == f"{versions}/3.12.1/bin/python3"
    assert found(PYENV_VERSION="3.11.2") == f"{versions}/3.11.2/bin/python3"
    assert found(PYENV_VERSION="system") == f"{tmp_path}/bin/python3"
    assert found(PYENV_VERSION="../../project") == f"{tmp_path}/bin/python3"


def test_volta_executes_its_default_version(tmp_path: Path) -> None:
    _installed(tmp_path, ".volta/bin/node", ".volta/tools/image/node/22.1.0/bin/node")
    platform = tmp_path / ".volta/tools/user/platform.json"
    platform.parent.mkdir()
    platform.write_text(json.dumps({"node": {"runtime": "22.1.0", "npm": None}}))

    programs = _programs(tmp_path, ".volta/bin")

    assert programs.find("node") == str(tmp_path / ".volta/tools/image/node/22.1.0/bin/node")


def test_a_choice_that_commands_can_write_does_not_hold(tmp_path: Path) -> None:
    _installed(tmp_path, ".asdf/shims/jq", ".asdf/installs/jq/1.7/bin/jq")
    (tmp_path / "project").mkdir()
    (tmp_path / "project/choices").write_text("jq 1.7\n")
    (tmp_path / ".tool-versions").symlink_to("project/choices")

    assert _programs(tmp_path, ".asdf/shims").find("jq") is None


def test_a_directory_of_that_name_without_versions_stays(tmp_path: Path) -> None:
    _installed(tmp_path, "shims/gh")

    assert _programs(tmp_path, "shims").find("gh") == str(tmp_path / "shims/gh")
