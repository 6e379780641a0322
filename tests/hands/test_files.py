"""The operations of the file slot, called as its loop calls them."""

import errno
import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kaa.hands import writing
from kaa.hands.connection import WireConnection
from kaa.hands.digest import new_digest
from kaa.hands.files import Files, serve
from kaa.hands.settings import HandsSettings
from kaa.hands.wire import Frame, encode
from tests.support.ordinary import ORDINARY_UID, as_ordinary_user, open_directory

_GROUP = 54399  # of nobody
_JSON = st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=4) | st.lists(st.text(max_size=3), max_size=2)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(HandsSettings(root=str(tmp_path), home=str(tmp_path / "home")))


@pytest.fixture
def ask(files: Files) -> Callable[..., Frame]:
    def ask(op: str, body: bytes = b"", **fields: object) -> Frame:
        return Frame(*files.answer(Frame({"op": op, **fields}, body)))

    return ask


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    op=st.sampled_from(["read", "read_lines", "read_existing", "stat", "list", "other", ""]),
    fields=st.dictionaries(
        st.sampled_from(["path", "offset", "length", "start", "max_lines", "max_bytes", "paths"]), _JSON
    ),
)
def test_any_request_gets_an_answer(files: Files, op: str, fields: dict[str, object]) -> None:
    header, body = files.answer(Frame({"op": op, **fields}, b""))

    assert encode(header, body)
    assert "error" not in header or header["errno"]


def test_requests_are_served_in_order_until_the_brain_is_gone(tmp_path: Path) -> None:
    brain, slot = socket.socketpair()
    server = threading.Thread(target=serve, args=(WireConnection(slot), HandsSettings(str(tmp_path), "/")))
    server.start()
    connection = WireConnection(brain)

    connection.send({"op": "write", "path": "a"}, b"1")
    connection.send({"op": "read", "path": "a", "offset": 0})
    answers = [connection.receive(), connection.receive()]
    brain.close()
    server.join()
    slot.close()

    assert [answer.body for answer in answers if answer is not None] == [b"", b"1"]


def test_what_is_written_is_what_is_read(ask: Callable[..., Frame], tmp_path: Path) -> None:
    info = ask("write", b"data", path="dir/file").header["info"]
    read = ask("read", path="dir/file", offset=0)

    assert isinstance(info, dict)
    assert info["path"] == str(tmp_path / "dir" / "file")
    assert (read.body, read.header["size"]) == (b"data", 4)
    assert read.header["digest"] == new_digest(b"data").hexdigest()


def test_a_changed_file_is_told_apart_from_other_errors(ask: Callable[..., Frame]) -> None:
    ask("write", b"data", path="file")

    changed = ask("write", b"new", path="file", digest="0" * 64).header
    refused = ask("write", b"new", path=".").header

    assert (changed["changed"], changed["errno"]) == (True, errno.ESTALE)
    assert (refused["changed"], refused["errno"]) == (False, errno.EISDIR)


def test_a_file_of_proc_is_read_although_it_says_it_is_empty(ask: Callable[..., Frame]) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("needs /proc")

    answer = ask("read", path="/proc/self/status", offset=0)

    assert answer.body.startswith(b"Name:")
    assert answer.header["size"] == len(answer.body)


