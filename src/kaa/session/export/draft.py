"""What would be shared, before anybody has agreed to it."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from kaa.session.export.request import counted, kinds_text, size_text


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
