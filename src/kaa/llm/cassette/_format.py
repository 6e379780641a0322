"""The cassette file: JSON Lines, a header and then one line per exchange in the order they ended."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from kaa.core.errors import ProviderError
from kaa.core.messages import Json
from kaa.core.provider import Model, ThinkingLevel
from kaa.host.known_projects import planted_link
from kaa.host.paths import trail
from kaa.llm.compat import Compat
from kaa.llm.sampling import Sampling
from kaa.llm.tuning import Tuning

_FORMAT = "kaa-cassette"
_VERSION = 1


class CassetteError(ProviderError):
    """A cassette cannot be written, read or played. Trying again does not help."""


class CassetteDivergence(CassetteError):  # noqa: N818 - it names what happened, not a defect
    """The run asks something else than the run that was recorded, so the recorded answer does not fit."""


class RecordedModel(msgspec.Struct, rename="camel", frozen=True):
    """Which model answered and how it was spoken to, without secrets, so that a replay needs neither flags nor keys."""

    model: Model
    base_url: str
    compat: Compat = Compat()
    thinking: ThinkingLevel = "off"
    thinking_levels: dict[ThinkingLevel, str | None] = {}
    tuning: Tuning = Tuning()
    sampling: Sampling = Sampling()


class CassetteHeader(msgspec.Struct, omit_defaults=True, kw_only=True, frozen=True):
    """The first line.

    Attributes:
        kaa: version of kaa that recorded.
        recorded: ISO date.
        placeholders: names that stand for values of the recorded run, as `{{name}}`.
        answered_by: the model that was recorded, if the recording run knew only one.
    """

    kaa: str
    recorded: str
    format: str = msgspec.field(default_factory=lambda: _FORMAT)  # a factory, so that it is always written
    version: int = msgspec.field(default_factory=lambda: _VERSION)
    placeholders: tuple[str, ...] = ()
    answered_by: RecordedModel | None = None


class RecordedRequest(msgspec.Struct, omit_defaults=True, frozen=True):
    """What was asked. `body` is decoded JSON, or a string if it was none. Only harmless headers are kept."""

    method: str
    url: str
    headers: dict[str, str] = {}
    body: Json = None


class RecordedResponse(msgspec.Struct, omit_defaults=True, frozen=True):
    """What was answered, in the pieces in which it came.

    Attributes:
        chunks: the body as text; base64 of the bytes if `base64` is set, because it was not UTF-8.
    """

    status: int
    headers: dict[str, str] = {}
    chunks: tuple[str, ...] = ()
    base64: bool = False


class Exchange(msgspec.Struct, omit_defaults=True, rename="camel", frozen=True):
    """One request and what became of it.

    Attributes:
        response: None if none came.
        end: how it ended; `cancelled` means that our side did not want the rest.
        error: for `error`: the message.
        error_type: for `error`: the name of the class in `kaa.core.errors`.
    """

    request: RecordedRequest
    response: RecordedResponse | None = None
    end: Literal["complete", "error", "cancelled"] = "complete"
    error: str = ""
    error_type: str = ""


def create(path: Path, header: CassetteHeader) -> None:
    """Start a cassette at `path`. A new file is for its owner only.

    Raises:
        CassetteError: the file exists and is not empty, or cannot be written.
    """
    if not _is_free(path):
        raise CassetteError(f"{path} exists and was not changed. Record to another file, or delete it first.")
    _write(path, os.O_APPEND, header)


def append(path: Path, exchange: Exchange) -> None:
    """Add a line.

    Raises:
        CassetteError: the file cannot be written.
    """
    _write(path, os.O_APPEND, exchange)


def load(path: Path) -> tuple[CassetteHeader, Sequence[Exchange]]:
    """Read a whole cassette.

    Raises:
        CassetteError: the file cannot be read, or is no cassette, or a line of it is damaged.
    """
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except OSError as error:
        raise CassetteError(f"the cassette {path} cannot be read ({error.strerror})") from error
    header = _header(path, lines[0] if lines else b"")
    exchanges = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            if not line.endswith(b"\n"):
                raise msgspec.DecodeError("the line is cut off")
            exchanges.append(msgspec.json.decode(line, type=Exchange))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise CassetteError(
                f"{path}, line {number}: the exchange is incomplete ({error}). "
                "The recording was interrupted or edited: record it again"
            ) from error
    return header, exchanges


def _is_free(path: Path) -> bool:
    """Whether there is nothing to lose: no file, or an empty one."""
    try:
        return path.stat().st_size == 0
    except OSError:
        return True  # if it cannot be written either, writing says why


def _header(path: Path, line: bytes) -> CassetteHeader:
    try:
        header = msgspec.json.decode(line, type=CassetteHeader)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CassetteError(f"{path} is not a kaa cassette: line 1 is not a header ({error})") from error
    if header.format != _FORMAT:
        raise CassetteError(f"{path} is not a kaa cassette: its format is {header.format!r}")
    if header.version != _VERSION:
        raise CassetteError(
            f"{path} has version {header.version} of the cassette format and this kaa reads version {_VERSION}: "
            f"use kaa {header.kaa}, or record it again"
        )
    return header


def _write(path: Path, flag: int, line: CassetteHeader | Exchange) -> None:
    *links, folder = trail(os.path.abspath(path.parent))
    if planted := planted_link(links, folder, os.environ, added=True):
        raise CassetteError(f"the cassette {path} is not written: a command could have made the link {planted[0]}")
    try:
        # No link: a command of the model may have put one where a cassette in the project was.
        descriptor = os.open(os.path.join(folder, path.name), os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | flag, 0o600)
        with open(descriptor, "wb") as file:
            file.write(msgspec.json.encode(line) + b"\n")
    except OSError as error:
        raise CassetteError(f"the cassette {path} cannot be written ({error.strerror})") from error
