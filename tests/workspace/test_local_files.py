"""Files of the local workspace: what only a real filesystem has."""

import asyncio
import errno
import os
import resource
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import Absent, ContentChangedError, DirEntry

if TYPE_CHECKING:
    from tests.workspace.conftest import RunLocal
else:
    RunLocal = Any

_MEGABYTE = 1024 * 1024


def test_a_slice_of_a_huge_file_touches_only_that_slice(local: RunLocal, project: Path) -> None:
    with (project / "huge").open("wb") as file:
        file.truncate(5 * 1024**3)
        file.seek(4 * 1024**3)
        file.write(b"needle\nin a haystack")

    async def scenario(workspace: LocalWorkspace) -> None:
        content = await workspace.read("huge", 4 * 1024**3, 6)
        assert (content.data, content.size, content.digest) == (b"needle", 5 * 1024**3, None)

    local(scenario)


def test_a_huge_file_is_not_read_at_once(local: RunLocal, project: Path) -> None:
    with (project / "huge").open("wb") as file:
        file.truncate(1024**3)

    with pytest.raises(OSError, match="read a part") as caught:
        local(lambda w: w.read("huge"))

    assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, "huge")


def test_the_first_lines_of_a_huge_file_come_without_reading_the_rest(local: RunLocal, project: Path) -> None:
    with (project / "huge").open("wb") as file:
        file.write(b"one\ntwo\nthree\n")
        file.truncate(5 * 1024**3)

    lines = local(lambda w: w.read_lines("huge", 2, 2, 1000))

    assert (lines.data, lines.lines, lines.total_lines, lines.end_of_file) == (b"two\nthree\n", 2, None, False)


def test_a_huge_single_line_is_reported_and_not_loaded(local: RunLocal, project: Path) -> None:
    with (project / "huge").open("wb") as file:
        file.truncate(5 * 1024**3)

    lines = local(lambda w: w.read_lines("huge", 1, 10, 50_000))

    assert (lines.data, lines.first_line_cut, lines.size) == (b"", True, 5 * 1024**3)


def test_many_megabytes_are_written_and_read(local: RunLocal) -> None:
    data = os.urandom(_MEGABYTE) * 20

    async def scenario(workspace: LocalWorkspace) -> None:
        await workspace.write("big", data)
        assert (await workspace.read("big")).data == data

    local(scenario)


def test_a_frame_too_large_for_the_wire_is_refused_before_it_is_sent(local: RunLocal) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        with pytest.raises(OSError, match="allowed"):
            await workspace.write("big", bytes(257 * _MEGABYTE))
        assert await workspace.stat("big") is None

    local(scenario)


def test_the_event_loop_goes_on_while_a_file_is_read(local: RunLocal, project: Path) -> None:
    (project / "big").write_bytes(bytes(50 * _MEGABYTE))

    async def scenario(workspace: LocalWorkspace) -> int:
        reading = asyncio.create_task(workspace.read("big"))
        turns = 0
        while not reading.done():
            await asyncio.sleep(0)
            turns += 1
        return turns

    assert local(scenario) > 10


@pytest.mark.parametrize(("name", "what"), [("fifo", "named pipe"), ("null", "device")])
def test_what_is_no_regular_file_is_refused(local: RunLocal, project: Path, name: str, what: str) -> None:
    os.mkfifo(project / "fifo")
    (project / "null").symlink_to("/dev/null")

    async def scenario(workspace: LocalWorkspace) -> None:
        with pytest.raises(OSError, match=what):
            await workspace.read(name)
        with pytest.raises(OSError, match=what):
            await workspace.read_lines(name, 1, 1, 1)
        with pytest.raises(OSError, match=what):
            await workspace.write(name, b"x")
        assert await workspace.read_existing([name], 10) == {}

    local(scenario)


def test_a_symlink_stays_and_its_target_is_replaced(local: RunLocal, project: Path) -> None:
    (project / "real").mkdir()
    (project / "real" / "file").write_text("old")
    (project / "link").symlink_to("real/file")

    info = local(lambda w: w.write("link", b"new"))

    assert (project / "link").is_symlink()
    assert (project / "real" / "file").read_text() == "new"
    assert info.real_path == str((project / "real" / "file").resolve())


def test_a_symlink_to_nothing_gets_its_target_created(local: RunLocal, project: Path) -> None:
    (project / "link").symlink_to("dir/target")

    async def scenario(workspace: LocalWorkspace) -> None:
        before = await workspace.stat("link")
        assert before is not None
        assert before.kind == "symlink"
        await workspace.write("link", b"x", Absent())

    local(scenario)

    assert (project / "dir" / "target").read_text() == "x"
    assert (project / "link").is_symlink()


