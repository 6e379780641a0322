"""What kaa loads code from is known, and nothing that commands can write is part of it unless kaa is there."""

import subprocess
import sys
import sysconfig
from pathlib import Path

import msgspec

import kaa
from kaa.host.code import executed
from kaa.host.paths import is_below

_SOURCE = Path(kaa.__file__).resolve().parents[1]


def left(project: Path, *entries: str) -> tuple[list[str], list[str]]:
    """The path of modules after `leave_out`, and what is executed then, in a fresh interpreter."""
    source = (
        f"import sys; sys.path[:0] = {[str(_SOURCE), *entries]!r}\n"
        f"from kaa.host import code\ncode.leave_out([{str(project)!r}])\n"
        "import msgspec; print(msgspec.json.encode([sys.path, code.executed()]).decode())"
    )
    done = subprocess.run([sys.executable, "-c", source], cwd=project, check=True, capture_output=True)
    path, protected = msgspec.json.decode(done.stdout, type=tuple[list[str], list[str]])
    return path, protected


def test_the_interpreter_its_libraries_and_kaa_are_executed() -> None:
    paths = executed()

    for path in (kaa.__file__, msgspec.__file__, subprocess.__file__, sys.executable):
        assert path is not None
        assert is_below(path, paths)
    assert f"{sys.prefix}/pyvenv.cfg" in paths
    assert str(Path(sys.executable).resolve().parent) in paths


def test_modules_of_the_project_are_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()

    path, protected = left(tmp_path, "", ".", "src", str(tmp_path), str(tmp_path / "src"), str(tmp_path / "later"))

    assert not any(is_below(entry, [str(tmp_path)]) for entry in path)
    assert "" not in path
    assert str(_SOURCE) in path
    assert str(tmp_path / "src") not in protected
    assert str(tmp_path / "src" / "sitecustomize.py") in protected


def test_kaa_goes_on_where_it_is_itself_in_the_project() -> None:
    path, protected = left(_SOURCE.parent)

    assert str(_SOURCE) in path
    assert str(_SOURCE) in protected
    assert str(Path(sysconfig.get_path("purelib")).resolve()) in path


def test_libraries_that_share_files_with_others_are_found(tmp_path: Path) -> None:
    packages = tmp_path / "site-packages"
    (packages / "own").mkdir(parents=True)
    (packages / "own" / "__init__.py").touch()
    (packages / "shared.py").touch()
    (tmp_path / "cached.py").hardlink_to(packages / "shared.py")
    source = (
        f"import sys; sys.path[:] = [{str(_SOURCE)!r}, {str(packages)!r}, *sys.path]\n"
        "from kaa.host.code import shared_files\n"
        f"print(*(path for path in shared_files() if path.startswith({str(tmp_path)!r})))"
    )

    done = subprocess.run([sys.executable, "-c", source], check=True, capture_output=True, text=True)

    assert done.stdout.split() == [str(packages / "shared.py")]


def test_a_link_on_the_way_is_followed_once(tmp_path: Path) -> None:
    outside, project = tmp_path / "outside", tmp_path / "project"
    outside.mkdir()
    project.mkdir()
    (project / "link").symlink_to(outside)

    path, _ = left(project, str(project / "link"))

    assert str(outside) in path
    assert not any(is_below(entry, [str(project)]) for entry in path)


def test_modules_of_other_projects_are_not_loaded_from_the_start(tmp_path: Path) -> None:
    """An editable install leads there, and `subprocess` tries `msvcrt` before kaa knows where it works."""
    project, library = tmp_path / "project", tmp_path / "library"
    for folder in (project / "src", library):
        folder.mkdir(parents=True)
        (folder / "msvcrt.py").write_text(
            f"open({str(tmp_path / folder.name)!r} + '.loaded', 'w')\nraise ModuleNotFoundError"
        )
    status = project.stat()
    (tmp_path / "projects").write_text(f"{status.st_dev} {status.st_ino} {project}\n")
    source = (
        f"import sys; sys.path[:0] = {[str(_SOURCE), str(project / 'src'), str(library)]!r}\n"
        "from kaa import cli; cli.run(['sessions', 'list'])"
    )

    environ = {"HOME": str(tmp_path), "KAA_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", source], cwd=tmp_path, check=True, env=environ, capture_output=True)

    assert (tmp_path / "library.loaded").exists()
    assert not (tmp_path / "src.loaded").exists()
