"""The two acts of most attacks: kaa runs commands of the model, and the user then runs git outside."""

import subprocess
from typing import NamedTuple

from tests.end_to_end.kaa_process import Finished, Kaa
from tests.support.model_server import ModelServer, call, say

_IDENTITY = ("-c", "user.name=x", "-c", "user.email=x@example.com")


class Played(NamedTuple):
    """How a run ended, and all that the model was sent."""

    done: Finished
    told: str


def play(kaa: Kaa, *commands: str, flags: tuple[str, ...] = ()) -> Played:
    """Have kaa run commands, one call for each."""
    with ModelServer([*(call("bash", command=command) for command in commands), say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run(*flags, "-p", "work")
        return Played(done, "".join(str(request.json) for request in server.requests))


def git(kaa: Kaa, *arguments: str, at: str = ".", check: bool = False) -> str:
    """Run git outside in a directory of the project, as the user does; returns its output."""
    done = subprocess.run(
        ["git", *_IDENTITY, *arguments],
        cwd=kaa.project / at,
        env=kaa.environ | {"GIT_EDITOR": "true", "GIT_CONFIG_NOSYSTEM": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=check,
    )
    return done.stdout
