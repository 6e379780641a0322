"""Downloads the wheels of an extension with pip, under the user's configuration of pip. Nothing of them is executed."""

import importlib.util
import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from kaa.host.programs import host_programs
from kaa.shell.extensions.errors import InstallationError
from kaa.shell.extensions.sources import IndexSource

_RUNNER = Path(__file__).with_name("pip_runner.py")
_TIMEOUT_SECONDS = 600.0
_MAX_REPORT_BYTES = 64 * 1024 * 1024
# What the user may have configured for other purposes, and what a program without a terminal needs.
_VARIABLES = {
    "PIP_USER": "0",
    "PIP_REQUIRE_VIRTUALENV": "0",
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_COLOR": "1",
}
_LEFT_OUT = frozenset({"PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_PYTHON", "PIP_NO_BINARY", "PIP_REPORT"})
# A name may appear in several spellings (PEP 503).
_SEPARATORS = re.compile(r"[-_.]+")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.!+_-]*")


class Wheel(msgspec.Struct, frozen=True):
    """One downloaded distribution.

    Attributes:
        name: as its metadata spell it.
        sha256: of the file, in hex; pip has checked it.
        requested: the user named it; else another one needs it.
    """

    name: str
    version: str
    file: Path
    sha256: str
    requested: bool


class _Metadata(msgspec.Struct, frozen=True):
    name: str
    version: str

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or not _VERSION.fullmatch(self.version):
            raise ValueError(f"invalid name or version {self.name!r} {self.version!r}")


class _Archive(msgspec.Struct, frozen=True):
    hashes: dict[str, str] = {}


class _Download(msgspec.Struct, frozen=True):
    url: str
    archive_info: _Archive = _Archive()


class _Item(msgspec.Struct, frozen=True):
    """An entry of pip's installation report (pip.pypa.io/en/stable/reference/installation-report)."""

    metadata: _Metadata
    download_info: _Download
    requested: bool = False
    is_direct: bool = False

    @property
    def sha256(self) -> str:
        return self.download_info.archive_info.hashes.get("sha256", "")


class _Report(msgspec.Struct, frozen=True):
    install: list[_Item]


def download(source: IndexSource, folder: Path, environ: Mapping[str, str]) -> list[Wheel]:
    """Get the wheel that `source` names and those that it needs and kaa's Python does not have.

    Args:
        folder: an empty folder for the files.

    Raises:
        InstallationError: there is no pip, no such wheel, or it contradicts what kaa itself uses.
    """
    pip = _Pip(folder, environ)
    report = folder / "report.json"
    pip.run("install", "--dry-run", "--quiet", "--only-binary", ":all:", "--report", str(report), source.requirement)
    items = _read(report)
    if not any(item.requested for item in items):
        raise InstallationError(
            f"{source}: the Python that kaa runs in has this distribution already, so kaa finds its extension without"
            " an installation"
        )
    for item in items:
        _check(item, source)
    requirements = folder / "requirements.txt"
    requirements.write_text("".join(_pinned(item) for item in items), encoding="utf-8")
    wheels = folder / "wheels"
    pip.run(
        *("download", "--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes"),
        *("--dest", str(wheels), "--requirement", str(requirements)),
    )
    return [_wheel(item, wheels) for item in sorted(items, key=lambda item: not item.requested)]


def same_distribution(one: str, other: str) -> bool:
    """Whether two spellings name the same distribution (PEP 503)."""
    return _SEPARATORS.sub("-", one).lower() == _SEPARATORS.sub("-", other).lower()


class _Pip:
    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._folder = folder
        self._place = _place_of_pip(folder)
        kept, _ = host_programs(environ).fetching()
        self._environ = {name: value for name, value in kept.items() if name not in _LEFT_OUT} | _VARIABLES

    def run(self, *arguments: str) -> None:
        """Run pip to its end, in an empty directory, without the user's Python variables.

        Raises:
            InstallationError: it fails.
        """
        try:
            done = subprocess.run(
                [sys.executable, "-I", str(_RUNNER), self._place, *arguments],
                env=self._environ,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_TIMEOUT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise InstallationError(f"pip did not finish in {_TIMEOUT_SECONDS:.0f} seconds: try again") from error
        if done.returncode:
            raise InstallationError(f"pip failed: {_reason(done.stderr.decode(errors='replace'))}")


def _place_of_pip(folder: Path) -> str:
    """What `sys.path` lacks to find pip: nothing, or the wheel that belongs to Python.

    Args:
        folder: where a wheel is unpacked: of modules in an archive, Python would compile each one in every run.

    Raises:
        InstallationError: there is no pip.
    """
    if importlib.util.find_spec("pip") is not None:
        return ""
    ensurepip = importlib.util.find_spec("ensurepip")
    if ensurepip is not None and ensurepip.origin is not None:
        for wheel in sorted(Path(ensurepip.origin).parent.glob("_bundled/pip-*.whl")):
            if wheel.is_dir():
                return str(wheel)
            unpacked = folder / "pip"
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(unpacked)
            return str(unpacked)
    raise InstallationError(
        f"the Python that kaa runs in has no pip, which kaa needs to download wheels: run {sys.executable} -m ensurepip"
    )


def _read(report: Path) -> list[_Item]:
    try:
        with report.open("rb") as file:
            return msgspec.json.decode(file.read(_MAX_REPORT_BYTES), type=_Report).install
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InstallationError(f"pip's report cannot be read ({error}): update pip to 22.2 or newer") from error


def _check(item: _Item, source: IndexSource) -> None:
    """Refuse what pip would build, could not pin, or would replace in kaa's own Python."""
    from importlib.metadata import PackageNotFoundError, version  # lazy: it loads the parser of e-mail

    name = item.metadata.name
    if item.is_direct and not item.requested:
        raise InstallationError(
            f"{source} needs {name} from {item.download_info.url}: kaa installs wheels of the package index only"
        )
    if not item.download_info.url.partition("#")[0].endswith(".whl"):
        raise InstallationError(f"{name} {item.metadata.version} has no wheel for this machine: kaa builds nothing")
    if not _SHA256.fullmatch(item.sha256):
        raise InstallationError(f"pip reports no SHA-256 of {name} {item.metadata.version}: update pip")
    try:
        own = version(name)
    except PackageNotFoundError:
        return
    raise InstallationError(
        f"{source} needs {name} {item.metadata.version}, but kaa runs with {name} {own}: an extension cannot replace it"
    )


def _pinned(item: _Item) -> str:
    """A line of a requirements file that permits exactly one file."""
    where = f" @ {item.download_info.url}" if item.is_direct else f"=={item.metadata.version}"
    return f"{item.metadata.name}{where} --hash=sha256:{item.sha256}\n"


def _wheel(item: _Item, folder: Path) -> Wheel:
    """The downloaded file of an entry.

    Raises:
        InstallationError: pip has not downloaded it.
    """
    import hashlib  # lazy, as in `digest`

    for file in folder.glob("*.whl"):
        with file.open("rb") as content:
            if hashlib.file_digest(content, "sha256").hexdigest() == item.sha256:
                return Wheel(item.metadata.name, item.metadata.version, file, item.sha256, item.requested)
    raise InstallationError(f"pip has not downloaded {item.metadata.name} {item.metadata.version}")


def _reason(said: str) -> str:
    """The errors that pip prints; of a traceback its last line."""
    errors = [line.removeprefix("ERROR: ") for line in said.splitlines() if line.startswith("ERROR: ")]
    last = said.strip().splitlines()[-1:] or ["no message"]
    return " ".join(" ".join(errors if errors and "Traceback" not in said else last).split()).rstrip(".")
