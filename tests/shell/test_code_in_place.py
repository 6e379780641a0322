"""A program of the user's is ended when commands begin to be able to write what it loads from where it is."""

import asyncio
import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kaa.hands.inotify import Inotify
from kaa.shell import code_in_place
from kaa.shell.code_in_place import CodeInPlace, UnwrittenCode
from kaa.shell.home import Home
from kaa.shell.mcp.code import code_of
from kaa.shell.mcp.config.entry import ConfiguredServer, ServerEntry, Source
from kaa.shell.mcp.place import ServerPlace
from kaa.shell.mcp.starting import start_program
from kaa.workspace.places import Places
from kaa.workspace.sandbox.options import SandboxOptions
from tests.support.elsewhere import folder_elsewhere
from tests.support.loops import in_loop


def _environ(base: Path) -> dict[str, str]:
    return {
        "HOME": str(base),
        "PATH": os.environ["PATH"],
        "KAA_DIR": str(base / "kaa"),
        "XDG_CACHE_HOME": str(base / "c"),
    }


def _work_in(project: Path, base: Path) -> None:
    """As another kaa does before it runs a command there."""
    assert Places.of(_environ(base), str(base), str(project)).caches


def _add(project: Path, base: Path) -> None:
    Places.of(_environ(base), str(base), str(base / "elsewhere")).note_added([str(project)])


def _code(base: Path, place: str, known: Sequence[str] = ()) -> UnwrittenCode:
    return UnwrittenCode([str(base / place)], _environ(base), known, toolchains=False)


@pytest.mark.parametrize("begin", [_work_in, _add])
@pytest.mark.parametrize("project", ["dev", "dev/srv", "dev/srv/lib"])
@in_loop
async def test_a_place_that_commands_begin_to_write_is_told(
    tmp_path: Path, project: str, begin: Callable[[Path, Path], None]
) -> None:
    (tmp_path / "dev/srv/lib").mkdir(parents=True)
    (tmp_path / "dev/other").mkdir()
    (tmp_path / "kaa").mkdir()
    told: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
    watch = CodeInPlace(_code(tmp_path, "dev/srv"))
    watch.open()
    watch.tell(lambda *what: told.put_nowait(what))

    begin(tmp_path / "dev/other", tmp_path)
    begin(tmp_path / project, tmp_path)

    assert await asyncio.wait_for(told.get(), 10) == (str(tmp_path / "dev/srv"), str(tmp_path / project))
    watch.close()


@in_loop
async def test_without_inotify_a_place_is_told_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left() -> Inotify:
        raise OSError(errno.EMFILE, "none left")

    monkeypatch.setattr(code_in_place, "Inotify", none_left)
    monkeypatch.setattr(code_in_place, "_LOOK_SECONDS", 0.01)
    (tmp_path / "dev").mkdir()
    told: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
    watch = CodeInPlace(_code(tmp_path, "dev"))
    watch.open()
    watch.tell(lambda *what: told.put_nowait(what))

    _work_in(tmp_path / "dev", tmp_path)

    assert await asyncio.wait_for(told.get(), 10) == (str(tmp_path / "dev"), str(tmp_path / "dev"))


@pytest.mark.parametrize("is_noted", [True, False])
@in_loop
async def test_a_project_in_a_folder_of_code_hides_no_other_one(tmp_path: Path, is_noted: bool) -> None:
    for name in ("dev/srv/old/sub", "dev/srv/new"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "kaa").mkdir()
    known = str(tmp_path / "dev/srv/old")
    if is_noted:
        _work_in(Path(known), tmp_path)
    told: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
    watch = CodeInPlace(_code(tmp_path, "dev/srv", known=() if is_noted else (known,)))
    watch.open()
    watch.tell(lambda *what: told.put_nowait(what))

    _work_in(tmp_path / "dev/srv/old/sub", tmp_path)  # which commands could write before
    _work_in(tmp_path / "dev/srv/new", tmp_path)

    assert await asyncio.wait_for(told.get(), 10) == (str(tmp_path / "dev/srv"), str(tmp_path / "dev/srv/new"))
    watch.close()


