"""Finds names with blanks, brackets and the like in texts: only a look into the folders tells where these end."""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import unquote

from kaa.shell.mcp.code_files import entries
from kaa.shell.mcp.outside_texts import PART

_MAX_FOLDERS = 500
_MAX_NAMES = 200


class Names:
    """Reads the names in texts.

    Args:
        folders: in which unusual names may lie, at any depth as far as the texts name the folders in them.
    """

    def __init__(self, texts: Sequence[str], folders: Iterable[str]) -> None:
        unusual = sorted(_unusual(texts, folders), key=len, reverse=True)
        self._spelled = [(one, re.compile(_spelling(one))) for one in unusual]
        either = "|".join(spelling.pattern for _, spelling in self._spelled)
        self._part = re.compile(rf"(?<!\w)(?:{either})(?!\w)|{PART.pattern}" if either else PART.pattern)
        one = rf"(?:(?<=/)(?:{either})(?!\w)|[\w./@+-])" if either else r"[\w./@+-]"
        self.absolute = re.compile(rf"(?<![\w.}}$)/])(?:~|\$HOME|\$\{{HOME\}})?/{one}+")
        """Matches absolute paths as texts have them."""

    def parts(self, text: str) -> Iterator[tuple[str, int, int]]:
        """The names in a text, with where they begin and end."""
        return ((self.plain(found[0]), *found.span()) for found in self._part.finditer(text))

    def plain(self, written: str) -> str:
        """A name, or a path, without the escapes of a text."""
        if not self._spelled or PART.fullmatch(written):
            return written
        for name, spelling in self._spelled:
            written = name.join(spelling.split(written))
        return written


def _unusual(texts: Sequence[str], folders: Iterable[str]) -> Iterator[str]:
    """The unusual names that stand in texts."""
    said = {name for text in texts for one in (text, unquote(text)) for name in PART.findall(one)}
    pending, seen, found = deque(folders), 0, set[str]()
    while pending and seen < _MAX_FOLDERS and len(found) < _MAX_NAMES:
        seen += 1
        for entry in entries(pending.popleft()):
            is_usual = PART.fullmatch(entry.name) is not None
            if is_usual and entry.name not in said:
                continue
            if not is_usual:
                if not said.issuperset(PART.findall(entry.name)):
                    continue
                spelling = re.compile(_spelling(entry.name))
                if not any(map(spelling.search, texts)):
                    continue
                found.add(entry.name)
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
    return iter(found)


def _spelling(name: str) -> str:
    """An expression for a name as shells, URLs and literals spell it."""
    return "".join(one if one.isalnum() else _character(one) for one in name)


def _character(one: str) -> str:
    encoded = "".join(f"%{byte:02X}" for byte in one.encode(errors="surrogateescape"))
    return rf"(?:\\?{re.escape(one)}|{encoded}|{encoded.lower()})"
