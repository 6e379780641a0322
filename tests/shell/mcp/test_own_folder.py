"""A server starts in a folder of its own, unless its code lies in the project or its entry names a directory."""

import sys
from pathlib import Path

import pytest

from kaa.shell.home import Home
from kaa.shell.mcp.code import code_of
from kaa.shell.mcp.config.entry import ConfiguredServer, ServerEntry, Source
from kaa.shell.mcp.directories import directory_of
from kaa.shell.mcp.own_folder import line_elsewhere, meant_names, must_leave, way_back
from kaa.shell.mcp.place import ServerCommandLine, ServerPlace
from kaa.shell.mcp.starting import start_program
from kaa.workspace.places import Places
from kaa.workspace.sandbox.options import SandboxOptions
from tests.support.elsewhere import folder_elsewhere
from tests.support.loops import in_loop
from tests.support.tables import each

MANIFESTS = ("package.json", "pyproject.toml", "go.mod", "Makefile", "Cargo.toml")


class Land:
    """A project with manifests and code, another one, and servers outside."""

    def __init__(self, base: Path) -> None:
        self.home, self.project, self.other = base, base / "dev/app", base / "dev/earlier"
        for name in (*MANIFESTS, "server.py", "main.py", "src/lib.ts", "docs/notes.md", "mcp/server.py"):
            self.write(f"dev/app/{name}", "")
        for name in ("index.ts", "server.py", "build/index.js", "package.json", "pyproject.toml"):
            self.write(f"servers/one/{name}", "import os")
        self.write("dev/earlier/server.py", "")
        self.environ = {"HOME": str(base), "PATH": "/usr/bin:/bin", "XDG_CACHE_HOME": str(base / ".cache")}
        assert Places.of(self.environ, str(base), str(self.other)).caches
        self.place = ServerPlace(Home(base / "kaa"), self.environ, str(self.project), SandboxOptions)

    def write(self, path: str, text: str) -> None:
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace("HOME/", f"{self.home}/"))
        file.chmod(0o755)

    def server(self, command: str, **fields: object) -> ConfiguredServer:
        """One whose words are separated by ` ; `, or else by blanks."""
        name, *arguments = command.split(" ; ") if " ; " in command else command.split()
        words = [word.replace("~", str(self.home)) for word in (name, *arguments)]
        entry = ServerEntry(command=words[0], args=tuple(words[1:]), **fields)  # type: ignore[arg-type] # of the entry
        return ConfiguredServer("one", entry, Source("/file", "user"), "digest")

    def leaves(self, command: str, **fields: object) -> bool:
        server = self.server(command, **fields)
        line = ServerCommandLine.of(server, self.place)
        return must_leave(line, self.place, code_of(server, self.place), is_free=False)

    def there(self, command: str, **fields: object) -> ServerCommandLine:
        """The line in the own folder; with `~` and `PROJECT` for places."""
        server = self.server(command, **fields)
        line = ServerCommandLine.of(server, self.place)
        names = meant_names(server, line, self.place)
        line = line_elsewhere(line, str(self.project), is_free=False, names=names)
        return ServerCommandLine(
            tuple(map(self._short, line.words)), {n: self._short(v) for n, v in line.variables.items()}, ""
        )

    def _short(self, word: str) -> str:
        return word.replace(str(self.project), "PROJECT").replace(str(self.home), "~")


@pytest.fixture
def land(tmp_path: Path) -> Land:
    return Land(tmp_path.resolve())


@pytest.mark.parametrize(
    "command",
    [
        "npx -y @modelcontextprotocol/server-filesystem .",
        "uvx mcp-server-git --repository .",
        "python3 -m mcp_server_time",
        "python3 ~/servers/one/server.py",
        "node ~/servers/one/build/index.js",
        "tsx ~/servers/one/index.ts",
        "uv --directory ~/servers/one run server.py",
        "uv run --directory ~/servers/one server.py",
        "uv run ~/servers/one/server.py",
        "uv run --python 3.12 ~/servers/one/server.py",
        "bun run ~/servers/one/index.ts",
        "bun ~/servers/one/index.ts",
        "deno run -A ~/servers/one/index.ts",
        "go run github.com/x/y@latest",
        "poetry run python ~/servers/one/server.py",
        "mise x -- node ~/servers/one/build/index.js",
        "fastmcp run ~/servers/one/server.py",
        "make -C ~/servers/one serve",
        "docker run -i --rm ghcr.io/github/github-mcp-server",
        "~/servers/start.sh",
    ],
)
def test_a_server_outside_has_no_code_of_the_project_and_leaves_it(land: Land, command: str) -> None:
    """Whatever manifest the project has: a program obeys that of the directory where it starts."""
    land.write("servers/start.sh", '#!/bin/sh\ncd "$(dirname "$0")/one"\nexec uv run serve\n')

    assert code_of(land.server(command), land.place) == {}
    assert land.leaves(command)


@pytest.mark.parametrize(
    "command",
    [
        "npm start",
        "npm start -- --config ~/servers/one/package.json",
        "uv run server",
        "uv run server.py",
        "make serve",
        "python3 mcp/server.py",
        "uv --directory mcp run server.py",
        "uv --directory ~/servers/one run ../../dev/app/mcp/server.py",
        "sh ; -c ; exec npm start",
        "python3 ~/dev/app/mcp/server.py",
    ],
)
def test_a_server_whose_code_lies_in_the_project_starts_there(land: Land, command: str) -> None:
    assert code_of(land.server(command), land.place)
    assert not land.leaves(command)


def test_a_server_whose_code_lies_in_another_project_leaves(land: Land) -> None:
    assert code_of(land.server("python3 ~/dev/earlier/server.py"), land.place)
    assert land.leaves("python3 ~/dev/earlier/server.py")


