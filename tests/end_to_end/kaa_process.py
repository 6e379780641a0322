"""The installed `kaa`, run as a person would run it: as a process, in a project, with a home of its own."""

import os
import subprocess
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from kaa.core.messages import Json
from tests.support.model_server import MODEL_ID, ModelServer, Received, Wire

# Longer than any run here takes: reaching it means that something hangs.
HANG_SECONDS = 20

SECRET = "sk-very-secret-0123456789abcdef"

COMMAND = str(Path(sysconfig.get_path("scripts")) / "kaa")

# What the run needs of our own environment; everything else could change what is tested.
_KEPT_VARIABLES = ("PATH", "TMPDIR", "COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG")


class Finished(NamedTuple):
    """How a run ended."""

    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Json]]:
        """The lines of JSON mode."""
        return [msgspec.json.decode(line) for line in self.out.splitlines()]


class Kaa:
    """A project and a home in `folder`, and the command to run there."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.home = folder / "home"
        self.project.mkdir()
        self.home.mkdir()
        self.environ = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        self.environ |= {"HOME": str(folder), "KAA_DIR": str(self.home), "LANG": "C.UTF-8"}
        self.settings(retry={"baseDelayMs": 1}, httpIdleTimeoutMs=300)

    def settings(self, **settings: Json) -> None:
        """Write settings.json."""
        (self.home / "settings.json").write_bytes(msgspec.json.encode(settings))

    def use(self, server: ModelServer, wire: Wire, **model_settings: Json) -> None:
        """Write a models.json that leads to `server`."""
        base_url = f"{server.url}/v1" if wire == "openai-completions" else server.url
        model = {"id": MODEL_ID, **model_settings}
        provider = {"baseUrl": base_url, "api": wire, "apiKey": SECRET, "models": [model]}
        (self.home / "models.json").write_bytes(msgspec.json.encode({"providers": {"test": provider}}))

    def setenv(self, **variables: str) -> None:
        """Add to the environment of later runs."""
        self.environ |= variables

    def run(self, *arguments: str, stdin: str = "") -> Finished:
        """Run to the end."""
        done = subprocess.run(
            [COMMAND, *arguments],
            cwd=self.project,
            env=self.environ,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            timeout=HANG_SECONDS,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    def run_in_shell(self, line: str) -> Finished:
        """Run a command line of bash, in which `$KAA` is the command, to the end."""
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.project,
            env=self.environ | {"KAA": COMMAND},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=HANG_SECONDS,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    @contextmanager
    def running(self, *arguments: str, stdin: int = subprocess.DEVNULL) -> Iterator["subprocess.Popen[str]"]:
        """Start, and make sure that it is gone at the end."""
        process = subprocess.Popen(
            [COMMAND, *arguments],
            cwd=self.project,
            env=self.environ,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        with process:
            try:
                yield process
            finally:
                process.kill()

    @property
    def session_text(self) -> str:
        """Everything in the only session file."""
        (session,) = self.home.glob("sessions/**/*.jsonl")
        return session.read_text("utf-8")


def conversation(request: Received) -> Sequence[tuple[str, str]]:
    """Who said what in a request, in one shape for both formats: roles `user`, `assistant`, `tool`.

    Tool calls count as text of the assistant, as `name(arguments)`.
    """
    said: list[tuple[str, str]] = []
    for message in request.json["messages"]:
        if message["role"] == "system":
            continue
        content = message["content"]
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content or ():
            match part["type"]:
                case "text":
                    said.append((message["role"], part["text"]))
                case "tool_use":
                    said.append(("assistant", _called(part["name"], msgspec.json.encode(part["input"]).decode())))
                case "tool_result":
                    said.append(("tool", _text(part["content"])))
        functions = [call["function"] for call in message.get("tool_calls", ())]
        said += [("assistant", _called(function["name"], function["arguments"])) for function in functions]
    return said


def _text(content: Json) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _called(name: str, arguments: str) -> str:
    return f"{name}({arguments})"
