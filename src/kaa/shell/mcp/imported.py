"""What programs import although nothing names it: folders where they start, and folders that an environment lists."""

import glob
import os
import re
from collections import deque
from collections.abc import Iterator

from kaa.shell.mcp.installed import PACKAGES

_MODULE = re.compile(r".+\.(?:py|pyc|so|lua)")
_MAX_LOOKED_AT = 5_000  # entries of a folder
_PATHS = re.compile(rb"/[^'\"\n:]+")
_MAX_TEXT_BYTES = 8 * 1024 * 1024


def can_be_imported(folder: str) -> bool:
    """True if modules lie anywhere in a folder with the name of one, or if it is too large to tell.

    Python needs no `__init__.py` there (PEP 420), and libraries try names that are seldom installed: `copy` of Python
    3.12 tries `org.python.core`, urllib3 2.6 `backports.zstd`.
    """
    if not os.path.basename(folder).isidentifier():
        return False
    pending, number = deque([folder]), 0
    while pending:
        try:
            with os.scandir(pending.popleft()) as entries:
                for one in entries:
                    number += 1
                    if _MODULE.fullmatch(one.name) or number > _MAX_LOOKED_AT:
                        return True
                    if one.name != "__pycache__" and one.is_dir(follow_symlinks=False):
                        pending.append(one.path)
        except OSError:
            continue
    return False


def is_installed(folder: str) -> bool:
    """True for a folder with installed packages."""
    return os.path.basename(folder) in PACKAGES or is_environment(folder)


def is_environment(folder: str) -> bool:
    """True for a virtual environment of Python or conda."""
    return any(os.path.exists(os.path.join(folder, one)) for one in ("pyvenv.cfg", "conda-meta"))


def folders_of_environment(environment: str) -> Iterator[str]:
    """Real paths of folders outside of an environment that its Python imports from, such as editable installs."""
    packages = f"{glob.escape(environment)}/lib*/python*/site-packages"
    for file in (*glob.glob(f"{packages}/*.pth"), *glob.glob(f"{packages}/__editable__*.py")):
        text, found = text_of(file), set[str]()
        found.update(os.path.realpath(os.fsdecode(one)) for one in _PATHS.findall(text))
        if file.endswith(".pth"):
            beside = os.path.dirname(file)
            found.update(
                os.path.realpath(os.path.join(beside, os.fsdecode(line))) for line in text.splitlines() if line
            )
        yield from sorted(one for one in found if os.path.isdir(one))


def text_of(path: str) -> bytes:
    """The beginning of a file. What a command has put in its place is not waited for: a FIFO has none."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        return file.read(_MAX_TEXT_BYTES) or b""
