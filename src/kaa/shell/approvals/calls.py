"""What a call of a tool would do: what it runs and touches, whether it must leave the sandbox, what would be lost."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from kaa.core.messages import Json, ToolCall
from kaa.ext.api import Risk
from kaa.hands.policy import Mode
from kaa.shell.approvals.destructive import losses
from kaa.shell.approvals.grammar import Script, read
from kaa.shell.approvals.losses import Loss
from kaa.shell.approvals.places import is_free_to_write, paths_of
from kaa.shell.approvals.reach import Reach, reach

# Words that send git, or what follows in the same command, to another directory.
_ELSEWHERE = frozenset({"-C", "--git-dir", "--work-tree", "cd", "pushd"})


class Confines(Protocol):
    """What must be known of the sandbox to judge a call."""

    @property
    def confined(self) -> bool:
        """Whether the kernel holds back calls that have no permit."""
        ...

    @property
    def mode(self) -> Mode:
        """What the user chose. In `full-access` nothing is confined, and nothing is outside."""
        ...

    @property
    def root(self) -> str:
        """The project; relative paths start here."""
        ...

    @property
    def writable(self) -> Sequence[str]:
        """Directories that calls without a permit can write, temporary ones too."""
        ...

    @property
    def temporary(self) -> Sequence[str]:
        """Directories whose files nobody misses, under the names that commands know them by."""
        ...


class Call(msgspec.Struct, frozen=True):
    """A call as it is judged.

    Attributes:
        id: the tool call.
        tool: the tool's name.
        risk: what it can do at most.
        arguments: as the tool gets them.
        script: the command, of tools that run one.
        reach: what the command would run.
        paths: what a file tool would touch, absolute; all spellings that it would try.
        outside: why it has to leave the sandbox, None if it does not.
        losses: what it would throw away.
    """

    id: str
    tool: str
    risk: Risk
    arguments: dict[str, Json]
    script: Script | None = None
    reach: Reach | None = None
    paths: tuple[str, ...] = ()
    outside: str | None = None
    losses: tuple[Loss, ...] = ()

    @property
    def title(self) -> str:
        """What is to happen, in one line."""
        if self.script is not None and isinstance(command := self.arguments.get("command"), str):
            line, more, _ = command.strip().partition("\n")
            return line + (" …" if more else "")
        return f"{self.tool} {self.paths[0]}" if self.paths else self.tool

    @property
    def works_elsewhere(self) -> bool:
        """Whether git in it may work on another repository than the project's."""
        simple = self.reach.simple if self.reach else ()
        return any(word is None or word in _ELSEWHERE for command in simple for word in command.words)


def examine(call: ToolCall, risk: Risk, confines: Confines) -> Call:
    """Find out what a call would do."""
    script = _script(call) if risk == "command" else None
    found = None if script is None else reach(script)
    paths = paths_of(call.arguments, confines.root) if risk in ("read", "write") else ()
    return Call(
        id=call.id,
        tool=call.name,
        risk=risk,
        arguments=call.arguments,
        script=script,
        reach=found,
        paths=paths,
        outside=_outside(call.name, risk, paths, confines),
        losses=() if found is None else losses(found, confines.temporary),
    )


def _script(call: ToolCall) -> Script:
    command = call.arguments.get("command")
    if isinstance(command, str):
        return read(command)
    return Script((), understood=False, obstacle="its command is no text")


def _outside(tool: str, risk: Risk, paths: Sequence[str], confines: Confines) -> str | None:
    if confines.mode == "full-access" or risk == "read":
        return None
    if risk == "outside":
        return f"{tool} runs in kaa itself, which no sandbox confines"
    if not confines.confined:
        return "no sandbox works on this system, so that nothing would confine it"
    if risk == "write" and not (paths and all(is_free_to_write(path, confines.writable) for path in paths)):
        return "it writes what the sandbox protects, or where it lets nothing be written"
    return None
