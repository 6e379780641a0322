"""The agents that are measured, each described once: where it is, how it is set up, how it is asked.

An agent is looked for at the path in `KAA_BENCH_<NAME>`, in `.tools/peers/bin` and on the PATH.
Each has a home of its own, so that nothing of the user's setup is measured or changed.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from tests.support.model_server import MODEL_ID, Call, Wire

# Writes the configuration into a home, for a server's URL; returns the environment that goes with it.
SetUp: TypeAlias = Callable[[str, Path, str], Mapping[str, str]]

# Makes a session of messages (texts of user and model in turns), given the home and the project; returns arguments.
Resume: TypeAlias = Callable[[Path, Path, Sequence[str]], Sequence[str]]

# Makes a call of an edit tool, given the file's name in the project and lines of it before and after.
Edit: TypeAlias = Callable[[str, str, str], Call]

# Where `make peers` installs agents.
PEERS = Path(__file__).resolve().parents[1] / ".tools" / "peers" / "bin"

_KEY = "no-secret"
_VERSION_SECONDS = 60.0
_VERSION = re.compile(r"\d+(?:\.\d+)+")


class NotHereError(Exception):
    """An agent cannot be measured on this machine; the message is the reason."""


class Found(NamedTuple):
    """An agent on this machine: the path of its executable, and what that says of its version."""

    executable: str
    version: str


class Terminal(msgspec.Struct, frozen=True):
    """How an agent is used in a terminal.

    Attributes:
        arguments: what it needs besides its configuration.
        ready: a pattern that the screen matches once the input box is there.
        on_main_screen: more arguments with which it leaves lines to the terminal's scrollback; None if it cannot.
        resume: arguments to go on with a session; None if none can be made for it.
        completes_files: whether typing `@` and a part of a name offers files.
    """

    arguments: tuple[str, ...]
    ready: str
    on_main_screen: tuple[str, ...] | None = ()
    resume: Resume | None = None
    completes_files: bool = True


class Agent(msgspec.Struct, frozen=True):
    """An agent.

    Attributes:
        prompt: arguments before the message, so that it works on it without a terminal and exits.
        wire: the format it speaks here.
        bash: a call of its shell tool that runs `true`.
        terminal: how it is used in a terminal.
        edit: makes calls of its edit tool.
        read: a call of its tool that reads `notes.txt`; None if it has no such tool.
        oldest: the first version that is measured; empty for all.
    """

    name: str
    prompt: tuple[str, ...]
    set_up: SetUp
    bash: Call
    terminal: Terminal
    edit: Edit | None = None
    read: Call | None = None
    wire: Wire = "openai-completions"
    oldest: str = ""

    def find(self, environ: Mapping[str, str] = os.environ, peers: Path = PEERS) -> Found:
        """Find it on this machine.

        Raises:
            NotHereError: it is not there, does not start, or is too old.
        """
        executable = self._executable(environ, peers)
        command = [executable, "--version"]
        env = {**environ, "PATH": search_path(executable, environ, peers)}
        try:
            done = subprocess.run(
                command,
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                check=False,
                timeout=_VERSION_SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotHereError(f"{' '.join(command)} failed: {error}") from error
        version = _VERSION.search(done.stdout or done.stderr)
        if done.returncode or version is None:
            last_words = " ".join((done.stdout + done.stderr).split())[-200:]
            raise NotHereError(f"{' '.join(command)} exited with {done.returncode}: {last_words}")
        if _numbers(version[0]) < _numbers(self.oldest):
            raise NotHereError(f"version {version[0]} is too old: {self.oldest} or newer is needed (make peers)")
        return Found(executable, version[0])

    def _executable(self, environ: Mapping[str, str], peers: Path) -> str:
        variable = f"KAA_BENCH_{self.name.split()[0].upper()}"
        if given := environ.get(variable):
            if found := shutil.which(given, path=environ.get("PATH")):
                return found
            raise NotHereError(f"{variable} names no program: {given}")
        if self.name.startswith("kaa"):
            return str(Path(sys.executable).parent / "kaa")
        for path in (str(peers), environ.get("PATH")):
            if found := shutil.which(self.name, path=path):
                return found
        raise NotHereError(f"not on this machine (make peers installs codex, pi and tau; {variable} names another)")

    def commands(self, count: int) -> list[Call]:
        """Different calls of its shell tool that do nothing: an agent may stop a model that repeats itself."""
        return [_with_argument(self.bash, '"true"', f'"true {number}"') for number in range(count)]

    def readings(self, count: int) -> list[Call]:
        """Calls that read different notes of the project."""
        assert self.read is not None
        return [_with_argument(self.read, "notes.txt", f"notes-{number}.txt") for number in range(count)]

    def prepare(self, executable: str, home: Path, url: str) -> dict[str, str]:
        """Configure a home for the model's server at `url`, and return the environment to run in."""
        own = self.set_up(executable, home, url)
        return {"PATH": search_path(executable), "HOME": str(home), "LANG": "C.UTF-8", **own}


