"""Tools as extensions register them, and what a call of one can do at most."""

from typing import Literal, TypeAlias

import msgspec

from kaa.core.messages import Json
from kaa.core.tool import Tool
from kaa.ext.context import ToolContext

Risk: TypeAlias = Literal["read", "write", "command", "fetch", "granted", "outside"]
"""What a call of a tool can do at most.

`read` reads the project at its argument `path`, `write` changes the file `path`, `command` runs the bash `command`,
`fetch` gets the address `url` by a command; all four through the workspace only. `granted` does what the user permitted
the extension, which is confined; fewer rights of a run do not hold for it. `outside` can do anything: the code of an
extension runs in kaa's own process, which no sandbox confines.
"""


Exposure: TypeAlias = Literal["default", "deferred", "hidden"]
"""Who can call a tool.

`default`: the model. `deferred`: the model, after the user or an extension activated the tool. `hidden`: only
extensions.
"""


class ToolServer(msgspec.Struct, frozen=True):
    """The MCP server that calls of a tool go to.

    Attributes:
        name: as the user configured it.
        host: where it is, with the port if it is not the usual one; empty for a program on this machine.
        rule: the rule that is about its tools and no others; empty if there is none.
    """

    name: str
    host: str = ""
    rule: str = ""

    @property
    def title(self) -> str:
        """Which one it is, for people."""
        return f"MCP server {self.name}" + (f" at {self.host}" if self.host else "")


class RegisteredTool(msgspec.Struct, frozen=True):
    """A registered tool.

    Attributes:
        snippet: one line for the system prompt.
        exposure: who can call it.
        owner: the extension; empty for kaa's own.
        output_schema: JSON Schema of `details` in its results; None if they have no certain structure.
        title: what its calls are titled, as a template of its parameters (`kaa.ext.call_titles`); may be empty.
        server: where its calls go; None if the extension does what they ask.
        lasting: its results are never shortened: they instruct the model, or hold words of the person.
    """

    tool: Tool[ToolContext]
    snippet: str
    exposure: Exposure = "default"
    owner: str = ""
    risk: Risk = "outside"
    output_schema: dict[str, Json] | None = None
    title: str = ""
    server: ToolServer | None = None
    lasting: bool = False

    @property
    def built_in(self) -> bool:
        """Whether it is part of kaa."""
        return not self.owner

    @property
    def name(self) -> str:
        """The name the model calls it by."""
        return self.tool.schema.name
