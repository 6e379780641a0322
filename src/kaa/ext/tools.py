"""Tools as extensions register them, and what a call of one can do at most."""

from typing import Literal, TypeAlias

import msgspec

from kaa.core.tool import Tool
from kaa.ext.context import ToolContext

Risk: TypeAlias = Literal["read", "write", "command", "fetch", "outside"]
"""What a call of a tool can do at most.

`read` reads the project at its argument `path`, `write` changes the file `path`, `command` runs the bash `command`,
`fetch` gets the address `url` by a command; all four through the workspace only. `outside` can do anything: the code of
an extension runs in kaa's own process, which no sandbox confines.
"""


class RegisteredTool(msgspec.Struct, frozen=True):
    """A registered tool.

    Attributes:
        snippet: one line for the system prompt.
        default: active unless the user chooses otherwise.
        owner: the extension; empty for kaa's own.
    """

    tool: Tool[ToolContext]
    snippet: str
    default: bool
    owner: str = ""
    risk: Risk = "outside"

    @property
    def built_in(self) -> bool:
        """Whether it is part of kaa."""
        return not self.owner

    @property
    def name(self) -> str:
        """The name the model calls it by."""
        return self.tool.schema.name
