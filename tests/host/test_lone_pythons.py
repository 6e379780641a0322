"""Pythons that kaa starts without what editable installs lead to."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kaa.host import lone_pythons
from kaa.host.programs import note_writable
from kaa.workspace.places import Places

_PYTHON = os.path.realpath(sys.executable)
_VERSION = f"python3.{sys.version_info[1]}"
# What the standard library looks for in vain, and what each Python does.
_PLANTED = ("nt.py", "usercustomize.py")


class Machine:
    """A home with a project, to which an editable install in the user's packages leads."""

    def __init__(self, home: Path, written: str = "app") -> None:
        self.environ = {"HOME": str(home), "PATH": os.path.dirname(_PYTHON) + ":/usr/bin:/bin"}
        self.project, self.canary = home / "app", home / "canary"
        self.source, self.packages = self.project / "src", home / f".local/lib/{_VERSION}/site-packages"
        for folder in (self.source, self.packages / "acme"):
            folder.mkdir(parents=True)
        (self.packages / "acme/__init__.py").write_text("")
        (self.packages / "app.pth").write_text(f"# of app\n{self.source}\n")
        note_writable([str(home / written)])

    def plant(self) -> None:
        for name in _PLANTED:
            (self.source / name).write_text(f"open({str(self.canary)!r}, 'a').write(__name__)\nraise ImportError\n")

    def run(self, *argv: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(argv, env=self.environ, capture_output=True, text=True, check=False)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    lone_pythons._is_led_into_projects.cache_clear()
    return Machine(tmp_path / "home")


def test_a_python_without_packages_imports_nothing_of_a_project(machine: Machine) -> None:
    machine.plant()
    text = "import pathlib; print(1); exit(2)"
    python = lone_pythons.without_packages(_PYTHON, machine.environ)

    done = machine.run(str(python), "-c", text)

    assert (done.stdout, done.returncode) == ("1\n", 2), done.stderr
    assert not machine.canary.exists()
    machine.run(_PYTHON, "-c", text)
    assert machine.canary.exists()  # so the attempt is one


def test_each_name_of_a_python_on_the_path_is_one_without_packages(machine: Machine) -> None:
    machine.plant()
    folders = lone_pythons.folders_without_packages(machine.environ)
    path = os.pathsep.join((*folders, machine.environ["PATH"]))

    for name in ("python3", _VERSION):
        done = machine.run(
            "/usr/bin/env", f"PATH={path}", name, "-c", "import pathlib, sys; print(sys.version_info[1])"
        )
        assert done.stdout == f"{sys.version_info[1]}\n", done.stderr
    assert not machine.canary.exists()


@pytest.mark.parametrize("is_there", [True, False])
def test_a_program_keeps_its_packages_without_editable_installs_of_projects(machine: Machine, is_there: bool) -> None:
    others = machine.project.parent / "library"
    others.mkdir()
    (others / "own.py").write_text("")
    (machine.packages / "own.pth").write_text(f"{others}\nimport sys\n")
    if not is_there:
        machine.source.rename(machine.project / "away")  # a command moves it back when the Python starts

    started = lone_pythons.without_projects(_PYTHON, machine.environ)

    if not is_there:
        (machine.project / "away").rename(machine.source)
    machine.plant()
    done = machine.run(started.program, "-c", "import pathlib, acme, own; print(1)")
    assert done.stdout == "1\n", done.stderr
    assert not machine.canary.exists()
    assert started.program.startswith(started.readable[0])


def test_a_program_without_editable_installs_of_projects_stays_as_it_is(machine: Machine, tmp_path: Path) -> None:
    (machine.packages / "app.pth").write_text(f"{tmp_path}\n")

    assert lone_pythons.without_projects(_PYTHON, machine.environ) == lone_pythons.ProgramStart(_PYTHON)
    assert lone_pythons.without_projects("/bin/sh", machine.environ) == lone_pythons.ProgramStart("/bin/sh")


def test_a_virtual_environment_has_its_own_packages_only(machine: Machine, tmp_path: Path) -> None:
    python = tmp_path / "venv/bin/python3"
    python.parent.mkdir(parents=True)
    python.symlink_to(_PYTHON)
    (tmp_path / "venv/pyvenv.cfg").write_text("include-system-site-packages = false\n")

    assert not lone_pythons.imports_from_projects(str(python), machine.environ)
    (tmp_path / "venv/pyvenv.cfg").unlink()
    lone_pythons._is_led_into_projects.cache_clear()
    assert lone_pythons.imports_from_projects(str(python), machine.environ)


def test_an_editable_install_leads_into_no_folder_that_was_added(tmp_path: Path) -> None:
    lone_pythons._is_led_into_projects.cache_clear()
    machine = Machine(tmp_path / "home", "elsewhere")
    machine.environ["KAA_DIR"] = str(tmp_path / "kaa")
    Places.of(machine.environ, machine.environ["HOME"], str(tmp_path)).note_added([str(machine.project)])
    machine.plant()

    python = lone_pythons.without_packages(_PYTHON, machine.environ)

    machine.run(str(python), "-c", "import pathlib")
    assert not machine.canary.exists()
