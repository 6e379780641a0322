"""What the guard looks at: directories in which guarded names may appear, and the guarded names in them."""

import os
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from kaa.hands.below import RootDirectory
from kaa.hands.guard.items import Plain
from kaa.hands.policy import GUARDED_DEPTH

GIT = ".git"
# Huge, and nobody opens a repository in them: of these only the first level is watched.
_SKIPPED = frozenset(("node_modules", ".venv", "venv", ".tox", ".nox", "__pycache__"))


class Directory(NamedTuple):
    """A directory in which guarded names may appear. `path`: below the root, "" for the root itself."""

    root: RootDirectory
    path: str

    @property
    def absolute(self) -> str:
        return os.path.join(self.root.path, self.path)

    @property
    def depth(self) -> int:
        """0 for a root."""
        return self.path.count("/") + 1 if self.path else 0

    @property
    def is_watched(self) -> bool:
        """Whether it is near enough to the root and not in a tree that is skipped."""
        return self.depth <= GUARDED_DEPTH and _SKIPPED.isdisjoint(self.path.split("/")[:-1])

    @property
    def is_entered(self) -> bool:
        """Whether directories in it are watched too."""
        return self.below("any").is_watched

    def below(self, name: str) -> "Directory":
        return Directory(self.root, f"{self.path}/{name}" if self.path else name)


class Subject(NamedTuple):
    """A guarded name in a directory; without a name: the directory itself, should it be a bare repository."""

    directory: Directory
    name: str

    @property
    def path(self) -> str:
        """Absolute path."""
        return os.path.join(self.directory.root.path, self.directory.path, self.name).rstrip("/")

    @property
    def key(self) -> str:
        """Its path, so that no other subject has the same."""
        return self.path if self.name else f"{self.path}/"

    @property
    def repository(self) -> "Subject | None":
        """The `.git` that it is in; None if it is in none."""
        names = self.directory.path.split("/")
        at = next((at for at, name in enumerate(names) if name.casefold() == GIT), None)
        if at is None:
            return None
        return Subject(Directory(self.directory.root, "/".join(names[:at])), names[at])

    @property
    def is_git(self) -> bool:
        """Whether it is a repository or what makes one, and not a protected name."""
        return not self.name or self.name.casefold() == GIT


class Inside(NamedTuple):
    """A watched file or directory of a subject. `names`: that matter in the directory; None: all."""

    subject: Subject
    names: frozenset[str] | Plain | None

    def matters(self, name: str, *, is_directory: bool) -> bool:
        """Whether what happened under a name in it has to be looked at."""
        if isinstance(self.names, Plain):
            return self.names.matters(name, is_directory=is_directory)
        return self.names is None or name in self.names


Spot: TypeAlias = Directory | Inside


class Known(NamedTuple):
    """What a guard took for harmless: enough for its successor to recognize it.

    Attributes:
        dangers: digests, by the key of the subject and the path of the item.
    """

    named: frozenset[str]
    dangers: Mapping[str, Mapping[str, frozenset[str]]]
