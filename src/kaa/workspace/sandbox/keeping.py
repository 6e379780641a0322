"""From the options of a sandbox to those for programs that use more than commands: what a plugin keeps, scripts."""

import glob
from collections.abc import Sequence

import msgspec

from kaa.workspace.sandbox.findings import Findings, Listener
from kaa.workspace.sandbox.narrowing import Beside
from kaa.workspace.sandbox.options import SandboxOptions
from kaa.workspace.sandbox.sandbox import Sandbox


def keeping_sandbox(sandbox: Sandbox, beside: Beside, listener: Listener, folder: str) -> Sandbox:
    """Start a sandbox beside another one in which a folder of a plugin can be read and, unless read-only, written.

    Args:
        sandbox: the other one, whose network the new one follows.
        beside: what the new one is made of besides its options.
        folder: what the plugin keeps, absolute.
    """
    return _beside(sandbox, beside, listener, keeping_options(sandbox.options, folder))


def showing_sandbox(sandbox: Sandbox, beside: Beside, listener: Listener, paths: Sequence[str]) -> Sandbox:
    """Start a sandbox beside another one in which hidden files of the user's can be read.

    Args:
        sandbox: the other one, whose network the new one follows.
        beside: what the new one is made of besides its options.
        paths: of the files, absolute and real.
    """
    shown = (f"!{glob.escape(path)}" for path in paths)
    options = msgspec.structs.replace(sandbox.options, hidden=(*sandbox.options.hidden, *shown))
    return _beside(sandbox, beside, listener, options)


def _beside(sandbox: Sandbox, beside: Beside, listener: Listener, options: SandboxOptions) -> Sandbox:
    with_network = msgspec.structs.replace(options, network=sandbox.network.state)
    made = Sandbox(beside.root, beside.home, with_network, beside.places, beside.environment)
    made.findings = Findings(listener)
    sandbox.network.lead(made.network)
    made.start()
    return made


def keeping_options(options: SandboxOptions, folder: str) -> SandboxOptions:
    """Return the options of a sandbox that allows a folder of a plugin besides."""
    return msgspec.structs.replace(options, writable=(*options.writable, folder), plugins=(*options.plugins, folder))
