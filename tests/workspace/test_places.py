import fcntl
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from kaa.hands.confinement.canaries import PREFIX
from kaa.workspace.places import Places


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(str(tmp_path / "cache" / "kaa"), "/work/project")


def test_every_directory_is_for_the_user_alone(places: Places, tmp_path: Path) -> None:
    for path in (places.output, places.caches, places.temporary, str(tmp_path / "cache" / "kaa")):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o700


def test_one_open_to_others_is_closed_to_them(places: Places, tmp_path: Path) -> None:
    directory = tmp_path / "cache" / "kaa" / "output"
    directory.mkdir(parents=True)
    directory.chmod(0o777)

    assert stat.S_IMODE(os.stat(places.output).st_mode) == 0o700


@pytest.mark.parametrize("kind", ["symlink", "file"])
def test_what_is_no_directory_is_refused(places: Places, tmp_path: Path, kind: str) -> None:
    (tmp_path / "cache" / "kaa").mkdir(parents=True)
    in_the_way = tmp_path / "cache" / "kaa" / "output"
    if kind == "symlink":
        (tmp_path / "elsewhere").mkdir()
        in_the_way.symlink_to(tmp_path / "elsewhere")
    else:
        in_the_way.write_text("")

    with pytest.raises(PermissionError, match="not a directory of this user"):
        _ = places.output


def test_where_nothing_can_be_created_it_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    for base in (tmp_path / "file" / "kaa", tmp_path / "file" / ".cache" / "kaa"):
        with pytest.raises(OSError, match=r"cannot create .*kaa.* set XDG_CACHE_HOME"):
            _ = Places(str(base), "/p").temporary


def test_projects_of_the_same_name_do_not_share_caches(tmp_path: Path) -> None:
    base = str(tmp_path / "kaa")

    paths = {Places(base, root).caches for root in ("/a/b-c", "/a/b/c", "/a-b/c", "/" + "x" * 300, "/y" + "x" * 300)}

    assert len(paths) == 5
    assert Places(base, "/a/b/c").caches in paths


def test_the_temporary_directory_stays_the_same_and_goes_with_its_workspace(places: Places) -> None:
    path = places.temporary
    assert places.temporary == path
    (Path(path) / "left" / "over").mkdir(parents=True)
    (Path(path) / "link").symlink_to("/etc")

    places.close()

    assert not os.path.exists(path)
    assert os.path.isdir("/etc")


