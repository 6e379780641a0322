"""What a slash command can tell of the user's extensions, and change for the time that kaa runs."""

from typing import Literal, Protocol, TypeAlias

import msgspec

ExtensionState: TypeAlias = Literal[
    "loaded", "disabled", "disabled after failures", "not loaded", "failed", "not trusted"
]


class ExtensionReport(msgspec.Struct, frozen=True):
    """One of the user's extensions.

    Attributes:
        name: its key: the name, with a hash if it is not in the folder of extensions.
        path: its file or folder.
        kind: `python`, `process` or `component`; empty if there is none any more.
        source: where kaa knows it from.
        version: as it says itself; empty if it does not.
        state: whether kaa uses it. Hooks that protect are left of one that is disabled after failures.
        problem: why it is not loaded or does not work, or its last failure; empty if there is none.
        adds: what it registered, such as `tool look` or `2 before_tool hooks`.
        load_seconds: how long it took to start.
        calls: how often its hooks and observers ran.
        call_seconds: how long that took, without questions to the user.
        slowest: the hook that took longest once; empty if none ran.
        slowest_seconds: how long.
        prompt_tokens: of its prompt sections and active tools in each request, estimated.
        failures: how often something failed.
        interface: of kaa that it is written for, such as `API 1`; empty if that is not known.
        refused: why some of what it registered has no effect, in sentences.
    """

    name: str
    path: str
    kind: str
    source: str
    version: str
    state: ExtensionState
    problem: str = ""
    adds: tuple[str, ...] = ()
    load_seconds: float = 0.0
    calls: int = 0
    call_seconds: float = 0.0
    slowest: str = ""
    slowest_seconds: float = 0.0
    prompt_tokens: int = 0
    failures: int = 0
    interface: str = ""
    refused: tuple[str, ...] = ()


class SessionExtensions(Protocol):
    """The user's extensions, as a conversation uses them."""

    def listed(self) -> tuple[ExtensionReport, ...]:
        """All that the user has, in the order in which they are loaded."""

    async def enable(self, name: str) -> str:
        """Use an extension until kaa ends, or use it again. Returns what that did, in a sentence.

        Args:
            name: as users call it, or its path.

        Raises:
            CommandError: there is none of this name, or it cannot be loaded.
        """

    async def disable(self, name: str) -> str:
        """Do without an extension until kaa ends, all of its hooks included. Returns what that did, in a sentence.

        Others can have its names then.

        Raises:
            CommandError: there is none of this name.
        """
