"""Makes the `extend` function of a WebAssembly component."""

import asyncio
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from kaa.ext.errors import ExtensionError
from kaa.ext.extension_api import Extension, ExtensionAPI
from kaa.ext.permissions import Applicant, Permissions
from kaa.ext.places import ExtensionId
from kaa.ext.registration.base import scope_of
from kaa.ext.wasm.description import find_component
from kaa.ext.wasm.errors import ComponentError


def component_extension(
    extension: ExtensionId,
    cache: Path,
    granted: Callable[[Applicant], Permissions | None],
    path: Path | None = None,
) -> Extension:
    """Compile a component and ask what it offers. Blocks, up to many seconds if the component is large and new.

    Args:
        extension: a `.wasm` file, or a folder whose `extension.toml` names one.
        cache: a folder for machine code that commands cannot write.
        granted: what the user permitted it; None if that is less than it asks for.
        path: its file or folder, if that is a copy.

    Returns:
        The function that registers what the component offers.

    Raises:
        ExtensionError: it cannot be read or used, or wasmtime is not installed.
    """
    found = find_component(extension, path)
    data = found.read()
    wanted = found.requested
    if wanted != Permissions() and granted(found) is None:
        raise ExtensionError(
            f"Extension {extension} cannot be used: you have not permitted what it asks for"
            f" ({'; '.join(wanted.sentences)}). `kaa ext permit {extension.argument}` permits it"
        )
    if find_spec("wasmtime") is None:
        raise ExtensionError(
            f"Extension {extension} is a WebAssembly component, and wasmtime is not installed: run"
            " pip install 'kaa[wasm]'"
        )
    # Lazy: they need wasmtime.
    from kaa.ext.wasm.compiled import CompiledFiles
    from kaa.ext.wasm.host_functions import host_functions
    from kaa.ext.wasm.machine import Machine
    from kaa.ext.wasm.registration import register
    from kaa.ext.wasm.worlds import read_offer

    described = found.described
    settings = described.settings_kind()
    functions = host_functions(extension.name, wanted, settings)
    machine = Machine(extension.name, CompiledFiles(cache), data, described.limits, functions)
    try:
        offer = asyncio.run(read_offer(machine, wanted))
    except ComponentError as error:
        raise ExtensionError(f"Extension {extension} cannot be used: {error}") from error

    def extend(kaa: ExtensionAPI) -> None:
        scope_of(kaa).interface = offer.world
        kaa.on_close(machine.close)
        if described.settings:
            kaa.settings(settings)
        register(kaa, machine, offer, found)

    return extend
