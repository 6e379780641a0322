"""What a project says to the agent: its settings, its instructions, its own system prompt.

Settings and system prompts come from a configuration that the user trusts, or not at all. AGENTS.md and its like are
read in one round trip; those of a project that is not trusted inform the model and do not instruct it.
"""

import os
import posixpath
import re
import stat
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import msgspec

from kaa.ext.api import ContextFile
from kaa.host.regular_files import read_regular
from kaa.shell.home import PROJECT_FOLDER, Home
from kaa.shell.trust.configuration import ProjectConfiguration
from kaa.tui.invisible import replace_invisible
from kaa.workspace.protocol import Workspace

# The first of these that a folder has is used, as pi does.
_CONTEXT_NAMES = ("AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD")

# The most that is used of one file, the user's own excepted; codex caps the same way (32 KiB). What nobody answers
# for gets less room: enough for how to build and test.
_MAX_BYTES = 32 * 1024
_MAX_UNTRUSTED_BYTES = 8 * 1024

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

PROJECT_SETTINGS = f"{PROJECT_FOLDER}/settings.json"


class ProjectFiles(msgspec.Struct, frozen=True):
    """What was found. `notices`: what the user should know about it, in sentences."""

    settings: bytes | None = None
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    context_files: tuple[ContextFile, ...] = ()
    notices: tuple[str, ...] = ()


async def read_project_files(
    workspace: Workspace, home: Home, configuration: ProjectConfiguration | None, *, context: bool
) -> ProjectFiles:
    """Read the project's files, with the user's own where the project has none.

    Context files come from the user's folder first, then from the file system's root down to the project. Those of
    folders above the project are the project's: it may be a part of what was fetched.

    Args:
        workspace: the project.
        home: the user's folder.
        configuration: what the project may configure; None if it is not trusted.
        context: whether to look for context files.
    """
    texts = _Texts(_MAX_UNTRUSTED_BYTES if configuration is None else _MAX_BYTES)
    context_files = await _context_files(workspace, home, texts, trusted=configuration is not None) if context else ()

    def prompt(name: str) -> str | None:
        path = f"{PROJECT_FOLDER}/{name}"
        data = configuration.content(path) if configuration is not None else None
        return texts.read(path, data) if data else _own(home.path / name, texts)

    return ProjectFiles(
        settings=configuration.content(PROJECT_SETTINGS) if configuration is not None else None,
        system_prompt=prompt("SYSTEM.md"),
        append_system_prompt=prompt("APPEND_SYSTEM.md"),
        context_files=context_files,
        # A line feed in a path must not begin a line that looks like one of ours.
        notices=tuple(" ".join(notice.split()) for notice in texts.notices),
    )


class _Texts:
    """Makes texts of what a project's files hold, and notes what was done to them.

    Args:
        max_bytes: how much of each is used.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self.notices: list[str] = []

    def read(self, path: str, data: bytes) -> str:
        """The beginning of `data` as text, without what a reader would not see."""
        if len(data) > self._max_bytes:
            self.notices.append(f"{path} is too long: only its first {self._max_bytes // 1024} KiB are used")
        text = _decode(data[: self._max_bytes]).replace("\r\n", "\n")
        visible = replace_invisible(_CONTROLS.sub("", text), lambda _: "")
        if hidden := len(text) - len(visible):
            self.notices.append(f"{path} has {hidden} invisible characters: they are left out")
        return visible


async def _context_files(workspace: Workspace, home: Home, texts: _Texts, *, trusted: bool) -> tuple[ContextFile, ...]:
    root = PurePosixPath(workspace.root)
    folders = [[str(folder / name) for name in _CONTEXT_NAMES] for folder in (*reversed(root.parents), root)]
    found = await workspace.read_existing([path for paths in folders for path in paths], _MAX_BYTES + 1)
    paths = [path for paths in folders for path in paths if path in found and _is_first(path, paths, found)]
    paths = _without_strangers(paths, str(root), texts)
    if not trusted:
        paths = await _without_links_out(workspace, paths, texts)
    own = ((home.path / name, _own(home.path / name, texts)) for name in _CONTEXT_NAMES)
    mine = [ContextFile(str(path), text) for path, text in own if text is not None][:1]
    theirs = [ContextFile(path, texts.read(path, found[path]), trusted) for path in paths]
    if theirs and not trusted:
        texts.notices.append(
            f"{', '.join(file.path for file in theirs)}: the model gets this as information, not as"
            " instructions, because the project is not trusted. If you know its content, --trust makes it instructions"
        )
    return (*mine, *theirs)


def _is_first(path: str, paths: Sequence[str], found: dict[str, bytes]) -> bool:
    return next(other for other in paths if other in found) == path


def _without_strangers(paths: Sequence[str], root: str, texts: _Texts) -> list[str]:
    """The files in the project, and above it those that nobody else can change: trust is in a project, not in users."""
    kept = []
    for path in paths:
        is_above = posixpath.dirname(path) != root
        if is_above and (reason := stranger_above(path)):
            texts.notices.append(f"{path} is not used: {reason}")
        else:
            kept.append(path)
    return kept


async def _without_links_out(workspace: Workspace, paths: list[str], texts: _Texts) -> list[str]:
    """The files that are in the folder they seem to be in: a link could show the model any file of the user's."""
    kept = []
    for path in paths:
        folder = str(PurePosixPath(path).parent)
        if PurePosixPath(await _real_path(workspace, path)).is_relative_to(await _real_path(workspace, folder)):
            kept.append(path)
        else:
            texts.notices.append(f"{path} is not used: it links to a file elsewhere, and the project is not trusted")
    return kept


async def _real_path(workspace: Workspace, path: str) -> str:
    info = await workspace.stat(path)
    return path if info is None else info.real_path


def _own(file: Path, texts: _Texts) -> str | None:
    """A file of the user's own folder, which is kaa's to read, or None."""
    try:
        return _decode(read_regular(file))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        texts.notices.append(f"{file} is not used: it cannot be read ({error.strerror})")
        return None


def _decode(data: bytes) -> str:
    return data.decode("utf-8-sig", errors="replace")


_SYSTEM = 0  # the user id of root


def stranger_above(path: str) -> str | None:
    """Why a file in a directory above the project is not used, None if only the user and root can change it.

    The brain examines owners and modes itself: in the hands' user namespace, root and other users have the same number.
    """
    folder = os.path.dirname(path)
    try:
        above = os.stat(folder)
        entry, file = os.lstat(path), os.stat(path)
    except FileNotFoundError:  # the workspace is not on this machine
        return None
    except OSError as error:
        return f"it cannot be examined ({error.strerror})"
    for name, status in (("its directory", above), ("it", file), ("the link", entry)):
        if status.st_uid not in (os.geteuid(), _SYSTEM):
            return f"{name} belongs to another user (uid {status.st_uid})"
    if file.st_mode & stat.S_IWOTH:
        return "every user can write it"
    if above.st_mode & stat.S_IWOTH and not above.st_mode & stat.S_ISVTX:
        return "every user can write its directory"
    return None
