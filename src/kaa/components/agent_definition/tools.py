"""The tools of a definition: lists of names with patterns, and opencode's rules by tool."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple, TypeVar

from kaa.components.frontmatter import is_true, text_of
from kaa.components.tool_names import MAX_CHARACTERS, OWN_TOOLS, ToolDialect, ToolPattern, foreign_names, own_patterns
from kaa.core.terminal_text import plain_text

MOST_NAMES = 200
_MAX_SHOWN = 80
_T = TypeVar("_T")


class Tools(NamedTuple):
    """What a definition says of tools; the attributes are those of `AgentDefinition`.

    Attributes:
        asks: it wants the user to be asked before some calls.
        unknown: names that kaa has no tools for.
    """

    tools: tuple[str, ...] | None = None
    excluded: tuple[str, ...] = ()
    only: tuple[ToolPattern, ...] = ()
    denied: tuple[ToolPattern, ...] = ()
    agents: tuple[str, ...] | None = None
    asks: bool = False
    unknown: tuple[str, ...] = ()

    @property
    def has_any(self) -> bool:
        names = OWN_TOOLS if self.tools is None else self.tools
        return any(not _fits(name, self.excluded) for name in names)


def shown(text: str) -> str:
    """A stranger's word, short and without control characters."""
    return " ".join(plain_text(text[:_MAX_SHOWN]).split())


def listed_tools(allowed: Sequence[str] | None, disallowed: Sequence[str], dialect: ToolDialect) -> Tools:
    """The tools of two lists.

    Args:
        allowed: names or patterns; None: all tools.
        disallowed: likewise.
    """
    unknown: list[str] = []
    wanted = _patterns(allowed or (), dialect, unknown)
    # A pattern that is not understood excludes the whole tool.
    unwanted = _patterns([_whole(name) for name in disallowed], dialect, unknown)
    has_all = allowed is None or any(pattern == ToolPattern("*") for pattern in wanted)
    whole = {pattern.tool for pattern in wanted if not pattern.argument}
    agents = [one.argument for one in wanted if one.tool == "agent" and one.argument and "agent" not in whole]
    return Tools(
        None if has_all else _unique(pattern.tool for pattern in wanted),
        _unique(pattern.tool for pattern in unwanted if not pattern.argument),
        _unique(one for one in wanted if one.argument and one.tool not in whole and one.tool != "agent"),
        _unique(pattern for pattern in unwanted if pattern.argument),
        _unique(name.strip() for names in agents for name in names.split(",") if name.strip()) if agents else None,
        unknown=_unique(unknown),
    )


def opencode_tools(tools: object, permission: object) -> Tools:
    """Two fields of opencode, of which the last rule that fits a tool holds.

    Args:
        tools: yes or no by tool, with `*` in names.
        permission: `allow`, `ask` or `deny`: one for all, by tool, or for a tool by pattern of its calls.
    """
    rules: list[tuple[str, object]] = []
    if isinstance(tools, dict):
        rules += [(name, "allow" if is_true(value) else "deny") for name, value in tools.items()]
    if isinstance(permission, dict):
        rules += permission.items()
    elif permission is not None:
        rules.append(("*", permission))
    state = _Rules()
    for name, action in rules[:MOST_NAMES]:
        state.add(name, action)
    if len(rules) > MOST_NAMES:  # a rule that is not read may forbid something
        state.add("*", "deny")
    return state.tools()


class _Rules:
    """What holds for each tool after some rules of opencode."""

    def __init__(self) -> None:
        self._actions: dict[str, str] = {}  # by tool; the later ones override those that they cover
        self._only: dict[str, list[ToolPattern]] = {}
        self._denied: dict[str, list[ToolPattern]] = {}
        self._asks: set[str] = set()
        self._unknown: list[str] = []

    def add(self, name: str, action: object) -> None:
        """Add a rule for a tool."""
        if name in ("doom_loop", "external_directory"):  # kaa's sandbox decides
            return
        tools = _of_rule(name)
        if not tools:
            self._unknown.append(shown(name))
        for tool in tools:
            if not isinstance(action, dict):
                self._decide(tool, text_of(action))
                continue
            for pattern, of_pattern in list(action.items())[:MOST_NAMES]:
                if pattern == "*":
                    self._decide(tool, text_of(of_pattern))
                else:
                    self._limit(ToolPattern(tool, pattern), text_of(of_pattern))
            if len(action) > MOST_NAMES:
                self._decide(tool, "deny")

    def _decide(self, tool: str, action: str) -> None:
        for covered in [one for one in (*OWN_TOOLS, *self._actions) if one == tool or fnmatchcase(one, tool)]:
            self._only.pop(covered, None)
            self._denied.pop(covered, None)
            self._asks.discard(covered)
            self._actions.pop(covered, None)
        self._actions[tool] = action if action in ("allow", "ask") else "deny"
        if action == "ask":
            self._asks.add(tool)

    def _limit(self, pattern: ToolPattern, action: str) -> None:
        if not _is_usable(pattern.argument):
            self._decide(pattern.tool, "deny")
            return
        if action == "ask":
            self._asks.add(pattern.tool)
        if action not in ("allow", "ask"):
            self._denied.setdefault(pattern.tool, []).append(pattern)
        elif self._action(pattern.tool) == "deny":
            self._only.setdefault(pattern.tool, []).append(pattern)

    def _action(self, tool: str) -> str:
        return next((self._actions[one] for one in reversed(self._actions) if fnmatchcase(tool, one)), "allow")

    def tools(self) -> Tools:
        """What they come to."""
        limited = {tool for tool in self._only if self._action(tool) == "deny"}
        known = {*OWN_TOOLS, *(one for one in self._actions if one != "*")}
        excluded = {tool for tool in known if self._action(tool) == "deny"} - limited
        allowed = None
        if self._actions.get("*") == "deny":  # also for tools that nobody names
            allowed = _unique(sorted(known - excluded))
        agents = [pattern.argument for pattern in self._only.get("agent", ())]
        return Tools(
            allowed,
            _unique(one for one in sorted(excluded) if allowed is None or _fits(one, allowed)),
            tuple(one for tool in sorted(limited - {"agent"}) for one in self._only[tool]),
            tuple(one for tool in sorted(self._denied) for one in self._denied[tool]),
            _unique(agents) if agents else None,
            bool(self._asks),
            _unique(self._unknown),
        )


def _of_rule(name: str) -> list[str]:
    """The tools of kaa that a name in a rule of opencode means; `*` in it also covers names of servers."""
    found = [pattern.tool for pattern in own_patterns(name, "opencode")]
    if found or "*" not in name or not _is_usable(name):
        return found
    own = [tool for tool in sorted(OWN_TOOLS) if _fits_any(foreign_names(tool, "opencode"), name)]
    return [*own, f"mcp__{name}"]


def _fits_any(names: Sequence[str], pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in names)


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _is_usable(text: str) -> bool:
    return len(text) <= MAX_CHARACTERS and text.isprintable()


def _patterns(names: Sequence[str], dialect: ToolDialect, unknown: list[str]) -> list[ToolPattern]:
    found: list[ToolPattern] = []
    for name in names:
        patterns = own_patterns(name, dialect) if _is_usable(name) else ()
        found += patterns
        if not patterns:
            unknown.append(shown(name))
    return found


def _whole(name: str) -> str:
    """A name with its pattern, if that is one."""
    return name if _is_usable(name) and name.endswith(")") else name.partition("(")[0]


def _unique(values: Iterable[_T]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys(values))
