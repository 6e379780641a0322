"""What programs import although nothing names it: folders where they start, and folders that an environment lists."""

import glob
import os
import re
from collections import deque
from collections.abc import Iterator
from urllib.parse import unquote

from kaa.host.paths import is_below
from kaa.shell.mcp.installed import PACKAGES

_MODULE = re.compile(r".+\.(?:py|pyc|so|lua)")
_MAX_LOOKED_AT = 5_000  # entries of a folder
_PATHS = re.compile(rb"/[^'\"\n:]+")
_NAMES = re.compile(rb"\w+")
_EDITABLE, _SOURCE = re.compile(rb'"editable"\s*:\s*true'), re.compile(rb'"file://(/[^"]*)"')
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
    for packages in glob.glob(f"{glob.escape(environment)}/lib*/python*/*-packages"):
        yield from sorted(set(filter(None, map(_folder, _led_to(packages)))))


def _led_to(packages: str) -> Iterator[str]:
    """Paths that files and links among installed packages lead to."""
    beside, loaders = glob.escape(packages), glob.glob(f"{glob.escape(packages)}/__editable__*.py")
    listed: set[str] = set()
    for file in (*glob.glob(f"{beside}/*.pth"), *glob.glob(f"{beside}/*.egg-link")):
        for line in _read(file).splitlines():
            if line.startswith((b"import ", b"import\t")):  # Python executes it
                names = map(os.fsdecode, _NAMES.findall(line))
                loaders += (path for name in names if os.path.isfile(path := f"{packages}/{name}.py"))
                listed.update(map(os.fsdecode, _PATHS.findall(line)))
            elif line:
                listed.add(os.path.join(packages, os.fsdecode(line)))
    for loader in loaders:
        listed.update(map(os.fsdecode, _PATHS.findall(_read(loader))))
    yield from listed
    yield from filter(os.path.islink, (os.path.join(packages, name) for name in os.listdir(packages)))
    known = [os.path.realpath(path) for path in listed]
    for file in glob.glob(f"{beside}/*.dist-info/direct_url.json"):  # PEP 610
        text = _read(file)
        for url in _SOURCE.findall(text) if _EDITABLE.search(text) else ():
            source = os.path.realpath(unquote(os.fsdecode(url)))
            if not any(is_below(one, (source,)) for one in known):  # what loads it is in a form of its own
                yield source


def _folder(path: str) -> str:
    """The real path of a folder, or of the one that a file or a module without its ending is in; empty if none is."""
    real = os.path.realpath(path)
    if os.path.isdir(real):
        return real
    is_module = any(os.path.isfile(f"{real}{end}") for end in ("", ".py", ".so", ".pyc"))
    return os.path.dirname(real) if is_module else ""


def _read(path: str) -> bytes:
    try:
        return text_of(path)
    except OSError:  # Python cannot read it, either
        return b""


def text_of(path: str, most_bytes: int = _MAX_TEXT_BYTES) -> bytes:
    """The beginning of a file. What a command has put in its place is not waited for: a FIFO has none."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        return file.read(most_bytes) or b""
