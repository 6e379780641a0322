"""Several blocks as one."""

from collections.abc import Sequence

from kaa.tui.document import Block


class BlockGroup:
    """Blocks below each other, where one is expected: what one entry of a session is shown as."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = tuple(blocks)
        self._parts: list[list[str]] = []
        self._lines: list[str] = []

    @property
    def is_prompt(self) -> bool:
        """Whether it begins with what the user said."""
        return any(getattr(block, "is_prompt", False) for block in self._blocks)

    def render(self, width: int) -> list[str]:
        """The lines of all of them."""
        parts = [block.render(width) for block in self._blocks]
        if len(parts) != len(self._parts) or any(new is not old for new, old in zip(parts, self._parts, strict=True)):
            self._parts = parts
            self._lines = parts[0] if len(parts) == 1 else [line for part in parts for line in part]
        return self._lines

    def freeze(self, lines: int) -> None:
        """Each keeps those of its lines that are among the first ones."""
        for block, part in zip(self._blocks, self._parts, strict=False):
            block.freeze(min(lines, len(part)))
            lines -= min(lines, len(part))

    @property
    def settled(self) -> int:
        """How many of the first lines are final."""
        settled = 0
        for block, part in zip(self._blocks, self._parts, strict=False):
            settled += block.settled
            if block.settled < len(part):
                break
        return settled
