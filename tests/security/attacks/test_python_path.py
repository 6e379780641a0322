"""Variables and the current directory have Python execute files of a project; the installed command prevents that."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.end_to_end.detached import started
from tests.end_to_end.kaa_process import Kaa
from tests.support.model_server import ModelServer, say
from tests.support.warm_start import COMMAND

pytestmark = pytest.mark.usefixtures("confined")

# What an interpreter executes at its start, what kaa imports first and later, and kaa itself.
_SHADOWS = ("sitecustomize.py", "usercustomize.py", "argparse.py", "httptools.py", "kaa/__init__.py", "kaa/cli.py")


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """Appears when a module of the project is executed."""
    return tmp_path / "canary"


@pytest.fixture
def modules(kaa: Kaa, canary: Path) -> Path:
    """The folder `modules` of the project; it and the project have modules with the names of others."""
    folder = kaa.project / "modules"
    for place in (folder, kaa.project):
        for name in _SHADOWS:
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(f"open({str(canary)!r}, 'w').close()\n")
    return folder


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with copies of the installed scripts."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("kaa", "kaa-python"):
        shutil.copy(Path(COMMAND).with_name(name), folder / name)
    return folder


@pytest.mark.parametrize("value", ["{modules}", ":/nonexistent", "/nonexistent:modules"])
def test_no_entry_of_pythonpath_is_used(kaa: Kaa, modules: Path, canary: Path, value: str) -> None:
    kaa.setenv(PYTHONPATH=value.format(modules=modules), PYTHONUSERBASE=str(modules), PYTHONSTARTUP="argparse.py")

    with ModelServer([say("Hello.")]) as server:
        kaa.use(server, "openai-completions")
        answered, version = kaa.run_in_shell('"$KAA" -p hi'), kaa.run_in_shell('"$KAA" --version')

    assert answered.out == "Hello.\n", answered.err
    assert version.out.startswith("kaa ")
    assert not canary.exists()


def test_a_detached_conversation_uses_none(kaa: Kaa, modules: Path, canary: Path) -> None:
    kaa.setenv(PYTHONPATH=str(modules))

    with ModelServer([say("Hello.")]) as server:
        kaa.use(server, "openai-completions")
        with started(kaa, "hi") as one:
            one.wait_for_end()

    assert "Hello." in one.text
    assert not canary.exists()


def test_it_starts_through_links(kaa: Kaa, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(COMMAND)
    (tmp_path / "other link").symlink_to("link")

    assert kaa.run_in_shell(f"'{tmp_path}/other link' --version").out.startswith("kaa ")


def test_no_program_of_the_project_follows_the_links(kaa: Kaa, tmp_path: Path, canary: Path) -> None:
    (tmp_path / "link").symlink_to(COMMAND)
    planted = kaa.project / "readlink"
    planted.write_text(f"#!/bin/sh\ntouch '{canary}'\necho /bin/false\n")
    planted.chmod(0o755)

    done = kaa.run_in_shell(f"PATH='{kaa.project}':$PATH '{tmp_path}/link' --version")

    assert done.out.startswith("kaa "), done.err
    assert not canary.exists()


_SECOND_LINE = "'''exec' {python} \"$0\" \"$@\""


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("#!{python}", "python"),
        ("#!{python}", "a python"),
        (f"#!/bin/sh\n{_SECOND_LINE}", "python"),
        (f"#!/bin/sh\n{_SECOND_LINE.replace('{python}', repr('{python}'))}", "a python"),
    ],
    ids=["pip", "pip, with a space", "distlib", "uv, with a space"],
)
def test_it_finds_its_python_however_the_installer_writes_it(kaa: Kaa, installed: Path, head: str, name: str) -> None:
    python = installed / name
    python.write_text(f'#!/bin/sh\necho "$0" "$@" >&2\nexec \'{sys.executable}\' "$@"\n')
    python.chmod(0o755)
    (installed / "kaa-python").write_text(f"{head.format(python=python)}\n' '''\n")

    done = kaa.run_in_shell(f"'{installed}/kaa' --version")

    assert done.out.startswith("kaa "), done.err
    assert done.err == f"{python} -E -P {installed}/kaa --version\n"


def test_without_its_second_script_it_says_what_to_do(kaa: Kaa, installed: Path) -> None:
    (installed / "kaa-python").unlink()

    done = kaa.run_in_shell(f"{installed}/kaa --version")

    assert (done.code, done.out) == (1, "")
    assert done.err.endswith(f"kaa: the script kaa-python is missing beside {installed}/kaa: install kaa again\n")


def test_the_other_script_is_the_python_of_kaa(kaa: Kaa) -> None:
    done = kaa.run_in_shell(f"'{Path(COMMAND).with_name('kaa-python')}' -c 'import kaa, sys; print(sys.executable)'")

    assert os.path.samefile(done.out.strip(), sys.executable)


class TestAsAModule:
    """Python itself starts `python -m kaa`, as its user has it start."""

    @pytest.mark.parametrize("folder", ["", "modules"])
    def test_it_loads_no_module_of_the_project(self, kaa: Kaa, modules: Path, canary: Path, folder: str) -> None:
        for name in ("sitecustomize.py", "usercustomize.py"):  # executed before any code of kaa
            (kaa.project / folder / name).unlink()
        shutil.rmtree(kaa.project / folder / "kaa")  # what `-m kaa` names there
        kaa.setenv(**({"PYTHONPATH": str(modules)} if folder else {}))

        done = kaa.run_in_shell(f"'{sys.executable}' {'-P' if folder else ''} -m kaa --version")

        assert done.out.startswith("kaa "), done.err
        assert not canary.exists()

    def test_without_the_environment_it_executes_nothing_else(self, kaa: Kaa, modules: Path, canary: Path) -> None:
        kaa.setenv(PYTHONPATH=str(modules))

        assert kaa.run_in_shell(f"'{sys.executable}' -E -P -m kaa --version").out.startswith("kaa ")
        assert not canary.exists()

    @pytest.mark.parametrize(("value", "folder"), [(":/nonexistent", "."), ("/nonexistent:lib", "lib")])
    def test_it_does_not_go_on_after_python_loaded_something(self, kaa: Kaa, value: str, folder: str) -> None:
        module = kaa.project / folder / "sitecustomize.py"
        module.parent.mkdir(exist_ok=True)
        module.write_text("")
        kaa.setenv(PYTHONPATH=value)

        with ModelServer([say("Hello.")]) as server:
            kaa.use(server, "openai-completions")
            text = kaa.run_in_shell(f"'{sys.executable}' -m kaa -p hi")
            events = kaa.run_in_shell(f"'{sys.executable}' -m kaa --mode json -p hi")
            assert server.requests == []

        for done in (text, events):
            assert done.code == 2
        assert f"PYTHONPATH is '{value}'" in text.err
        assert f"made Python load {module}" in text.err
        assert "before kaa could prevent it" in events.out.splitlines()[-1]

    def test_the_doctor_reports_a_relative_entry(self, kaa: Kaa) -> None:
        kaa.setenv(PYTHONPATH=":/nonexistent")

        done = kaa.run_in_shell(f"'{sys.executable}' -m kaa doctor")

        assert "warning: PYTHONPATH is ':/nonexistent'" in done.out
