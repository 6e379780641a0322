"""Which language code is in, told by its name or by a file's, and Pygments' lexer for it.

Pygments is imported with the first question: 30 ms, which no start should wait for.
"""

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pygments.lexer import Lexer

_PLAIN = ("plain", "plaintext", "text", "txt")
# What people write behind three backticks and Pygments does not know, or knows as something else.
_LANGUAGES = {"dotenv": "bash", "json5": "json", "jsonc": "json", "jsonl": "json", "mjs": "js", "svelte": "html"}
# Names of files that several lexers claim, or none.
_FILE_NAMES = {"*.m": "objective-c", "*.svelte": "html", "*.jsonc": "json", ".env": "bash"}


def language_of(filename: str) -> str:
    """The name of the language that files of this name are written in; empty if it is unknown."""
    name = filename.replace("\\", "/").rpartition("/")[2].lower()
    patterns = _file_patterns()
    if name in patterns:
        return patterns[name]
    while "." in name:
        name = name.partition(".")[2]
        if f"*.{name}" in patterns:
            return patterns[f"*.{name}"]
    return ""


@lru_cache(maxsize=32)
def lexer_of(language: str) -> "Lexer | None":
    """Pygments' lexer of a language; None if there is none, or nothing to be highlighted."""
    if not language or language.lower() in _PLAIN:
        return None
    name = _lexer_names().get(_LANGUAGES.get(language.lower(), language.lower()))
    if name is None:
        return None
    from pygments.lexers import find_lexer_class

    found = find_lexer_class(name)
    return found(stripnl=False, ensurenl=False) if found else None


@lru_cache(maxsize=1)
def _lexer_names() -> dict[str, str]:
    """The lexer of each language, by all the names it goes by. Plugins are left out: finding them takes long."""
    from pygments.lexers import get_all_lexers

    return {alias.lower(): name for name, aliases, _, _ in reversed(list(get_all_lexers(False))) for alias in aliases}


@lru_cache(maxsize=1)
def _file_patterns() -> dict[str, str]:
    """A name of the language for each pattern of file names; of several the one that is called like the extension."""
    from pygments.lexers import get_all_lexers

    found: dict[str, str] = {}
    for _, aliases, patterns, _ in get_all_lexers(False):
        for pattern in map(str.lower, patterns):
            if aliases and (pattern not in found or pattern.removeprefix("*.") in aliases):
                found[pattern] = aliases[0]
    return found | _FILE_NAMES
