"""Files with skills, commands, hooks, agents and language servers, of kaa and others: in which folders they are.

Light: the sandbox needs the folders before the rest is loaded. Sources: https://agentskills.io (`.agents`), and the
documentation of each agent in November 2026.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, get_args

import msgspec

if TYPE_CHECKING:
    from kaa.shell.home import Home
    from kaa.shell.plugins.use import EnabledPlugins

ForeignAgent: TypeAlias = Literal["claude", "codex", "cursor", "droid", "gemini", "opencode", "pi"]
"""An agent whose files of the user kaa reads only if a setting names it."""

FOREIGN_AGENTS: Final[tuple[ForeignAgent, ...]] = get_args(ForeignAgent)

Agent: TypeAlias = Literal["kaa", "agents", "cline", "copilot", "windsurf"] | ForeignAgent
"""Whose format a file has. `agents`: what all agents share."""

Kind: TypeAlias = Literal[
    "skill", "command", "agent", "rule", "hook", "language server", "deny rules", "instructions", "MCP server"
]
"""`agent`: the definition of an agent. The last two are only listed as components."""


class Place(NamedTuple):
    """A folder with files of one kind; for what settings of agents define, such as hooks, a file.

    Attributes:
        folder: relative to the project, or absolute.
    """

    folder: str
    kind: Kind
    agent: Agent

    @property
    def has_loose_skills(self) -> bool:
        """Whether a Markdown file directly in the folder is a skill, as in pi's folders."""
        return self.kind == "skill" and self.agent in ("kaa", "pi")

    @property
    def is_file(self) -> bool:
        is_setting = self.kind == "agent" and self.folder.endswith((".json", ".jsonc"))
        return is_setting or self.kind in ("hook", "language server", "deny rules")

    @property
    def is_flat(self) -> bool:
        """Whether only the files directly in the folder count."""
        return self.kind == "agent" and self.agent == "droid"


class FoundFile(msgspec.Struct, frozen=True):
    """The file of a component.

    Attributes:
        path: as the place is named: relative to the project, or absolute.
        name: of the component as its place in the folder gives it, with `/` between folders.
        real_path: absolute, without symlinks.
    """

    path: str
    name: str
    data: bytes
    place: Place
    real_path: str


class Found(msgspec.Struct, frozen=True):
    """What was found. `notices`: what was left out, in sentences; `unused`: settings of other agents, likewise."""

    files: tuple[FoundFile, ...] = ()
    notices: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()


# Of two components with the same name the first one is used.
PROJECT_PLACES: Final = (
    Place(".kaa/skills", "skill", "kaa"),
    Place(".agents/skills", "skill", "agents"),
    Place(".pi/skills", "skill", "pi"),
    Place(".claude/skills", "skill", "claude"),
    Place(".codex/skills", "skill", "codex"),
    Place(".cursor/skills", "skill", "cursor"),
    Place(".gemini/skills", "skill", "gemini"),
    Place(".github/skills", "skill", "agents"),
    Place(".opencode/skill", "skill", "opencode"),
    Place(".opencode/skills", "skill", "opencode"),
    Place(".kaa/prompts", "command", "kaa"),
    Place(".pi/prompts", "command", "pi"),
    Place(".claude/commands", "command", "claude"),
    Place(".cursor/commands", "command", "cursor"),
    Place(".gemini/commands", "command", "gemini"),
    Place(".opencode/command", "command", "opencode"),
    Place(".opencode/commands", "command", "opencode"),
    Place(".kaa/agents", "agent", "kaa"),
    Place(".claude/agents", "agent", "claude"),
    Place(".codex/agents", "agent", "codex"),
    Place(".cursor/agents", "agent", "cursor"),
    Place(".factory/droids", "agent", "droid"),
    Place(".gemini/agents", "agent", "gemini"),
    Place(".opencode/agent", "agent", "opencode"),
    Place(".opencode/agents", "agent", "opencode"),
    Place(".pi/agents", "agent", "pi"),
)
"""The places of a project."""

