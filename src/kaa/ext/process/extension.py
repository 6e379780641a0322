"""Makes the `extend` function of an extension process."""

from collections.abc import Sequence
from pathlib import Path

from kaa.ext.extension_api import Extension, ExtensionAPI
from kaa.ext.process.bridge import Bridge
from kaa.ext.process.host import ProcessHost
from kaa.ext.process.manifest import read_manifest
from kaa.ext.process.supervisor import PAUSES, Supervisor


def process_extension(folder: Path, host: ProcessHost, pauses: Sequence[float] = PAUSES) -> Extension:
    """The function that starts the process of a folder with a `manifest.yaml` and registers what it offers.

    It returns before the process has started; messages of the user wait for the registrations.

    Args:
        folder: of the extension.
        host: starts processes and answers their requests.
        pauses: before each start after a crash, in seconds.

    Raises:
        ExtensionError: the manifest cannot be read.
    """
    manifest = read_manifest(folder)

    def extend(kaa: ExtensionAPI) -> None:
        supervisor = Supervisor(manifest, host, pauses)
        Bridge(kaa, manifest, supervisor).connect()
        supervisor.begin()
        kaa.on_close(supervisor.end)

    return extend
