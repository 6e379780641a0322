"""Files that the user names: read wherever they are, but not where a command could have put a link."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from kaa.workspace.file_index import FileIndex
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.named_files import own_path
from kaa.workspace.protocol import NamedFile
from tests.support.elsewhere import folder_elsewhere

T = TypeVar("T")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A home that is not below /tmp, of which commands have their own."""
    with folder_elsewhere() as folder:
        (folder / "project").mkdir()
        yield folder


def play(folder: Path, scenario: Callable[[LocalWorkspace], Awaitable[T]]) -> T:
    async def whole() -> T:
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        workspace = LocalWorkspace.start(str(folder / "project"), env=environment)
        try:
            if not (await workspace.sandbox.status()).confined:
                pytest.skip("this machine cannot confine anything")
            return await scenario(workspace)
        finally:
            await workspace.close()

    return asyncio.run(whole())


def read(folder: Path, path: str, max_bytes: int = 1000) -> NamedFile:
    return play(folder, lambda workspace: workspace.read_named(path, max_bytes))


def test_paths_outside_the_project_are_completed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text("")
    (tmp_path / "app.log").chmod(0o600)
    (folder / ".tool").mkdir()
    (folder / ".tool" / "config").write_text("")
    (folder / ".ssh").mkdir()
    (folder / ".ssh" / "id").write_text("key")
    (folder / "project" / "way").symlink_to(folder / ".ssh")

    async def scenario(workspace: LocalWorkspace) -> list[tuple[str, ...]]:
        index = FileIndex(workspace)
        return [await index.complete_path(typed) for typed in (f"{tmp_path}/a", "~/.tool/", "../project/way/")]

    assert play(folder, scenario) == [(f"{tmp_path}/app.log",), ("~/.tool/config",), ()]


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_a_file_in_tmp_is_read(folder: Path, tmp_path: Path, mode: int) -> None:
    log = tmp_path / "app.log"
    log.write_text("ERROR 42")
    log.chmod(mode)

    assert read(folder, str(log)) == NamedFile(str(log), b"ERROR 42", 8)


def test_a_dot_file_of_the_home_is_read_also_through_a_link(folder: Path) -> None:
    (folder / ".tool").mkdir()
    (folder / ".tool" / "config").write_text("colour = red")
    (folder / "link").symlink_to(".tool")

    assert read(folder, "~/.tool/config", 6) == NamedFile(str(folder / ".tool" / "config"), b"colour", 12)
    assert read(folder, "../link/config").data == b"colour = red"


def test_a_known_secret_is_marked(folder: Path) -> None:
    (folder / ".ssh").mkdir()
    (folder / ".ssh" / "id").write_text("key")
    (folder / "shot").symlink_to(".ssh/id")

    assert read(folder, "~/.ssh/id").is_secret
    assert read(folder, "~/shot").is_secret


@pytest.mark.parametrize("name", ["notes.md", "docs/notes.md", "~/way/docs/notes.md"])
def test_a_link_of_the_project_leads_to_no_secret(folder: Path, name: str) -> None:
    (folder / ".ssh").mkdir()
    (folder / ".ssh" / "id").write_text("key")
    (folder / "way").symlink_to("project")
    (folder / "project" / "docs").mkdir()
    for planted in ("notes.md", "docs/notes.md"):
        (folder / "project" / planted).symlink_to(folder / ".ssh" / "id")

    with pytest.raises(OSError, match=r"sandbox hides|may hold secrets"):
        read(folder, name)


def test_what_is_no_regular_file_is_refused_with_the_reason(folder: Path) -> None:
    os.mkfifo(folder / "pipe")

    with pytest.raises(OSError, match="named pipe"):
        read(folder, "~/pipe")
    with pytest.raises(OSError, match="device"):
        read(folder, "/dev/zero")
    with pytest.raises(IsADirectoryError):
        read(folder, "~")
    with pytest.raises(FileNotFoundError):
        read(folder, "~/nothing")


def test_the_environment_of_kaa_is_no_file_to_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAA_TEST_CANARY", "canary")

    assert b"KAA_TEST_CANARY" not in read(folder, "/proc/self/environ", 100_000).data


def test_the_way_of_a_path_is_followed_as_the_kernel_does(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "inner").symlink_to(tmp_path)
    (tmp_path / "to").symlink_to("project/inner/file")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "file").write_text("")

    assert own_path(f"{tmp_path}/./a/../file", [str(root)]) == f"{tmp_path}/file"
    assert own_path(f"{tmp_path}/to", [str(root)]) is None
    assert own_path(f"{tmp_path}/to", []) == f"{tmp_path}/file"
    with pytest.raises(OSError, match="symbolic links"):
        own_path(f"{tmp_path}/circle", [])
