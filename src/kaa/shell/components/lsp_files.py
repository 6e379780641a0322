"""Finds the files that define language servers, of a project and of the user."""

from collections.abc import Sequence

import msgspec

from kaa.components.plugins.lsp import LanguageServers, claude_servers, opencode_servers
from kaa.core.messages import Json
from kaa.llm import jsonc
from kaa.shell.components import Found, FoundFile, Place
from kaa.shell.components.finding import FileTree
from kaa.shell.components.part_files import find_parts

_SHOWN_CHARACTERS = 200


async def find_lsp(tree: FileTree, places: Sequence[Place], inside: str | None) -> Found:
    """The files in some places that define language servers. Arguments as in `find_parts`."""
    return await find_parts(tree, places, inside, _part, "language servers")


def language_servers_of(file: FoundFile) -> LanguageServers:
    """The servers of a file that `find_lsp` found."""
    part = msgspec.json.decode(file.data, type=dict[str, Json])
    return claude_servers(part) if file.place.agent == "claude" else opencode_servers(part)


def lines_of(file: FoundFile) -> list[str]:
    """What would be started for which files, and what kaa does not understand, in a line each."""
    found = language_servers_of(file)
    lines: list[str] = []
    for server in found.servers:
        command = " ".join(server.command)
        shown = command if len(command) <= _SHOWN_CHARACTERS else f"{command[:_SHOWN_CHARACTERS]} …"
        ends = f" ({', '.join(server.languages)})" if server.languages else ""
        lines.append(f"{server.name}{ends}: {shown}" if server.enabled else f"{server.name}: off")
    return [*lines, *found.notes]


def _part(place: Place, data: bytes) -> bytes | None:
    """The definitions in a file, as indented JSON. `.lsp.json` has nothing else.

    Raises:
        ValueError: the file cannot be read.
    """
    try:
        content = jsonc.decode(data, dict[str, Json])
        part = content if place.agent == "claude" else content.get("lsp")
        if not isinstance(part, dict) or not part:  # in opencode, a truth value is about servers that it brings
            return None
        return msgspec.json.format(msgspec.json.encode(part), indent=2)
    except (jsonc.JsoncError, msgspec.ValidationError, RecursionError) as error:
        raise ValueError(f"it has no JSON object ({error})") from error
