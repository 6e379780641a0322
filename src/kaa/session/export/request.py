"""What somebody wants exported, and what came of it; of what would be shared, a draft before anybody has agreed.

Light: the commands that ask are known at the start.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from kaa.session.export.totals import Totals

Format: TypeAlias = Literal["html", "markdown", "jsonl"]
SUFFIXES: Mapping[str, Format] = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".jsonl": "jsonl",
}
_SUFFIX_OF: Mapping[Format, str] = {"html": ".html", "markdown": ".md", "jsonl": ".jsonl"}


class ExportError(Exception):
    """A session could not be exported; the message says what to do."""


class ExportRequest(msgspec.Struct, frozen=True):
    """What is wanted.

    Attributes:
        target: the file, or an existing folder to write it in, as the user wrote it; None for the current directory
            and a name made of the session's.
        format: None for what the target's suffix says, HTML without one.
        all_branches: every branch; None for what is usual: all of them in HTML, which can show them, one elsewhere.
        thinking: with what the model thought.
        tools: with calls of tools and their results.
        redact: without secrets.
        force: replace a file that is there.
    """

    target: str | None = None
    format: Format | None = None
    all_branches: bool | None = None
    thinking: bool = True
    tools: bool = True
    redact: bool = False
    force: bool = False


class Exported(msgspec.Struct, frozen=True):
    """A file that was written.

    Attributes:
        size: in bytes.
        removed: secrets that were taken out, by kind.
        suspicious: what looks like secrets and is still in it, by kind.
        problems: what is missing of the sessions of agents, in sentences.
    """

    path: Path
    format: Format
    size: int
    totals: Totals
    removed: Mapping[str, int]
    suspicious: Mapping[str, int]
    problems: Sequence[str] = ()

    @property
    def report(self) -> str:
        """What was done, in some lines for people."""
        agents = self.totals.agents
        with_agents = f" with those of {counted(agents, 'agent')}" if agents else ""
        lines = [f"wrote {self.path} ({size_text(self.size)}, {counted(self.totals.messages, 'message')}{with_agents})"]
        if agents and self.format == "jsonl":
            lines.append(f"the sessions of agents are in the folder {self.path.name}.agents next to it")
        lines += self.problems
        if self.removed:
            lines.append(f"secrets removed: {kinds_text(self.removed)}")
        if self.suspicious:
            lines.append(
                f"warning: it contains texts that look like secrets: {kinds_text(self.suspicious)}. "
                "Before you share it, export it with --redact."
            )
        return "\n".join(lines)


def suffix_of(wanted: Format) -> str:
    """The usual end of a file's name."""
    return _SUFFIX_OF[wanted]


def counted(number: int, singular: str) -> str:
    """`1 message`, `2 messages`."""
    return f"{number} {singular}" if number == 1 else f"{number} {singular}s"


def kinds_text(kinds: Mapping[str, int]) -> str:
    """`API key (2), private key`."""
    return ", ".join(kind if number == 1 else f"{kind} ({number})" for kind, number in sorted(kinds.items()))


def size_text(size: int) -> str:
    """A size in bytes, for people."""
    if size < 1024 * 1024:
        return f"{max(1, round(size / 1024))} kB"
    return f"{size / 1024 / 1024:.1f} MB"


class SharedFile(msgspec.Struct, frozen=True):
    """A file that is ready to go out."""

    name: str
    size: int


class ExportDraft(msgspec.Struct, frozen=True):
    """What would go out, in a folder of its own until it does.

    Attributes:
        folder: private, thrown away with the draft.
        removed: secrets that were taken out, by kind.
    """

    folder: Path
    title: str
    files: tuple[SharedFile, ...]
    messages: int
    tool_results: int
    thinking_blocks: int
    images: int
    all_branches: bool
    removed: Mapping[str, int]
    agents: int = 0

    @property
    def description(self) -> str:
        """What would go out, in lines for people."""
        branches = "all branches" if self.all_branches else "this branch only"
        inside = [counted(self.agents, "agent")] if self.agents else []
        inside += [counted(self.messages, "message"), counted(self.tool_results, "tool result")]
        inside += [f"{counted(self.thinking_blocks, 'block')} of thinking", counted(self.images, "image")]
        lines = [f"{file.name} ({size_text(file.size)})" for file in self.files]
        lines.append(f"{', '.join(inside)}; {branches}")
        lines.append(f"secrets removed: {kinds_text(self.removed) or 'none found'}")
        if self.images:
            lines.append("images are not changed: kaa does not search them for secrets")
        return "\n".join(lines)
