"""`kaa ext new`: writes the beginning of an extension."""

import argparse
import sys
from pathlib import Path

import kaa.ext.wasm
from kaa.ext.places import check_name
from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.shell.extensions.errors import InstallationError
from kaa.shell.home import Home
from kaa.tui.sanitize import sanitize

_TEMPLATES = Path(__file__).parent / "templates"
_SUFFIX = ".template"
_WIT = Path(kaa.ext.wasm.__path__[0]) / "wit" / "kaa-extension.wit"


def add_new_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of the extension and of the new folder")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--python", action="store_true", help="a module that kaa loads (default)")
    kind.add_argument("--process", choices=["ts", "python"], help="a separate program in a sandbox")
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
        written = write_scaffold(folder, parsed.name, _template(parsed))
    except FileExistsError as error:
        raise InstallationError(f"{folder} exists: choose another name, or remove it") from error
    except OSError as error:
        raise InstallationError(f"{error.filename} cannot be written ({error.strerror})") from error
    names = "".join(f"  {file.relative_to(folder)}\n" for file in written)
    after = f"Load it from this folder: kaa ext install ./{parsed.name} --link"
    deliver(sys.stdout, sanitize(f"{parsed.name}/\n{names}{after}\n"))
    return ExitCode.DONE


def _template(parsed: argparse.Namespace) -> str:
    if parsed.wasm:
        return f"wasm-{parsed.wasm}"
    return f"process-{parsed.process}" if parsed.process else "python"


def write_scaffold(folder: Path, name: str, template: str) -> list[Path]:
    """Write the files of a new extension.

    Args:
        folder: is created; must not exist, so that nothing is overwritten.
        template: `python`, `process-python`, `process-ts`, `wasm-python` or `wasm-rust`.

    Returns:
        What was written.

    Raises:
        OSError: the folder exists or cannot be written.
    """
    sources = {file.relative_to(_TEMPLATES / template): file for file in (_TEMPLATES / template).rglob(f"*{_SUFFIX}")}
    texts = {str(place.with_suffix("")): _filled(file.read_text("utf-8"), name) for place, file in sources.items()}
    if template.startswith("wasm-"):
        texts[f"wit/{_WIT.name}"] = _WIT.read_text("utf-8")
    folder.mkdir(parents=True)
    for place, text in texts.items():
        file = folder / place
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
    return [folder / place for place in sorted(texts)]


def _filled(text: str, name: str) -> str:
    """A template for an extension of this name. Names of tools and of packages of Rust have no dots."""
    package = name.replace(".", "-")
    package = package if package[0].isalpha() else f"kaa-{package}"
    return text.replace("PACKAGE", package).replace("NAME_", f"{name.replace('.', '_')}_").replace("NAME", name)
