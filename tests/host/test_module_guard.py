"""kaa executes no module that commands of the model can write, however an extension loads it."""

import importlib.util
import marshal
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kaa.workspace.places import Places

_LOADED = """
import importlib.util, os, runpy, sys
from kaa.host.module_guard import refuse_writable_modules
from kaa.host.programs import note_writable

project, how = sys.argv[1:]
note_writable([project])
refuse_writable_modules([f"{project}/hello"])
sys.path[:0] = [f"{project}/hello", f"{project}/shared"]
import own
try:
    match how:
        case "import":
            import words
        case "package":
            import parts.deep
        case "file":
            spec = importlib.util.spec_from_file_location("x", f"{project}/shared/words.py")
            spec.loader.exec_module(importlib.util.module_from_spec(spec))
        case "path":
            runpy.run_path(f"{project}/shared/words.py")
        case "link":
            import linked
        case "compiled":
            import only
        case "compiled package":
            import folder
        case "archive":
            sys.path.insert(0, f"{project}/shared/all.zip")
            import zipped
        case "compiled path":
            runpy.run_path(f"{project}/shared/only.pyc")
        case "program":
            runpy.run_path(f"{project}/shared/program")
        case "site":
            import site
            site.addsitedir(f"{project}/shared")
        case "library":
            import ctypes
            ctypes.CDLL(f"{project}/shared/library.so")
        case "relative":
            os.chdir(f"{project}/shared")
            exec(compile(open("words.py").read(), "words.py", "exec"))
except ImportError as error:
    print(error)
"""


_COMPILED = ("compiled", "compiled package", "archive", "compiled path", "program", "site")


def _compile(file: Path, source: str) -> None:
    """Write compiled code that says that it is from another file."""
    file.parent.mkdir(exist_ok=True)
    code = marshal.dumps(compile(source, os.__file__, "exec"))
    file.write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + code)


def test_what_an_extension_reads_of_the_project_stays_readable(tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text("words = 1\n")
    script = """
import sys
from kaa.host.module_guard import refuse_writable_modules
from kaa.host.programs import note_writable

note_writable(sys.argv[1:])
refuse_writable_modules([])
print(open(f"{sys.argv[1]}/words.py").read())
"""

    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], env={"HOME": "/"}, capture_output=True, text=True, check=True
    )

    assert "words = 1" in done.stdout


@pytest.mark.parametrize("how", ["import", "package", "file", "path", "link", "relative", *_COMPILED, "library"])
def test_a_module_beside_an_extension_is_not_executed(tmp_path: Path, how: str) -> None:
    canary = tmp_path / "canary"
    for name in ("home", "project/hello", "project/shared/parts"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "project/hello/own.py").write_text("import json, dataclasses\n")
    for name in ("words.py", "parts/__init__.py"):
        (tmp_path / "project/shared" / name).write_text(f"open({str(canary)!r}, 'w')\n")
    (tmp_path / "project/hello/linked.py").symlink_to("../shared/words.py")

    for name in ("only.pyc", "folder/__init__.pyc", "program/__main__.pyc"):
        _compile(tmp_path / "project/shared" / name, f"open({str(canary)!r}, 'w')")
    with zipfile.ZipFile(tmp_path / "project/shared/all.zip", "w") as archive:
        archive.write(tmp_path / "project/shared/only.pyc", "zipped.pyc")
    if how == "site":
        (tmp_path / "project/shared/x.pth").write_text(f"import os; open({str(canary)!r}, 'w')\n")

    done = subprocess.run(
        [sys.executable, "-c", _LOADED, str(tmp_path / "project"), how],
        env={"HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=True,
    )

    swallowed = how in ("archive", "program")  # Python goes on looking, and finds nothing
    assert ("find" in done.stdout or "No module" in done.stdout) if swallowed else "is not executed" in done.stdout
    assert not canary.exists()


def test_a_module_in_a_directory_that_was_added_once_is_not_executed(tmp_path: Path) -> None:
    canary, environ = tmp_path / "canary", {"HOME": str(tmp_path / "home")}
    for name in ("home", "app", "added"):
        (tmp_path / name).mkdir()
    (tmp_path / "added/words.py").write_text(f"open({str(canary)!r}, 'w')\n")
    Places.of(environ, environ["HOME"], str(tmp_path / "app")).note_added([str(tmp_path / "added")])
    script = """
import os, sys
from kaa.host.code import leave_out_projects
from kaa.host.module_guard import refuse_writable_modules

sys.path.append(sys.argv[1])
leave_out_projects(os.environ)
print(sys.argv[1] in sys.path)
refuse_writable_modules([])
sys.path.append(sys.argv[1])
import words
"""

    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "added")],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout == "False\n"
    assert "is not executed" in done.stderr
    assert not canary.exists()
