import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kaa.hands.git_index import IndexRefusedError, gitlinks, shared_parts

_needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
_ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TEST_INDEX_THREADS": "4",  # few entries for a thread are enough
}
_NAMES = st.text(st.sampled_from("abé-."), min_size=1, max_size=6).filter(lambda name: name.strip(".") == name)
_LONG = "/".join(["a" * 200] * 21)  # longer than the length that an entry can tell


def _git(*arguments: str, cwd: Path, stdin: str = "") -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=cwd, env=_ENVIRONMENT, input=stdin, check=True, capture_output=True, encoding="utf-8"
    )
    return done.stdout


def _add(repository: Path, entries: dict[str, bool]) -> None:
    """Put paths into the index; true of those that are gitlinks."""
    number = "1" * (64 if "sha256" in (repository / ".git" / "config").read_text() else 40)
    lines = (f"{160000 if is_link else 100644} {number}\t{path}\n" for path, is_link in entries.items())
    _git("update-index", "--index-info", cwd=repository, stdin="".join(lines))


def _found(repository: Path) -> set[str]:
    data = (repository / ".git" / "index").read_bytes()
    sha256 = "sha256" in (repository / ".git" / "config").read_text()
    parts = [repository / ".git" / name for name in shared_parts(data)]
    shared = (gitlinks(part.read_bytes(), sha256=sha256) for part in parts if part.exists())
    return set(gitlinks(data, sha256=sha256).union(*shared))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    _git("init", "-q", str(tmp_path / "x"), cwd=tmp_path)
    return tmp_path / "x"


@_needs_git
@pytest.mark.parametrize("version", ["2", "3", "4"])
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(entries=st.dictionaries(st.lists(_NAMES, min_size=1, max_size=3).map("/".join), st.booleans(), max_size=12))
def test_all_that_git_lists_are_found(tmp_path: Path, version: str, entries: dict[str, bool]) -> None:
    repository = tmp_path / os.urandom(4).hex()
    _git("init", "-q", str(repository), cwd=tmp_path)
    _git("config", "index.version", version, cwd=repository)
    _add(repository, {path: is_link for path, is_link in entries.items() if not path.startswith(".git")})

    listing = _git("ls-files", "--stage", "-z", cwd=repository).split("\0")[:-1]

    links = {line.partition("\t")[2] for line in listing if line.startswith("160000")}
    # A short index can be read with hashes of either length: there may be more.
    assert links <= (_found(repository) if listing else set())


@_needs_git
@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(mode=st.integers(0, 2**32 - 1) | st.integers(0, 2**20).map(lambda high: high << 12 & 0xFFFFFFFF | 0o160000 | 1))
@example(mode=0o160001)
@example(mode=0o160777)
@example(mode=0xFFFFE000)
@example(mode=0o100644)
def test_a_mode_that_makes_git_look_into_the_directory_is_that_of_a_gitlink(tmp_path: Path, mode: int) -> None:
    """The canary is a file that a program of the inner repository makes when the real git looks into that."""
    repository = tmp_path / os.urandom(4).hex()
    inner, canary, program = (repository / name for name in ("x", "canary", "program"))
    _git("init", "-q", str(inner), cwd=tmp_path)
    _git("init", "-q", str(repository), cwd=tmp_path)
    _git("-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-q", "--allow-empty", "-m", "x", cwd=inner)
    head = _git("rev-parse", "HEAD", cwd=inner).strip()
    program.write_text(f"#!/bin/sh\n: > {canary}\n")
    program.chmod(0o755)
    _git("config", "core.fsmonitor", str(program), cwd=inner)
    _git("update-index", "--add", "--cacheinfo", f"160000,{head},x", cwd=repository)
    index = repository / ".git" / "index"
    data = bytearray(index.read_bytes()[:-20])
    data[12 + 24 : 12 + 28] = mode.to_bytes(4, "big")
    index.write_bytes(data + hashlib.sha1(data).digest())

    subprocess.run(["git", "status"], cwd=repository, env=_ENVIRONMENT, capture_output=True, check=False)

    assert not canary.exists() or _found(repository) == {"x"}


