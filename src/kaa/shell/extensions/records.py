"""What kaa knows about extensions besides their files: `extensions.json` in kaa's home, keyed by name."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, TypeAlias

import msgspec

from kaa.ext.permissions import Permissions
from kaa.ext.places import Kind
from kaa.llm.auth.private_file import PrivateFile, PrivateFileError
from kaa.shell.extensions.errors import InstallationError
from kaa.shell.home import Home

# Names folders, modules and settings; the first character keeps it apart from options and hidden files.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

Origin: TypeAlias = Literal["path", "link", "git", "index"]
"""A copy of a path, a link to it, a commit, or wheels of a package index."""


class ExtensionRecordsError(InstallationError):
    """The records cannot be read or written; the message says why and what to do."""


class Installation(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """Where an installed extension comes from, and what was installed.

    Attributes:
        source: as the user gave it, for the next installation; a path is absolute.
        origin: what kind of source that is.
        kind: what kind of extension it is.
        entry: its file or folder, relative to the folder of extensions.
        version: as it says itself; empty if it does not.
        commit: the full hash that was checked out; empty unless it comes from git.
        wheels: SHA-256 (hex) of each wheel, by file name.
        tree: `tree_digest` of the entry; empty for a link.
        since: when it was installed (UTC).
    """

    source: str
    origin: Origin
    kind: Kind
    entry: str
    version: str = ""
    commit: str = ""
    wheels: dict[str, str] = {}
    tree: str = ""
    since: str = ""

    def __post_init__(self) -> None:
        if self.entry in ("", ".", "..") or "/" in self.entry or "\0" in self.entry:
            raise ValueError(f"invalid entry {self.entry!r}: expected the name of a file or folder")


class ExtensionRecord(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """One extension.

    Attributes:
        installation: None if the user put it into the folder without `kaa ext install`.
        enabled: whether kaa loads it.
        granted: what the user permitted; None if nobody has asked yet.
    """

    installation: Installation | None = None
    enabled: bool = True
    granted: Permissions | None = None


class _File(msgspec.Struct, frozen=True):
    extensions: dict[str, ExtensionRecord] = {}


class ExtensionRecords:
    """The records of the user's extensions.

    Args:
        home: the user's folder.
    """

    def __init__(self, home: Home) -> None:
        self._path = home.path / "extensions.json"
        self._file = PrivateFile(self._path)

    def read(self) -> Mapping[str, ExtensionRecord]:
        """All records, by the name of the extension (`kaa.ext.places.label`).

        Raises:
            ExtensionRecordsError: they cannot be read.
        """
        try:
            return self._parse(self._file.read())
        except PrivateFileError as error:
            raise ExtensionRecordsError(str(error)) from error

    @contextmanager
    def rewriting(self) -> Iterator[dict[str, ExtensionRecord]]:
        """The records to be changed. They are written when the block ends; meanwhile no other process changes them.

        Raises:
            ExtensionRecordsError: they cannot be read or written.
        """
        try:
            with self._file.rewriting() as content:
                records = self._parse(content)
                yield records
                kept = {name: record for name, record in sorted(records.items()) if record != ExtensionRecord()}
                self._file.replace(msgspec.json.format(msgspec.json.encode(_File(kept)), indent=2) + b"\n")
        except PrivateFileError as error:
            raise ExtensionRecordsError(str(error)) from error

    def grant(self, name: str, permissions: Permissions) -> None:
        """Keep what the user permits an extension.

        Raises:
            ExtensionRecordsError: that cannot be kept.
        """
        with self.rewriting() as records:
            records[name] = msgspec.structs.replace(records.get(name, ExtensionRecord()), granted=permissions)

    def _parse(self, content: bytes | None) -> dict[str, ExtensionRecord]:
        try:
            records = msgspec.json.decode(content or b"{}", type=_File).extensions
            for name in records:
                check_name(name)
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
            raise ExtensionRecordsError(
                f"{self._path}: {error}. Correct it, or remove it and install the extensions again"
            ) from error
        return records


def check_name(name: str) -> None:
    """Make sure that an extension can have this name.

    Raises:
        ValueError: it cannot.
    """
    if not _NAME.fullmatch(name) or name.endswith((".py", ".wasm")):
        raise ValueError(
            f"invalid extension name {name!r}: use up to 64 letters, digits, . _ and -, first a letter or digit"
        )
