"""Names of servers' tools as the model calls them: `mcp__SERVER__TOOL`, unique, and the same whatever the order.

All model vendors accept 1 to 64 letters, digits, `_` and `-`. The specification allows other characters and longer
names (https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-names).
"""

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from typing import Final

GATEWAY: Final = "mcp"
"""The tool that reaches all servers."""

_MOST_CHARACTERS = 64
_PLAIN = re.compile(r"[A-Za-z0-9_-]*")
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")
_UNDERSCORES = re.compile("_{2,}")
_FOREIGN_TO_COMMANDS = re.compile(r"[^A-Za-z0-9:_.-]")
# Digits of a hash tell colliding names apart; more of them where that is not enough.
_DIGITS = (6, 12, 24)


def plain(name: str) -> str:
    """A name without the characters that are not for names."""
    return _FOREIGN.sub("_", name)


@cache  # few servers have many tools
def server_part(server: str) -> str:
    """A server's name in the names of its tools: it ends where `__` begins, so that no rule means two servers."""
    return _UNDERSCORES.sub("_", plain(server)).strip("_") or "_"


def tool_names(tools: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The name of each tool, by server and tool.

    Names that are too long or collide get the beginning of a hash of both, so that none depends on the order; but a
    tool whose own name needs no change keeps it, whatever else its server offers.
    """
    names = {(server, tool): _joined(server, tool) for server, tool in tools}
    as_they_are = Counter(name for pair, name in names.items() if _is_plain(pair))
    kept = {pair for pair, name in names.items() if _is_plain(pair) and as_they_are[name] == 1}
    for digits in _DIGITS:
        taken = Counter(names.values())
        colliding = [pair for pair, name in names.items() if taken[name] > 1 and pair not in kept]
        unfit = [*colliding, *(pair for pair, name in names.items() if len(name) > _MOST_CHARACTERS)]
        if not unfit:
            break
        names |= {pair: _told_apart(*pair, digits) for pair in unfit}
    return names


def _is_plain(pair: tuple[str, str]) -> bool:
    server, tool = pair
    return server == server_part(server) and _PLAIN.fullmatch(tool) is not None


def _told_apart(server: str, tool: str, digits: int) -> str:
    mark = sha256(ascii((server, tool)).encode()).hexdigest()[:digits]
    whole, room = _joined(server, tool), _MOST_CHARACTERS - digits - 1
    name = f"{whole[:room]}_{mark}"
    if len(whole) > room:
        from kaa.components.tool_names import note_whole_name  # lazy: few names are that long

        note_whole_name(name, whole)
    return name


def tool_prefix(server: str) -> str:
    """What the names of a server's tools begin with, and of no other server in a conversation."""
    return f"mcp__{server_part(server)}__"


def _joined(server: str, tool: str) -> str:
    return tool_prefix(server) + plain(tool)


def command_name(server: str, prompt: str) -> str:
    """The slash command for a prompt, without the slash: `SERVER:PROMPT`."""
    return f"{_FOREIGN.sub('_', server).lstrip('_-') or 'mcp'}:{_FOREIGN_TO_COMMANDS.sub('_', prompt)}"
