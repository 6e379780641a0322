"""What archives of Java refer to: the class path in the manifest of each, whose paths begin where the archive is."""

import os
import re
import zipfile
import zlib
from urllib.parse import unquote, urlsplit

_MANIFEST = "META-INF/MANIFEST.MF"
_MAX_MANIFEST_BYTES = 1024 * 1024
_CONTINUED = re.compile(r"\r?\n ")  # lines have at most 72 bytes
_CLASS_PATH = re.compile(r"^Class-Path:(.*)$", re.IGNORECASE | re.MULTILINE)


def class_path(archive: str) -> list[str]:
    """Return the paths that the manifest of an archive names; none if it cannot be read."""
    try:
        with (
            open(os.open(archive, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file,
            zipfile.ZipFile(file) as jar,
        ):
            content = jar.open(_MANIFEST).read(_MAX_MANIFEST_BYTES)
    except (OSError, KeyError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error):  # Java reads no such archive
        return []
    found = _CLASS_PATH.search(_CONTINUED.sub("", content.decode(errors="replace")))
    urls = found[1].split() if found else []
    return [os.path.join(os.path.dirname(archive), unquote(urlsplit(url).path)) for url in urls]
