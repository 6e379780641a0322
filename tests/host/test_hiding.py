"""A program sees hidden directories as empty, in whichever way it names them."""

import shutil
import subprocess
from pathlib import Path

import pytest

from kaa.hands.confinement import landlock
from kaa.host.hiding import hidden_from_program


def run(line: str, cwd: Path, *hidden: Path) -> subprocess.CompletedProcess[str]:
    argv = [*hidden_from_program(map(str, hidden)), "/bin/sh", "-c", line]
    return subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path, tier: str) -> Path:
    if tier != "full":
        pytest.skip("this machine permits no namespaces")
    (tmp_path / "project" / "sub").mkdir(parents=True)
    (tmp_path / "project" / "h.sh").write_text("echo executed")
    (tmp_path / "link.sh").symlink_to("project/h.sh")
    return tmp_path


def test_nothing_of_a_hidden_directory_is_executed(folder: Path) -> None:
    project = folder / "project"
    lines = ("cd project && sh h.sh", "p=pro; sh ./${p}ject/h.sh", "sh link.sh", "find . -name h.sh -exec sh {} ';'")

    ran = [run(line, folder, project, project / "sub", folder / "missing").stdout for line in lines]
    within = run("sh h.sh; echo made >new", project, project)

    assert ran == ["", "", "", ""]
    assert within.stdout == ""
    assert not (project / "new").exists()


def test_it_can_do_everything_else(folder: Path) -> None:
    done = run("echo made >made; cat made", folder, folder / "project")

    assert (done.stdout, done.returncode) == ("made\n", 0), done.stderr
    assert (folder / "made").exists()


class TestWithoutNamespaces:
    """As in most containers: Landlock closes what cannot be hidden."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        if landlock.abi() < 1 or not _run_without_namespaces(("true",), tmp_path):
            pytest.skip("this machine has no Landlock, or cannot switch namespaces off")
        (tmp_path / "project" / "sub").mkdir(parents=True)
        (tmp_path / "project" / "h.sh").write_text("#!/bin/sh\necho executed")
        (tmp_path / "project" / "h.sh").chmod(0o755)
        (tmp_path / "link.sh").symlink_to("project/h.sh")
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "key.sh").write_text("#!/bin/sh\necho key")
        (tmp_path / "bin" / "key.sh").chmod(0o755)
        return tmp_path

    @pytest.mark.parametrize("line", ["cat project/h.sh", "cd project && ./h.sh", "sh link.sh", ". ./project/h.sh"])
    def test_nothing_of_a_hidden_directory_is_read_or_executed(self, folder: Path, line: str) -> None:
        hidden = hidden_from_program([f"{folder}/project", f"{folder}/project/sub", f"{folder}/missing"])

        done = _run_without_namespaces((*hidden, "/bin/sh", "-c", line), folder)

        assert done is not None
        assert (done.stdout, "Permission denied" in done.stderr) == ("", True)

    def test_it_can_do_everything_else(self, folder: Path) -> None:
        hidden = hidden_from_program([f"{folder}/project"])
        line = "echo made >bin/made; mv bin/made moved; ls . >bin/list; cat bin/list; bin/key.sh | cat; : >/dev/null"

        done = _run_without_namespaces((*hidden, "/bin/sh", "-c", line), folder)

        assert done is not None
        assert (done.stdout, done.stderr) == ("bin\nlink.sh\nmoved\nproject\nkey\n", "")


def _run_without_namespaces(argv: tuple[str, ...], cwd: Path) -> subprocess.CompletedProcess[str] | None:
    """Run a program where the kernel permits no namespaces; None if this machine cannot do that."""
    line = 'echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all -- "$@"'
    outer = ("unshare", "-U", "--map-root-user", "sh", "-c", line, "sh")
    if not all(map(shutil.which, ("unshare", "setpriv"))):
        return None
    done = subprocess.run([*outer, *argv], cwd=cwd, capture_output=True, text=True, check=False)
    return None if "unshare:" in done.stderr or "max_user_namespaces" in done.stderr else done