RULE_PLACES: Final = (
    Place(".claude/rules", "rule", "claude"),
    Place(".cursor/rules", "rule", "cursor"),
    Place(".windsurf/rules", "rule", "windsurf"),
    Place(".clinerules", "rule", "cline"),
    Place(".github/instructions", "rule", "copilot"),
)
"""Where a project has rules, which are instructions and no components."""

HOOK_PLACES: Final = (
    Place(".claude/settings.json", "hook", "claude"),
    Place(".claude/settings.local.json", "hook", "claude"),
    Place(".codex/hooks.json", "hook", "codex"),
    Place(".codex/config.toml", "hook", "codex"),
    Place(".gemini/settings.json", "hook", "gemini"),
)
"""The files in which a project has hooks."""

CLAUDE_SETTINGS: Final = tuple(place._replace(kind="deny rules") for place in HOOK_PLACES if place.agent == "claude")
"""The files in which a project forbids calls, as Claude Code reads them."""

LSP_PLACES: Final = (
    Place(".lsp.json", "language server", "claude"),
    Place("opencode.json", "language server", "opencode"),
    Place("opencode.jsonc", "language server", "opencode"),
    Place(".opencode/opencode.json", "language server", "opencode"),
    Place(".opencode/opencode.jsonc", "language server", "opencode"),
)
"""The files in which a project has language servers."""

AGENT_SETTINGS: Final = tuple(place._replace(kind="agent") for place in LSP_PLACES if place.agent == "opencode")
"""The files in which a project has agents as settings."""

_FOREIGN_LSP: Final = (
    Place("~/.config/opencode/opencode.json", "language server", "opencode"),
    Place("~/.config/opencode/opencode.jsonc", "language server", "opencode"),
)

_FOREIGN_HOOKS: Final = (
    Place("~/.claude/settings.json", "hook", "claude"),
    Place("~/.codex/hooks.json", "hook", "codex"),
    Place("~/.codex/config.toml", "hook", "codex"),
    Place("~/.gemini/settings.json", "hook", "gemini"),
)

USER_INSTRUCTIONS: Final[Mapping[ForeignAgent, str]] = {
    "claude": "~/.claude/CLAUDE.md",
    "codex": "~/.codex/AGENTS.md",
    "gemini": "~/.gemini/GEMINI.md",
    "opencode": "~/.config/opencode/AGENTS.md",
    "pi": "~/.pi/agent/AGENTS.md",
}
"""The user's instructions for other agents."""

_FOREIGN: Final = (
    Place("~/.pi/agent/skills", "skill", "pi"),
    Place("~/.pi/agent/prompts", "command", "pi"),
    Place("~/.claude/skills", "skill", "claude"),
    Place("~/.claude/commands", "command", "claude"),
    Place("~/.codex/skills", "skill", "codex"),
    Place("~/.codex/prompts", "command", "codex"),
    Place("~/.cursor/skills", "skill", "cursor"),
    Place("~/.gemini/skills", "skill", "gemini"),
    Place("~/.cursor/commands", "command", "cursor"),
    Place("~/.gemini/commands", "command", "gemini"),
    Place("~/.config/opencode/skill", "skill", "opencode"),
    Place("~/.config/opencode/skills", "skill", "opencode"),
    Place("~/.config/opencode/command", "command", "opencode"),
    Place("~/.config/opencode/commands", "command", "opencode"),
    Place("~/.claude/agents", "agent", "claude"),
    Place("~/.codex/agents", "agent", "codex"),
    Place("~/.cursor/agents", "agent", "cursor"),
    Place("~/.factory/droids", "agent", "droid"),
    Place("~/.gemini/agents", "agent", "gemini"),
    Place("~/.config/opencode/agent", "agent", "opencode"),
    Place("~/.config/opencode/agents", "agent", "opencode"),
    Place("~/.pi/agent/agents", "agent", "pi"),
)