def test_what_killed_workspaces_left_is_swept_and_what_is_in_use_is_not(tmp_path: Path) -> None:
    base = tmp_path / "kaa"
    for name in ("dead", "alive"):
        (base / "tmp" / name).mkdir(parents=True, mode=0o700)
    lock = os.open(base / "tmp" / "alive", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    places = Places(str(base), "/p")
    _ = places.temporary

    places.close()

    assert [entry.name for entry in (base / "tmp").iterdir()] == ["alive"]
    os.close(lock)


def test_what_killed_programs_left_is_swept_when_a_workspace_closes(tmp_path: Path) -> None:
    base = tmp_path / "kaa"
    for server in ("mcp-one", "mcp-two"):
        for name in ("dead", "alive"):
            left = base / "extensions" / server / "tmp" / name
            left.mkdir(parents=True, mode=0o700)
            (left / "empty").touch()
        for number in range(20):
            (base / "extensions" / server / "tmp" / f"file {number}").touch()
    (base / "extensions" / "mcp-three").symlink_to(tmp_path)
    (tmp_path / "tmp" / "of others").mkdir(parents=True)
    locks = [os.open(path, os.O_RDONLY) for path in base.glob("extensions/*/tmp/alive")]
    for lock in locks:
        fcntl.flock(lock, fcntl.LOCK_EX)

    Places(str(base / "extensions" / "mcp-one"), "/p", str(base)).close()  # a start, or an end that had none
    assert (base / "extensions" / "mcp-one" / "tmp" / "dead").exists()
    for _ in range(10):  # a few each time
        places = Places(str(base), "/p")
        _ = places.temporary
        places.close()

    for server in ("mcp-one", "mcp-two"):
        assert [path.name for path in (base / "extensions" / server / "tmp").iterdir()] == ["alive"]
    assert (tmp_path / "tmp" / "of others").exists()
    for lock in locks:
        os.close(lock)


def test_the_self_test_of_hands_that_start_is_not_swept(places: Places) -> None:
    own = Path(places.temporary)
    fresh, left = own.parent / f"{PREFIX}fresh", own.parent / f"{PREFIX}left"
    for path in (fresh, left):
        path.mkdir()
    os.utime(left, (0, 0))

    places.close()

    assert list(own.parent.iterdir()) == [fresh]


@pytest.mark.parametrize("late", ["before it is locked", "while it is locked"])
def test_one_that_another_kaa_sweeps_at_once_is_replaced(
    places: Places, monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    module, name = (os, "open") if late == "before it is locked" else (fcntl, "flock")
    real = getattr(module, name)
    swept: list[str] = []

    def sweeping(what: str | int, *arguments: Any, **options: Any) -> Any:
        path = what if isinstance(what, str) else os.readlink(f"/proc/self/fd/{what}")
        if not swept and os.path.basename(os.path.dirname(path)) == "tmp":
            swept.append(path)
            os.rmdir(path)
        return real(what, *arguments, **options)

    monkeypatch.setattr(module, name, sweeping)

    assert os.path.isdir(places.temporary)
    assert swept
    assert places.temporary != swept[0]


@pytest.mark.parametrize("planted", ["parent", "itself"])
def test_names_that_a_command_exchanged_for_links_delete_nothing_elsewhere(tmp_path: Path, planted: str) -> None:
    base, elsewhere = tmp_path / "kaa", tmp_path / "elsewhere"
    for name in ("documents", "photos"):
        (elsewhere / name).mkdir(parents=True)
        (elsewhere / name / "precious").write_text("")
    places = Places(str(base), "/p")
    temporary = Path(places.temporary)
    link = temporary if planted == "itself" else base / "tmp"
    link.rename(base / "moved")
    link.symlink_to(elsewhere)

    places.close()

    assert sorted(path.name for path in elsewhere.glob("*/precious")) == ["precious", "precious"]


def test_a_cache_directory_in_the_project_is_not_used(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "link").symlink_to(project)

    for cache in (project, project / ".cache", tmp_path / "link" / ".cache"):
        places = Places.of({"XDG_CACHE_HOME": str(cache)}, str(tmp_path / "home"), str(project))
        assert places.output.startswith(str(tmp_path / "home"))


@pytest.mark.parametrize(
    ("cache", "expected"), [("/var/cache/me", "/var/cache/me/kaa"), ("relative", "/home/me/.cache/kaa")]
)
def test_the_cache_directory_of_the_desktop_is_respected_if_it_makes_sense(cache: str, expected: str) -> None:
    places = Places.of({"XDG_CACHE_HOME": cache}, "/home/me", "/p")

    assert places._base == expected


def test_caches_of_projects_that_are_gone_are_removed_after_some_time(tmp_path: Path) -> None:
    base = str(tmp_path / "kaa")
    long = tmp_path / ("y" * 200) / ("x" * 97)  # the kept end of its name looks like another path
    roots = [tmp_path / name for name in ("here", "gone", "gone lately", "empty")]
    caches = {root.name: Path(Places(base, str(root)).caches) for root in (*roots, long)}
    roots[0].mkdir()
    for name, cache in caches.items():
        if name != "empty":
            (cache / "pip").mkdir()
        if name != "gone lately":
            os.utime(cache, (0, 0))
    places = Places(base, str(roots[0]))
    _ = places.temporary

    places.close()

    assert {name for name, cache in caches.items() if cache.exists()} == {"here", "gone lately", long.name}


def test_what_commands_put_among_the_caches_leads_nowhere(tmp_path: Path) -> None:
    places, elsewhere = Places(str(tmp_path / "kaa"), "/p"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("")
    for name in ("%2Fgone", "relative", "%00", "%2F%00"):
        (Path(places.caches).parent / name).symlink_to(elsewhere)
    _ = places.temporary

    places.close()

    assert (elsewhere / "precious").exists()