def test_opening_a_pipe_does_not_wake_whoever_waits_at_its_other_end(ask: Callable[..., Frame], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert ask("read", path="pipe", offset=0).header["errno"] == errno.EINVAL

    with pytest.raises(OSError, match="No such device"):  # nobody reads
        os.open(tmp_path / "pipe", os.O_WRONLY | os.O_NONBLOCK)


@pytest.mark.parametrize("op", ["read", "list", "write"])
def test_a_path_that_has_to_be_real_leads_through_no_link(ask: Callable[..., Frame], tmp_path: Path, op: str) -> None:
    (tmp_path / "directory").mkdir()
    (tmp_path / "directory/file").touch()
    (tmp_path / "above").symlink_to(tmp_path / "directory")
    (tmp_path / "directory/last").symlink_to(tmp_path / "directory")

    for path in ("above/file", "above/new/file", "directory/last"):
        answer = ask(op, b"harm", path=str(tmp_path / path), offset=0, real=True).header
        assert answer["errno"] in (errno.ELOOP, errno.ENOTDIR), path
    assert sorted(os.listdir(tmp_path / "directory")) == ["file", "last"]
    assert (tmp_path / "directory/file").read_bytes() == b""


def test_a_real_path_is_read_written_and_listed(ask: Callable[..., Frame], tmp_path: Path) -> None:
    path = str(tmp_path / "new/file")

    info = ask("write", b"data", path=path, real=True).header["info"]

    assert isinstance(info, dict)
    assert (info["path"], info["real_path"], info["size"]) == (path, path, 4)
    assert ask("read", path=path, offset=0, real=True).body == b"data"
    assert ask("read_existing", paths=[path, path + "/x"], max_bytes=2, real=True).header["lengths"] == [2, None]
    assert ask("list", path=str(tmp_path / "new"), real=True).body == b"ffile\0"
    assert ask("list", path="/", real=True).body == ask("list", path="/").body


def test_a_listing_keeps_the_bytes_of_names(ask: Callable[..., Frame], tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9")).mkdir()

    assert ask("list", path=".").body == b"dcaf\xe9\0"


def test_a_copy_is_discarded_with_the_directories_that_are_empty_then(
    ask: Callable[..., Frame], tmp_path: Path
) -> None:
    top = tmp_path / "kept"
    (top / "a").mkdir(parents=True)
    (top / "a" / "one").write_bytes(b"1")
    (top / "two").write_bytes(b"2")

    def discard(name: str, content: bytes) -> Frame:
        return ask("discard", path=str(top / name), digest=new_digest(content).hexdigest(), top=str(top))

    assert discard("a/one", b"another").header["changed"] is True
    discard("a/one", b"1")
    assert sorted(os.listdir(top)) == ["two"]
    discard("two", b"2")
    assert os.listdir(tmp_path) == []


def test_a_new_file_gets_the_mode_that_it_had(ask: Callable[..., Frame], tmp_path: Path) -> None:
    ask("write", b"data", path=str(tmp_path / "file"), real=True, mode=0o600)

    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600


def write(path: Path, data: bytes, expected: writing.Expectation | None) -> None:
    writing.write(str(path), data, expected, 0o022)


def test_a_link_count_that_cannot_grow_does_not_prevent_creating_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_arguments: object, **_options: object) -> None:
        raise OSError(errno.EPERM, "as on FAT")

    monkeypatch.setattr(os, "link", no_links)
    target = tmp_path / "file"

    write(target, b"1", writing.Expectation(None))
    with pytest.raises(writing.FileChangedError):
        write(target, b"2", writing.Expectation(None))

    assert (tmp_path / "file").read_bytes() == b"1"
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_created_between_check_and_exchange_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync

    def somebody_is_faster(descriptor: int) -> None:
        (tmp_path / "file").write_text("theirs")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", somebody_is_faster)

    with pytest.raises(writing.FileChangedError, match="already exists"):
        write(tmp_path / "file", b"ours", writing.Expectation(None))

    assert (tmp_path / "file").read_text() == "theirs"
    assert os.listdir(tmp_path) == ["file"]


def test_extended_attributes_stay(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    try:
        os.setxattr(path, "user.kaa", b"kept")
    except (OSError, AttributeError):
        pytest.skip("this filesystem has no extended attributes")

    write(path, b"new", None)

    assert os.getxattr(path, "user.kaa") == b"kept"


@pytest.fixture
def of_a_group() -> Iterator[Path]:
    """A file of the ordinary user, and of a group that no file of the user's can get."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    with open_directory() as folder:
        path = folder / "file"
        path.write_text("old and longer")
        os.chown(path, ORDINARY_UID, _GROUP)
        path.chmod(0o664)
        yield path


@pytest.mark.parametrize("refusal", [None, errno.EPERM, errno.EINVAL])  # EINVAL: as in a user namespace
@pytest.mark.parametrize("data", [b"new", b"new, and a good deal longer", b""])
def test_a_file_keeps_a_group_that_a_new_one_cannot_have(
    of_a_group: Path, refusal: int | None, data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    if refusal is not None:

        def may_not(*_arguments: object) -> None:
            raise OSError(refusal, os.strerror(refusal))

        monkeypatch.setattr(os, "fchown", may_not)
    expected = writing.Expectation(new_digest(of_a_group.read_bytes()).hexdigest())

    with as_ordinary_user():
        write(of_a_group, data, expected)
        with pytest.raises(writing.FileChangedError):
            write(of_a_group, b"too late", expected)

    status = of_a_group.stat()
    assert of_a_group.read_bytes() == data
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (ORDINARY_UID, _GROUP, 0o664)
    assert os.listdir(of_a_group.parent) == ["file"]


def test_a_file_of_another_user_that_is_closed_to_us_is_replaced_by_one_of_ours(of_a_group: Path) -> None:
    os.chown(of_a_group, 0, 0)
    of_a_group.chmod(0o644)

    with as_ordinary_user():
        write(of_a_group, b"new", None)

    assert of_a_group.read_bytes() == b"new"
    assert of_a_group.stat().st_uid == ORDINARY_UID
    assert os.listdir(of_a_group.parent) == ["file"]


def test_a_disk_without_room_leaves_a_file_that_is_written_in_place_as_it_was(
    of_a_group: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", no_room)

    with as_ordinary_user(), pytest.raises(OSError, match="No space"):
        write(of_a_group, b"new, and a good deal longer", None)

    assert of_a_group.read_text() == "old and longer"
    assert os.listdir(of_a_group.parent) == ["file"]


def test_a_file_that_could_be_written_only_in_part_has_its_new_content_beside_it(
    of_a_group: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_pwrite = os.pwrite

    def broken(descriptor: int, data: bytes, position: int) -> int:
        if position:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real_pwrite(descriptor, data[:2], position)

    monkeypatch.setattr(os, "pwrite", broken)

    with (
        as_ordinary_user(),
        pytest.raises(OSError, match=r"after a part was written: (\S+) beside it has all") as raised,
    ):
        write(of_a_group, b"new", None)

    (beside,) = (name for name in os.listdir(of_a_group.parent) if name != "file")
    assert beside in str(raised.value)
    assert (of_a_group.parent / beside).read_bytes() == b"new"


def test_a_program_that_runs_as_its_owner_keeps_that_only_with_its_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "program"
    path.write_text("old")
    path.chmod(0o4755)
    real_fstat = os.fstat

    def owned_by_another(descriptor: int) -> os.stat_result:
        fields = list(real_fstat(descriptor))
        fields[stat.ST_UID] += 1
        return os.stat_result(fields)

    def may_not(*_arguments: object) -> None:
        raise PermissionError(errno.EPERM, "not the owner")

    monkeypatch.setattr(os, "fstat", owned_by_another)
    monkeypatch.setattr(os, "fchown", may_not)

    write(path, b"new", None)

    assert stat.S_IMODE(path.stat().st_mode) == 0o755
