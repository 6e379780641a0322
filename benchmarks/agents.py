"""The agents that are measured, each described once: where it is, how it is set up, how it is asked.

An agent is looked for at the path in `KAA_BENCH_<NAME>` and on the PATH; one that is not there is left out.
Each has a home of its own, so that nothing of the user's setup is measured or changed.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import msgspec

from tests.support.model_server import MODEL_ID, Call, Wire

# Writes the configuration into a home, for a server's URL; returns the environment that goes with it.
SetUp: TypeAlias = Callable[[str, Path, str], Mapping[str, str]]

_KEY = "no-secret"


class Agent(msgspec.Struct, frozen=True):
    """An agent.

    Attributes:
        prompt: arguments before the message, so that it works on it without a terminal and exits.
        wire: the format it speaks here.
        bash: a call of its shell tool that does nothing.
        read: a call of its tool that reads `notes.txt`; None if it has none.
    """

    name: str
    prompt: tuple[str, ...]
    set_up: SetUp
    bash: Call
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


_BASH = Call("bash", '{"command":"true"}')
_READ = Call("read", '{"path":"notes.txt"}')

AGENTS = (
    Agent("kaa", ("-p",), _set_up_kaa, _BASH, _READ),
    Agent(
        "codex",
        ("exec", "--skip-git-repo-check"),
        _set_up_codex,
        Call("exec_command", '{"cmd":"true"}'),
        wire="openai-responses",
    ),
    Agent("pi", ("-p", "--model", f"bench/{MODEL_ID}"), _set_up_pi, _BASH, _READ),
    Agent(
        "tau",
        ("-p", "--provider", "bench", "--model", MODEL_ID),
        _set_up_tau,
        Call("bash", '{"command":"true","description":"Doing nothing"}'),
        _READ,
    ),
)

# Only asked whether its prefix is stable: its cost is that of `kaa`.
KAA_MESSAGES = Agent("kaa (Messages)", ("-p",), _set_up_kaa_messages, _BASH, _READ, "anthropic-messages")
