"""Makes the `extend` function of an extension process."""

from pathlib import Path

from kaa.ext.extension_api import Extension, ExtensionAPI
from kaa.ext.places import ExtensionId
from kaa.ext.process.bridge import Bridge
from kaa.ext.process.host import ProcessHost
from kaa.ext.process.manifest import read_manifest
from kaa.ext.process.process_run import PROTOCOL_VERSION, Timing
from kaa.ext.process.supervisor import Supervisor
from kaa.ext.registration.base import scope_of


def process_extension(
    extension: ExtensionId, host: ProcessHost, timing: Timing | None = None, path: Path | None = None
) -> Extension:
    """The function that starts the process of a folder with a `manifest.yaml` and registers what it offers.

    It returns before the process has started; messages of the user wait for the registrations.

    Args:
        extension: which one.
        host: starts processes and answers their requests.
        timing: how long to wait for the process; None for what suits people.
        path: its folder, if that is a copy.

    Raises:
        ExtensionError: the manifest cannot be read.
    """
    manifest = read_manifest(extension, path)

    def extend(kaa: ExtensionAPI) -> None:
        scope = scope_of(kaa)
        scope.version, scope.interface = manifest.version, f"protocol {PROTOCOL_VERSION}"
        supervisor = Supervisor(manifest, host, timing or Timing(), scope.costs)
        Bridge(kaa, manifest, supervisor).connect()
        supervisor.begin()
        kaa.on_close(supervisor.end)

    return extend