@_needs_git
@pytest.mark.parametrize("version", ["2", "4"])
@pytest.mark.parametrize("format_", ["sha1", "sha256"])
@pytest.mark.parametrize("path", ["X/../../out", "../out", "/tmp/out", "a/.git/hooks/x", ".GIT/hooks/x", "a//b", "./x"])
def test_a_path_that_git_would_not_add_is_refused(tmp_path: Path, version: str, format_: str, path: str) -> None:
    repository = tmp_path / "x"
    _git("init", "-q", f"--object-format={format_}", str(repository), cwd=tmp_path)
    _git("config", "index.version", version, cwd=repository)
    harmless = "z" * len(path)
    _add(repository, {"a": False, harmless: False})
    assert _found(repository) == set()

    index = repository / ".git" / "index"
    index.write_bytes(index.read_bytes().replace(harmless.encode(), path.encode()))

    with pytest.raises(IndexRefusedError, match="path"):
        _found(repository)


@_needs_git
def test_a_path_that_ends_before_its_length_is_refused(repository: Path) -> None:
    _add(repository, {"zzzzzzz": False})
    index = repository / ".git" / "index"

    index.write_bytes(index.read_bytes().replace(b"zzzzzzz", b"../z\0zz"))

    with pytest.raises(IndexRefusedError, match="path"):
        _found(repository)


@_needs_git
def test_a_directory_of_a_sparse_index_may_have_more_of_them(repository: Path) -> None:
    for name in ("kept/a", "left/b/c"):
        (repository / name).parent.mkdir(parents=True)
        (repository / name).touch()
    _git("add", ".", cwd=repository)
    _git("-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-q", "-m", "x", cwd=repository)
    _git("sparse-checkout", "set", "--cone", "--sparse-index", "kept", cwd=repository)

    assert "left/" in _found(repository)


@_needs_git
@pytest.mark.parametrize("version", ["2", "4"])
def test_in_a_repository_with_longer_hashes_and_for_long_paths(tmp_path: Path, version: str) -> None:
    repository = tmp_path / "x"
    _git("init", "-q", "--object-format=sha256", str(repository), cwd=tmp_path)
    _git("config", "index.version", version, cwd=repository)

    _add(repository, {"a": False, "b/c": True, _LONG: True, "z": True})

    assert _found(repository) >= {"b/c", _LONG, "z"}


@_needs_git
@pytest.mark.parametrize("version", ["2", "4"])
def test_with_blocks_for_threads_and_flags(repository: Path, version: str) -> None:
    _git("config", "index.version", version, cwd=repository)
    _git("config", "index.threads", "4", cwd=repository)
    _add(repository, {f"d/{number:04}": number % 7 == 0 for number in range(300)})
    _git("update-index", "--skip-worktree", "d/0001", "d/0002", cwd=repository)

    assert _found(repository) == {f"d/{number:04}" for number in range(0, 300, 7)}


@_needs_git
def test_in_the_shared_part(repository: Path) -> None:
    _add(repository, {"a": False, "b": True})
    _git("update-index", "--split-index", cwd=repository)
    before = _found(repository)
    _add(repository, {"c": True})

    assert before == {"b"}
    assert _found(repository) == {"b", "c"}


@_needs_git
def test_an_entry_that_replaces_one_of_the_shared_part_is_refused(repository: Path) -> None:
    """Its path is in the other file only, where it need not be a gitlink."""
    _add(repository, {"a": False, "b": False})
    _git("update-index", "--split-index", cwd=repository)
    _add(repository, {"b": True})

    with pytest.raises(IndexRefusedError):
        _found(repository)


def test_more_entries_than_there_is_room_for_are_refused() -> None:
    blocks = b"IEOT" + (8 * 2000 + 4).to_bytes(4, "big") + bytes(4) + b"\0\0\0\x0c\xff\xff\xff\xff" * 2000

    with pytest.raises(IndexRefusedError):
        gitlinks(b"DIRC\0\0\0\2\0\0\0\1" + b"\0\0\xe0\0" * 100 + blocks)


@given(st.binary(max_size=300), st.sampled_from([2, 3, 4]), st.binary(max_size=100))
def test_any_content_is_read(data: bytes, version: int, more: bytes) -> None:
    header = b"DIRC" + version.to_bytes(4, "big") + (1000).to_bytes(4, "big")

    for content in (
        data,
        header + data + b"\0\0\xe0\0" + more,
        header + b"\0\0\xe0\0" + b"IEOT" + data + b"link" + more,
    ):
        try:
            assert isinstance(gitlinks(content), frozenset)
            assert isinstance(shared_parts(content), frozenset)
        except IndexRefusedError as error:
            assert str(error)  # noqa: PT017 - which of them are refused does not matter