def test_symlinks_in_a_circle_are_an_error_and_listed_as_symlinks(local: RunLocal, project: Path) -> None:
    (project / "loop").symlink_to("loop")

    async def scenario(workspace: LocalWorkspace) -> None:
        for attempt in (workspace.read("loop"), workspace.write("loop", b"x")):
            with pytest.raises(OSError, match="symbolic links"):
                await attempt
        assert await workspace.list(".") == [DirEntry("loop", "symlink")]

    local(scenario)


def test_a_listing_looks_through_symlinks(local: RunLocal, project: Path) -> None:
    (project / "dir").mkdir()
    (project / "to-dir").symlink_to("dir")
    (project / "to-nothing").symlink_to("nothing")
    os.mkfifo(project / "pipe")

    entries = local(lambda w: w.list("."))

    assert {entry.name: entry.kind for entry in entries} == {
        "dir": "directory",
        "to-dir": "directory",
        "to-nothing": "symlink",
        "pipe": "other",
    }


def test_a_name_that_is_not_utf8_is_listed_readably(local: RunLocal, project: Path) -> None:
    (project / os.fsdecode(b"caf\xe9")).write_text("x")

    assert local(lambda w: w.list(".")) == [DirEntry("caf\ufffd", "file")]


def test_a_file_keeps_its_mode(local: RunLocal, project: Path) -> None:
    script = project / "run.sh"
    script.write_text("old")
    script.chmod(0o751)

    local(lambda w: w.write("run.sh", b"new"))

    assert stat.S_IMODE(script.stat().st_mode) == 0o751
    assert script.read_text() == "new"


def test_a_new_file_has_the_usual_mode(local: RunLocal, project: Path) -> None:
    umask = os.umask(0o027)
    try:
        local(lambda w: w.write("new", b"x"))
    finally:
        os.umask(umask)

    assert stat.S_IMODE((project / "new").stat().st_mode) == 0o640


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give files away")
def test_a_file_keeps_its_owner(local: RunLocal, project: Path) -> None:
    (project / "file").write_text("old")
    os.chown(project / "file", 1234, 1235)

    local(lambda w: w.write("file", b"new"))

    status = (project / "file").stat()
    assert (status.st_uid, status.st_gid) == (1234, 1235)


def test_other_names_of_a_file_keep_the_old_content(local: RunLocal, project: Path) -> None:
    (project / "file").write_text("old")
    os.link(project / "file", project / "other")

    local(lambda w: w.write("file", b"new"))

    assert (project / "other").read_text() == "old"


def test_a_failed_write_leaves_the_old_content_and_no_temporary_file(local: RunLocal, project: Path) -> None:
    (project / "file").write_text("old")
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, unlimited[1]))  # the hands inherit it: a full disk
    try:
        with pytest.raises(OSError, match="File too large"):
            local(lambda w: w.write("file", bytes(200_000)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)

    assert (project / "file").read_text() == "old"
    assert [path.name for path in project.iterdir()] == ["file"]


def test_a_refused_write_leaves_nothing_behind(local: RunLocal, project: Path) -> None:
    (project / "file").write_text("old")

    with pytest.raises(ContentChangedError):
        local(lambda w: w.write("file", b"new", Absent()))

    assert [path.name for path in project.iterdir()] == ["file"]


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_directory_without_permission_is_an_error(local: RunLocal, project: Path) -> None:
    project.chmod(0o555)
    try:
        with pytest.raises(PermissionError):
            local(lambda w: w.write("file", b"new"))
    finally:
        project.chmod(0o755)


def test_a_cancelled_request_does_not_mix_up_the_answers(local: RunLocal, project: Path) -> None:
    (project / "big").write_bytes(bytes(20 * _MEGABYTE))
    (project / "small").write_bytes(b"small")

    async def scenario(workspace: LocalWorkspace) -> None:
        for turns in range(8):
            task = asyncio.create_task(workspace.read("big"))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await workspace.read("small")).data == b"small"

    local(scenario)


@pytest.mark.usefixtures("confined")
def test_a_write_cancelled_while_it_is_sent_leaves_the_old_content(local: RunLocal, project: Path) -> None:
    (project / "file").write_text("old")

    async def scenario(workspace: LocalWorkspace) -> None:
        await workspace.stat(".")
        task = asyncio.create_task(workspace.write("file", bytes(100 * _MEGABYTE)))
        for _ in range(5):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await workspace.read("file")).data == b"old"

    local(scenario)

    assert [path.name for path in project.iterdir()] == ["file"]
