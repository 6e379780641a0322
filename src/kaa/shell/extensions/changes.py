"""What a new version of an extension changes in its files. Metadata of wheels is left out: nothing executes it."""

import os
import re
from pathlib import Path

from kaa.host.regular_files import read_regular
from kaa.shell.extensions.digest import files_in
from kaa.shell.trust.configuration import ConfigurationFile
from kaa.shell.trust.difference import Difference, difference, known

# PyPA specification "Recording installed projects".
_METADATA = re.compile(r"\.library/[^/]+\.dist-info/(INSTALLER|METADATA|RECORD|REQUESTED|WHEEL|top_level\.txt)")
_MAX_SHOWN_BYTES = 1024 * 1024  # what `difference` shows of a file at most


def changes(before: Path, after: Path) -> Difference:
    """How the files of two versions differ.

    Raises:
        OSError: one of them cannot be read.
    """
    old = {file.path: known(file) for file in _files(before)}
    return difference(old, _files(after))


def _files(top: Path) -> tuple[ConfigurationFile, ...]:
    return tuple(_file(top, name) for name in files_in(top) if not _METADATA.fullmatch(name))


def _file(top: Path, name: str) -> ConfigurationFile:
    path = top / name
    if path.is_symlink() and name != ".":
        return ConfigurationFile(name, "link", os.fsencode(os.readlink(path)))
    status = path.stat()
    if status.st_size > _MAX_SHOWN_BYTES:
        import hashlib  # lazy, as in `digest`

        with path.open("rb") as content:  # no text: that it is too long is said
            data = bytes(64) + hashlib.file_digest(content, "sha256").digest()
    else:
        data = read_regular(path)
    return ConfigurationFile(name, "file", data, bool(status.st_mode & 0o100))