def is_component(path: str) -> bool:
    """Whether a file of a project, by its path, is in a place of components."""
    return any(path.startswith(f"{place.folder}/") for place in PROJECT_PLACES)


def user_places(
    home: Path, agents: Sequence[ForeignAgent], skills: Sequence[str] = (), prompts: Sequence[str] = ()
) -> tuple[Place, ...]:
    """The places of the user, with absolute paths; those of other agents as far as they are named.

    Args:
        skills: the setting: more folders with skills, and `!NAME` for what is not wanted.
        prompts: likewise for commands.
    """
    own = (
        Place(str(home / "skills"), "skill", "kaa"),
        Place("~/.agents/skills", "skill", "agents"),
        Place(str(home / "prompts"), "command", "kaa"),
        Place(str(home / "agents"), "agent", "kaa"),
    )
    chosen: tuple[tuple[Kind, Sequence[str]], ...] = (("skill", skills), ("command", prompts))
    more = (Place(folder, kind, "kaa") for kind, folders in chosen for folder in folders if not folder.startswith("!"))
    wanted = (*own, *more, *(place for place in _FOREIGN if place.agent in agents))
    places = (place._replace(folder=os.path.expanduser(place.folder)) for place in wanted)
    # A relative folder would be a project's, which nobody has trusted.
    return tuple(place for place in places if os.path.isabs(place.folder))


def user_hook_places(home: Path, agents: Sequence[ForeignAgent]) -> tuple[Place, ...]:
    """The files in which the user has hooks: kaa's own, and those of other agents as far as they are named."""
    foreign = (place for place in _FOREIGN_HOOKS if place.agent in agents)
    own = Place(str(home / "hooks.json"), "hook", "kaa")
    return (own, *(place._replace(folder=os.path.expanduser(place.folder)) for place in foreign))


def user_agent_settings(agents: Sequence[ForeignAgent]) -> tuple[Place, ...]:
    """The files in which the user has agents as settings, as far as they are named."""
    return tuple(place._replace(kind="agent") for place in user_lsp_places(agents))


def user_lsp_places(agents: Sequence[ForeignAgent]) -> tuple[Place, ...]:
    """The files in which the user has language servers of other agents, as far as they are named."""
    wanted = (place for place in _FOREIGN_LSP if place.agent in agents)
    return tuple(place._replace(folder=os.path.expanduser(place.folder)) for place in wanted)


def existing(places: Sequence[Place]) -> list[Place]:
    """Those whose folders or files exist."""
    return [place for place in places if (os.path.isfile if place.is_file else os.path.isdir)(place.folder)]


class PluginPlaces(NamedTuple):
    """Where a plugin's files are, and what it keeps."""

    root: Path
    data: Path


def enabled_plugins(home: "Home", report: Callable[[str], None]) -> "EnabledPlugins | None":
    """The plugins that the user installed; None if there are none.

    Args:
        report: told, in a sentence, if they cannot be read.
    """
    if not home.plugin_records.exists():
        return None
    from kaa.shell.extensions.errors import InstallationError  # lazy, both: many users have no plugins
    from kaa.shell.plugins.use import EnabledPlugins

    try:
        return EnabledPlugins(home)
    except InstallationError as error:
        report(f"Plugins are not used: {error}")
        return None


class _PluginRecord(msgspec.Struct):
    folder: str
    enabled: bool = True


class _PluginRecords(msgspec.Struct):
    plugins: dict[str, _PluginRecord] = {}


def plugin_places(home: "Home") -> list[PluginPlaces]:
    """The folders of the plugins that conversations use; none if the records cannot be read, which others report."""
    with suppress(OSError, msgspec.MsgspecError, ValueError):
        records = msgspec.json.decode(home.plugin_records.read_bytes(), type=_PluginRecords)
        return [
            PluginPlaces(home.plugins / one.folder, home.plugin_data / name)
            for name, one in records.plugins.items()
            if one.enabled and "/" not in one.folder + name and one.folder not in ("", ".", "..")
        ]
    return []
