"""What kaa knows about extensions besides their files: `extensions.json` in kaa's home."""

from typing import Literal, TypeAlias

import msgspec

from kaa.ext.permissions import Permissions
from kaa.ext.places import ExtensionId, Kind, check_key
from kaa.host.private_file import RecordsFile
from kaa.shell.extensions.errors import InstallationError
from kaa.shell.home import Home

Origin: TypeAlias = Literal["path", "link", "git", "index"]
"""A copy of a path, a link to it, a commit, or wheels of a package index."""


class ExtensionRecordsError(InstallationError):
    """The records cannot be read or written; the message says why and what to do."""


class Installation(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """Where an installed extension comes from, and what was installed.

    Attributes:
        source: as the user gave it, for the next installation; a path is absolute.
        origin: what kind of source that is.
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
        granted: what the user permitted; None if nobody has asked yet.
    """

    installation: Installation | None = None
    enabled: bool = True
    granted: Permissions | None = None


class _File(msgspec.Struct, frozen=True):
    extensions: dict[str, ExtensionRecord] = {}


class ExtensionRecords(RecordsFile[dict[str, ExtensionRecord]]):
    """The records of the user's extensions, by the key of the extension."""

    _error = ExtensionRecordsError

    def __init__(self, home: Home) -> None:
        super().__init__(home.path / "extensions.json")

    def grant(self, extension: ExtensionId, permissions: Permissions) -> None:
        """Keep what the user permits an extension.

        Raises:
            ExtensionRecordsError: that cannot be kept.
        """
        with self.rewriting() as records:
            before = records.get(extension.consent, ExtensionRecord())
            records[extension.consent] = msgspec.structs.replace(before, granted=permissions)

    def _parsed(self, content: bytes | None) -> dict[str, ExtensionRecord]:
        try:
            records = msgspec.json.decode(content or b"{}", type=_File).extensions
            for key in records:
                check_key(key)
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
            raise ExtensionRecordsError(
                f"{self.path}: {error}. Correct it, or remove it and install the extensions again"
            ) from error
        return records

    def _kept(self, records: dict[str, ExtensionRecord]) -> _File:
        return _File({key: record for key, record in sorted(records.items()) if record != ExtensionRecord()})
