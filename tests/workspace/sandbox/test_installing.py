"""Where commands install programs: not in the user's home, and where the next command finds them."""

from pathlib import Path

from kaa.workspace.sandbox.environment import installation_environment


def test_installed_programs_are_found_behind_those_of_the_user() -> None:
    found = installation_environment("/caches", {"PATH": "/usr/bin"})

    assert found["PATH"] == "/usr/bin:/caches/prefix/bin:/caches/cargo/bin"
    assert {found[name] for name in ("GOBIN", "UV_TOOL_BIN_DIR", "PIPX_BIN_DIR")} == {"/caches/prefix/bin"}
    assert found["npm_config_prefix"] == "/caches/prefix"


def test_the_prefix_of_npm_is_not_set_for_nvm_or_against_the_users_choice() -> None:
    assert "npm_config_prefix" not in installation_environment("/c", {"NVM_DIR": "/home/u/.nvm"})
    assert "npm_config_prefix" not in installation_environment("/c", {"NPM_CONFIG_PREFIX": "/mine"})


def test_places_that_the_user_chose_stay() -> None:
    assert "GOBIN" not in installation_environment("/c", {"GOBIN": "/mine"})


def test_go_installs_where_the_user_chose() -> None:
    assert "GOBIN" not in installation_environment("/c", {"GOPATH": "/mine"})


def test_npm_reads_the_same_global_configuration_as_without_a_prefix(tmp_path: Path) -> None:
    node = tmp_path / "versions" / "20" / "bin" / "node"
    node.parent.mkdir(parents=True)
    node.touch(mode=0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "node").symlink_to(node)
    path = {"PATH": str(tmp_path / "bin")}

    assert installation_environment("/c", path)["npm_config_globalconfig"] == str(tmp_path / "versions/20/etc/npmrc")
    chosen = {**path, "NPM_CONFIG_GLOBALCONFIG": "/mine"}
    assert "npm_config_globalconfig" not in installation_environment("/c", chosen)
