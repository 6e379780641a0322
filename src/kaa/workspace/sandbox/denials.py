"""Finds out from a command's output what the sandbox stopped.

`refusals` reads what programs say failed; here the paths are held against the policy. What cannot have been the sandbox
is not reported.
"""

import fnmatch
import os
import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import msgspec

from kaa.hands.policy import PROTECTED_GIT_NAMES, TEMPORARY, Policy
from kaa.hands.protected import is_protected, is_stub
from kaa.workspace.blocked import Blocked, BlockedKind, Stopped
from kaa.workspace.sandbox.refusals import Reason, Refusal, refusals

if TYPE_CHECKING:
    from kaa.hands.confinement.listing import HomeList

_MAX_REPORTED = 5
_WILDCARD = re.compile(r"[*?\[]")
_MAX_PLACES = 8  # in which one command works
# Patterns, not compiled, as most commands are kept from nothing.
_RENAMED = r"(?i)\b(?:renam|replac|mov(?:e|ing))"
# What git says of a file that it cannot replace; it goes on, or stops.
_GIT_STOPPED = r"^(?:error|warning): unable to (?:unlink|write file|create file)\b"
_WORD_ENDS = r"[\s'\"`;|&()<>=:,/]+"
_NO_NAME = (
    r"(?i)could not resolve (?:host(?:name)?|proxy)|temporary failure in name resolution|name or service not known"
    r"|network is unreachable|EAI_AGAIN|ENETUNREACH|nodename nor servname|no address associated with hostname"
)
# Where there is no loopback either, no connection is made at all. The last one is in Python's tracebacks.
_NO_SOCKET = (
    r"(?i)(?:connect|connection|listen|bind|socket)\b[^\n]{0,100}"
    r"(?:EACCES|EPERM|permission denied|operation not permitted)"
    r"|couldn't connect to server|socket\.py\", line[^\n]*\n[^\n]*\n(?:[ ~^]*\n)?PermissionError"
)
# ssh does not use the proxy, and its keys are hidden: no permission for a host helps it.
_SSH = r"(?m)^ssh: (?:Could not resolve hostname|connect to host) ([\w.:-]+?):? "
_NOT_SIGNED = r"(?m)^(?:error: gpg failed to sign the data|fatal: failed to write commit object)"
# What says that a command works elsewhere. The directory is missing where bash computes it.
_ELSEWHERE = re.compile(
    r"""(?:^|[\s;&|(])(?:cd|pushd|-C)[ \t]+(?:--[ \t]+)?"""
    r"""(?:"(?P<double>[^"$`\\\n]+)"|'(?P<single>[^'\n]+)'|(?P<bare>[^\s;&|()<>'"$`\\*?]+)(?=$|[\s;&|)]))?"""
)
_GIT_REFUSAL = r"(?i)\.git/|could not lock config file|unable to create temporary file|index\.lock"


