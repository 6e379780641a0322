"""A server gets copies of its code as it was approved, and everything else as it is."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kaa.shell.home import Home
from kaa.shell.mcp.code import CodeChangedError, code_of
from kaa.shell.mcp.config.entry import ConfiguredServer, ServerEntry, Source
from kaa.shell.mcp.copies import TooManyFilesError, copy_code
from kaa.shell.mcp.place import ServerPlace
from kaa.workspace.places import Places
from kaa.workspace.sandbox.options import SandboxOptions


class Land:
    """A project with a server in `tools`, and a folder for copies."""

    def __init__(self, base: Path) -> None:
        self.project, self.copies = base / "project", base / "copies"
        for folder in (self.project / "tools/lib", self.project / "docs", self.copies):
            folder.mkdir(parents=True)
        (self.project / "tools/server.py").write_text("import lib.part")
        (self.project / "tools/lib/part.py").write_text("part")
        (self.project / "tools/notes.md").write_text("notes")
        (self.project / "tools/link.py").symlink_to("server.py")
        (self.project / "README.md").write_text("readme")
        self.place = ServerPlace(Home(base / "home"), {"HOME": str(base / "home")}, str(self.project), SandboxOptions)

    def code(self, *words: str, env: dict[str, str] | None = None) -> dict[str, str]:
        command, *arguments = words or ("python3", "tools/server.py")
        entry = ServerEntry(command=command, args=tuple(arguments), env=env or {})
        return code_of(ConfiguredServer("one", entry, Source("/file", "user"), "digest"), self.place)


@pytest.fixture
def land(tmp_path: Path) -> Land:
    return Land(tmp_path.resolve())


def test_code_is_copied_and_the_rest_is_seen_as_it_is(land: Land) -> None:
    pairs = dict(copy_code(land.code(), land.place, str(land.copies)))

    copy = Path(pairs.pop(str(land.project)))
    assert (copy / "tools/lib/part.py").read_text() == "part"
    assert (copy / "tools/lib/part.py").stat().st_mtime_ns == (land.project / "tools/lib/part.py").stat().st_mtime_ns
    assert (copy / "tools/link.py").readlink() == Path("server.py")
    assert pairs == {
        str(path): str(path) for path in map(land.project.joinpath, ("docs", "README.md", "tools/notes.md"))
    }
    assert all((copy / Path(path).relative_to(land.project)).exists() for path in pairs)


def test_an_environment_beside_the_code_is_seen_as_it_is(land: Land) -> None:
    environment = land.project / "tools" / ".venv"
    (environment / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    (environment / "bin").mkdir()
    (environment / "bin" / "python").symlink_to(sys.executable)
    (environment / "pyvenv.cfg").write_text("home = /usr/bin\n")

    pairs = dict(copy_code(land.code("tools/.venv/bin/python", "tools/server.py"), land.place, str(land.copies)))

    assert (Path(pairs[str(land.project)]) / "tools/server.py").exists()
    assert pairs[str(environment)] == str(environment)


def test_of_another_project_only_what_the_server_needs_is_seen(land: Land, tmp_path: Path) -> None:
    other, home = tmp_path.resolve() / "other", tmp_path.resolve() / "home"
    for name in ("tools/mcp/server.py", "tools/mcp/package.json", "tools/mcp/notes.md", "package.json", ".env"):
        (other / name).parent.mkdir(parents=True, exist_ok=True)
        (other / name).write_text("see packages/core")
    for name in ("docs/notes.md", "packages/core/index.js", "tools/other/server.py", "node_modules/one/index.js"):
        (other / name).parent.mkdir(parents=True, exist_ok=True)
        (other / name).write_text("")
    assert Places.of({}, str(home), str(other)).caches

    pairs = dict(copy_code(land.code("python3", f"{other}/tools/mcp/server.py"), land.place, str(land.copies)))

    assert (Path(pairs.pop(str(other))) / "tools/mcp/server.py").exists()
    assert pairs == {
        str(path): str(path) for path in map(other.joinpath, ("node_modules", "packages", "tools/mcp/notes.md"))
    }


def test_a_folder_that_code_only_mentions_is_seen_as_it_is_though_its_content_is_known(land: Land) -> None:
    source = land.project / "src"
    source.mkdir()
    (source / "app.py").write_text("app")
    (land.project / "tools/server.py").write_text("import lib.part; Path('src').rglob('*.py')")
    code = land.code()

    pairs = dict(copy_code(code, land.place, str(land.copies)))

    assert pairs[str(source)] == str(source)
    assert str(source / "app.py") in code


def test_nothing_is_copied_around_installed_packages(land: Land) -> None:
    """A copy is read-only: the server could create nothing beside them."""
    (land.project / "node_modules/one").mkdir(parents=True)
    (land.project / "node_modules/one/index.js").write_text("")

    code = land.code("node", "--version", env={"NODE_PATH": str(land.project / "node_modules")})

    assert str(land.project / "node_modules") in code
    assert copy_code(code, land.place, str(land.copies)) == ()


@pytest.mark.parametrize(
    "change",
    [
        lambda tools: (tools / "lib/part.py").write_text("evil"),
        lambda tools: (tools / "json.py").write_text(""),
        lambda tools: (tools / "json").mkdir() or (tools / "json/__init__.py").write_text(""),
        lambda tools: (tools / "link.py").unlink() or (tools / "link.py").symlink_to("notes.md"),
        lambda tools: (tools / "more").symlink_to("/"),
        lambda tools: (tools / "notes.md").chmod(0o700),
        lambda tools: (tools / "lib/part.py").unlink() or (tools / "lib/part.py").symlink_to("../notes.md"),
    ],
)
def test_code_that_changed_since_it_was_approved_is_not_copied(land: Land, change: Callable[[Path], object]) -> None:
    code = land.code()
    change(land.project / "tools")

    with pytest.raises(CodeChangedError):
        copy_code(code, land.place, str(land.copies))


def test_a_folder_beside_the_code_that_could_be_imported_must_be_known(land: Land) -> None:
    (land.project / "server.py").write_text("import dataclasses")
    code = land.code("python3", "server.py")
    (land.project / "org/python").mkdir(parents=True)
    (land.project / "org/python/core.py").write_text("")

    with pytest.raises(CodeChangedError, match="project/org"):
        copy_code(code, land.place, str(land.copies))


def test_packages_that_appear_beside_the_code_meanwhile_are_not_seen(land: Land) -> None:
    (land.project / "server.js").write_text("require('ws')")
    code = land.code("node", "server.js")
    (land.project / "node_modules/bufferutil").mkdir(parents=True)

    pairs = dict(copy_code(code, land.place, str(land.copies)))

    assert str(land.project / "docs") in pairs
    assert str(land.project / "node_modules") not in pairs
    assert not (Path(pairs[str(land.project)]) / "node_modules").exists()


def test_a_folder_beside_the_code_that_is_known_by_name_is_seen_as_it_is(land: Land) -> None:
    (land.project / "server.py").write_text("import dataclasses")
    (land.project / "scripts").mkdir()
    (land.project / "scripts/one.py").write_text("")

    pairs = dict(copy_code(land.code("python3", "server.py"), land.place, str(land.copies)))

    assert pairs[str(land.project / "scripts")] == str(land.project / "scripts")


def test_a_directory_that_a_link_replaces_meanwhile_is_not_followed(
    land: Land, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exchange comes after the directory above was listed."""
    outside = land.project.parent / "outside"
    outside.mkdir()
    (outside / "private.txt").write_text("")
    code, made = land.code(), os.mkdir

    def exchange(path: str, *arguments: int) -> None:
        made(path, *arguments)
        if path == str(land.copies / "0/tools"):
            (land.project / "tools").rename(land.project / "away")
            (land.project / "tools").symlink_to(outside)

    monkeypatch.setattr("kaa.shell.mcp.copies.os.mkdir", exchange)

    pairs = dict(copy_code(code, land.place, str(land.copies)))

    assert str(land.project / "tools/private.txt") not in pairs
    assert not list(land.copies.rglob("private.txt"))


def test_too_many_files_beside_the_code_are_refused_with_what_to_do(
    land: Land, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kaa.shell.mcp.copies._MAX_LIVE", 2)

    with pytest.raises(TooManyFilesError, match="Keep its code in its own directory"):
        copy_code(land.code(), land.place, str(land.copies))
