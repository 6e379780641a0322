"""The list of /net: hosts and groups of registries, each checked or not."""

from collections.abc import Sequence

from kaa.builtin.picking import pick
from kaa.ext.api import CommandContext
from kaa.workspace.network.registries import ALL, hosts_of, words

_WORDS = {"off": "no host", "on": "the public internet"}
_CHECKED, _UNCHECKED = "[x] ", "[ ] "


async def check_hosts(context: CommandContext) -> str:
    """Let the person check and uncheck until they close the list. Returns what commands can reach then."""
    offered = words()
    while True:
        now = context.network
        chosen = _chosen(now)
        offered = tuple(dict.fromkeys((*offered, *chosen)))  # what was unchecked can be checked again
        current = now if now in _WORDS else None
        option = await pick(
            context.asker, "Which hosts can commands reach?", _options(offered, chosen), "/net HOSTS", current
        )
        if option is None:
            return now
        if option in _WORDS:
            return context.set_network(option)
        word = option[len(_CHECKED) :]
        after = [one for one in chosen if one != word] if word in chosen else [*chosen, word]
        context.set_network(",".join(after) or "off")


def _options(offered: Sequence[str], chosen: Sequence[str]) -> dict[str, str]:
    boxes = {(_CHECKED if word in chosen else _UNCHECKED) + word: ", ".join(hosts_of(word) or ()) for word in offered}
    return {**_WORDS, **boxes}


def _chosen(network: str) -> list[str]:
    """The parts of a list that are permitted, each group of registries by itself."""
    parts = [word for part in network.split(",") for word in (words() if part == ALL else (part,))]
    return [] if parts in (["off"], ["on"]) else parts
