"""`kaa ext new`: writes the beginning of an extension."""

import argparse
import sys
from pathlib import Path

from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.shell.extensions.errors import InstallationError
from kaa.shell.extensions.records import check_name
from kaa.shell.home import Home
from kaa.tui.sanitize import sanitize

_TEMPLATES = Path(__file__).parent / "templates"
_SUFFIX = ".template"


def add_new_arguments(parser: argparse.ArgumentParser) -> None:
    """Of `kaa ext new`."""
    parser.add_argument("name", metavar="NAME", help="of the extension and of the new folder")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--python", action="store_true", help="a module that kaa loads (default)")
    kind.add_argument("--process", choices=["ts", "python"], help="a program of its own, in a sandbox")
    kind.add_argument("--wasm", choices=["rust", "python"], help="a WebAssembly component")


def run_new(parsed: argparse.Namespace, home: Home) -> int:
    """Write the files. Returns the exit code.

    Raises:
        InstallationError: the name is invalid, or the folder exists.
    """
    try:
        check_name(parsed.name)
    except ValueError as error:
        raise InstallationError(str(error)) from error
    folder = Path(parsed.directory, parsed.name)
    try:
        written = _written(folder, parsed)
    except FileExistsError as error:
        raise InstallationError(f"{folder} exists: choose another name, or remove it") from error
    except OSError as error:
        raise InstallationError(f"{error.filename} cannot be written ({error.strerror})") from error
    names = "".join(f"  {file.relative_to(folder)}\n" for file in written)
    after = f"Load it from this folder: kaa ext install ./{parsed.name} --link"
    deliver(sys.stdout, sanitize(f"{parsed.name}/\n{names}{after}\n"))
    return ExitCode.DONE


def _written(folder: Path, parsed: argparse.Namespace) -> list[Path]:
    if parsed.wasm:
        from kaa.ext.wasm.scaffold import write_scaffold  # lazy: few extensions are components

        return write_scaffold(folder, parsed.name, parsed.wasm)
    template = _TEMPLATES / (f"process-{parsed.process}" if parsed.process else "python")
    folder.mkdir(parents=True)
    written: list[Path] = []
    for source in sorted(template.glob(f"*{_SUFFIX}")):
        file = folder / source.name.removesuffix(_SUFFIX)
        text = source.read_text("utf-8").replace("NAME_", f"{parsed.name.replace('.', '_')}_")
        file.write_text(text.replace("NAME", parsed.name), "utf-8")
        written.append(file)
    return written
