"""What the sandbox stopped, in the same words whatever did it: a mount, Landlock, seccomp, the proxy, the guard."""

import errno
import os
from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from kaa.host.paths import is_below

Stopped: TypeAlias = Literal["", "git", "removal"]
BlockedKind: TypeAlias = Literal[
    "write",
    "read-only",
    "read",
    "git",
    "protected",
    "kaa",
    "network",
    "direct",
    "port",
    "socket",
    "process",
    "late",
    "private",
    "forbidden",
    "unanswered",
    "outside",
    "unmoved",
    "more",
    "flood",
    "unchecked",
    "unread",
]

_OUTSIDE = "(Allow it outside the sandbox, or do it yourself.)"
_BY_TOOL = "(The tools write and edit ask the user about it.)"

_IN_TMP = {
    "write": "Writing to {what} is blocked: it belongs to the user. Use another name, in $TMPDIR.",
    "read": "Reading {what} is blocked: commands see only files in /tmp that every user may read (chmod o+r)."
    " The user can attach it: @{what}",
}
_HALF_WAY = {
    "git": "(git stopped half way: `git status` shows what it had changed by then. `git stash -u` sets that aside, with"
    " all else that is not committed, or the --abort of the command that git names; the user's /undo takes back only"
    " this. Then the user can type the command behind `!`.)",
    "removal": "(So what it is in cannot be removed or moved as a whole: remove what is beside it, or the user types"
    " the command behind `!`.)",
}
_SENTENCES = {
    "read-only": "Writing {what} is blocked: the mode is read-only. (Shift+Tab, /approvals or --sandbox workspace-write"
    " changes it.)",
    "read": 'Reading {what} is blocked: it may hold secrets. ("!{what}" in sandbox.hidden shows it.)',
    "git": "Writing to .git is blocked: the user has switched git writes off (--no-git, or sandbox.git in the"
    " settings).",
    "kaa": "Writing {what} is blocked: kaa itself runs from it. Use another virtual environment for the project"
    " (python3 -m venv), or keep kaa outside the project. Of an extension that is installed with --link, instead of"
    " named with -e, kaa loads a copy, and commands may change it.",
    "direct": "A direct connection to {what} is blocked: commands reach the network only through the proxy in"
    " HTTPS_PROXY. (Use a program that supports it, or type the command behind `!`, which runs it with your rights.)",
    "port": "Connecting to localhost:{what} is blocked: it is a service outside the sandbox, which has its own"
    " loopback. (/allow {what} permits it for this session.)",
    "socket": "Connecting to {what} is blocked: a program outside the sandbox listens there. (/allow {what} permits it"
    " for this session.)",
    "process": "Process {what} is outside the sandbox: commands cannot see, trace or signal it. (Type the command"
    " behind `!`, which runs it with your rights.)",
    # Of the guard.
    "unmoved": "{what} has changed while commands could write it, other programs execute or obey it, and kaa could not"
    " move it away. Look at it before you use git or open the project in another program.",
    "more": "kaa moved more names than it lists, that other programs execute or obey: find . -name '*.kaa-blocked*'"
    " shows all of them.",
    "flood": "Commands made protected names in a loop: kaa stopped all commands that were running.",
    "unread": "{what} holds more, or deeper, files and directories than kaa can check, so commands can change some"
    " there that other programs execute or obey. Remove what is not needed there, then start kaa again.",
    "unchecked": "kaa could not check whether commands wrote files that other programs execute: the guard did not"
    " answer{what}. Stop background processes, and look at what changed (git status) before you open the project in"
    " another program.",
}