class Denials:
    """What a policy stops, told from the words of programs. It looks at the project once, for one output.

    Args:
        home: for `~`.
    """

    def __init__(self, policy: Policy, root: str, home: str) -> None:
        self._policy = policy
        self._root = root
        self._home = home
        self._held_in: dict[str, Sequence[str]] = {}  # by directory

    def in_output(self, text: str, cwd: str, command: str = "") -> tuple[Blocked, ...]:
        """What was blocked, according to the output of a command that failed.

        Args:
            cwd: absolute path of the directory the command ran in.
            command: what was run, for messages that name a temporary file instead of what it was to replace.
        """
        if self._policy.mode == "full-access":
            return ()
        found = dict.fromkeys(self._refusals(text, cwd, command))
        if not found and re.search(_NOT_SIGNED, text):
            found[Blocked("outside", "Signing with your key, which is hidden,")] = None
        if hosts := re.findall(_SSH, text):
            found |= dict.fromkeys(Blocked("outside", f"ssh to {host}, which needs your keys,") for host in hosts)
        elif self._policy.network == "isolated" and self._tells_of_no_network(text):
            # Without a proxy nobody else knows of it.
            without_proxy = self._policy.tier == "landlock"
            found[Blocked("outside", "Connecting to the network") if without_proxy else Blocked("network")] = None
        named = [one for one in found if one.what or one.kind == "network"]
        return tuple(named or found)[:_MAX_REPORTED]

    def in_passing(self, text: str, cwd: str, command: str = "") -> tuple[Blocked, ...]:
        """What was blocked, according to the output of a command that ended well.

        Such output may also be a log that the command showed. What counts is only a line that looks like a program's
        own message and names something that the kernel refuses at this moment.

        Args:
            text: as for `in_output`.
            cwd: likewise.
            command: likewise.
        """
        if self._policy.mode == "full-access":
            return ()
        own = (refusal for refusal in refusals(text) if not refusal.cited)
        places = self._places(command, cwd)
        seen = ((refusal, self._seen_from(refusal, places, cwd)) for refusal in own)
        told = (blocked for refusal, known in seen for blocked in self._stopped(refusal, known, command))
        held = dict.fromkeys(blocked for blocked in told if self._holds(blocked))
        return tuple(held)[:_MAX_REPORTED]

    def of_write(self, path: str) -> Blocked | None:
        """Why a file may not be written, or None if the policy does not mind.

        Args:
            path: absolute, normalised.
        """
        kind = self._kind_of_write(path)
        return None if kind is None else Blocked(kind, path)

    def of_named(self, path: str) -> Blocked | None:
        """Why a file of the project may not be written that only configuration or a link makes protected.

        Args:
            path: absolute, normalised.
        """
        return Blocked("protected", path) if self._is_named(os.path.realpath(path)) else None

    def of_read(self, path: str) -> Blocked | None:
        """Why a file may not be read, or None if the policy does not mind.

        Args:
            path: absolute, normalised.
        """
        return Blocked("read", path) if self.is_secret(path) else self._of_unlisted(path) or self._of_temporary(path)

    def is_secret(self, path: str) -> bool:
        """Whether a file is hidden because it is known to hold secrets, and not only because it is not listed.

        Args:
            path: absolute, normalised.
        """
        return any(_fits(path, hidden) for hidden in self._policy.hidden) and not any(
            _is_below(path, shown) for shown in self._policy.shown
        )

    def is_hidden_with_folder(self, path: str) -> bool:
        """Whether a file is hidden only for what it lies in: an entry of the home that is not listed, or kaa's own.

        Args:
            path: absolute and real.
        """
        is_in_folder = self._of_unlisted(path) is not None or any(_is_below(path, one) for one in self._policy.private)
        return is_in_folder and not any(_is_below(path, one) for one in self._secret)

    @cached_property
    def _secret(self) -> frozenset[str]:
        """Real paths of what is hidden for itself. What a link leads to is a secret as the link is."""
        from kaa.hands.confinement.expansion import Expansion  # lazy, as below

        return frozenset(Expansion().existing(self._policy.hidden)).difference(self._policy.private)

    @cached_property
    def _listing(self) -> "HomeList":
        from kaa.hands.confinement.layout import real_directories  # lazy, as below: most output names no such path
        from kaa.hands.confinement.listing import HomeList

        return HomeList(self._policy, real_directories(self._policy.writes))

    @cached_property
    def _needed(self) -> tuple[str, ...]:
        from kaa.hands.confinement.layout import needed_in_home

        return needed_in_home(self._policy, self._home)

    def _of_unlisted(self, path: str) -> Blocked | None:
        """Why something of the home does not seem to exist, if it does: its entry there is not listed."""
        seen = (*self._policy.writes, *self._policy.listed, *self._policy.shown)
        if not self._policy.unlisted or any(_is_below(path, one) for one in seen):
            return None
        try:
            real = os.path.realpath(path)
        except OSError:  # such as /proc/1/fd/0, which is another process's inside
            return None
        entry = self._listing.entry_above(real)
        if entry is None or not os.path.lexists(entry) or any(_is_below(real, one) for one in self._needed):
            return None
        return Blocked("read", entry)

    def _of_temporary(self, path: str) -> Blocked | None:
        """Why a file of the user in /tmp does not seem to exist: `arrivals` shows only some."""
        private = self._in_private(path)
        if not private or os.path.lexists(private) or not (os.path.isfile(path) or os.path.isdir(path)):
            return None
        return (
            None
            if any(_is_below(path, one) for one in (*self._policy.writes, *self._policy.shown))
            else Blocked("read", path)
        )

    def _in_private(self, path: str) -> str:
        """Where something below /tmp is really kept; empty if it is not below, or there is no private one."""
        if self._policy.tier not in ("full", "bwrap"):
            return ""
        base = next((base for base in TEMPORARY if _is_below(path, base)), None)
        return "" if base is None else self._policy.temporary + path[len(base) :]

    def _is_users(self, path: str) -> bool:
        """Whether something in /tmp is a file of the user, which commands can read only."""
        return bool(private := self._in_private(path)) and is_stub(private)

    def _tells_of_no_network(self, text: str) -> bool:
        no_loopback = self._policy.tier == "landlock"
        return re.search(_NO_NAME, text) is not None or (no_loopback and re.search(_NO_SOCKET, text) is not None)

    def _refusals(self, text: str, cwd: str, command: str) -> Iterator[Blocked]:
        places = self._places(command, cwd)
        for refusal in refusals(text):
            stopped = list(self._stopped(refusal, self._seen_from(refusal, places, cwd), command))
            yield from stopped
            if stopped or refusal.reason != "read-only":
                continue
            if re.search(_GIT_REFUSAL, refusal.line) and not self._policy.git_writable:
                yield Blocked("git")
            elif not refusal.paths or not places:
                yield Blocked("write")

    def _places(self, command: str, cwd: str) -> list[str]:
        """The directories in which a command may have worked, the last one first; none if bash computes one."""
        places = [cwd]
        for found in _ELSEWHERE.finditer(command):
            name = found["double"] or found["single"] or found["bare"]
            if name is None or name == "-" or len(places) == _MAX_PLACES:
                return []
            places.append(self._absolute(name, places[-1]))
        return list(dict.fromkeys(reversed(places)))

    def _seen_from(self, refusal: Refusal, places: Sequence[str], cwd: str) -> Sequence[str]:
        """The directories from which a program may have named its paths. `places`: see `_places`.

        git names what it cannot replace from the top of the repository, wherever it was started; where that is not
        known, a file that exists below the present one is taken for it.
        """
        if not re.search(_GIT_STOPPED, refusal.line):
            return places
        tops = list(dict.fromkeys(map(_top_of_repository, places or [cwd])))
        names = (*refusal.paths, *refusal.words)
        having = [top for top in tops if any(os.path.lexists(os.path.join(top, name)) for name in names)]
        return having or (tops if places else [])

    def _stopped(self, refusal: Refusal, places: Sequence[str], command: str) -> Iterator[Blocked]:
        """What a program was kept from, if it was the sandbox that did it. `places`: see `_places`."""
        words = [path for word in refusal.words for path in self._paths(word, places)]
        paths = [path for name in refusal.paths for path in self._paths(name, places)]
        judged = (self._judged(path, refusal.reason) for path in (*words, *paths))
        if found := next((one for one in judged if one is not None), None):
            is_of_git = found.kind == "protected" and re.search(_GIT_STOPPED, refusal.line) is not None
            yield msgspec.structs.replace(found, stopped="git") if is_of_git else found
        elif refusal.reason == "read-only":
            known = [
                *filter(os.path.lexists, words),
                *(path for path in paths if len(places) == 1 or os.path.lexists(path)),
            ]
            inside = (path for path in known[:1] if any(_is_below(path, root) for root in self._policy.writes))
            yield from (Blocked("protected", path) for path in inside)  # what git's configuration names
        elif refusal.reason == "busy":
            yield from self._busy(refusal, paths, command)

    def _busy(self, refusal: Refusal, paths: Sequence[str], command: str) -> Iterator[Blocked]:
        """What a mount keeps from being removed, moved or replaced, also of what configuration or a link names."""
        existing = [path for path in paths if os.path.lexists(path)]
        if self._policy.tier in ("full", "bwrap") and existing:
            held = (one for one in self._named for path in existing if _is_below(one, path) or _is_below(path, one))
            if found := next((one for one in held if os.path.exists(one)), None):
                stopped: Stopped = "git" if re.search(_GIT_STOPPED, refusal.line) else "removal"
                yield Blocked("protected", found, stopped=stopped)
                return
        if re.search(_RENAMED, refusal.line):
            yield from self._replaced(paths, command)

    def _judged(self, path: str, reason: Reason) -> Blocked | None:
        """Only a read-only file system is surely our doing; what is denied may be so on any machine."""
        if reason == "missing":
            return self._of_unlisted(path) or self._of_temporary(path)
        if reason != "read-only" and (hidden := self.of_read(path)):
            return hidden
        blocked = self.of_write(path)
        if blocked is not None and blocked.kind == "write" and reason != "read-only" and self._policy.tier == "full":
            return blocked if reason == "busy" and self._is_users(path) else None
        return blocked

    def _replaced(self, paths: Sequence[str], command: str) -> Iterator[Blocked]:
        """Of what could not replace something in a directory, as by `sed -i`: what it was to replace."""
        held = self._held(next((os.path.dirname(path) for path in paths), ""))
        meant = set(re.split(_WORD_ENDS, command))
        if known := [path for path in held if os.path.basename(path) in meant] or (held if len(held) == 1 else []):
            yield from (Blocked("protected", path) for path in known)
        elif held:
            yield Blocked("protected")

    def _held(self, directory: str) -> Sequence[str]:
        """Paths of what is a mount in a directory because it is protected."""
        if directory not in self._held_in:
            try:
                all_paths = [os.path.join(directory, name) for name in os.listdir(directory)]
            except (OSError, ValueError):  # a name with a zero byte
                all_paths = []
            self._held_in[directory] = [path for path in all_paths if self._is_held(path) or path in self._named]
        return self._held_in[directory]

    def _is_held(self, path: str) -> bool:
        """Whether a name that exists is a mount because it is protected."""
        return self._kind_of_write(path) == "protected"

    def _holds(self, blocked: Blocked) -> bool:
        """Whether the kernel refuses this now: a name that does not exist yet is only watched by the guard."""
        if blocked.kind in ("write", "read", "read-only"):
            return bool(blocked.what)
        if self._policy.tier not in ("full", "bwrap") or not blocked.what:
            return False
        path, above = blocked.what, os.path.dirname(blocked.what)
        while self._kind_of_write(above) in ("git", "kaa", "protected"):
            path, above = above, os.path.dirname(above)
        return os.path.lexists(path) and (self._kind_of_write(path) is not None or self._is_named(path))

    def _is_named(self, path: str) -> bool:
        """Whether git's configuration names something in the project that holds a path."""
        return any(_is_below(path, named) for named in self._named)

    @cached_property
    def _named(self) -> Sequence[str]:
        """What git's configuration, and links among what git executes, name in the project."""
        from kaa.hands.confinement import repositories
        from kaa.hands.confinement.layout import real_directories
        from kaa.hands.confinement.named import named_paths

        projects = real_directories(self._policy.writable)
        gits = [git for root in projects for git in repositories.find(root)]
        return named_paths(gits, projects, self._home)

    def _kind_of_write(self, path: str) -> BlockedKind | None:
        if self._policy.mode == "full-access":
            return None
        root = next((root for root in self._policy.writes if _is_below(path, root)), None)
        if root is None:
            git = next((one for one in self._repositories_elsewhere if _is_below(path, one)), None)
            if git is not None and self._policy.mode == "workspace-write":
                return self._kind_of_git_write(path[len(git) :].strip("/").split("/"))
            if self._is_users(path):
                return "write"
            if self._in_private(path) or _is_below(path, self._policy.temporary):
                return None
            in_project = any(_is_below(path, root) for root in self._policy.writable)
            return "read-only" if self._policy.mode == "read-only" and in_project else "write"
        if self._policy.tier != "none" and (own := next(self._own_code(path, root), "")):
            return "protected" if own in map(os.path.realpath, self._policy.obeyed) else "kaa"
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
        from kaa.hands.confinement import repositories

        found = (repository for root in self._policy.writable for repository in repositories.find(root))
        return tuple(path for repository in found if repository.proof for path in repository.directories)

    def _own_code(self, path: str, root: str) -> Iterator[str]:
        """What kaa runs from, or obeys, in a writable directory and with this path."""
        return (
            place
            for place in _real_paths(self._policy.executed)
            if place != root and _is_below(place, root) and _is_below(path, place)
        )

    def _paths(self, name: str, places: Sequence[str]) -> list[str]:
        """What a program may mean by a name."""
        if name.startswith(("/", "~/")) or name == "~":
            return [self._absolute(name, self._root)]
        return [self._absolute(name, place) for place in places]

    def _absolute(self, path: str, cwd: str) -> str:
        if path == "~" or path.startswith("~/"):
            path = self._home + path[1:]
        if path.startswith(".git/"):  # git names it so from anywhere in the working tree
            while cwd != self._root and _is_below(cwd, self._root) and not os.path.lexists(os.path.join(cwd, ".git")):
                cwd = os.path.dirname(cwd)
        return os.path.normpath(os.path.join(cwd, path))


def _top_of_repository(place: str) -> str:
    """The working tree of git that a directory is in; the directory itself if it is in none."""
    path = place
    while not os.path.lexists(os.path.join(path, ".git")):
        if path == (above := os.path.dirname(path)):
            return place
        path = above
    return path


@lru_cache(maxsize=4)
def _real_paths(executed: tuple[str, ...]) -> tuple[str, ...]:
    """What kaa was started from; a link that leads elsewhere since then changes nothing of that."""
    return tuple(map(os.path.realpath, executed))


def _fits(path: str, pattern: str) -> bool:
    """True if a path is what a pattern names, or below it. Most patterns are plain paths, which need no expression."""
    if not _WILDCARD.search(pattern):
        return path == pattern or path.startswith(f"{pattern}/")
    return fnmatch.fnmatchcase(path, pattern) or fnmatch.fnmatchcase(path, f"{pattern}/*")


def _is_below(path: str, directory: str) -> bool:
    return bool(directory) and (path == directory or path.startswith(directory.rstrip("/") + "/"))
