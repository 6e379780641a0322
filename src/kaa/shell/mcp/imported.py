"""Which folders programs import from although nothing names them."""

import glob
import os
import re
from collections import deque
from collections.abc import Iterator

from kaa.host.paths import is_below
from kaa.host.python_environments import folders_of_environment, is_environment
from kaa.shell.mcp.installed import PACKAGES

_MODULE = re.compile(r".+\.(?:py|pyc|so|lua)")
_MAX_LOOKED_AT = 5_000  # entries of a folder


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


def parts_elsewhere(package: str, home: str) -> Iterator[str]:
    """Real paths of folders outside of a package of which its programs load modules.

    They are the `node_modules` above it, up to the user's home, what links in them lead to, such as packages of the
    same workspace, and what environments of Python list.
    """
    for environment in (package, *(os.path.join(package, name) for name in (".venv", "venv"))):
        if is_environment(environment):
            yield from folders_of_environment(environment)
    folder = os.path.realpath(package)
    while not is_below(home, (folder,)):  # which also ends at the root
        modules = folder if os.path.basename(folder) == "node_modules" else os.path.join(folder, "node_modules")
        if os.path.isdir(modules):
            yield modules
            links = [*glob.iglob(f"{glob.escape(modules)}/*"), *glob.iglob(f"{glob.escape(modules)}/@*/*")]
            for link in links[:_MAX_LOOKED_AT]:
                if os.path.islink(link) and os.path.isdir(link) and not is_below(os.path.realpath(link), (modules,)):
                    yield os.path.realpath(link)
        folder = os.path.dirname(folder)
