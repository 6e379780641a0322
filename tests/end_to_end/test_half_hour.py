"""Half an hour of work as a model does it: how often kaa asks, and what is not told. docs/approvals.md has the method.

Thirty calls of tools with the default settings, driven through rpc: look around, edit, test, install, commit, run a
server, read a log and a screenshot in /tmp. Then calls that the sandbox stops, each of which has to be reported.
"""

import os
import socket
import struct
import subprocess
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.kaa_process import Kaa, conversation
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_server import Answer, ModelServer, call, say
from tests.support.package_index import INSTALLER, package_index
from tests.support.rpc_client import Line, RpcClient, rpc

_APP = "def area(width, height):\n    return width + height\n"
_TEST = """\
import unittest

from app import area


class AreaTest(unittest.TestCase):
    def test_area(self):
        self.assertEqual(area(2, 3), 6)
"""


def _png() -> bytes:
    """One white pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    pixel = zlib.compress(b"\0\xff\xff\xff")
    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixel) + chunk(b"IEND", b"")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where a person keeps projects: not below /tmp."""
    with folder_elsewhere() as folder:
        yield folder


@contextmanager
def _in_tmp(name: str, content: bytes) -> Iterator[Path]:
    """A file of the user's in /tmp."""
    path = Path("/tmp", f"kaa-half-hour-{os.getpid()}-{name}")
    path.write_bytes(content)
    path.chmod(0o644)
    try:
        yield path
    finally:
        path.unlink()


def _git(project: Path, *arguments: str) -> str:
    git = ("git", "-c", "user.name=x", "-c", "user.email=x@example.com", *arguments)
    return subprocess.run(git, cwd=project, check=True, capture_output=True, text=True).stdout


def _project(kaa: Kaa) -> None:
    files = {
        "README.md": "# Areas\n\nRun the tests with `python3 -m unittest`.\n",
        "app.py": _APP,
        "test_app.py": _TEST,
        "index.html": "<h1>Areas</h1>\n",
        ".gitignore": "build/\n__pycache__/\n",
    }
    for name, text in files.items():
        (kaa.project / name).write_text(text)
    _git(kaa.project, "init", "-q", "-b", "main")
    _git(kaa.project, "config", "user.name", "x")
    _git(kaa.project, "config", "user.email", "x@example.com")
    _git(kaa.project, "add", ".")
    _git(kaa.project, "commit", "-qm", "Begin")
    tools = kaa.project / ".venv" / "bin"
    tools.mkdir(parents=True)
    (tools / "pip").write_text(INSTALLER)
    (tools / "pip").chmod(0o755)


def _half_hour(log: Path, shot: Path) -> list[Answer]:
    """Thirty calls."""
    fetch = "import urllib.request as r; print(r.urlopen('http://localhost:8123/index.html').read())"
    wait = f'for i in $(seq 100); do python3 -c "{fetch}" 2>/dev/null && break; sleep 0.1; done'
    return [
        # explore
        call("bash", command="ls -la"),
        call("read", path="README.md"),
        call("bash", command="git log --oneline | head -5; git status --short"),
        call("bash", command="grep -rn 'def ' --include='*.py' ."),
        call("read", path="app.py"),
        call("read", path="test_app.py"),
        call("bash", command='for f in *.py; do wc -l "$f"; done'),
        # a log and a screenshot in /tmp
        call("bash", command=f"tail -n 3 {log}"),
        call("read", path=str(log)),
        call("read", path=str(shot)),
        # edit and test
        call("bash", command="python3 -B -m unittest 2>&1 | tail -3"),
        call("edit", path="app.py", edits=[{"oldText": "width + height", "newText": "width * height"}]),
        call("bash", command="PYTHONDONTWRITEBYTECODE=1 python3 -m unittest"),
        call("write", path="shapes/circle.py", content="def circle(radius):\n    return 3 * radius**2\n"),
        call("edit", path="shapes/circle.py", edits=[{"oldText": "3 *", "newText": "3.14159 *"}]),
        call("bash", command="sed -i 's/Areas/Areas of shapes/' README.md && head -1 README.md"),
        call("bash", command="mkdir -p build && python3 -c 'print(1)' > build/out.txt && cat build/out.txt"),
        call("bash", command="rm -rf shapes/__pycache__ && git checkout -- index.html"),
        # install
        call("bash", command=".venv/bin/pip install tiny"),
        call("bash", command="python3 -c 'import tiny; print(tiny.SIZE)'"),
        # commit
        call("bash", command="git checkout -q -b areas && git add -A . ':!.venv' && git status --short"),
        call("bash", command="git commit -qm 'Multiply for areas' && git log --oneline | head -1"),
        call("bash", command="git stash list; git diff HEAD~1 --stat"),
        # a server
        call("bash", command="python3 -m http.server 8123 --bind 127.0.0.1", background=True),
        call("bash", command=wait),
        call("process", action="list"),
        call("process", action="stop", id=1),
        # a report
        call("write", path="/tmp/kaa-half-hour-report.html", content="<p>Done</p>\n"),
        call("bash", command="cat /tmp/kaa-half-hour-report.html; find . -name '*.pyc' -delete"),
        call("bash", command="python3 -m unittest -q && git status --short"),
    ]


