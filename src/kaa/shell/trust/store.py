"""The user's decisions about projects: `trust.json` in kaa's home, keyed by canonical directory.

A directory about which nothing was decided is trusted for the very files that the user trusted in a directory above it,
such as those of a repository in one of its packages.
"""

import posixpath
import time
from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

import msgspec

from kaa.host.private_file import RecordsFile
from kaa.shell.home import Home
from kaa.shell.trust.configuration import ProjectConfiguration, TrustError
from kaa.shell.trust.difference import Difference, KnownFile, difference, known, same

# Of one project; what is beyond is compared by digest only.
_MAX_KEPT_CHARACTERS = 256 * 1024


class NothingToTrust(msgspec.Struct, frozen=True):
    """The project has neither configuration nor instructions, and nothing was decided about it."""


class Undecided(msgspec.Struct, frozen=True):
    """The user was not asked yet."""


class Trusted(msgspec.Struct, frozen=True):
    """The user trusted the project's files exactly as they are now."""


class DeclinedTrust(msgspec.Struct, frozen=True):
    """The user does not trust the project's files, whatever they are: changes do not ask again."""


class Changed(msgspec.Struct, frozen=True):
    """The user trusted the project's files as they were before."""

    difference: Difference


class Untrustable(msgspec.Struct, frozen=True):
    """Nobody could answer for this configuration: it is too much, or cannot be read."""

    reason: str


TrustState: TypeAlias = NothingToTrust | Undecided | Trusted | DeclinedTrust | Changed | Untrustable


class _Record(msgspec.Struct, frozen=True):
    """A decision. `digest` and `files` say what was trusted, `since` when that was decided (UTC)."""

    decision: Literal["trusted", "declined"]
    digest: str = ""
    files: dict[str, KnownFile] = {}
    since: str = ""


class TrustStore(RecordsFile[dict[str, _Record]]):
    """What the user decided."""

    _error = TrustError

    def __init__(self, home: Home) -> None:
        super().__init__(home.trust)

    def state(self, configuration: ProjectConfiguration) -> TrustState:
        """What was decided about a project, and whether it still holds.

        Raises:
            TrustError: the decisions cannot be read.
        """
        records = self.read()
        record = records.get(_key(configuration))
        if record is not None and record.decision == "declined":
            return DeclinedTrust()
        if configuration.problem is not None:
            return Untrustable(configuration.problem)
        if record is None:
            above = _trusted_above(records, configuration)
            if configuration.exists and above is not None and above.digest == configuration.digest:
                return Trusted()
            return Undecided() if configuration.exists else NothingToTrust()
        if record.digest == configuration.digest or (not record.digest and _has_all(record.files, configuration)):
            return Trusted()
        return Changed(difference(record.files, configuration.trustable))

    def trusted_files(self, configuration: ProjectConfiguration) -> frozenset[str]:
        """Names of the files that the user trusted exactly as they are now, whatever else has changed.

        Raises:
            TrustError: the decisions cannot be read.
        """
        records = self.read()
        record = records.get(_key(configuration)) or _trusted_above(records, configuration)
        kept = {} if record is None else record.files
        paths = frozenset(file.path for file in configuration.trustable if file.path in kept)
        # Of several with one path, as a project may make them, all have to be what it was.
        return paths.difference(
            file.path for file in configuration.trustable if file.path in paths and not same(kept[file.path], file)
        )

    def nested_names(self, root: str) -> list[str]:
        """The names of trusted instructions in folders below a project; empty if the decisions cannot be read.

        Args:
            root: the project's canonical directory.
        """
        try:
            records = self.read()
        except TrustError:
            return []
        record = records.get(_text(root))
        names = _files_above(records, _text(root)) if record is None else record.files
        if not names:
            return []
        from kaa.shell.trust.nested import is_nested  # lazy: most projects have no such files

        return [name for name in names if is_nested(name)]

    def since(self, configuration: ProjectConfiguration) -> str:
        """When the decision about a project was made, as text; empty if nobody knows.

        Raises:
            TrustError: the decisions cannot be read.
        """
        records = self.read()
        record = records.get(_key(configuration)) or _trusted_above(records, configuration)
        return "" if record is None else record.since

    def trust(self, configuration: ProjectConfiguration) -> None:
        """Keep that the user trusts the project's files as they are.

        Raises:
            TrustError: it cannot be trusted, or the decision cannot be kept.
        """
        if configuration.problem is not None:
            raise TrustError(f"{configuration.root} cannot be trusted: {configuration.problem}")
        record = _Record("trusted", configuration.digest, dict(_kept(configuration)), _now())
        with self.rewriting() as records:
            records[_key(configuration)] = record

    def decline(self, configuration: ProjectConfiguration) -> None:
        """Keep that the user does not trust the project.

        Raises:
            TrustError: the decision cannot be kept.
        """
        with self.rewriting() as records:
            records[_key(configuration)] = _Record("declined", since=_now())

    def forget(self, configuration: ProjectConfiguration) -> None:
        """Forget what was decided about the project.

        Raises:
            TrustError: that cannot be kept.
        """
        with self.rewriting() as records:
            records.pop(_key(configuration), None)
            if (above := _trusted_above(records, configuration)) is not None and above.files:
                records[_key(configuration)] = _Record("trusted", since=_now())  # of nothing: all of it is asked about

    def carry_over(self, root: str, other: str) -> None:
        """Decide about a copy of a project as the user decided about the project, file by file.

        Raises:
            TrustError: that cannot be kept.
        """
        known = self.read()
        record = known.get(_text(root))
        if record is None and (files := _files_above(known, _text(root))):
            record = _Record("trusted", since=_now(), files=files)
        if record is not None:
            with self.rewriting() as records:
                records[_text(other)] = record

    def _parsed(self, content: bytes | None) -> dict[str, _Record]:
        try:
            return msgspec.json.decode(content or b"{}", type=dict[str, _Record])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise TrustError(f"{self.path}: {error}. Correct it, or remove it to be asked again") from error


