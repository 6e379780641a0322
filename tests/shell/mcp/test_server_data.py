"""Who shares the folder where a server keeps its data."""

from pathlib import Path

import pytest

from kaa.shell.home import Home
from kaa.shell.mcp.config.entry import ConfiguredServer, Scope, ServerEntry, Source
from kaa.shell.mcp.server_data import data_folder, remove_installed

CODE = {"/a/server.py": "digest of the code"}


def server(scope: Scope, file: str = "/its/file", digest: str = "digest of the entry") -> ConfiguredServer:
    return ConfiguredServer("own", ServerEntry(command="serve"), Source(file, scope), digest)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.mark.parametrize("code", [{}, CODE])
@pytest.mark.parametrize("scope", ["project", "run"])
def test_the_same_entry_in_files_of_two_projects_shares_nothing(home: Home, scope: Scope, code: dict[str, str]) -> None:
    one = data_folder(home, server(scope, "/a/.mcp.json"), "/a", code)
    other = data_folder(home, server(scope, "/b/.mcp.json"), "/b", code)

    assert one != other


@pytest.mark.parametrize("scope", ["user", "run", "plugin", "agent"])
def test_a_server_of_the_user_shares_its_data_unless_it_executes_code_of_a_project(home: Home, scope: Scope) -> None:
    shared = {data_folder(home, server(scope), project, {}) for project in ("/a", "/b")}
    own = {data_folder(home, server(scope), project, CODE) for project in ("/a", "/b")}

    assert len(shared) == 1
    assert len(own) == 2
    assert not shared & own


def test_changed_code_keeps_its_data_and_a_changed_entry_of_a_project_does_not(home: Home) -> None:
    before = data_folder(home, server("project"), "/a", CODE)

    assert data_folder(home, server("project"), "/a", {"/a/server.py": "another"}) == before
    assert data_folder(home, server("project", digest="another"), "/a", CODE) != before


def test_only_what_runners_installed_is_removed_and_nothing_that_a_link_leads_to(tmp_path: Path) -> None:
    cache, elsewhere = tmp_path / "server" / "cache", tmp_path / "elsewhere"
    for folder in (cache / "_npx" / "4b4c", cache / "_cacache", elsewhere / "dlx"):
        folder.mkdir(parents=True)
    (cache / "pnpm").symlink_to(elsewhere)

    remove_installed(tmp_path / "server")

    assert not (cache / "_npx").exists()
    assert (cache / "_cacache").exists()
    assert (elsewhere / "dlx").exists()
