"""Extensions of a trusted project, as files that kaa can load: copies of exactly what the user trusted.

kaa never executes the files in the project, which commands or a pull can change between the question and the start. The
copy lies in kaa's home under the hash of its content, so a changed extension is another one.
"""

import io
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from kaa.ext.places import ExtensionId, check_name, kind_of
from kaa.shell.extensions.errors import InstallationError
from kaa.shell.extensions.staging import StagedTree
from kaa.shell.home import PROJECT_FOLDER, Home
from kaa.shell.trust.configuration import ConfigurationFile, ProjectConfiguration

_PREFIX = f"{PROJECT_FOLDER}/extensions/"
_HASH_CHARACTERS = 32
_HIDDEN = ".copying-"
_UNUSED_SECONDS = 90 * 24 * 3600


class ProjectCopies(msgspec.Struct, frozen=True):
    """The copies.

    Attributes:
        extensions: which they are, sorted by name.
        notices: why some are left out, in sentences.
    """

    extensions: tuple[ExtensionId, ...] = ()
    notices: tuple[str, ...] = ()


def copies_of(configuration: ProjectConfiguration, home: Home) -> ProjectCopies:
    """Copy the extensions of a project that the user trusts, unless there are copies of this content.

    Args:
        configuration: what the user trusts.
        home: the user's folder.
    """
    found: dict[str, list[ConfigurationFile]] = {}
    for file in configuration.files:
        if file.path.startswith(_PREFIX):
            found.setdefault(file.path.removeprefix(_PREFIX).partition("/")[0], []).append(file)
    copies: list[ExtensionId] = []
    notices: list[str] = []
    for name, files in found.items():
        if name.startswith("."):
            continue
        try:
            check_name(ExtensionId.at(Path(name)).name)
            copy = copy_of(name, files, configuration.root, home)
        except (OSError, ValueError, InstallationError) as error:
            notices.append(f"the project's extension {name!r} is not loaded: {error}")
            continue
        if kind_of(copy) is not None:
            copies.append(ExtensionId.of_project(copy, configuration.root))
    return ProjectCopies(tuple(copies), tuple(notices))


def copy_of(name: str, files: Sequence[ConfigurationFile], origin: str, home: Home) -> Path:
    """The copy of one extension, made now unless there is one; links and devices are left out.

    Args:
        name: of its file or folder.
        files: whose paths begin with that name, or with the folder of a project's extensions.
        origin: the project, or where else it is from.
        home: the user's folder.

    Raises:
        OSError: it cannot be written.
        InstallationError: the names of files leave the folder, or a limit is exceeded.
    """
    import hashlib  # lazy: few projects have extensions

    folder = home.path / "project-extensions"
    digest = hashlib.sha256(msgspec.msgpack.encode((os.fsencode(origin), files))).hexdigest()[:_HASH_CHARACTERS]
    target = folder / digest
    if not target.is_dir():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _remove_unused(folder)
        staging = Path(tempfile.mkdtemp(prefix=_HIDDEN, dir=folder))
        try:
            tree = StagedTree(staging / digest)
            for file in files:
                if file.kind == "file":
                    tree.write(file.path.removeprefix(_PREFIX), io.BytesIO(file.data), executable=file.executable)
            with suppress(FileExistsError, NotADirectoryError):  # another process was faster
                tree.top.rename(target)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    os.utime(target)
    return target / name


def _remove_unused(folder: Path) -> None:
    for copy in folder.iterdir():
        with suppress(OSError):
            if time.time() - copy.stat().st_mtime > _UNUSED_SECONDS:
                away = copy.rename(copy.with_name(f"{_HIDDEN}{copy.name}"))  # a half of it is never loaded
                shutil.rmtree(away)