class Blocked(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True):
    """One thing that was stopped.

    Attributes:
        kind: `write` outside the project or, in a `read-only` session, in it; `read` of a secret; writes below `.git`,
            to a `protected` name, or to what `kaa` runs from; the `network`, also where the answer about a host came
            too `late`, the question was `unanswered` when the command ended, or the address of the host is `private`,
            or one that nothing permits (`forbidden`); `direct` past the proxy; a `port` or a `socket` at which a
            program of the user's machine listens, one of its processes (`process`); or whatever else would have to
            happen `outside` the sandbox. The guard's own: something that stayed where it is (`unmoved`), `more` than
            it lists, a directory of which kaa cannot check all (`unread`), and `flood` and `unchecked` about all that
            runs.
        what: the path, the host and the port, the port or the number of the process; empty if it is not known.
        kept_as: where it was moved to when it could not be prevented.
        saved: a copy of that in kaa's home, as it was when it was moved, or soon after if it was empty; ends with `/`
            if that is a directory; empty if there is none.
        files: what is in that directory.
        later: a copy of what somebody has written there since; empty if nobody has.
        stopped: what ended half way at a protected file: a command of `git`, or the `removal`, or moving, of something
            that it is in; empty if it is not known to be one of these.
    """

    kind: BlockedKind
    what: str = ""
    kept_as: str = ""
    saved: str = ""
    later: str = ""
    files: tuple[str, ...] = ()
    stopped: Stopped = ""

    @property
    def text(self) -> str:
        """What was blocked, and what would allow it: for the model and the user."""
        if not self.kept_as:
            way = "" if self.kind != "protected" else f" {_BY_TOOL if self.what else _OUTSIDE}"
            way = f" {_HALF_WAY[self.stopped]}" if self.stopped else way
            return visible(f"{self._reason}{way}")
        from kaa.workspace import moved_wording  # lazy: the guard rarely moves anything

        return moved_wording.text(self)

    @property
    def notice(self) -> str:
        """The same for the user, where no call is to blame: the guard does not know who wrote it."""
        if not self.kept_as:
            return visible(self._reason)
        from kaa.workspace import moved_wording  # lazy, as above

        return moved_wording.notice(self)

    @property
    def told(self) -> str:
        """The same for a question to the user, without the advice that a yes makes needless."""
        return self.text if self.kept_as else visible(self._reason)

    @property
    def host_rule(self) -> str | None:
        """The rule that allows the host of a blocked connection, as `--net` takes it; None if none can."""
        from kaa.workspace.network.allow_list import NetworkRule, NetworkRuleError  # lazy: few hosts are blocked
        from kaa.workspace.network.destinations import HostError, parse_authority

        try:
            return str(NetworkRule.parse(str(NetworkRule.exactly(parse_authority(self.what, default_port=443)))))
        except (HostError, NetworkRuleError):
            return None

    @property
    def net_word(self) -> str | None:
        """What `--net` takes to allow the host of a blocked connection, and those that are used with it."""
        from kaa.workspace.network.registries import word_of  # lazy, as above

        return None if (rule := self.host_rule) is None else word_of(rule)

    @property
    def way_back(self) -> str:
        """The shell command that puts back what was moved: commands may change what lies in the project meanwhile."""
        from kaa.workspace import moved_wording  # lazy, as above

        return moved_wording.way_back(self)

    def with_later(self, later: "Blocked") -> "Blocked":
        """Return this with the copies that another one has, if that is about the same."""
        if (self.what, self.kept_as) != (later.what, later.kept_as):
            return self
        saved, files = self.saved or later.saved, later.files or self.files
        return msgspec.structs.replace(self, saved=saved, files=files, later=self.later or later.later)

    @property
    def copying(self) -> str:
        """What the names of all copies of one directory begin with that were made one after another; empty if none is.

        See `kaa.workspace.sandbox.saved_content`.
        """
        return os.path.basename(self.saved.rstrip("/")).partition("-")[0].partition(".")[0]

    def with_copy(self, saved: str, files: tuple[str, ...] = ()) -> "Blocked":
        """Return this with a copy."""
        return msgspec.structs.replace(self, saved=saved, files=files)

    def includes(self, other: "Blocked") -> bool:
        """Return True if this is about the same directory as another one, with at least the same files."""
        mine, others = ((one.what, one.kept_as, one.copying) for one in (self, other))
        return bool(self.files) and mine == others and set(self.files) >= set(other.files)

    def is_same_move(self, other: "Blocked") -> bool:
        """Return True if another one is about the same moved file, perhaps before more was known of it."""
        is_same_copy = self.copying == other.copying or not (self.saved and other.saved)
        return (self.what, self.kept_as) == (other.what, other.kept_as) and is_same_copy

    @property
    def is_reparable(self) -> bool:
        """Whether running the same again, with more permitted, gives what was wanted.

        It does not bring back what the guard moved away, which may have been there before the command.
        """
        never = (
            "git",
            "unmoved",
            "more",
            "flood",
            "unchecked",
            "unread",
            "network",
            "late",
            "private",
            "forbidden",
            "unanswered",
        )
        return self.kind not in never and not self.kept_as

    @property
    def _reason(self) -> str:
        if self.what.startswith(("/tmp/", "/var/tmp/")) and self.kind in _IN_TMP:  # noqa: S108 - the user's
            return _IN_TMP[self.kind].format(what=self.what)
        return self._usual_reason

    @property
    def _usual_reason(self) -> str:
        match self.kind:
            case "write":
                return _outside_the_project(self.what)
            case "unchecked":
                return _SENTENCES[self.kind].format(what=f" (it is at {self.what})" if self.what else "")
            case "protected":
                what = self.what or "a protected file"
                if "/.git/" in self.what:
                    return f"Writing {what} is blocked: git executes what its configuration and hooks say."
                return f"Writing {what} is blocked: other programs execute or obey it."
            case "network" | "late" | "private" | "forbidden" | "unanswered":
                return self._network_reason
            case "outside":
                return f"{self.what or 'This'} cannot be done inside the sandbox."
            case kind:
                return _SENTENCES[kind].format(what=self.what)

    @property
    def _network_reason(self) -> str:
        if not self.what:
            return (
                "Network access without the proxy is blocked. (Programs find it by HTTP_PROXY and similar variables.)"
            )
        access, remedy = f"Network access to {self.what}", f"(/net or --net {self.net_word} allows it.)"
        if self.kind == "late":
            return (
                f"{access} was blocked: the program did not wait for the user's answer. It is allowed now: run the"
                " command again if it needs it."
            )
        if self.kind == "private":
            return f"{access} is blocked: the name leads to an address that is not public. {remedy}"
        if self.kind == "forbidden":
            return (
                f"{access} is blocked: the name leads to this machine, the local link or a metadata service, which"
                " nothing in the sandbox may reach. (/allow PORT permits a port of this machine.)"
            )
        if self.kind == "unanswered":
            return f"{access} was blocked: the command ended before the user answered. {remedy}"
        return f"{access} is blocked{f'. {remedy}' if self.host_rule else ': nothing in the sandbox may reach it.'}"


