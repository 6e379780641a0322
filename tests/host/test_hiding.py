"""A program sees hidden directories as empty, in whichever way it names them."""

import subprocess
from pathlib import Path

import pytest

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
