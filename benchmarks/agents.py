"""The agents that are measured, each described once: where it is, how it is set up, how it is asked.

An agent is looked for at the path in `KAA_BENCH_<NAME>` and on the PATH; one that is not there is left out.
Each has a home of its own, so that nothing of the user's setup is measured or changed.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from tests.support.model_server import MODEL_ID, Call, Wire

# Writes the configuration into a home, for a server's URL; returns the environment that goes with it.
SetUp: TypeAlias = Callable[[str, Path, str], Mapping[str, str]]

# Makes a session of messages (texts of user and model in turns), given the home and the project; returns arguments.
Resume: TypeAlias = Callable[[Path, Path, Sequence[str]], Sequence[str]]

_KEY = "no-secret"


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
        bash: a call of its shell tool that does nothing.
        terminal: how it is used in a terminal.
        read: a call of its tool that reads `notes.txt`; None if it has none.
    """

    name: str
    prompt: tuple[str, ...]
    set_up: SetUp
    bash: Call
    terminal: Terminal
    read: Call | None = None
    wire: Wire = "openai-completions"

    def find(self) -> str | None:
        """The path of its executable, None if it is not on this machine."""
        variable = f"KAA_BENCH_{self.name.split()[0].upper()}"
        if self.name.startswith("kaa"):
            return os.environ.get(variable, str(Path(sys.executable).parent / "kaa"))
        return shutil.which(os.environ.get(variable, self.name))


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
        env={"PATH": os.environ["PATH"], "HOME": str(home), **environ},
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

_BASH = Call("bash", '{"command":"true"}')
_READ = Call("read", '{"path":"notes.txt"}')

# kaa's box, with and without Unicode.
_KAA_TERMINAL = Terminal((), r"^(╭|\+|─{20,}|-{20,})", resume=_resume_pi)

AGENTS = (
    Agent("kaa", ("-p",), _set_up_kaa, _BASH, _KAA_TERMINAL, _READ),
    Agent(
        "codex",
        ("exec", "--skip-git-repo-check"),
        _set_up_codex,
        Call("exec_command", '{"cmd":"true"}'),
        # Without a daemon that lives on after it and was started before it.
        Terminal(("--no-daemon",), r"^› ", on_main_screen=("--no-alt-screen",)),
        wire="openai-responses",
    ),
    Agent(
        "pi",
        ("-p", "--model", f"bench/{MODEL_ID}"),
        _set_up_pi,
        _BASH,
        Terminal(("--model", f"bench/{MODEL_ID}"), r"^─{20,}\n.*\n─{20,}", resume=_resume_pi, completes_files=False),
        _READ,
    ),
    Agent(
        "tau",
        ("-p", "--provider", "bench", "--model", MODEL_ID),
        _set_up_tau,
        Call("bash", '{"command":"true","description":"Doing nothing"}'),
        Terminal(("--provider", "bench", "--model", MODEL_ID), r"Ask Tau", on_main_screen=None, resume=_resume_tau),
        _READ,
    ),
)

# Only asked whether its prefix is stable: its cost is that of `kaa`.
KAA_MESSAGES = Agent("kaa (Messages)", ("-p",), _set_up_kaa_messages, _BASH, _KAA_TERMINAL, _READ, "anthropic-messages")

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
