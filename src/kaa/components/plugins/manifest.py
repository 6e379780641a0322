"""What a plugin is to kaa, whichever agent it was made for."""

from typing import Literal, TypeAlias

import msgspec

from kaa.components.plugins.dependencies import Dependency
from kaa.components.plugins.lsp import LanguageServer
from kaa.core.messages import Json

PluginDialect: TypeAlias = Literal["claude", "codex", "gemini", "pi", "agent-plugins"]
"""Whose format a plugin has. Its commands, hooks and variables are in the dialect of that agent."""

OptionKind: TypeAlias = Literal["string", "number", "boolean", "directory", "file"]


class PluginFile(msgspec.Struct, frozen=True):
    """A file of a plugin.

    Attributes:
        path: relative to the root of the plugin, with `/`; it is inside and can be read.
        name: what it is called within the plugin: for skills the name of the folder, for others the path within their
            folder without its suffix, with `:` between the parts.
    """

    path: str
    name: str


class PluginHooks(msgspec.Struct, frozen=True):
    """Hooks, as they are written.

    Attributes:
        path: of the file that has them, relative to the root.
        content: of the file; if they are in the manifest, `{"hooks": …}`.
    """

    path: str
    content: dict[str, Json]


class UserOption(msgspec.Struct, frozen=True):
    """A value that the user gives to a plugin.

    Attributes:
        name: in the placeholders, `${user_config.NAME}`.
        variable: of the environment that has the value for what the plugin starts.
        title: for people; empty if there is none.
        default: None if there is none.
        secret: is not to be shown or kept in the clear.
        multiple: the value is a list.
        minimum: of a number; None without limit.
        maximum: of a number; None without limit.
    """

    name: str
    variable: str
    kind: OptionKind = "string"
    title: str = ""
    description: str = ""
    default: Json = None
    secret: bool = False
    required: bool = False
    multiple: bool = False
    minimum: float | None = None
    maximum: float | None = None


class Plugin(msgspec.Struct, frozen=True):
    """A plugin. Texts are of one line and without control characters; paths are relative to the root and inside.

    Attributes:
        name: letters, digits, `.`, `_` and `-`, at most 64.
        manifest: path of the file that describes it; empty without one.
        author: name, and mail or web address in angle brackets.
        skills: their SKILL.md, or other Markdown files (pi).
        commands: Markdown files, TOML with Gemini; prompts of pi.
        hooks: as they are written, to be read by the dialect.
        mcp_servers: their entries as they are written, by name, with placeholders.
        context_files: instructions for every conversation.
        options: what the user is to configure.
        dependencies: other plugins that it needs.
        notes: what kaa does not use or understand, in sentences without their ends.
    """

    name: str
    dialect: PluginDialect
    manifest: str = ""
    version: str = ""
    description: str = ""
    author: str = ""
    skills: tuple[PluginFile, ...] = ()
    commands: tuple[PluginFile, ...] = ()
    agents: tuple[PluginFile, ...] = ()
    hooks: tuple[PluginHooks, ...] = ()
    mcp_servers: dict[str, Json] = {}
    lsp_servers: tuple[LanguageServer, ...] = ()
    themes: tuple[PluginFile, ...] = ()
    context_files: tuple[PluginFile, ...] = ()
    options: tuple[UserOption, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    notes: tuple[str, ...] = ()