def search_path(executable: str, environ: Mapping[str, str] = os.environ, peers: Path = PEERS) -> str:
    """Return the PATH for an agent: for one that `make peers` installed, first the folder with its own `node`."""
    path = environ.get("PATH", os.defpath)
    return f"{peers}{os.pathsep}{path}" if Path(executable).parent == peers else path


def _with_argument(call: Call, before: str, after: str) -> Call:
    assert before in call.arguments
    return msgspec.structs.replace(call, arguments=call.arguments.replace(before, after))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split(".") if number)


def _set_up_kaa(_executable: str, home: Path, url: str) -> Mapping[str, str]:
    _write_models(home, {"baseUrl": f"{url}/v1", "api": "openai-completions"})
    return {"KAA_DIR": str(home)}


def _set_up_kaa_messages(_executable: str, home: Path, url: str) -> Mapping[str, str]:
    _write_models(home, {"baseUrl": url, "api": "anthropic-messages"})
    return {"KAA_DIR": str(home)}


def _set_up_pi(_executable: str, home: Path, url: str) -> Mapping[str, str]:
    _write_models(home, {"baseUrl": f"{url}/v1", "api": "openai-completions"})
    return {"PI_CODING_AGENT_DIR": str(home), "PI_OFFLINE": "1", "PI_TELEMETRY": "0"}


def _write_models(home: Path, provider: dict[str, str]) -> None:
    provider_with_model = {**provider, "apiKey": _KEY, "models": [{"id": MODEL_ID}]}
    (home / "models.json").write_text(json.dumps({"providers": {"bench": provider_with_model}}))


def _set_up_codex(_executable: str, home: Path, url: str) -> Mapping[str, str]:
    (home / "config.toml").write_text(f"""\
model = "{MODEL_ID}"
model_provider = "bench"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.bench]
name = "bench"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "BENCH_KEY"
""")
    return {"CODEX_HOME": str(home), "BENCH_KEY": _KEY}


def _set_up_claude(_executable: str, home: Path, url: str) -> Mapping[str, str]:
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1", "IS_SANDBOX": "1"}
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": _KEY,
        "ANTHROPIC_MODEL": MODEL_ID,
        "CLAUDE_CONFIG_DIR": str(home),
        **quiet,
    }


