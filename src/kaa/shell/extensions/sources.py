"""Reads what the user names as the source of an extension: a path, a git repository or a package of an index."""

import os
import re
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

import msgspec

from kaa.shell.extensions.errors import UnknownNameError
from kaa.shell.extensions.records import Installation
from kaa.shell.home import expanded

# PEP 508 and PEP 440, as far as one version can be pinned.
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?:==(?P<version>[A-Za-z0-9.!+_-]+))?")
# git-check-ref-format(1), without what a refspec or a revision expression could mean.
_REFERENCE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+-]{0,254}")
_GIT_SCHEMES = ("https", "ssh", "file")
_FILES = (".py", ".wasm", ".whl")
_INDEX = "pypi:"


class PathSource(msgspec.Struct, frozen=True):
    """A file or folder of this machine."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    @property
    def place(self) -> str:
        """Where it comes from, whatever the version."""
        return str(self.path)


class GitSource(msgspec.Struct, frozen=True):
    """A git repository.

    Attributes:
        url: with the scheme https, ssh or file.
        reference: a branch, a tag or a full hash; empty for the default branch.
        folder: of the extension in the repository; empty for its root.
    """

    url: str
    reference: str = ""
    folder: str = ""

    def __str__(self) -> str:
        reference = f"@{self.reference}" if self.reference else ""
        return f"git+{self.url}{reference}{f'#subdirectory={self.folder}' if self.folder else ''}"

    @property
    def place(self) -> str:
        return f"{self.url}#{self.folder}"

    @property
    def name(self) -> str:
        """The name of the folder, or of the repository."""
        last = (self.folder or urlsplit(self.url).path).rstrip("/").rpartition("/")[2]
        return unquote(last).removesuffix(".git")


class IndexSource(msgspec.Struct, frozen=True):
    """A package of the index that pip uses, PyPI unless the user configured another one, or a wheel.

    Attributes:
        requirement: a name, `name==version`, or the absolute path of a wheel.
    """

    requirement: str

    def __str__(self) -> str:
        return self.requirement

    @property
    def newest(self) -> "IndexSource":
        """The same package without a version; a wheel stays what it is."""
        return self if self.requirement.endswith(".whl") else IndexSource(self.requirement.partition("==")[0])

    @property
    def place(self) -> str:
        return self.newest.requirement


Source: TypeAlias = PathSource | GitSource | IndexSource


def parse_source(text: str, directory: str) -> Source:
    """The source that a text names.

    Args:
        directory: that a relative path starts from.

    Raises:
        UnknownNameError: it names none.
    """
    if text.startswith("git+"):
        return _git(text.removeprefix("git+"))
    if "://" in text or text.startswith("git@"):
        raise UnknownNameError(
            f"unknown source {text!r}: write git+https://HOST/REPOSITORY@TAG for a git repository; kaa downloads no"
            " other addresses"
        )
    path = Path(directory, expanded(text))
    if not text.startswith(_INDEX) and ("/" in text or text.startswith((".", "~")) or text.endswith(_FILES)):
        absolute = Path(os.path.abspath(path))
        return IndexSource(str(absolute)) if absolute.suffix == ".whl" else PathSource(absolute)
    found = _REQUIREMENT.fullmatch(text.removeprefix(_INDEX))
    if found is None:
        raise UnknownNameError(
            f"unknown source {text!r}: use a path such as ./{text}, git+https://…@TAG, NAME or NAME==VERSION"
        )
    if not text.startswith(_INDEX) and path.exists():
        raise UnknownNameError(
            f"{text!r} is a file here and could be a package of the index: write ./{text} or {_INDEX}{text}"
        )
    return IndexSource(found.group())


def recorded_source(installation: Installation) -> Source:
    """The source of an installation that was recorded.

    Raises:
        UnknownNameError: the record is wrong.
    """
    is_package = installation.origin == "index" and not installation.source.endswith(".whl")
    return parse_source(f"{_INDEX if is_package else ''}{installation.source}", os.sep)


def _git(text: str) -> GitSource:
    address, _, fragment = text.partition("#")
    scheme = address.partition("://")[0]
    if scheme not in _GIT_SCHEMES:
        raise UnknownNameError(f"git+{text}: use {', '.join(f'git+{name}://' for name in _GIT_SCHEMES)}")
    start = address.find("/", len(scheme) + 3)  # an @ before it belongs to the user name
    path, _, reference = address[max(start, 0) :].partition("@")
    if start < 0 or not path.strip("/"):
        raise UnknownNameError(f"git+{text}: the path of the repository is missing")
    if reference and (not _REFERENCE.fullmatch(reference) or ".." in reference):
        raise UnknownNameError(f"git+{text}: invalid reference {reference!r}: use a branch, a tag or a full hash")
    folder = fragment.removeprefix("subdirectory=").strip("/")
    if fragment and (not fragment.startswith("subdirectory=") or not folder or ".." in folder.split("/")):
        raise UnknownNameError(f"git+{text}: write #subdirectory=FOLDER for a folder in the repository")
    if urlsplit(address).password:
        raise UnknownNameError("the address contains a password, which kaa would record: use git's credential helper")
    return GitSource(address[:start] + path, reference, folder)