def _now() -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())


def _key(configuration: ProjectConfiguration) -> str:
    return _text(configuration.root)


def _text(directory: str) -> str:
    """The directory as JSON can say it: names may have bytes that are not UTF-8."""
    return directory.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _above(records: Mapping[str, _Record], root: str) -> Iterator[tuple[str, _Record]]:
    """The directories above `root` that the user trusted, the nearest first, up to one that the user declined."""
    folder = root
    while folder not in ("/", ""):
        folder = posixpath.dirname(folder)
        if (record := records.get(folder)) is not None:
            if record.decision == "declined":
                return
            yield folder, record


def _files_above(records: Mapping[str, _Record], root: str) -> dict[str, KnownFile]:
    """The files that the user trusted in directories above, by their names as seen from `root`; the nearest counts."""
    files: dict[str, KnownFile] = {}
    for folder, record in _above(records, root):
        for name, file in record.files.items():
            files.setdefault(posixpath.relpath(posixpath.join(folder, name), root), file)
    return files


def _has_all(files: Mapping[str, KnownFile], configuration: ProjectConfiguration) -> bool:
    """Whether all of a configuration is as it was in some files."""
    named = [(posixpath.normpath(file.path), file) for file in configuration.trustable]  # of one path, there may be two
    return bool(named) and all(name in files and same(files[name], file) for name, file in named)


def _trusted_above(records: Mapping[str, _Record], configuration: ProjectConfiguration) -> _Record | None:
    """What of a configuration the user trusted in directories above it; None if that is nothing.

    Its digest is that of the configuration if it is all of it.
    """
    above = _files_above(records, _key(configuration))
    if not above:
        return None
    files = {
        file.path: above[name]
        for file in configuration.trustable
        if (name := posixpath.normpath(file.path)) in above and same(above[name], file)
    }
    if not files:
        return None
    paths = [file.path for file in configuration.trustable]
    since = next(record.since for _, record in _above(records, _key(configuration)))
    is_all = len(files) == len(paths)
    return _Record("trusted", configuration.digest if is_all else "", files, since)


def _kept(configuration: ProjectConfiguration) -> Iterator[tuple[str, KnownFile]]:
    """The files, with their texts as long as there is room."""
    room = _MAX_KEPT_CHARACTERS
    for file in configuration.trustable:
        record = known(file)
        if len(record.text or "") > room:
            record = msgspec.structs.replace(record, text=None)
        room -= len(record.text or "")
        yield file.path, record
