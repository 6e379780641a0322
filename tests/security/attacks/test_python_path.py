"""A PYTHONPATH that begins with a colon makes Python execute files of whatever project kaa is started in."""

import sys
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.model_server import ModelServer, say

pytestmark = pytest.mark.usefixtures("confined")


@pytest.mark.parametrize(("value", "folder"), [(":/nonexistent", "."), (".", "."), ("/nonexistent:lib", "lib")])
def test_kaa_does_not_go_on_after_python_loaded_something(kaa: Kaa, value: str, folder: str) -> None:
    module = kaa.project / folder / "sitecustomize.py"
    module.parent.mkdir(exist_ok=True)
    module.write_text("")
    kaa.setenv(PYTHONPATH=value)

    with ModelServer([say("Hello.")]) as server:
        kaa.use(server, "openai-completions")
        text, events = kaa.run("-p", "hi"), kaa.run("--mode", "json", "-p", "hi")
        assert server.requests == []

    for done in (text, events):
        assert done.code == 2
    assert f"PYTHONPATH is '{value}'" in text.err
    assert f"made Python load {module}" in text.err
    assert "before kaa could prevent it" in events.out.splitlines()[-1]


@pytest.mark.parametrize("value", [":/nonexistent", ".", "lib"])
def test_a_relative_entry_is_left_out_where_python_loaded_nothing(kaa: Kaa, tmp_path: Path, value: str) -> None:
    (kaa.project / "lib").mkdir()
    for folder in (kaa.project, kaa.project / "lib"):  # loaded when a run begins
        (folder / "httptools.py").write_text(f"open({str(tmp_path / 'canary')!r}, 'w').close()\n")
    kaa.setenv(PYTHONPATH=value)

    with ModelServer([say("Hello.")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("-p", "hi")

    assert done.out == "Hello.\n", done.err
    assert not (tmp_path / "canary").exists()


def test_the_doctor_says_so(kaa: Kaa) -> None:
    kaa.setenv(PYTHONPATH=":/nonexistent")

    assert "warning: PYTHONPATH is ':/nonexistent'" in kaa.run("doctor").out
    assert kaa.run("--version").code == 0


def test_modules_of_an_absolute_one_in_the_project_are_not_loaded(kaa: Kaa, tmp_path: Path) -> None:
    modules = kaa.project / "modules"
    modules.mkdir()
    # Loaded when a run begins; the interpreter itself loads others before kaa can prevent it.
    (modules / "httptools.py").write_text(f"open({str(tmp_path / 'canary')!r}, 'w').close()\n")
    kaa.setenv(PYTHONPATH=str(modules))

    with ModelServer([say("Hello.")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("-p", "hi")

    assert done.out == "Hello.\n", done.err
    assert not (tmp_path / "canary").exists()


def test_as_a_module_it_loads_nothing_of_the_current_directory(kaa: Kaa, tmp_path: Path) -> None:
    (kaa.project / "argparse.py").write_text(f"open({str(tmp_path / 'canary')!r}, 'w').close()\n")
    python = Path(sys.executable)

    done = kaa.run_in_shell(f"{python} -m kaa --version")

    assert done.out.startswith("kaa "), done.err
    assert not (tmp_path / "canary").exists()
