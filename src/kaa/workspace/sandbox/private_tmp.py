"""Where the user finds what commands wrote to /tmp: the directory is private, and has another path outside."""

import os
import re
from collections.abc import Callable, Iterator

from kaa.hands.policy import TEMPORARY, Policy

# Without what ends a sentence or a quotation after a path.
_PATH = r"(?<![\w./~-])/(?:var/)?tmp/[\w@%+=:,./-]*[\w/]"  # not compiled, as most runs never need it
_MAX_PATHS = 10


class PrivateTmp:
    """The /tmp of one sandbox.

    Args:
        policy: of the hands, as it is then.
        keep: called with the name of an entry of the directory that the user is told of.
    """

    def __init__(self, policy: Callable[[], Policy], keep: Callable[[str], None]) -> None:
        self._policy = policy
        self._keep = keep
        self._told: set[str] = set()

    def named_in(self, text: str) -> dict[str, str]:
        """The files and directories that commands made and a text names, each with its path for the user."""
        found: dict[str, str] = {}
        for path in self._paths_in(text):
            own = os.path.normpath(path)
            outside = self._outside(own)
            if outside and own not in found:
                found[own] = outside
        return found

    def new_in(self, text: str) -> tuple[str, ...]:
        """Lines for a result, about those that no earlier result had."""
        found = {path: outside for path, outside in self.named_in(text).items() if path not in self._told}
        self._told.update(found)
        return tuple(f"[sandbox] /tmp is private here: for the user, {each} is {found[each]}" for each in found)

    def _paths_in(self, text: str) -> Iterator[str]:
        yield from list(dict.fromkeys(re.findall(_PATH, text)))[:_MAX_PATHS]

    def _outside(self, path: str) -> str:
        """The path outside of something that commands made; empty if there is none or it is the user's own."""
        policy = self._policy()
        base = next((base for base in TEMPORARY if path.startswith(f"{base}/")), "")
        if policy.tier not in ("full", "bwrap") or not base:
            return ""
        from kaa.hands.protected import is_stub  # lazy: few results name a file in /tmp

        private = os.path.realpath(policy.temporary)
        outside = private + path[len(base) :]
        # A link may lead anywhere, and what exists in the user's own /tmp may only be shown here.
        if os.path.realpath(outside) != outside or is_stub(outside) or os.path.isdir(path):
            return ""
        if any(path == root or path.startswith(f"{root}/") for root in policy.writes):
            return ""
        if not (os.path.isfile(outside) or os.path.isdir(outside)):
            return ""
        self._keep(os.path.relpath(outside, private).partition("/")[0])
        return outside
