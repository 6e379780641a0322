"""Finds the agents that a settings file of opencode defines, of a project and of the user: each is a component."""

from collections.abc import Iterator, Sequence

import msgspec

from kaa.core.messages import Json
from kaa.llm import jsonc
from kaa.shell.components import Found, FoundFile, Place
from kaa.shell.components.finding import FileTree
from kaa.shell.components.part_files import find_parts

_MOST = 200  # in a file
# opencode's own agents, which such a file also configures; without a prompt, it defines no other.
_OWN = frozenset({"build", "plan", "general", "explore", "compaction", "title", "summary"})


async def find_agent_settings(tree: FileTree, places: Sequence[Place], inside: str | None) -> Found:
    """The agents in some places; the path of each is that of its file with `#NAME`. Arguments as in `find_parts`."""
    found = await find_parts(tree, places, inside, _part, "agents")
    return Found(tuple(one for file in found.files for one in _each(file)), found.notices)


def _each(file: FoundFile) -> Iterator[FoundFile]:
    agents = msgspec.json.decode(file.data, type=dict[str, Json])
    for name, settings in list(agents.items())[:_MOST]:
        if name in _OWN and not (isinstance(settings, dict) and settings.get("prompt")):
            continue
        data = msgspec.json.format(msgspec.json.encode({name: settings}), indent=2)
        shown = msgspec.json.encode(name)[1:-1].decode()  # in one line, and each its own: trust is kept by paths
        yield FoundFile(f"{file.path}#{shown}", name, data, file.place, f"{file.real_path}#{shown}")


def _part(_place: Place, data: bytes) -> bytes | None:
    """The definitions in a file, as JSON.

    Raises:
        ValueError: the file cannot be read.
    """
    try:
        agents = jsonc.decode(data, dict[str, Json]).get("agent")
    except (jsonc.JsoncError, msgspec.ValidationError, RecursionError) as error:
        raise ValueError(f"it has no JSON object ({error})") from error
    return msgspec.json.encode(agents) if isinstance(agents, dict) and agents else None
