"""A home on a file system without locks and hard links: what only saves work goes on without them."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support import without_locks
from tests.support.model_server import MODEL_ID, ModelServer, call, say
from tests.support.patience import HANG_SECONDS
from tests.support.warm_start import COMMAND

pytestmark = pytest.mark.usefixtures("elsewhere")

_EXTENSION = "def extend(api):\n    pass\n"
_PLAN = "# Greet\n\n## 1. Write hello.txt\n\n- Files: `hello.txt`\n- Check: `grep -q hello hello.txt`\n"


def run(kaa: Kaa, *arguments: str) -> str:
    """Run kaa to an end that must be good; returns what it said."""
    finished = subprocess.run(
        [sys.executable, without_locks.__file__, str(COMMAND), *arguments],
        cwd=kaa.project,
        env=kaa.environ | {"PYTHONPATH": str(Path(without_locks.__file__).parents[2])},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_runs_sessions_settings_extensions_and_plans_work(kaa: Kaa) -> None:
    (kaa.project / "own.py").write_text(_EXTENSION)
    (kaa.project / "plan.md").write_text(_PLAN)
    with ModelServer() as server:
        kaa.use(server, "openai-completions")
        model = ("--model", f"test/{MODEL_ID}")
        server.begin([call("bash", command="echo x > made"), say("Made.")])
        assert run(kaa, *model, "-p", "Make it.") == "Made.\n"
        assert (kaa.project / "made").read_text() == "x\n"
        run(kaa, *model, "-c", "-p", "/undo")
        assert not (kaa.project / "made").exists()
        server.begin([say("Again.")])
        assert run(kaa, *model, "-c", "-p", "And now?") == "Again.\n"
        server.begin([call("agent", agent="explore", task="Look."), say("Nothing."), say("A copy.")])
        [session] = (kaa.home / "sessions").glob("*/*.jsonl")
        assert run(kaa, *model, "--fork", str(session), "-p", "Look.") == "A copy.\n"
        run(kaa, "ext", "install", "--yes", str(kaa.project / "own.py"))
        server.begin([call("write", path="hello.txt", content="hello"), *[say("Done.")] * 5])
        run(kaa, *model, "-p", "/plan run plan.md")

    assert (kaa.project / "hello.txt").read_text() == "hello"