def _outside_the_project(path: str) -> str:
    where = f" to {path}" if path else ""
    top, git, _ = path.partition("/.git/")
    if git:
        return (
            f"Writing{where} is blocked: this repository is not in the project. (/add-dir {top} permits it for this"
            " session; or start kaa there.)"
        )
    home = os.path.expanduser("~")
    local = os.path.join(home, ".local")  # of `pip install --user`, which names the first directory that is missing
    if path == local:
        return (
            f"Writing{where} is blocked: only the project and /tmp can be written. (What installs for your user needs"
            " your rights: type the command behind `!`. Python packages can go into a virtual environment: python3 -m"
            " venv .venv, then .venv/bin/pip install.)"
        )
    if path == f"{local}/lib" or path.startswith(f"{local}/lib/python"):
        return (
            f"Writing{where} is blocked: only the project and /tmp can be written. (For Python packages, use a virtual"
            " environment: python3 -m venv .venv, then .venv/bin/pip install.)"
        )
    is_addable = not path or not is_below(home, [os.path.dirname(path)])  # nothing adds what holds the whole home
    way = "(/add-dir or --add-dir allows more.)" if is_addable else _OUTSIDE
    return f"Writing{where} is blocked: only the project and /tmp can be written. {way}"


def visible(text: str) -> str:
    r"""The text on one line: control characters, which names may have, stand as their escapes, such as `\x1b`."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def sentences(blocked: Iterable[Blocked]) -> tuple[str, ...]:
    """The texts, each once: `rm -r .git` is stopped at many files, for one reason."""
    return tuple(dict.fromkeys(one.text for one in blocked))


def note(blocked: Iterable[Blocked]) -> str:
    """Lines to add to a result."""
    return "\n".join(f"[sandbox] {sentence}" for sentence in sentences(blocked))


def without_note(text: str, blocked: Iterable[Blocked]) -> str:
    """The text of a result without what `note` says of some of what was stopped."""
    said = {note([one]) for one in blocked}
    return "\n".join(line for line in text.split("\n") if line not in said).rstrip("\n")


class BlockedError(PermissionError):
    """The sandbox does not let a file be touched."""

    def __init__(self, blocked: Blocked, path: str) -> None:
        super().__init__(errno.EACCES, blocked.text, path)
        self.blocked = blocked
