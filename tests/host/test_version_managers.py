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


def test_a_directory_of_that_name_with_links_to_programs_stays(tmp_path: Path) -> None:
    """As those of vfox on Linux, which lead to the versions that hold everywhere."""
    _installed(tmp_path, ".version-fox/cache/nodejs/v-22.1.0/nodejs-22.1.0/bin/node")
    (tmp_path / ".version-fox/shims").mkdir()
    (tmp_path / ".version-fox/shims/node").symlink_to("../cache/nodejs/v-22.1.0/nodejs-22.1.0/bin/node")
    programs = _programs(tmp_path, ".version-fox/shims")

    assert programs.find("node") == str(tmp_path / ".version-fox/shims/node")
    assert programs.environment()["PATH"] == str(tmp_path / ".version-fox/shims")


@pytest.mark.parametrize("shims", [".version-fox/shims", ".vx/shims", "shims"])
def test_what_else_lies_in_a_directory_of_that_name_is_no_program(tmp_path: Path, shims: str) -> None:
    _installed(tmp_path, f"{shims}/node", "bin/node")
    programs = _programs(tmp_path, shims, "bin")

    assert programs.find("node") == f"{tmp_path}/bin/node"
    assert programs.environment()["PATH"] == f"{tmp_path}/bin"
    assert programs.find(f"{tmp_path}/{shims}/node") is None
    assert "it obeys files of the project" in programs.refusal(f"{tmp_path}/{shims}/node")


def _with_managers(home: Path) -> None:
    """Install version managers, each with a `node` whose version for the home is in `chosen`."""
    mise, volta, proto = ".local/share/mise", ".volta/tools/image/node/22.1.0/bin/node", ".proto/tools/node/22.1.0"
    _installed(home, "bin/mise", ".asdf/shims/node", ".nodenv/shims/node", ".volta/bin/volta-shim", ".proto/shims/node")
    _installed(home, f"{mise}/installs/node/22.1.0/bin/node", ".asdf/installs/nodejs/22.1.0/bin/node", volta)
    _installed(home, ".nodenv/versions/22.1.0/bin/node", f"{proto}/bin/node")
    for link, target in ((f"{mise}/shims/node", "bin/mise"), (".volta/bin/node", ".volta/bin/volta-shim")):
        (home / link).parent.mkdir(parents=True, exist_ok=True)
        (home / link).symlink_to(home / target)
    for file, text in (
        (".config/mise/config.toml", '[tools]\nnode = "22"'),
        (".tool-versions", "nodejs 22.1.0"),
        (".nodenv/version", "22.1.0"),
        (".volta/tools/user/platform.json", '{"node": {"runtime": "22.1.0"}}'),
        (".proto/.prototools", 'node = "22.1.0"'),
    ):
        (home / file).parent.mkdir(parents=True, exist_ok=True)
        (home / file).write_text(text)


@pytest.mark.parametrize(
    ("shim", "chosen"),
    [
        (".local/share/mise/shims/node", ".local/share/mise/installs/node/22.1.0/bin/node"),
        (".asdf/shims/node", ".asdf/installs/nodejs/22.1.0/bin/node"),
        (".nodenv/shims/node", ".nodenv/versions/22.1.0/bin/node"),
        (".volta/bin/node", ".volta/tools/image/node/22.1.0/bin/node"),
        (".proto/shims/node", ".proto/tools/node/22.1.0/bin/node"),
    ],
)
def test_a_shim_that_a_path_names_or_a_link_leads_to_is_replaced(tmp_path: Path, shim: str, chosen: str) -> None:
    _with_managers(tmp_path)
    (tmp_path / "links").mkdir()
    (tmp_path / "links/node").symlink_to(tmp_path / shim)
    (tmp_path / "way").symlink_to((tmp_path / shim).parent)
    named = str(tmp_path / shim)

    assert _programs(tmp_path).find(named) == str(tmp_path / chosen)
    assert _programs(tmp_path).exposed(named) == named
    assert not _programs(tmp_path).keeps(named)
    assert _programs(tmp_path).find(str(tmp_path / "links/node")) == str(tmp_path / chosen)
    assert _programs(tmp_path, "links").find("node") == str(tmp_path / chosen)
    assert _programs(tmp_path, "links").environment()["PATH"] != str(tmp_path / "links")
    assert _programs(tmp_path, "way").find("node") == str(tmp_path / chosen)
    assert _programs(tmp_path, "way").environment()["PATH"] == str((tmp_path / chosen).parent)


def test_a_link_to_a_version_manager_by_another_name_is_a_shim(tmp_path: Path) -> None:
    _installed(tmp_path, "programs/mise", "other/node")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/node").symlink_to("../programs/mise")

    assert _programs(tmp_path, "bin", "other").find("node") == str(tmp_path / "other/node")
    assert _programs(tmp_path, "programs").find("mise") == str(tmp_path / "programs/mise")


@pytest.mark.parametrize(
    "text",
    [
        '#!/usr/bin/env bash\nexec "/home/me/.pyenv/libexec/pyenv" exec "$program" "$@"\n',
        '#!/bin/sh\nexec mise x -- node "$@"\n',
        "#!HOME/.asdf/shims/python3\n",
    ],
)
def test_a_script_that_a_version_manager_executes_is_a_shim(tmp_path: Path, text: str) -> None:
    _installed(tmp_path, "bin/node", ".asdf/shims/python3")
    (tmp_path / "bin/node").write_text(text.replace("HOME", str(tmp_path)))

    assert _programs(tmp_path, "bin").find("node") is None
