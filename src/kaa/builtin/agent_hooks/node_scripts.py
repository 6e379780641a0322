"""Judges programs for Node.js that hooks execute: by what they name, without a parser."""

import os
import re

from kaa.builtin.agent_hooks.own_files import is_outside

# Modules of Node.js that start no program and load no code.
_MODULES = (
    r"(?:node:)?(?:assert|buffer|crypto|events|fs|fs/promises|http|https|os|path|process|querystring|readline|stream"
    r"|stream/promises|string_decoder|timers|timers/promises|url|util|zlib)"
)
_IMPORT = re.compile(
    rf"""\brequire\(\s*['"]{_MODULES}['"]\s*\)|\bfrom\s*['"]{_MODULES}['"]|\bimport\s*['"]{_MODULES}['"]"""
)
_LOADS = re.compile(r"\brequire\b|\bfrom\s*['\"]|\bimport\s*[('\"]")
_EXECUTES = re.compile(
    r"child_process|worker_threads|\bvm\b|\beval\b|\bFunction\b|createRequire|\bbinding\b|\bdlopen\b|constructor|\bmodule\b"
)
_USES_FILE = re.compile(
    r"\b(?:access|append|chmod|chown|copy|cp|createRead|createWrite|link|mkdir|mkdtemp|open|opendir|read|rename|rm|rmdir"
    r"|symlink|truncate|unlink|utimes|watch|write)(?:File|Stream|link|v)?(?:Sync)?\s*\(\s*(?P<file>[^,)]*(?:\([^()]*\))?)"
)
_OF_PROCESS = re.compile(r"(?:process\.)?(?:stdout|stderr)\.write\s*\(")
_STDIN = re.compile(r"""0|['"]/dev/stdin['"]|process\.stdin\.fd""")
_LITERAL = re.compile(r"""['"](?P<path>[^'"\\]*)['"]""")


def is_harmless_node(text: str, root: str) -> bool:
    """Whether a program loads only modules of Node.js that start nothing, and uses only files that it names.

    Args:
        text: of the program.
        root: the directory of the project.
    """
    rest = _IMPORT.sub("", text)
    if _LOADS.search(rest) or _EXECUTES.search(rest):
        return False
    return all(_is_own(found["file"].strip(), root) for found in _USES_FILE.finditer(_OF_PROCESS.sub("", rest)))


def _is_own(word: str, root: str) -> bool:
    if _STDIN.fullmatch(word):
        return True
    literal = _LITERAL.fullmatch(word)
    return literal is not None and os.path.isabs(literal["path"]) and is_outside(literal["path"], root)
