"""Finds secrets in files of the home that commands may read because builds need them, such as those of Gradle and git.

Nobody can hide these files from all builds; whoever keeps a password there can decide it for theirs.
"""

import glob
import os
import re
from collections.abc import Callable, Iterator

from kaa.llm.redaction import Redactor

# Configuration of build tools in which people also keep passwords of registries (their documentation shows how).
_FILES = (
    ".cargo/config",
    ".cargo/config.toml",
    ".config/git/config",
    ".config/mise/config*.toml",
    ".gitconfig",
    ".gradle/init.d/*",
    ".gradle/init.gradle",
    ".gradle/init.gradle.kts",
    ".lein/profiles.clj",
    ".sbt/*/global.sbt",
)
_MOST_CHARACTERS = 256 * 1024
# As these tools write them, which redaction does not know: any quoted value behind such a name, the fourth argument of
# Credentials of sbt, and a token in place of a user's name in an address.
_SHAPES = (
    re.compile(r"(?:password|passphrase|token|secret)\s{0,8}[=:]?\s{0,8}[\"'][^\"'\s$]{4,}[\"']", re.IGNORECASE),
    re.compile(r"Credentials\s{0,4}\((?:\s{0,8}\"[^\"\n]{0,200}\",){3}\s{0,8}\"[^\"\n]+\""),
    re.compile(r"://[A-Za-z0-9_-]{16,}@"),
    re.compile(r"extraheader\s{0,4}=\s{0,4}\S*authorization", re.IGNORECASE),
)


def secrets_of_builds(home: str, is_readable: Callable[[str], bool]) -> Iterator[str]:
    """Yield the paths, with `~`, of files that commands may read and in which something looks like a secret.

    Args:
        home: the user's, absolute.
        is_readable: whether commands may read an absolute path.
    """
    for pattern in _FILES:
        for path in sorted(glob.glob(os.path.join(glob.escape(home), pattern))):
            if is_readable(path) and _has_secret(path):
                yield f"~/{os.path.relpath(path, home)}"


def _has_secret(path: str) -> bool:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(_MOST_CHARACTERS)
    except OSError:
        return False
    return any(shape.search(text) for shape in _SHAPES) or bool(Redactor().spans(text))
