"""The installed `kaa`, run as a person would run it: as a process, in a project, with a home of its own."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from kaa.core.messages import Json
from tests.support.model_faults import API_KEY
from tests.support.model_server import MODEL_ID, ModelServer, Received, Wire
from tests.support.patience import HANG_SECONDS
from tests.support.warm_start import COMMAND, KaaProcess

SECRET = API_KEY

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
    """A project and a home in `folder`, and the command to run there.

    Attributes:
        usual_settings: what settings.json has unless a test says otherwise.
        limits: how long runs wait, by the names of kaa's constants.
    """

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.home = folder / "home"
        self.project.mkdir()
        self.home.mkdir()
        self.environ = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        self.environ |= {"HOME": str(folder), "KAA_DIR": str(self.home), "LANG": "C.UTF-8"}
        self.environ |= {"KAA_LOCAL_SERVERS": "none"}  # what listens on this machine is none of a test's business
        self.usual_settings: dict[str, Json] = {"retry": {"baseDelayMs": 1}}  # kaa tries again at once
        self.limits: dict[str, float] = {}
        self.settings()

    def settings(self, **settings: Json) -> None:
        """Write settings.json: the usual settings and these."""
        (self.home / "settings.json").write_bytes(msgspec.json.encode(self.usual_settings | settings))

    def use(self, server: ModelServer, wire: Wire, **model_settings: Json) -> None:
        """Write a models.json that leads to `server`."""
        base_url = f"{server.url}/v1" if wire.startswith("openai") else server.url
        model = {"id": MODEL_ID, **model_settings}
        provider = {"baseUrl": base_url, "api": wire, "apiKey": SECRET, "models": [model]}
        (self.home / "models.json").write_bytes(msgspec.json.encode({"providers": {"test": provider}}))

    def setenv(self, **variables: str) -> None:
        """Add to the environment of later runs."""
        self.environ |= variables

    def run(self, *arguments: str, stdin: str = "") -> Finished:
        """Run to the end."""
        with self.running(*arguments, stdin=subprocess.PIPE) as process:
            out, err = process.communicate(stdin, timeout=HANG_SECONDS)
        return Finished(process.returncode, out, err)

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
        process: KaaProcess[str] = KaaProcess(
            [COMMAND, *arguments],
            cwd=self.project,
            env=self.environ,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            limits=self.limits,
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
    """Who said what in a request, in one shape for all formats: roles `user`, `assistant`, `tool`.

    Tool calls count as text of the assistant, as `name(arguments)`.
    """
    body = request.json
    if "contents" in body:
        return [said for content in body["contents"] for part in content["parts"] for said in _in_gemini(content, part)]
    if "input" in body:
        return [said for item in body["input"] for said in _in_responses(item)]
    return [said for message in body["messages"] for said in _in_messages(message)]


def _in_messages(message: Json) -> Iterator[tuple[str, str]]:
    """Chat Completions and Anthropic Messages."""
    if message["role"] == "system":
        return
    content = message["content"]
    for part in [{"type": "text", "text": content}] if isinstance(content, str) else content or ():
        match part["type"]:
            case "text":
                yield message["role"], part["text"]
            case "tool_use":
                yield "assistant", _called(part["name"], msgspec.json.encode(part["input"]).decode())
            case "tool_result":
                yield "tool", _text(part["content"])
    for call in message.get("tool_calls", ()):
        yield "assistant", _called(call["function"]["name"], call["function"]["arguments"])


def _in_responses(item: Json) -> Iterator[tuple[str, str]]:
    match item.get("type", "message"):
        case "function_call":
            yield "assistant", _called(item["name"], item["arguments"])
        case "function_call_output":
            yield "tool", _text(item["output"])
        case "message" if item["role"] not in ("system", "developer"):
            yield item["role"], _text(item["content"])
        case _:
            pass


def _in_gemini(content: Json, part: Json) -> Iterator[tuple[str, str]]:
    match part:
        case {"functionCall": call}:
            yield "assistant", _called(call["name"], msgspec.json.encode(call["args"]).decode())
        case {"functionResponse": result}:
            yield "tool", next(iter(result["response"].values()))
        case {"text": text} if not part.get("thought"):
            yield ("assistant" if content["role"] == "model" else "user"), text
        case _:
            pass


def _text(content: Json) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _called(name: str, arguments: str) -> str:
    return f"{name}({arguments})"