def test_what_commands_could_write_before_is_not_watched(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    _work_in(tmp_path / "dev", tmp_path)

    assert not _code(tmp_path, "dev/srv.py")


@pytest.mark.parametrize("toolchains", [True, False])
def test_a_directory_with_a_toolchain_counts_where_it_does_for_the_start(tmp_path: Path, toolchains: bool) -> None:
    (tmp_path / "tools/bin").mkdir(parents=True)
    (tmp_path / "kaa").mkdir()
    environ = {**_environ(tmp_path), "PATH": str(tmp_path / "tools/bin")}
    code = UnwrittenCode([str(tmp_path / "tools/srv.py")], environ, toolchains=toolchains)

    _add(tmp_path / "tools", tmp_path)

    assert (code.writer() is not None) == toolchains


_LINES = {
    "path": (("HOME/dev/srv/server.sh",), ""),
    "text": (("-c", "cd HOME/dev/srv && . ./server.sh"), ""),
    "folder": (("server.sh",), "HOME/dev/srv"),
}


@pytest.mark.parametrize("line", _LINES.values(), ids=_LINES.keys())
@pytest.mark.parametrize("begin", [_work_in, _add])
@in_loop
async def test_a_server_is_ended_and_its_code_counts_as_that_of_commands(
    line: tuple[tuple[str, ...], str], begin: Callable[[Path, Path], None]
) -> None:
    with folder_elsewhere() as base:
        arguments = tuple(word.replace("HOME", str(base)) for word in line[0])
        entry = ServerEntry(command="sh", args=arguments, cwd=line[1].replace("HOME", str(base)), env={"TOKEN": "x"})
        reports = list[str]()
        (base / "dev/srv").mkdir(parents=True)
        (base / "dev/srv/server.sh").write_text("cat\n")
        (base / "project").mkdir()
        (base / "kaa").mkdir()
        place = ServerPlace(
            Home(base / "kaa"), _environ(base), str(base / "project"), SandboxOptions, report=reports.append
        )
        server = ConfiguredServer("one", entry, Source("/file", "user"), "digest")
        assert code_of(server, place) == {}
        process = await start_program(server, place, print, {})

        begin(base / "dev/srv", base)

        assert "commands can write" in await process.wait()
        assert "MCP server one: it was ended, because commands can write" in reports[0]
        assert str(base / "dev/srv/server.sh") in code_of(server, place)


@pytest.mark.parametrize("has", ["cwd", "env"])
@in_loop
async def test_a_server_that_works_in_the_home_goes_on_when_projects_come_there(has: str) -> None:
    with folder_elsewhere() as base:
        environ = {**_environ(base), "XDG_CACHE_HOME": ""}
        cwd, env = (str(base), {}) if has == "cwd" else ("", {"HOME": "~", "ALL": str(base)})
        entry = ServerEntry(command="sh", args=("-c", "echo up; cat"), cwd=cwd, env=env)
        for name in ("project", "kaa", "dev"):
            (base / name).mkdir()
        reports = list[str]()
        place = ServerPlace(Home(base / "kaa"), environ, str(base / "project"), SandboxOptions, report=reports.append)
        server = ConfiguredServer("one", entry, Source("/file", "user"), "digest")
        process = await start_program(server, place, print, code_of(server, place))
        assert await asyncio.to_thread(os.read, process.stdout, 3) == b"up\n"

        assert Places.of(environ, str(base), str(base / "dev")).caches  # another kaa starts there
        os.write(process.stdin, b"still\n")

        assert await asyncio.to_thread(os.read, process.stdout, 6) == b"still\n"
        process.end()
        await process.wait()
        assert not reports


@in_loop
async def test_a_script_with_another_name_is_code_of_commands(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project/tool.sh").write_text("cat\n")
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin/server.sh"
    script.hardlink_to(tmp_path / "project/tool.sh")
    place = ServerPlace(Home(tmp_path / "kaa"), _environ(tmp_path), str(tmp_path / "elsewhere"), SandboxOptions)
    server = ConfiguredServer("one", ServerEntry(command="sh", args=(str(script),)), Source("/file", "user"), "d")

    assert str(script) in code_of(server, place)
