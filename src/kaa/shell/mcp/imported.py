"""Which folders programs import from although nothing names them."""

import os
import re
from collections import deque

from kaa.host.python_environments import is_environment
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
