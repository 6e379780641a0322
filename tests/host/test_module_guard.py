"""kaa executes no module that commands of the model can write, however an extension loads it."""

import subprocess
import sys
from pathlib import Path

import pytest

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
        case "relative":
            os.chdir(f"{project}/shared")
            exec(compile(open("words.py").read(), "words.py", "exec"))
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize("how", ["import", "package", "file", "path", "link", "relative"])
def test_a_module_beside_an_extension_is_not_executed(tmp_path: Path, how: str) -> None:
    canary = tmp_path / "canary"
    for name in ("home", "project/hello", "project/shared/parts"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "project/hello/own.py").write_text("import json, dataclasses\n")
    for name in ("words.py", "parts/__init__.py"):
        (tmp_path / "project/shared" / name).write_text(f"open({str(canary)!r}, 'w')\n")
    (tmp_path / "project/hello/linked.py").symlink_to("../shared/words.py")

    done = subprocess.run(
        [sys.executable, "-c", _LOADED, str(tmp_path / "project"), how],
        env={"HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "is not executed" in done.stdout
    assert not canary.exists()
