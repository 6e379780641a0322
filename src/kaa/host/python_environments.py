"""Virtual environments of Python and conda, and the folders elsewhere that their Pythons import from."""

import glob
import os
import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from kaa.host.paths import is_below
from kaa.host.programs import commands_can_write
from kaa.host.regular_files import text_of
from kaa.host.writers import writer_of

_PATHS = re.compile(rb"/[^'\"\n:]+")
_NAMES = re.compile(rb"\w+")
_EDITABLE, _SOURCE = re.compile(rb'"editable"\s*:\s*true'), re.compile(rb'"file://(/[^"]*)"')


def is_environment(folder: str) -> bool:
    """True for a virtual environment of Python or conda."""
    return any(os.path.exists(os.path.join(folder, one)) for one in ("pyvenv.cfg", "conda-meta"))


def folders_of_environment(environment: str, environ: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Real paths of folders outside of an environment that its Python imports from, such as editable installs.

    A folder that is not there is one if it would be in a project: commands of the model can make it any time.
    """
    for packages in packages_of(environment):
        yield from sorted(set(filter(None, (_folder(path, environ) for path in _led_to(packages)))))


def packages_of(environment: str) -> list[str]:
    """The folders of an environment with installed packages."""
    return glob.glob(f"{glob.escape(environment)}/lib*/python*/*-packages")


def listed_folders(packages: str) -> Iterator[str]:
    """Paths that `.pth` files among installed packages list plainly: Python looks for modules there, too."""
    for file in sorted(glob.glob(f"{glob.escape(packages)}/*.pth")):
        lines = (line.strip() for line in _read(file).splitlines())
        yield from (
            os.path.join(packages, os.fsdecode(line))
            for line in lines
            if line and not line.startswith((b"#", b"import ", b"import\t"))
        )


def _led_to(packages: str) -> Iterator[str]:
    """Paths that files and links among installed packages lead to; none if they cannot be read."""
    try:
        with os.scandir(packages) as entries:  # once: there are hundreds of them, a listing for each kind takes longer
            links = {entry.name: entry.is_symlink() for entry in entries}
    except OSError:
        return
    names = [name for name in links if not name.startswith(".")]
    loaders = [f"{packages}/{name}" for name in names if name.startswith("__editable__") and name.endswith(".py")]
    listed: set[str] = set()
    for file in (f"{packages}/{name}" for name in names if name.endswith((".pth", ".egg-link"))):
        for line in _read(file).splitlines():
            if line.startswith((b"import ", b"import\t")):  # Python executes it
                words = map(os.fsdecode, _NAMES.findall(line))
                loaders += (path for name in words if os.path.isfile(path := f"{packages}/{name}.py"))
                listed.update(map(os.fsdecode, _PATHS.findall(line)))
            elif line and not line.startswith(b"#"):
                listed.add(os.path.join(packages, os.fsdecode(line)))
    for loader in loaders:
        listed.update(map(os.fsdecode, _PATHS.findall(_read(loader))))
    yield from listed
    yield from (os.path.join(packages, name) for name, is_link in links.items() if is_link)
    known = [os.path.realpath(path) for path in listed]
    for file in (f"{packages}/{name}/direct_url.json" for name in names if name.endswith(".dist-info")):  # PEP 610
        text = _read(file)
        for url in _SOURCE.findall(text) if _EDITABLE.search(text) else ():
            source = os.path.realpath(unquote(os.fsdecode(url)))
            if not any(is_below(one, (source,)) for one in known):  # what loads it is in a form of its own
                yield source


def _folder(path: str, environ: Mapping[str, str]) -> str:
    """The real path of a folder, or of the one that a file or a module without its ending is in; empty if none is."""
    real = os.path.realpath(path)
    if os.path.isdir(real):
        return real
    if any(os.path.isfile(f"{real}{end}") for end in ("", ".py", ".so", ".pyc")):
        return os.path.dirname(real)
    is_of_project = commands_can_write(real) or writer_of(real, environ) is not None
    return real if is_of_project else ""


def _read(path: str) -> bytes:
    try:
        return text_of(path)
    except OSError:  # Python cannot read it, either
        return b""
