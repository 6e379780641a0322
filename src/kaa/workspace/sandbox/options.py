"""What the user may choose about the sandbox, and the policy that follows from it."""

import glob
import os
from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

from kaa.hands.policy import Mode, Policy, Tier
from kaa.host.code import executed
from kaa.host.known_projects import known_projects
from kaa.host.paths import is_below
from kaa.workspace.network.allow_list import NetworkState
from kaa.workspace.places import Places
from kaa.workspace.sandbox.environment import shared_caches
from kaa.workspace.sandbox.secrets import conceal

Environment: TypeAlias = Mapping[str, str]
PortsMode: TypeAlias = Literal["closed", "open"]
ConfinedMode: TypeAlias = Literal["read-only", "workspace-write"]


class SandboxOptions(msgspec.Struct, frozen=True):
    """The user's choices, from flags and the user's own settings. Nobody else may make them.

    Attributes:
        mode: what may be written at all.
        network: what may be connected to.
        writable: directories besides the project that may be written, absolute.
        root_writable: whether the project may be written at all.
        hidden: paths that may not be read besides the usual ones; with a leading `!`, exceptions from those.
        plugins: folders of plugins, absolute: commands read them, but no program with rights of its own does.
        git_writable: whether `.git` may be written, but for what executes.
        closed: directories besides the usual ones whose entries may not be read unless they are listed, absolute.
        listed: paths below those that may be read, absolute.
        private: kaa's own directories, which hold keys and other people's sessions.
        loaded: files and directories that kaa loads code from besides its own, absolute: extensions.
        obeyed: what is protected with that and is no code: the user's skills, commands and hooks.
        own: the paths of what kaa takes for the user's, wherever links lead from them; some need protection as soon as
            more may be written.
        replaced: directories and copies of them that are seen in their place, and paths in those that are seen as they
            are, each with itself; absolute and real.
        ports: whether servers inside are reachable on the user's loopback without a command of the user's.
    """

    mode: Mode = "workspace-write"
    network: NetworkState = NetworkState()
    writable: tuple[str, ...] = ()
    root_writable: bool = True
    hidden: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    loaded: tuple[str, ...] = ()
    obeyed: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    git_writable: bool = True
    replaced: tuple[tuple[str, str], ...] = ()
    ports: PortsMode = "closed"


class SandboxChange(msgspec.Struct, frozen=True, kw_only=True):
    """What changes from now on; what is not named stays.

    Attributes:
        mode: what may be written at all.
        writable: directories that may be written too, absolute.
        shown: paths that may be read although they are hidden, absolute.
        git_writable: whether `.git` may be written, but for what executes.
        ports: whether servers inside that are not known yet are opened.
    """

    mode: ConfinedMode | None = None
    writable: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    git_writable: bool | None = None
    ports: PortsMode | None = None

    def resolved(self) -> "SandboxChange":
        """The same with real paths. Whatever is checked of them and then done has to go by these."""
        return msgspec.structs.replace(
            self,
            writable=tuple(map(os.path.realpath, self.writable)),
            shown=tuple(map(os.path.realpath, self.shown)),
        )

    def of(self, options: SandboxOptions, root: str) -> SandboxOptions:
        """The options of a sandbox after this change, whose paths are real ones.

        What lies in a writable directory adds nothing, and commands could exchange it for a link to somewhere else.
        """
        known = (*options.writable, *([root] if options.root_writable else []))
        added = tuple(path for path in self.writable if not is_below(path, known))
        shown = tuple(f"!{glob.escape(path)}" for path in self.shown)
        own = map(os.path.realpath, options.own if added else ())
        obeyed = [real for real in own if is_below(real, added) and real not in added]
        return msgspec.structs.replace(
            options,
            mode=self.mode or options.mode,
            writable=tuple(dict.fromkeys((*options.writable, *added))),
            hidden=tuple(dict.fromkeys((*options.hidden, *shown))),
            git_writable=options.git_writable if self.git_writable is None else self.git_writable,
            ports=self.ports or options.ports,
            loaded=tuple(dict.fromkeys((*options.loaded, *obeyed))),
            obeyed=tuple(dict.fromkeys((*options.obeyed, *obeyed))),
        )


def policy_for(
    tier: Tier, options: SandboxOptions, *, root: str, home: str, places: Places, environment: Environment
) -> Policy:
    """The policy that hands get.

    Args:
        options: the user's choices; its writable directories are real paths.
        root: the project, a real path.
        places: directories for temporary files and caches, created here.

    Raises:
        OSError: those cannot be created.
    """
    uncovered = (f"!{glob.escape(folder)}" for folder in options.plugins)
    concealed = conceal(home, options.private, (*uncovered, *options.hidden), environment)
    closed = (f"{glob.escape(os.path.realpath(path)).rstrip('/')}/*" for path in options.closed)
    if options.mode == "full-access" or tier == "none":
        # Where nothing holds although the user wants it, files are still not read unasked that may hold secrets.
        watched = concealed._asdict() if options.mode != "full-access" else {}
        return Policy(tier="none", mode=options.mode, network="host", **watched)
    # Landlock and seccomp cannot tell hosts apart: there the network is open or closed.
    host_network = tier == "landlock" and options.network.is_open
    roots = (root,) if options.root_writable or options.mode == "read-only" else ()
    if options.mode == "workspace-write":
        places.note_added(options.writable)
    return Policy(
        tier=tier,
        mode=options.mode,
        writable=tuple(dict.fromkeys((*roots, *options.writable))),  # not resolved again: one may be a link by now
        temporary=places.temporary,
        cache=places.caches if options.root_writable else "",
        shared=shared_caches(home, environment) if options.root_writable and tier == "full" else (),
        own=places.whole,
        work=places.work if options.root_writable and tier == "full" else "",
        hidden=concealed.hidden,
        unlisted=(*concealed.unlisted, *closed),
        listed=(*concealed.listed, *map(glob.escape, options.listed), glob.escape(places.output)),
        shown=concealed.shown,
        private=tuple(map(os.path.realpath, options.private)),
        untrusted=tuple(sorted(known_projects(environment, root, added=True))),
        git_writable=options.git_writable,
        network="host" if host_network else "isolated",
        executed=(*executed(), *options.loaded),
        obeyed=options.obeyed,
        replaced=options.replaced,
    )
