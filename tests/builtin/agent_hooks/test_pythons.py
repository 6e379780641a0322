"""Hooks with the user's rights import nothing that an editable install of a project leads to."""

import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from kaa.builtin.agent_hooks.rights import runs_sandboxed, without_packages, without_packages_inside
from kaa.builtin.agent_hooks.scripts import _is_harmless_now
from tests.builtin.agent_hooks.test_rights import own
from tests.host.test_lone_pythons import _PYTHON, Machine

_GUARD = "import json, sys\nfrom pathlib import Path\nif 'secret' in json.load(sys.stdin)['x']: exit(2)\n"
_SHELL = (
    "#!/bin/sh\n{python} -c \"import json, sys, pathlib; sys.exit('secret' in json.load(sys.stdin)['x'])\" || exit 2\n"
)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(tmp_path / "home")
    monkeypatch.setenv("HOME", machine.environ["HOME"])
    monkeypatch.setenv("PATH", machine.environ["PATH"])
    _is_harmless_now.cache_clear()
    return machine


def _ended(machine: Machine, line: str, given: str, args: list[str] | None = None) -> int:
    hook = own(line) if args is None else own(line, args=args)
    assert not runs_sandboxed(hook, str(machine.project))
    started, path = without_packages(hook, str(machine.project), machine.environ)
    argv = ["sh", "-c", started.command] if started.args is None else [started.command, *started.args]
    text = msgspec.json.encode({"x": given}).decode()
    environ = {**machine.environ, "PATH": path}
    return subprocess.run(argv, input=text, text=True, env=environ, cwd=machine.project, check=False).returncode


@pytest.mark.parametrize(
    "line",
    [
        "python3 {home}/guard.py",
        "{python} -u ~/guard.py --all 2>/dev/null",
        'echo x >/dev/null; "$HOME/guard.py"',
        "~/named.py",
        "~/guard.sh",
        "sh ~/guard.sh",
    ],
)
def test_a_guard_decides_although_commands_have_written_what_python_looks_for(machine: Machine, line: str) -> None:
    home = Path(machine.environ["HOME"])
    files = {
        "guard.py": f"#!{_PYTHON} -u\n{_GUARD}",
        "named.py": f"#!/usr/bin/env python3\n{_GUARD}",
        "guard.sh": _SHELL.format(python="python3"),
    }
    for name, text in files.items():
        (home / name).write_text(text)
        (home / name).chmod(0o755)
    machine.plant()
    line = line.format(home=home, python=_PYTHON)

    assert [_ended(machine, line, given) for given in ("harmless", "secret")] == [0, 2]
    if ">" not in line:
        words = [os.path.expanduser(word) for word in line.split()]
        assert [_ended(machine, words[0], given, words[1:]) for given in ("harmless", "secret")] == [0, 2]
    assert not machine.canary.exists()


_IN_SANDBOX = """import json, subprocess, sys
from pathlib import Path
assert Path(__file__).name == "guard.py" == Path(sys.argv[0]).name and sys.argv[1:] in ([], ["--all", "a b"])
if __name__ == "__main__" and "secret" in json.load(sys.stdin)["x"]:
    exit(2)
"""


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("python3 -u {home}/guard.py --all 'a b' || exit 2", "/usr/bin/env python3"),
        ("~/guard.py", "/usr/bin/env python3"),
        ("~/guard.py", "/usr/bin/env -S python3 -u -B"),
        ("~/guard.py", "{python} -uB"),
        ("cat | {python} ~/guard.py", "/usr/bin/env python3"),
    ],
)
def test_a_guard_in_the_sandbox_decides_likewise(machine: Machine, line: str, first: str) -> None:
    (guard := Path(machine.environ["HOME"]) / "guard.py").write_text(f"#!{first.format(python=_PYTHON)}\n{_IN_SANDBOX}")
    guard.chmod(0o755)
    machine.plant()
    line = line.format(home=guard.parent, python=_PYTHON)
    hook = own(line)
    assert runs_sandboxed(hook, str(machine.project))

    started = without_packages_inside(hook, str(machine.project))

    def code(given: str) -> int:
        argv, text = ["sh", "-c", started.command], msgspec.json.encode({"x": given}).decode()
        return subprocess.run(argv, input=text, text=True, env=machine.environ, check=False).returncode

    assert [code(given) for given in ("harmless", "secret")] == [0, 2]
    assert not machine.canary.exists()


@pytest.mark.parametrize(
    "text", ["import yaml\n", "from . import x\n", "import importlib\n", "__import__('x')\n", "import\n", ""]
)
def test_a_guard_in_the_sandbox_that_may_need_packages_stays_as_it_is(machine: Machine, text: str) -> None:
    (Path(machine.environ["HOME"]) / "guard.py").write_text(text)

    for hook in (own("python3 ~/guard.py"), own("python3", args=[f"{machine.environ['HOME']}/guard.py"])):
        assert without_packages_inside(hook, str(machine.project)) == hook


def test_a_script_for_a_shell_names_no_python_by_a_path_that_imports_from_a_project(machine: Machine) -> None:
    (script := Path(machine.environ["HOME"]) / "guard.sh").write_text(_SHELL.format(python=_PYTHON))
    assert runs_sandboxed(own("sh ~/guard.sh"), str(machine.project))

    (machine.packages / "app.pth").unlink()
    from kaa.host import lone_pythons

    lone_pythons._is_led_into_projects.cache_clear()
    _is_harmless_now.cache_clear()

    assert script.exists()
    assert not runs_sandboxed(own("sh ~/guard.sh"), str(machine.project))


def test_a_script_that_puts_another_python_on_the_path_runs_in_the_sandbox(machine: Machine) -> None:
    home = Path(machine.environ["HOME"])
    text = f'#!/bin/sh\nexport PATH="{os.path.dirname(_PYTHON)}:$PATH"\npython3 {home}/guard.py\n'
    (home / "guard.sh").write_text(text)
    (home / "guard.py").write_text(_GUARD)

    assert runs_sandboxed(own("sh ~/guard.sh"), str(machine.project))


def test_a_hook_that_starts_no_python_stays_as_it_is(machine: Machine) -> None:
    hook = own("echo 'a  b' >&2 && exit 2")

    assert without_packages(hook, str(machine.project), machine.environ)[0] == hook