def _set_up_tau(executable: str, home: Path, url: str) -> Mapping[str, str]:
    environ = {"TAU_HOME": str(home), "TAU_OFFLINE": "1", "TAU_NO_UPDATE_CHECK": "1", "OPENAI_API_KEY": _KEY}
    subprocess.run(
        [executable, "--provider", "bench", "--base-url", f"{url}/v1", "--model", MODEL_ID, "setup"],
        env={"PATH": search_path(executable), "HOME": str(home), **environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=True,
        timeout=60,
    )
    return environ


def _resume_pi(home: Path, project: Path, messages: Sequence[str]) -> Sequence[str]:
    """The format of pi, version 3, which kaa reads and writes too."""
    header = {"type": "session", "version": 3, "id": _SESSION_ID, "timestamp": _TIMESTAMP, "cwd": str(project)}
    lines: list[object] = [header]
    for number, text in enumerate(messages):
        parent = f"{number - 1:08x}" if number else None
        entry = {"type": "message", "id": f"{number:08x}", "parentId": parent, "timestamp": _TIMESTAMP}
        lines.append({**entry, "message": _message(number, text)})
    path = home.parent / "long-session.jsonl"  # pi moves what lies in its home elsewhere
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return "--session", str(path)


def _resume_tau(home: Path, _project: Path, messages: Sequence[str]) -> Sequence[str]:
    """Lengthens the session that tau has kept last: where it looks for sessions is its own affair."""
    path = max(home.glob("sessions/*/[0-9a-f]*.jsonl"), key=lambda path: path.stat().st_mtime)
    parent = json.loads(path.read_text().splitlines()[-1])["id"]
    with path.open("a") as file:
        for number, text in enumerate(messages):
            entry = {"id": f"{number:032x}", "parent_id": parent, "timestamp": _UNIX_SECONDS, "type": "message"}
            file.write(json.dumps({**entry, "message": _message(number, text)}) + "\n")
            parent = entry["id"]
    return "--session", path.stem


def _message(number: int, text: str) -> dict[str, object]:
    content = [{"type": "text", "text": text}]
    if number % 2 == 0:
        return {"role": "user", "content": text, "timestamp": _UNIX_SECONDS * 1000}
    cost = {"input": 0.0, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.0}
    usage = {"input": 100, "output": 10, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 110, "cost": cost}
    origin = {"api": "openai-completions", "provider": "bench", "model": MODEL_ID, "stopReason": "stop"}
    return {"role": "assistant", "content": content, "usage": usage, "timestamp": _UNIX_SECONDS * 1000, **origin}


_SESSION_ID = "01a1f7ee-caf1-7e9f-8904-a39d66b696a1"
_TIMESTAMP = "2026-11-20T08:00:00.000Z"
_UNIX_SECONDS = 1795161600


def _edit(path: str, before: str, after: str) -> Call:
    """The tool `edit` of pi, whose arguments kaa and tau take, too."""
    return Call("edit", json.dumps({"path": path, "edits": [{"oldText": before, "newText": after}]}))


def _patch(path: str, before: str, after: str) -> Call:
    """The patch of codex, which it applies itself when its shell tool is asked to run `apply_patch`."""
    change = f"*** Begin Patch\n*** Update File: {path}\n@@\n-{before}\n+{after}\n*** End Patch\n"
    return Call("exec_command", json.dumps({"cmd": f"apply_patch <<'EOF'\n{change}EOF\n"}))


_BASH = Call("bash", '{"command":"true"}')
_READ = Call("read", '{"path":"notes.txt"}')

# kaa's box, with and without Unicode.
_KAA_TERMINAL = Terminal((), r"^(╭|\+|─{20,}|-{20,})", resume=_resume_pi)

AGENTS = (
    Agent("kaa", ("-p",), _set_up_kaa, _BASH, _KAA_TERMINAL, _edit, _READ),
    Agent(
        "codex",
        ("exec", "--skip-git-repo-check"),
        _set_up_codex,
        Call("exec_command", '{"cmd":"true"}'),
        # Without a daemon that lives on after it and was started before it.
        Terminal(("--no-daemon",), r"^› ", on_main_screen=("--no-alt-screen",)),
        _patch,
        wire="openai-responses",
    ),
    Agent(
        "pi",
        ("-p", "--model", f"bench/{MODEL_ID}"),
        _set_up_pi,
        _BASH,
        Terminal(("--model", f"bench/{MODEL_ID}"), r"^─{20,}\n.*\n─{20,}", resume=_resume_pi, completes_files=False),
        _edit,
        _READ,
        oldest="1.6",
    ),
    Agent(
        "tau",
        ("-p", "--provider", "bench", "--model", MODEL_ID),
        _set_up_tau,
        Call("bash", '{"command":"true","description":"Doing nothing"}'),
        Terminal(("--provider", "bench", "--model", MODEL_ID), r"Ask Tau", on_main_screen=None, resume=_resume_tau),
        _edit,
        _READ,
    ),
)

# Only asked whether its prefix is stable: its cost is that of `kaa`.
KAA_MESSAGES = Agent(
    "kaa (Messages)", ("-p",), _set_up_kaa_messages, _BASH, _KAA_TERMINAL, _edit, _READ, "anthropic-messages"
)

# Only its child agents are measured: those of other peers cannot be started here, or there are none.
CLAUDE = Agent(
    "claude",
    ("-p", "--dangerously-skip-permissions"),
    _set_up_claude,
    Call("Bash", '{"command":"true","description":"Do nothing"}'),
    Terminal((), r"^>"),
    wire="anthropic-messages",
)
"""Claude Code, without approvals and without a sandbox."""
