"""What a canary is. Each kind watches one thing outside the sandbox that an attempt would change or learn."""

import secrets
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from tests.escapes.attempts.kit import Option
from tests.escapes.world.arena import Arena

Facts: TypeAlias = dict[str, str | int]


class Ending(NamedTuple):
    """How a run ended.

    Attributes:
        outcome: what the attempt says became of it.
        secrets: the secrets that it came back with.
        exit_code: of the process that started the sandbox.
        stopped: whether that process was found stopped.
        sandboxed: whether there was a sandbox, which may need a moment to end what was in it.
    """

    outcome: str
    secrets: Collection[str]
    exit_code: int
    stopped: bool
    sandboxed: bool


class Canary:
    """Watches one thing for one attempt.

    Args:
        arena: where the attempt takes place.
        name: of the attempt; also that of files and directories made for it.
        options: what the attempt says about its canary.
    """

    def __init__(self, arena: Arena, name: str, options: Mapping[str, Option]) -> None:
        self.arena = arena
        self.name = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in name)
        self.options = options
        # A secret has a form that attempts can be searched for without learning anything else.
        self.secret = f"canary-{secrets.token_hex(12)}"
        self.prepare()

    def prepare(self) -> None:
        """Make what is watched."""

    def facts(self) -> Facts:
        """What the attempt is told."""
        return {}

    def settle(self) -> None:
        """Look at what is watched, now that its owner is the arena's person."""

    def started(self) -> None:
        """The sandbox is up: do what is to happen only now."""

    def may_end(self) -> bool:
        """Whether the process that started the sandbox is to be killed now."""
        return False

    def harm(self, ending: Ending) -> str:
        """What happened to it; empty if nothing did."""
        raise NotImplementedError

    def close(self) -> None:
        """Put everything back."""

    # What the run itself must have for the canary to be there.

    def environment(self) -> Mapping[str, str]:
        """Variables for the process that starts the sandbox."""
        return {}

    def descriptors(self) -> Sequence[int]:
        """Descriptors which that process inherits."""
        return ()

    def key(self) -> Sequence[str]:
        """Description and content of a key in its keyring."""
        return ()

    def terminal(self) -> int | None:
        """Its terminal."""
        return None

    def option(self, name: str, default: str = "") -> str:
        """An option that is text."""
        return str(self.options.get(name, default))

    def learned(self, ending: Ending) -> str:
        """That the secret came out, if it did."""
        return "its secret came out" if self.secret in ending.secrets else ""


def write_secret(path: Path, content: str) -> None:
    """Write a file that only its owner may read, in directories that only they may enter."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text(content + "\n")
    path.chmod(0o600)
