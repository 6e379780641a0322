"""What an extension outside kaa's process may do: named in its manifest, granted by the user."""

import re
from typing import Literal, Protocol, TypeAlias, get_args

import msgspec

from kaa.ext.places import ExtensionId
from kaa.workspace.network.allow_list import NetworkRule, NetworkRuleError

Access: TypeAlias = Literal["none", "read", "write"]
"""`write` includes `read`."""

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TOOL = re.compile(r"[A-Za-z0-9_-]{1,64}")

READING_TOOLS = ("find", "grep", "ls", "read")
"""Tools of kaa that only read."""


class Permissions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What an extension may do. Without an argument: nothing.

    Attributes:
        project: the files of the project.
        session: the messages and entries of the conversation.
        hosts: hosts it may connect to: `example.com`, `*.example.com`, each with an optional `:port`.
        keys: providers whose keys it may read, such as `openai`.
        models: whether it may call models at the user's cost.
        tools: tools that it may have kaa run, judged as the model's calls are.
    """

    project: Access = "none"
    session: Access = "none"
    hosts: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    models: bool = False
    tools: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for host in self.hosts:
            try:
                NetworkRule.parse(host)
            except NetworkRuleError as error:
                raise ValueError(f"invalid host {host!r} in `hosts`: {error}") from error
        for key in self.keys:
            if not _KEY.fullmatch(key):
                raise ValueError(f"invalid key {key!r} in `keys`: use the name of a provider, such as openai")
        for tool in self.tools:
            if not _TOOL.fullmatch(tool):
                raise ValueError(f"invalid tool {tool!r} in `tools`: use the name of a tool, such as grep")

    def beyond(self, granted: "Permissions") -> "Permissions":
        """What these include and those that were granted do not."""
        return Permissions(
            project=self.project if _wider(self.project, granted.project) else "none",
            session=self.session if _wider(self.session, granted.session) else "none",
            hosts=tuple(host for host in self.hosts if host not in granted.hosts),
            keys=tuple(key for key in self.keys if key not in granted.keys),
            models=self.models and not granted.models,
            tools=tuple(tool for tool in self.tools if tool not in granted.tools),
        )

    @property
    def risk(self) -> Literal["read", "granted"]:
        """The risk of a tool of an extension that the kernel confines to these."""
        reads_only = Permissions(project="read", session="read", tools=READING_TOOLS)
        return "read" if self.beyond(reads_only) == Permissions() else "granted"

    @property
    def sentences(self) -> tuple[str, ...]:
        """Each permission in words, for people."""
        words = [_PROJECT[self.project], _SESSION[self.session]]
        words.append(f"connect to {', '.join(self.hosts)}" if self.hosts else "")
        words.append(f"read your keys of {', '.join(self.keys)}" if self.keys else "")
        words.append("call models at your cost" if self.models else "")
        words.append(f"run the tools {', '.join(self.tools)} as the model does" if self.tools else "")
        runs_agents = self.models and self.project != "none"
        words.append("run agents, which read what commands can read" if runs_agents else "")
        return tuple(filter(None, words))


_PROJECT: dict[Access, str] = {
    "none": "",
    "read": "read the files of the project",
    "write": "read and write the files of the project",
}
_SESSION: dict[Access, str] = {
    "none": "",
    "read": "read the conversation with its tool calls, and your sessions",
    "write": "read and change the conversation and its tool calls, and read your sessions",
}


def _wider(one: Access, other: Access) -> bool:
    ranks: tuple[Access, ...] = get_args(Access)
    return ranks.index(one) > ranks.index(other)


class Applicant(Protocol):
    """An extension that asks for permissions."""

    @property
    def extension(self) -> ExtensionId:
        """Which one it is."""

    @property
    def nature(self) -> str:
        """What it is, for the question, such as `a program that runs in a sandbox`."""

    @property
    def description(self) -> str:
        """One line, or empty."""

    @property
    def requested(self) -> Permissions:
        """What it asks for."""
