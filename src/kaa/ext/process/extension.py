"""Makes the `extend` function of an extension process."""

from pathlib import Path

from kaa.ext.errors import ExtensionError
from kaa.ext.extension_api import Extension
from kaa.ext.process.host import ProcessHost


def process_extension(folder: Path, host: ProcessHost) -> Extension:
    """The function that starts the process of a folder with a `manifest.yaml` and registers what it offers.

    Args:
        folder: of the extension.
        host: starts processes and answers their requests.

    Raises:
        ExtensionError: the manifest cannot be read.
    """
    raise ExtensionError(f"Extension {folder}: this version of kaa cannot run extension processes yet")