class _Run:
    """What came of a prompt.

    Attributes:
        questions: that kaa asked; each is answered with the first option.
        results: what the model was told, in the order of the calls.
        lines: all that the client saw.
    """

    def __init__(self, client: RpcClient, server: ModelServer, prompt: str) -> None:
        self.questions: list[Line] = []
        assert client.data("prompt", message=prompt) == {"disposition": "started"}
        while (line := client.wait(_matters))["type"] != "agent_settled":
            self.questions.append(line)
            client.send({"type": "extension_ui_response", "id": line["id"], "value": line["options"][0]})
        self.results = [text for who, text in conversation(server.requests[-1]) if who == "tool"]
        self.lines = client.seen
        self.errors = [
            (line["args"], end["result"])
            for line in client.seen
            if line["type"] == "tool_execution_start"
            for end in client.seen
            if end["type"] == "tool_execution_end" and end["toolCallId"] == line["toolCallId"] and end["isError"]
        ]


def _matters(line: dict[str, Any]) -> bool:
    return "question" in line or line.get("type") == "agent_settled"


@pytest.mark.usefixtures("mounts")
def test_half_an_hour_asks_at_most_once(folder: Path) -> None:
    kaa = Kaa(folder)
    _project(kaa)
    with (
        ModelServer() as server,
        package_index() as index,
        _in_tmp("app.log", b"10:00 started\n10:01 ERROR areas are wrong\n") as log,
        _in_tmp("shot.png", _png()) as shot,
    ):
        kaa.use(server, "openai-completions", input=["text", "image"])
        kaa.setenv(HTTP_PROXY=index.url, http_proxy=index.url, NO_PROXY="127.0.0.1,localhost")
        calls = _half_hour(log, shot)
        server.begin([*calls, say("Done.")])

        with rpc(kaa) as client:
            run = _Run(client, server, f"Areas are wrong, see @{log} and @{shot}. Fix that and commit.")

    assert len(calls) == len(run.results) == 30
    assert len(run.questions) <= 1, [question["title"] for question in run.questions]
    assert "ERROR areas are wrong" in run.results[7]
    assert "ERROR areas are wrong" in run.results[8]
    assert "FAILED" in run.results[10]
    assert "OK" in run.results[12]
    assert run.results[18].strip() == "Successfully installed tiny"  # it was run once, and waited for the answer
    assert index.asked == ["http://pypi.org/simple/tiny/", "http://files.pythonhosted.org/tiny.py"]
    assert "Multiply for areas" in run.results[21]
    assert "Multiply for areas" in _git(kaa.project, "log", "--oneline")
    assert "Areas" in run.results[24]
    assert "Done" in run.results[28]
    assert run.errors == []


def _stopped(port: int, stranger: Path) -> list[tuple[Answer, str]]:
    """Calls that the sandbox stops, each with what the report names. The commands hide that they fail."""
    connect = f"import socket; socket.create_connection(('localhost', {port}))"
    greet = f"import socket; socket.socket(socket.AF_UNIX).connect('{stranger}')"
    return [
        (call("bash", command="cat ~/.ssh/id_ed25519; true"), ".ssh"),
        (call("bash", command="echo 127.0.0.1 x >> /etc/hosts; true"), "/etc/hosts"),
        (call("bash", command="echo 'echo hi' > .envrc || true"), ".envrc"),
        (call("bash", command=f'python3 -c "{connect}" 2>/dev/null || true'), str(port)),
        (call("bash", command=f'python3 -c "{greet}" 2>/dev/null || true'), stranger.name),
        (call("write", path="/etc/kaa-half-hour", content="x"), "/etc/kaa-half-hour"),
        (call("read", path="~/.ssh/id_ed25519"), ".ssh"),
    ]


@pytest.mark.usefixtures("mounts")
def test_everything_that_is_stopped_is_reported(folder: Path) -> None:
    kaa = Kaa(folder)
    _project(kaa)
    (folder / ".ssh").mkdir()
    (folder / ".ssh" / "id_ed25519").write_text("a key")
    with (
        ModelServer() as server,
        socket.create_server(("127.0.0.1", 0)) as service,
        socket.socket(socket.AF_UNIX) as daemon,
    ):
        stranger = folder / "daemon.sock"
        daemon.bind(str(stranger))
        daemon.listen()
        kaa.use(server, "openai-completions")
        stopped = _stopped(service.getsockname()[1], stranger)
        server.begin([*(one for one, _ in stopped), say("Done.")])

        with rpc(kaa, "--approvals", "never") as client:
            run = _Run(client, server, "go")

    assert run.questions == []
    for result, (_, named) in zip(run.results, stopped, strict=True):
        assert named in result
        assert "a key" not in result
        assert "sandbox" in result
