"""A server that has secrets is ended when a package changes that it may still load."""

import asyncio
import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from kaa.hands.inotify import Inotify
from kaa.shell.home import Home
from kaa.shell.mcp import live_packages
from kaa.shell.mcp.code import code_of
from kaa.shell.mcp.config.entry import ConfiguredServer, ServerEntry, Source
from kaa.shell.mcp.installed import INSTALLED
from kaa.shell.mcp.live_packages import LivePackages
from kaa.shell.mcp.place import ServerPlace
from kaa.shell.mcp.starting import start_program
from kaa.workspace.sandbox.options import SandboxOptions
from tests.support.elsewhere import folder_elsewhere
from tests.support.loops import in_loop


def _packages(folder: Path) -> Path:
    packages = folder / "node_modules"
    for name in ("lazy/lib", ".cache"):
        (packages / name).mkdir(parents=True)
    (packages / "lazy/lib/index.js").write_text("")
    return packages


def _exchange(packages: Path) -> None:
    """Have other code there for a moment. No file has other times afterwards."""
    (packages / "lazy/lib").rename(packages.parent / "kept")
    (packages / "lazy/lib").mkdir()
    (packages / "lazy/lib").rmdir()
    (packages.parent / "kept").rename(packages / "lazy/lib")


def _exchange_all(packages: Path) -> None:
    packages.rename(packages.parent / "kept")
    (packages.parent / "kept").rename(packages)


def _exchange_above(packages: Path) -> None:
    above = packages.parent
    above.rename(above.parent / "kept")
    (above.parent / "kept").rename(above)


def _write(packages: Path) -> None:
    (packages / "lazy/lib/index.js").write_text("x")


@pytest.mark.parametrize("change", [_exchange, _write])
@in_loop
async def test_a_change_of_a_package_is_told_once(tmp_path: Path, change: Callable[[Path], None]) -> None:
    packages = _packages(tmp_path)
    told: asyncio.Queue[str] = asyncio.Queue()
    live = LivePackages({str(packages): f"{INSTALLED}x", str(tmp_path / "target"): f"{INSTALLED}x"})
    await live.open()
    live.tell(told.put_nowait)

    change(packages)

    assert (await asyncio.wait_for(told.get(), 10)).startswith(str(packages / "lazy"))
    _write(packages)
    await asyncio.sleep(0)
    assert told.empty()
    live.close()


@pytest.mark.parametrize("change", [_exchange_all, _exchange_above])
@in_loop
async def test_packages_that_are_exchanged_as_a_whole_are_told(tmp_path: Path, change: Callable[[Path], None]) -> None:
    packages = _packages(tmp_path / "project")
    told: asyncio.Queue[str] = asyncio.Queue()
    live = LivePackages({str(packages): f"{INSTALLED}x"})
    await live.open()
    live.tell(told.put_nowait)

    (packages.parent / "other").mkdir()
    (packages.parent.parent / "another").mkdir()
    change(packages)

    assert await asyncio.wait_for(told.get(), 10) == str(packages if change is _exchange_all else packages.parent)
    live.close()


@in_loop
async def test_what_programs_write_beside_packages_while_they_run_does_not_count(tmp_path: Path) -> None:
    packages = _packages(tmp_path)
    told: asyncio.Queue[str] = asyncio.Queue()
    live = LivePackages({str(packages): f"{INSTALLED}x"})
    await live.open()
    live.tell(told.put_nowait)

    (packages / ".cache/one.js").write_text("")
    (packages / "lazy/__pycache__").mkdir()
    (packages / "lazy/__pycache__/one.pyc").write_text("")
    (packages / ".lock").write_text("")
    _write(packages)  # the first one that counts

    assert await asyncio.wait_for(told.get(), 10) == str(packages / "lazy/lib/index.js")
    live.close()


@pytest.mark.parametrize("env", [{"TOKEN": "x"}, {}])
@in_loop
async def test_a_server_with_a_secret_is_ended_and_says_why(env: dict[str, str]) -> None:
    with folder_elsewhere() as base:
        project, reports = base / "project", list[str]()
        (project / "srv").mkdir(parents=True)
        (project / "srv/package.json").write_text("{}")
        (project / "srv/server.sh").write_text("cat\n")
        packages = _packages(project / "srv")
        environ = {"HOME": str(base), "PATH": "/usr/bin:/bin"}
        place = ServerPlace(Home(base / "kaa"), environ, str(project), SandboxOptions, report=reports.append)
        entry = ServerEntry(command="sh", args=("srv/server.sh",), env=env)
        server = ConfiguredServer("one", entry, Source("/file", "user"), "digest")
        process = await start_program(server, place, print, code_of(server, place))

        _exchange(packages)

        if not env:  # it could do nothing that commands cannot
            process.end()
            assert "signal" in await process.wait()
            return
        assert f"it was ended, because {packages}/lazy/lib changed while it ran" in await process.wait()
        assert reports
        assert reports[0].startswith("MCP server one: it was ended")


@in_loop
async def test_packages_that_cannot_be_watched_are_no_packages_to_start_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left() -> Inotify:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(live_packages, "Inotify", none_left)
    live = LivePackages({str(_packages(tmp_path)): f"{INSTALLED}x"})

    with pytest.raises(OSError, match=r"cannot be watched \(Too many open files\): end a program that uses inotify"):
        await live.open()
