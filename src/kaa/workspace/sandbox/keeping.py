"""From the options of a sandbox to those for programs of a plugin, which also write what the plugin keeps."""

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
        listener: hears what its guard finds.
        folder: what the plugin keeps, absolute.
    """
    options = msgspec.structs.replace(keeping_options(sandbox.options, folder), network=sandbox.network.state)
    keeping = Sandbox(beside.root, beside.home, options, beside.places, beside.environment)
    keeping.findings = Findings(listener)
    sandbox.network.lead(keeping.network)
    keeping.start()
    return keeping


def keeping_options(options: SandboxOptions, folder: str) -> SandboxOptions:
    """Return the options of a sandbox that allows a folder of a plugin besides."""
    return msgspec.structs.replace(options, writable=(*options.writable, folder), plugins=(*options.plugins, folder))
