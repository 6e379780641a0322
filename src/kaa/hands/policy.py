"""What the kernel is to allow: told to the hands once, before anything else, and never changed.

A different policy needs different hands. Nothing of it can come from the model, a tool, a project or an extension.
"""

from typing import Literal, NamedTuple, TypeAlias, TypeVar, get_args

from kaa.hands.executed_names import AGENTS, EDITORS, INTERPRETERS, LANGUAGE_SERVERS, OF_GIT, SHELLS
from kaa.hands.wire import Header, WireError, flag, mapping, pairs, text, texts

# Strongest first. `none` confines nothing: whoever uses it asks before each write and command.
Tier: TypeAlias = Literal["full", "bwrap", "landlock", "seatbelt", "none"]
Mode: TypeAlias = Literal["read-only", "workspace-write", "full-access"]
Network: TypeAlias = Literal["isolated", "host"]

# Directories for temporary files, of which slots have their own where there are mounts.
TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 the directories themselves are what is meant

_TIERS: tuple[Tier, ...] = get_args(Tier)
_MODES: tuple[Mode, ...] = get_args(Mode)
_NETWORKS: tuple[Network, ...] = get_args(Network)
_Choice = TypeVar("_Choice", bound=str)


class Policy(NamedTuple):
    """What slots may do. All paths are absolute; those of what may be read may be glob patterns.

    Attributes:
        tier: the mechanism to use; hands that cannot hold it refuse to serve.
        mode: `read-only` leaves only `temporary` and `cache` writable; `full-access` confines nothing.
        writable: directories that may be written, the project first.
        temporary: directory of the host that slots see as /tmp (where there are mounts, else as itself).
        cache: directory for the caches of installers, writable under its own path. Empty for an agent that may not
            write the project: others build it from what they find there.
        shared: directories of `cache`, relative to it, and those of the user that are seen through them where they may
            be read and the kernel can do that.
        work: directory for what the kernel needs for that, which no command can write.
        own: kaa's cache, which `temporary`, `cache` and `work` are in: nothing else of it may be written.
        hidden: what may not be read.
        unlisted: entries of directories that may not be read either unless they are listed; only the last part of
            such a pattern has wildcards of its own.
        listed: those that may be read, or what is to be seen somewhere below one.
        shown: exceptions from `hidden` and `unlisted`.
        private: directories of `hidden` that stay hidden although something above them is shown: kaa's own.
        untrusted: directories that commands of other runs may have written: no link that leads out of one shows
            anything, as of those in `writable`.
        git_writable: whether `.git` may be written, but for its hooks and configuration.
        network: `isolated` leaves loopback and the brain's proxy; `host` is the host's own network.
        executed: what the brain runs from, to be protected wherever it lies. It need not exist.
        obeyed: what of that is no code: the user's skills, commands and hooks.
        replaced: paths, and what slots see there, read-only (where there are mounts): a copy that commands cannot
            change; or the path itself, for what is in a replaced directory and is seen as it is.
    """

    tier: Tier
    mode: Mode
    writable: tuple[str, ...] = ()
    temporary: str = ""
    cache: str = ""
    shared: tuple[tuple[str, str], ...] = ()
    work: str = ""
    own: str = ""
    hidden: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    untrusted: tuple[str, ...] = ()
    git_writable: bool = False
    network: Network = "isolated"
    executed: tuple[str, ...] = ()
    obeyed: tuple[str, ...] = ()
    replaced: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, header: Header) -> "Policy":
        """Take the policy from the first frame.

        Raises:
            WireError: it is incomplete or says what no policy can say.
        """
        fields = mapping(header, "policy")
        return cls(
            tier=_one_of(_TIERS, text(fields, "tier")),
            mode=_one_of(_MODES, text(fields, "mode")),
            writable=tuple(texts(fields, "writable")),
            temporary=text(fields, "temporary"),
            cache=text(fields, "cache"),
            shared=tuple(pairs(fields, "shared")),
            work=text(fields, "work"),
            own=text(fields, "own"),
            hidden=tuple(texts(fields, "hidden")),
            unlisted=tuple(texts(fields, "unlisted")),
            listed=tuple(texts(fields, "listed")),
            shown=tuple(texts(fields, "shown")),
            private=tuple(texts(fields, "private")),
            untrusted=tuple(texts(fields, "untrusted")),
            git_writable=flag(fields, "git_writable"),
            network=_one_of(_NETWORKS, text(fields, "network")),
            executed=tuple(texts(fields, "executed")),
            obeyed=tuple(texts(fields, "obeyed")),
            replaced=tuple(pairs(fields, "replaced")),
        )

    @property
    def writes(self) -> tuple[str, ...]:
        """The directories that may be written in this mode, besides `temporary`."""
        roots = self.writable if self.mode == "workspace-write" else ()
        return (*roots, self.cache) if self.cache else roots


def _one_of(choices: tuple[_Choice, ...], word: str) -> _Choice:
    for choice in choices:
        if choice == word:
            return choice
    raise WireError(f"{word!r} is none of {', '.join(choices)}")


# Names that other programs execute or obey when somebody opens a directory: an editor, an agent, a shell, a debugger or
# an interpreter. (`.git` has rules of its own; `protected.py` says what else is protected, and where.)
PROTECTED_NAMES = (*AGENTS, *EDITORS, *LANGUAGE_SERVERS, *SHELLS, *INTERPRETERS, *OF_GIT)
# What git executes or obeys inside a `.git`, protected also when its other content may be written.
# `MERGE_RR` and `rr-cache` have git copy the files of a conflict from and to wherever they say.
PROTECTED_GIT_NAMES = ("hooks", "config", "config.worktree", "commondir", "rr-cache", "MERGE_RR")
# How deep below a writable directory repositories are looked for to be mounted, at the start of the hands.
REPOSITORY_DEPTH = 3
# How deep the guard looks for new ones, as far as its number of directories allows (28 us for each, once).
GUARDED_DEPTH = 8
