"""What an extension needs of this machine to run, by its kind."""

import importlib.util
from pathlib import Path

from kaa.ext.errors import ExtensionError
from kaa.ext.places import kind_of


def missing_needs(path: Path) -> list[str]:
    """What is missing, in sentences with the remedy."""
    match kind_of(path):
        case "process":
            from kaa.ext.process.launch import program_of  # lazy, as the manifest: few extensions are processes
            from kaa.ext.process.manifest import read_manifest

            try:
                program_of(read_manifest(path))
            except ExtensionError as error:
                return [str(error)]
        case "component" if importlib.util.find_spec("wasmtime") is None:
            return ["WebAssembly needs wasmtime: install kaa with the extra kaa[wasm]"]
    return []
