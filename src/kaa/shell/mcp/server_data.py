"""The folder where a server keeps its data, with what package runners fetch for it."""

import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from kaa.host.private_file import unwritable
from kaa.shell.home import Home
from kaa.shell.mcp.config.entry import ConfiguredServer

_PRIVATE_FOLDER = 0o700
_DIGITS = 12  # of a hash, in the name of a folder


def data_folder(home: Home, server: ConfiguredServer, project: str, code: Mapping[str, str]) -> Path:
    """Create the folder that a server can write, unless it exists, and close it to other users.

    Projects share the data of a server only if its entry is the user's own and it executes no code of a project. What
    one project's code leaves there would otherwise be read, or executed, by the server of another.

    Args:
        code: the code that it executes and commands can write, as `code_of` gives it.

    Raises:
        OSError: it cannot be created.
    """
    folder = home.path / "mcp-data" / _name(server, project if code else "")
    try:
        cache = folder / "cache"
        if cache.is_symlink():  # the server made it
            cache.unlink()
        for one in (folder.parent, folder, cache):
            one.mkdir(_PRIVATE_FOLDER, parents=True, exist_ok=True)
            _close_to_others(one.resolve() if one == folder.parent else one)  # that may be a link of the user's
    except OSError as error:
        raise OSError(f"its folder {folder} cannot be created {unwritable(error, home.path)}") from error
    return folder


# What package runners make of downloads, in the cache of a server. They take half of it for whole after a kill. The
# downloads themselves stay.
_INSTALLED = ("_npx", "pipx", "pnpm/dlx")


def remove_installed(folder: Path) -> None:
    """Remove what package runners installed in the folder of a server that does not run, so that they do it again."""
    cache = folder.resolve() / "cache"
    for path in (cache / name for name in _INSTALLED):
        if path.resolve() == path:  # no link of the server's leads elsewhere
            shutil.rmtree(path, ignore_errors=True)


def remove_data(home: Home, server: ConfiguredServer, projects: Iterable[str]) -> list[Path]:
    """Remove what package runners fetched for a server, and its folders if nothing else is in them.

    Args:
        server: the server, which is not configured any more.
        projects: in which it may have run.

    Returns:
        The folders that stay: what a server kept may be dear to the user.
    """
    folders = dict.fromkeys(home.path / "mcp-data" / _name(server, project) for project in ("", *projects))
    stay = []
    for folder in filter(os.path.isdir, folders):
        shutil.rmtree(folder / "cache", ignore_errors=True)
        with suppress(OSError):
            folder.rmdir()
        if any(name != "cache" for name in _names(folder)):  # a start that goes on may write the cache again
            stay.append(folder)
    return stay


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def _name(server: ConfiguredServer, project: str) -> str:
    scope, name = server.source.scope, server.name
    if not project and scope == "user":
        return name
    if not project and scope in ("plugin", "agent"):
        return f"{name}-{server.digest[:_DIGITS]}"
    entry = "" if scope == "user" else server.digest  # the user changes an entry and keeps the data
    owner = sha256(ascii((server.source.file, project, entry)).encode()).hexdigest()
    return f"{name}-{owner[:_DIGITS]}"


def _close_to_others(folder: Path) -> None:
    """Take the rights of others, which former versions left open; never of what a link leads to."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(descriptor).st_mode & 0o077:
            os.fchmod(descriptor, _PRIVATE_FOLDER)
    finally:
        os.close(descriptor)
