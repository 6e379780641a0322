"""Finds what texts of code mention by name in a folder around them: folders, programs, and files that they load."""

import os
import re
from collections.abc import Collection, Iterator

from kaa.shell.mcp.code_files import entries, is_code, is_program
from kaa.shell.mcp.imported import text_of

# Of settings; others that a path mentions may be code: `include "../x.inc"`.
_SETTINGS = re.compile(r".+\.(?:json|ya?ml|toml|ini|cfg|conf|lock|xml|properties|env)|\.env.*")
_SOURCED = re.compile(rb"""(?:^|[\s;&|({])(?:\.|source)\s+[^\s;&|]*$""", re.MULTILINE)
_MAX_WORD_BYTES = 200


def mentioned(folder: str, known: Collection[str], files: Collection[str]) -> Iterator[os.DirEntry[str]]:
    """Folders, links, and files that may be code.

    Args:
        folder: around the code.
        known: names in the folder that need not be found.
        files: the paths of the code.
    """
    names = {entry.name: entry for entry in entries(folder) if entry.name not in known and _can_be_meant(entry)}
    if not names:
        return
    mention = re.compile(rb"(?<![\w-])(?:%s)(?![\w-])" % b"|".join(re.escape(os.fsencode(one)) for one in names))
    for path in files:
        text = text_of(path)
        found = {os.fsdecode(one[0]) for one in mention.finditer(text) if _is_meant(names, text, one)}
        yield from map(names.pop, sorted(found & names.keys()))


def _can_be_meant(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir() or is_program(entry) or (entry.is_file() and is_code(entry))


def _is_meant(names: dict[str, os.DirEntry[str]], text: bytes, found: re.Match[bytes]) -> bool:
    """Whether a name is one of a folder or program, or that of another file in a path or behind `source`."""
    entry = names.get(os.fsdecode(found[0]))
    if entry is None or entry.is_dir() or is_program(entry):
        return entry is not None
    begin = found.start()
    if text[begin - 1 : begin] == b"/" and not _SETTINGS.fullmatch(entry.name):
        return True
    return _SOURCED.search(text[max(0, begin - _MAX_WORD_BYTES) : begin]) is not None
