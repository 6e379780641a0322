"""Finds what texts of code mention by name in a folder around them: folders, programs, and files that they load."""

import os
import re
from collections.abc import Collection, Iterator

from kaa.host.regular_files import text_of
from kaa.shell.mcp.code_files import entries, is_code, is_file, is_folder, is_program

# Of settings; others that a path mentions may be code: `include "../x.inc"`.
_SETTINGS = re.compile(r".+\.(?:json|ya?ml|toml|ini|cfg|conf|lock|xml|properties|env)|\.env.*")
_SOURCED = re.compile(rb"""(?:^|[\s;&|({])(?:\.|source)\s+[^\s;&|]*$""", re.MULTILINE)
_MAX_WORD_BYTES = 200
# Files that other code loads by their names without the ending, and what stands before such a name in its line.
_MODULE = re.compile(r"(.+)\.(?:py|[cm]?[jt]sx?|rb|p[lm]|lua|php)")
_IMPORTED = re.compile(
    rb"""(?:^|[;"'`])\s*(?:from|import)\s[^"'`]*$"""
    rb"""|(?:import_module|__import__|run_module|find_spec|require|import|load)\s*\(?\s*["'`]$"""
    rb"""|\bfrom\s*["'`]$|\.\.?/(?:[\w.-]+/)*$|(?:^|[\s"'])-m["']?[\s,]+["'`]?$"""
)


def mentioned(folder: str, known: Collection[str], files: Collection[str]) -> Iterator[os.DirEntry[str]]:
    """Folders, links, and files that may be code.

    Args:
        known: names in the folder that need not be found.
    """
    names = {entry.name: entry for entry in entries(folder) if entry.name not in known and _can_be_meant(entry)}
    if not names:
        return
    modules: dict[str, list[str]] = {}
    for name in names:
        if module := _MODULE.fullmatch(name):
            modules.setdefault(module[1], []).append(name)
    words = sorted({*names, *modules}, key=len, reverse=True)  # `x.py` before `x`
    mention = re.compile(rb"(?<![\w-])(?:%s)(?![\w-])" % b"|".join(re.escape(os.fsencode(one)) for one in words))
    for path in files:
        try:
            text, found = text_of(path), set[str]()
        except OSError:  # it is gone meanwhile
            continue
        for one in mention.finditer(text):
            word = os.fsdecode(one[0])
            if word in names and _is_meant(names[word], text, one):
                found.add(word)
            if word in modules and _is_imported(text, one):
                found.update(modules[word])
        yield from (names[name] for name in sorted(found & names.keys()))
        for name in found & names.keys():
            del names[name]


def _can_be_meant(entry: os.DirEntry[str]) -> bool:
    return is_folder(entry) or is_program(entry) or (is_file(entry) and is_code(entry))


def _is_imported(text: bytes, found: re.Match[bytes]) -> bool:
    """Whether a name is one that a program imports: in its own line, in a path, or as the argument of a function."""
    begin = found.start()
    line = text[text.rfind(b"\n", 0, begin) + 1 : begin]
    return _IMPORTED.search(line[-_MAX_WORD_BYTES:]) is not None


def _is_meant(entry: os.DirEntry[str], text: bytes, found: re.Match[bytes]) -> bool:
    """Whether a name is one of a folder or program, or that of another file in a path or behind `source`."""
    if is_folder(entry) or is_program(entry):
        return True
    begin = found.start()
    if text[begin - 1 : begin] == b"/" and not _SETTINGS.fullmatch(entry.name):
        return True
    return _SOURCED.search(text[max(0, begin - _MAX_WORD_BYTES) : begin]) is not None
