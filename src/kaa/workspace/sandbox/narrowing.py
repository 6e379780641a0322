"""From the options of a sandbox to those of a narrower one: fewer directories to write, fewer hosts, nothing more.

A command of the wider sandbox can replace whatever it can write, also by a link to somewhere else. So only whole
writable directories can be chosen, and none that lies in another one: nobody in the sandbox can replace those.
"""

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from kaa.workspace.network.allow_list import NetworkRuleError, NetworkState
from kaa.workspace.places import Places
from kaa.workspace.protocol import WiderError
from kaa.workspace.sandbox.findings import Findings, Listener
from kaa.workspace.sandbox.options import SandboxChange, SandboxOptions
from kaa.workspace.sandbox.sandbox import Sandbox


class Beside(NamedTuple):
    """What a sandbox beside another one is made of, besides its options.

    Attributes:
        places: directories of its own for temporary files and caches.
    """

    root: str
    home: str
    places: Places
    environment: Mapping[str, str]


def narrowed_sandbox(
    sandbox: Sandbox,
    beside: Beside,
    listener: Listener,
    writable: Sequence[str] | None,
    hosts: Sequence[str] | None,
) -> Sandbox:
    """Start a sandbox beside another one that allows less. See `narrowed_options`.

    Args:
        beside: what the new one is made of besides its options.

    Raises:
        WiderError: something was chosen that the wider sandbox does not allow.
        RootReplacedError: a directory of the wider sandbox is not what it was.
    """
    sandbox.check_roots()
    options = narrowed_options(sandbox.options, beside.root, sandbox.network.state, writable, hosts)
    narrower = Sandbox(beside.root, beside.home, options, beside.places, beside.environment)
    narrower.findings = Findings(listener)
    if sandbox.mode != "full-access":
        sandbox.network.limit(narrower.network)
    narrower.start()
    return narrower


def narrowed_options(
    options: SandboxOptions,
    root: str,
    network: NetworkState,
    writable: Sequence[str] | None,
    hosts: Sequence[str] | None,
) -> SandboxOptions:
    """The options of a sandbox that can do what was chosen and nothing that `options` do not allow.

    Args:
        network: what the wider sandbox may reach now.
        writable: the directories to write, relative to the project or absolute; None for those of `options`. Of a
            sandbox that confines nothing that is the project and the directories added to it, as in `workspace-write`.
        hosts: rules for the network as `--net` takes them; None for those of `network`.

    Raises:
        WiderError: something was chosen that `options` do not allow.
    """
    is_open = options.mode == "full-access"
    if is_open and writable is None and hosts is not None:
        writable = (root, *options.writable)
    if writable is not None:
        chosen = tuple(dict.fromkeys(os.path.realpath(os.path.join(root, path)) for path in writable))
        options = _writing(options, root, chosen)
    if hosts is not None:
        network = _reaching(network, hosts, is_open=is_open)
    elif not is_open:
        network = msgspec.structs.replace(network, within=network)
    return msgspec.structs.replace(options, network=network)


def followed(chosen: SandboxOptions, wider: SandboxOptions) -> SandboxChange:
    """Return the change of a sandbox that was made from a wider one whose options are others now."""
    return SandboxChange(
        mode="read-only" if "read-only" in (wider.mode, chosen.mode) else "workspace-write",
        git_writable=chosen.git_writable and wider.git_writable,
        ports=chosen.ports if wider.ports == "open" else "closed",
    )


def _writing(options: SandboxOptions, root: str, chosen: tuple[str, ...]) -> SandboxOptions:
    allowed: tuple[str, ...] = ()
    match options.mode:
        case "full-access":
            if "/" in chosen:
                raise WiderError("cannot narrow the workspace: all of / cannot be writable. Choose directories in it.")
            allowed = chosen
        case "workspace-write":
            allowed = _outermost([*([root] if options.root_writable else []), *options.writable])
        case "read-only":
            pass
    if wider := [path for path in chosen if path not in allowed or not os.path.isdir(path)]:
        raise WiderError(
            f"cannot narrow the workspace: {', '.join(wider)} cannot be chosen as writable. Choose from"
            f" {', '.join(allowed) or 'no directory: this workspace is read-only'}."
        )
    return msgspec.structs.replace(
        options,
        mode="workspace-write" if chosen else "read-only",
        root_writable=root in chosen,
        writable=tuple(path for path in chosen if path != root),
    )


def _outermost(paths: Sequence[str]) -> tuple[str, ...]:
    """The directories that do not lie in another one."""
    return tuple(path for path in paths if not any(path.startswith(f"{other.rstrip('/')}/") for other in paths))


def _reaching(network: NetworkState, hosts: Sequence[str], *, is_open: bool) -> NetworkState:
    try:
        chosen = NetworkState.parse(",".join(hosts) or "off")
    except NetworkRuleError as error:
        raise WiderError(f"cannot narrow the workspace: {error}") from error
    if is_open:
        return chosen
    if wider := chosen.beyond(network):
        raise WiderError(
            f"cannot narrow the workspace: {', '.join(wider)} cannot be reached. The network is {network}."
        )
    return msgspec.structs.replace(chosen, within=network)