@pytest.mark.parametrize("cwd", [".", "${workspaceFolder}", "docs"])
def test_the_directory_of_an_entry_is_the_way_back(land: Land, cwd: str) -> None:
    assert not land.leaves("python3 ~/servers/one/server.py", cwd=cwd)
    assert land.leaves("npx -y server", cwd=cwd)  # a runner executes what it finds there


def test_a_package_where_an_entry_starts_counts_although_its_program_lies_outside(land: Land) -> None:
    code = code_of(land.server("uv run ~/servers/one/server.py", cwd="."), land.place)

    assert str(land.project / "pyproject.toml") in code


def test_a_package_counts_where_a_server_starts_for_another_reason(land: Land) -> None:
    code = code_of(land.server("uv run ~/servers/one/server.py ./mcp/server.py"), land.place)

    assert str(land.project / "mcp/server.py") in code
    assert str(land.project / "main.py") in code


@pytest.mark.parametrize(
    ("command", "there"),
    [
        ("server .", "server PROJECT"),
        ("server --repository . ./docs", "server --repository PROJECT PROJECT/docs"),
        ("server --root docs --notes=docs/notes.md", "server --root PROJECT/docs --notes=PROJECT/docs/notes.md"),
        ("node ~/servers/one/index.ts docs", "node ~/servers/one/index.ts PROJECT/docs"),
        ("claude mcp serve", "claude mcp serve"),
        ("python3 -m docs", "python3 -m docs"),
        ("npx -y server docs ./docs", "npx -y server docs PROJECT/docs"),
        ("uv --directory ~/servers/one run ./server.py .", "uv --directory ~/servers/one run ./server.py ."),
        ("uv --directory=docs run x", "uv --directory=PROJECT/docs run x"),
        ("server nothing ./nothing", "server nothing ./nothing"),
        ("server --toolsets docs --mode=docs -m docs", "server --toolsets docs --mode=docs -m docs"),
        ("server --config-dir docs -- docs", "server --config-dir PROJECT/docs -- PROJECT/docs"),
    ],
)
def test_words_that_lead_to_something_in_the_project_still_do(land: Land, command: str, there: str) -> None:
    assert land.there(command).words == tuple(there.split())


def test_a_folder_that_a_command_makes_later_changes_no_argument(land: Land) -> None:
    command = "server restricted --config-file repos --toolsets=all docs ./later"
    first = land.there(command)

    for name in ("restricted", "repos", "later"):
        (land.project / name).mkdir()

    assert first.words[1:4] == ("restricted", "--config-file", "repos")
    assert first.words[4:] == ("--toolsets=all", "PROJECT/docs", "./later")
    assert land.there(command).words == (*first.words[:-1], "PROJECT/later")


def test_variables_that_are_written_as_paths_still_lead_there(land: Land) -> None:
    line = land.there("server", env={"ROOT": ".", "DOCS": "./docs", "NAME": "docs", "OTHER": "a/b"})

    assert line.variables == {"ROOT": "PROJECT", "DOCS": "PROJECT/docs", "NAME": "docs", "OTHER": "a/b"}


@each(
    ("command", "path"),
    [
        ("uv --directory /x run a", "/x"),
        ("uv run --directory=/x a", "/x"),
        ("make -C/x a", "/x"),
        ("env A=1 -C /x node a", None),  # `A=1` may begin a command
        ("uv run a --directory /x", None),
        ("uv --directory /x --directory /y run a", None),
        ("node a -C /x", None),
    ],
)
def test_only_an_option_of_the_program_itself_says_where_it_starts(command: str, path: str | None) -> None:
    found = directory_of(command.split())

    assert (found and found.path) == path


@in_loop
async def test_a_server_outside_starts_in_its_folder_and_says_how_to_start_in_the_project(tier: str) -> None:
    if tier == "none":
        pytest.skip("nothing confines servers on this machine: kaa doctor says why")
    with folder_elsewhere() as folder:
        land = Land(folder.resolve())
        land.write(
            "servers/one/server.py", "import os, sys; sys.exit(f'file not found: {os.getcwd()} {os.listdir()}')\n"
        )

        said = {}
        for cwd in ("", "."):
            server = land.server(f"{sys.executable} -I -S ~/servers/one/server.py", cwd=cwd)
            said[cwd] = await (await start_program(server, land.place, print, {})).wait()

    assert f"{land.home}/kaa/mcp-data/one" in said[""]
    assert "package.json" not in said[""]
    assert 'set "cwd": "${workspaceFolder}" for one in /file; folders elsewhere' in said[""]
    assert f"{land.project} " in said["."]
    assert "package.json" in said["."]
    assert "its own folder" not in said["."]


@pytest.mark.parametrize(
    ("said", "is_told"),
    [
        ("Error: Cannot find module './tools/server.js'", True),
        ("ENOENT: no such file or directory, open 'eslint.config.js'", True),
        ("could not load config", True),
        ("package.json not found", True),
        ("Chromium distribution 'chrome' is not found at /opt/google/chrome/chrome", False),
        ("command not found: uvx", False),
    ],
)
def test_the_way_back_is_told_only_where_something_of_the_project_may_be_missing(
    land: Land, said: str, is_told: bool
) -> None:
    assert bool(way_back(land.server("npx -y some-server"), said)) is is_told


def test_a_file_that_is_named_by_its_path_is_missing_wherever_the_server_starts(land: Land) -> None:
    said = f"open {land.project}/x.xlsx: no such file or directory"

    assert way_back(land.server("npx -y some-server"), said, str(land.project)) == ""
    assert way_back(land.server("npx -y some-server"), "open x.xlsx: no such file or directory", str(land.project))
