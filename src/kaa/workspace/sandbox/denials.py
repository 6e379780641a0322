r"""Finds out from a failed command's output what the sandbox stopped.

The kernel tells only the program. Programs tell people, in lines such as `touch: cannot touch '/etc/x': Read-only file
system`: from these the path is taken and held against the policy. What cannot have been the sandbox is not reported.
"""

import fnmatch
import os
import re
from collections.abc import Iterator
from functools import cached_property

from kaa.hands.confinement import repositories
from kaa.hands.confinement.layout import needed_in_home, real_directories
from kaa.hands.confinement.listing import Listing
from kaa.hands.policy import PROTECTED_GIT_NAMES, Policy
from kaa.hands.protected import is_protected
from kaa.workspace.blocked import Blocked, BlockedKind

_MAX_REPORTED = 5
# Of what is renamed and its new name, either may be a mount.
_BUSY_PATHS = 2
_REFUSAL = re.compile(
    r"^(?P<before>.*?)(?P<why>read-only file system|permission denied|operation not permitted|EROFS|EACCES|EPERM"
    r"|device or resource busy)(?P<after>.*)$",
    re.IGNORECASE | re.MULTILINE,
)
# What the home's list leaves out is not there at all.
_MISSING = re.compile(
    r"^(?P<before>.*?)(?P<why>no such file or directory|ENOENT|does not exist|cannot find|not found)(?P<after>.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_BUSY = "device or resource busy"
_READ_ONLY = re.compile(r"read-only file system|EROFS", re.IGNORECASE)
# The last ones are the typographic quotes of GNU programs.
_QUOTED = re.compile(r"""'([^'\n]+)'|"([^"\n]+)"|\u2018([^\u2018\u2019\n]+)\u2019""")
# A name begins where no name goes on, and is tried once (`*+`): the time must not grow with the square of its length.
_PATH = re.compile(r"""(?:~|\.{1,2})?/[^\s:'"\u2018\u2019,;()]+|(?<![\w.@+-])[\w.][\w.@+-]*+(?:/[\w.@+-]+)+""")
_NO_NAME = re.compile(
    r"could not resolve (?:host(?:name)?|proxy)|temporary failure in name resolution|name or service not known"
    r"|network is unreachable|EAI_AGAIN|ENETUNREACH|nodename nor servname|no address associated with hostname",
    re.IGNORECASE,
)
# Where there is no loopback either, no connection is made at all. The last one is in Python's tracebacks.
_NO_SOCKET = re.compile(
    r"(?:connect|connection|listen|bind|socket)\b[^\n]{0,100}(?:EACCES|EPERM|permission denied|operation not permitted)"
    r"|couldn't connect to server|socket\.py\", line[^\n]*\n[^\n]*\n(?:[ ~^]*\n)?PermissionError",
    re.IGNORECASE,
)
_GIT_REFUSAL = re.compile(
    r"\.git/|could not lock config file|unable to create temporary file|index\.lock", re.IGNORECASE
)


class Denials:
    """What a policy stops, told from the words of programs.

    Args:
        policy: of the hands that ran the command.
        root: the project.
        home: for `~`.
    """

    def __init__(self, policy: Policy, root: str, home: str) -> None:
        self._policy = policy
        self._root = root
        self._home = home

    def in_output(self, text: str, cwd: str) -> tuple[Blocked, ...]:
        """What was blocked, according to the output of a command that failed.

        Args:
            text: the end of the output.
            cwd: absolute path of the directory the command ran in.
        """
        if self._policy.mode == "full-access":
            return ()
        found = dict.fromkeys(self._refusals(text, cwd))
        if self._policy.network == "isolated" and self._tells_of_no_network(text):
            found[Blocked("network")] = None
        return tuple(found)[:_MAX_REPORTED]

    def of_write(self, path: str) -> Blocked | None:
        """Why a file may not be written, or None if the policy does not mind.

        Args:
            path: absolute, normalised.
        """
        kind = self._kind_of_write(path)
        return None if kind is None else Blocked(kind, path)

    def of_read(self, path: str) -> Blocked | None:
        """Why a file may not be read, or None if the policy does not mind.

        Args:
            path: absolute, normalised.
        """
        for hidden in self._policy.hidden:
            matches = any(fnmatch.fnmatchcase(path, pattern) for pattern in (hidden, f"{hidden}/*"))
            if matches and not any(_is_below(path, shown) for shown in self._policy.shown):
                return Blocked("read", path)
        return self._of_unlisted(path)

    @cached_property
    def _listing(self) -> Listing:
        return Listing(self._policy, real_directories(self._policy.writes))

    @cached_property
    def _needed(self) -> tuple[str, ...]:
        return needed_in_home(self._policy, self._home)

    def _of_unlisted(self, path: str) -> Blocked | None:
        """Why something of the home does not seem to exist, if it does: its entry there is not listed."""
        seen = (*self._policy.writes, *self._policy.listed, *self._policy.shown)
        if not self._policy.unlisted or any(_is_below(path, one) for one in seen):
            return None
        real = os.path.realpath(path)
        entry = self._listing.entry_above(real)
        if entry is None or not os.path.lexists(entry) or any(_is_below(real, one) for one in self._needed):
            return None
        return Blocked("read", entry)

    def _tells_of_no_network(self, text: str) -> bool:
        no_loopback = self._policy.tier == "landlock"
        return _NO_NAME.search(text) is not None or (no_loopback and _NO_SOCKET.search(text) is not None)

    def _refusals(self, text: str, cwd: str) -> Iterator[Blocked]:
        for match in _REFUSAL.finditer(text):
            read_only = _READ_ONLY.search(match["why"]) is not None
            paths = [self._absolute(path, cwd) for path in _paths_around(match)]
            meant = paths[:_BUSY_PATHS] if match["why"].lower() == _BUSY else paths[:1]
            judged = [self._judged(path, read_only=read_only) for path in meant]
            if found := next((one for one in judged if one is not None), None):
                yield found
            elif read_only and _GIT_REFUSAL.search(match[0]) and not self._policy.git_writable:
                yield Blocked("git")
            elif read_only and not paths:
                yield Blocked("write")
        for match in _MISSING.finditer(text):
            for path in _paths_around(match)[:1]:
                if found := self._of_unlisted(self._absolute(path, cwd)):
                    yield found

    def _judged(self, path: str, *, read_only: bool) -> Blocked | None:
        """Only a read-only file system is surely our doing; what is denied may be so on any machine."""
        if not read_only and (hidden := self.of_read(path)):
            return hidden
        blocked = self.of_write(path)
        if blocked is None and read_only and any(_is_below(path, root) for root in self._policy.writes):
            return Blocked("protected", path)  # something else that executes: what git's configuration names
        if blocked is None or (not read_only and blocked.kind == "write" and self._policy.tier == "full"):
            return None
        return blocked

    def _kind_of_write(self, path: str) -> BlockedKind | None:
        if self._policy.mode == "full-access":
            return None
        root = next((root for root in self._policy.writes if _is_below(path, root)), None)
        if root is None:
            git = next((one for one in self._repositories_elsewhere if _is_below(path, one)), None)
            if git is not None and self._policy.mode == "workspace-write":
                return self._kind_of_git_write(path[len(git) :].strip("/").split("/"))
            if _is_below(path, "/tmp") or _is_below(path, self._policy.temporary):  # noqa: S108 - a private one
                return None
            in_project = any(_is_below(path, root) for root in self._policy.writable)
            return "read-only" if self._policy.mode == "read-only" and in_project else "write"
        if self._policy.tier != "none" and any(_is_below(path, own) for own in self._own_code(root)):
            return "kaa"
        parts = path[len(root) :].strip("/").split("/")
        if ".git" in parts:
            return self._kind_of_git_write(parts[parts.index(".git") + 1 :])
        return "protected" if is_protected(parts) else None

    def _kind_of_git_write(self, inside: list[str]) -> BlockedKind | None:
        if any(part in PROTECTED_GIT_NAMES for part in inside):
            return "protected"  # also when git writes are allowed: asking for them would not help
        return None if self._policy.git_writable else "git"

    @cached_property
    def _repositories_elsewhere(self) -> tuple[str, ...]:
        """Git directories of worktrees and submodules outside what may be written: git writes open them too."""
        found = (repository for root in self._policy.writable for repository in repositories.find(root))
        return tuple(path for repository in found if repository.proof for path in repository.directories)

    def _own_code(self, root: str) -> Iterator[str]:
        """What kaa runs from in a writable directory."""
        places = (os.path.realpath(path) for path in self._policy.executed)
        return (path for path in places if path != root and _is_below(path, root))

    def _absolute(self, path: str, cwd: str) -> str:
        if path == "~" or path.startswith("~/"):
            path = self._home + path[1:]
        return os.path.normpath(os.path.join(cwd, path))


def _is_below(path: str, directory: str) -> bool:
    return bool(directory) and (path == directory or path.startswith(directory.rstrip("/") + "/"))


def _paths_around(match: re.Match[str]) -> list[str]:
    """The paths in a line, the nearest to the reason first: programs put their own name at the beginning."""
    line, where = match[0], match.start("why") - match.start()
    quoted = [(found.span(), next(filter(None, found.groups()))) for found in _QUOTED.finditer(line)]
    unquoted = _QUOTED.sub(lambda found: " " * len(found[0]), line)
    bare = [(found.span(), found[0]) for found in _PATH.finditer(unquoted)]
    by_distance = sorted([*quoted, *bare], key=lambda found: min(abs(found[0][0] - where), abs(found[0][1] - where)))
    return [path for _, path in by_distance]
