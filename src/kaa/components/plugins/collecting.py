"""Collects the components of a plugin from its folder, and names what is left out. All formats share it."""

from collections.abc import Iterable, Mapping, Sequence

from kaa.components.plugins.folder import Listing
from kaa.components.plugins.json_fields import InvalidJsonError, line_of, object_in, quoted
from kaa.components.plugins.lsp import LanguageServer, LanguageServers
from kaa.components.plugins.manifest import PluginFile
from kaa.components.plugins.paths import inside
from kaa.core.messages import Json

_MAX_FILES = 1_000  # of a kind
_MAX_NOTES = 200

SKILL = "SKILL.md"


class Collector:
    """Reads a plugin's files. `notes`: what was left out, in sentences without their ends."""

    def __init__(self, listing: Listing) -> None:
        self.listing: Listing = _ListedOnce(listing)
        self._notes: dict[str, None] = {}
        self._left_out = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """All notes, each once."""
        more = [f"{self._left_out} more remarks are left out"] if self._left_out else []
        return (*self._notes, *more)

    def note(self, *sentences: str) -> None:
        for sentence in sentences:
            if len(self._notes) < _MAX_NOTES:
                self._notes[sentence] = None
            elif sentence not in self._notes:
                self._left_out += 1

    def json(self, path: str, *, is_expected: bool = True) -> dict[str, Json] | None:
        """The object in a file. None if it cannot be used, which is named unless the file is not expected to exist."""
        data = self.listing.read(path)
        if data is None:
            if is_expected or path in self.listing.files(path.rpartition("/")[0]):
                self.note(f"{quoted(path)} is left out: {_UNREADABLE}")
            return None
        try:
            return object_in(data)
        except InvalidJsonError as error:
            self.note(f"{quoted(path)} is left out: {error}")
            return None

    def paths(self, value: Json, field: str) -> list[str]:
        """The paths in a field of the manifest that stay inside; the others are named."""
        found: list[str] = []
        for one in value if isinstance(value, list) else [value]:
            path = inside(one) if isinstance(one, str) else None
            if path is None:
                self.note(f"{quoted(one)} in `{field}` is left out: it is not a path inside the plugin")
            else:
                found.append(path)
        return found

    def skills(self, folders: Iterable[str], root_name: str, *, is_deep: bool = False) -> tuple[PluginFile, ...]:
        """The SKILL.md of folders: of a folder itself, or of those in it.

        Args:
            folders: or a SKILL.md itself; empty for the root.
            root_name: the name of a skill in the root.
        """
        found: list[str] = []
        for folder in folders:
            files = [folder] if _is_skill(folder) else self.listing.files(folder)
            own = f"{folder}/{SKILL}".lstrip("/")
            if own in files:
                found.append(own)
                continue
            depth = _depth(folder) + 2
            found += [path for path in files if _is_skill(path) and (is_deep or _depth(path) <= depth)]
            self._name_links(folder, files)
        return self._usable((path, path.split("/")[-2] if "/" in path else root_name) for path in found)

    def files(self, folders: Iterable[str], suffix: str, *, is_deep: bool = True) -> tuple[PluginFile, ...]:
        """The files with a suffix that are given or in the given folders.

        Args:
            folders: or files; empty for the root.
            suffix: such as `.md`.
        """
        found: list[tuple[str, str]] = []
        for folder in folders:
            if folder.endswith(suffix):
                found.append((folder, folder.rpartition("/")[2].removesuffix(suffix)))
                continue
            files, depth = self.listing.files(folder), _depth(folder) + 1
            paths = [path for path in files if path.endswith(suffix) and (is_deep or _depth(path) <= depth)]
            prefix = f"{folder}/" if folder else ""
            found += [(path, path.removeprefix(prefix).removesuffix(suffix).replace("/", ":")) for path in paths]
            self._name_links(folder, files)
        return self._usable(found)

    def servers(self, found: LanguageServers) -> tuple[LanguageServer, ...]:
        """The language servers in what was found; the remarks become notes."""
        self.note(*found.notes)
        return found.servers

    def merged(self, maps: Sequence[Mapping[str, Json]], what: str) -> dict[str, Json]:
        """All entries by name. The first of a name counts, others are named."""
        merged: dict[str, Json] = {}
        for entries in maps:
            for name, value in entries.items():
                if name not in merged:
                    merged[name] = value
                elif merged[name] != value:
                    self.note(f"{what} {quoted(name)} is defined twice: the first definition is used")
        return merged

    def unsupported(self, folder: str, reason: str) -> None:
        """Name a folder if there is something in it, or a file if it is there."""
        if self.listing.files(folder) or self.listing.read(folder) is not None:
            self.note(f"{quoted(folder)} is not used: {reason}")

    def _name_links(self, folder: str, files: Iterable[str]) -> None:
        """Name links to folders out of the root, which are listed as files."""
        depth = _depth(folder) + 1
        for path in files:
            if _depth(path) == depth and "." not in path.rpartition("/")[2] and self.listing.read(path) is None:
                self.note(f"{quoted(path)} is left out: {_UNREADABLE}")

    def _usable(self, found: Iterable[tuple[str, str]]) -> tuple[PluginFile, ...]:
        usable: dict[str, PluginFile] = {}
        names: set[str] = set()
        for path, name in found:
            if path in usable:
                continue
            if len(usable) == _MAX_FILES:
                self.note(f"only the first {_MAX_FILES} files of a kind are used")
                break
            if inside(path) != path or line_of(name) != name or not name:
                self.note(f"{quoted(path)} is left out: its name cannot be shown")
            elif self.listing.read(path) is None:
                self.note(f"{quoted(path)} is left out: {_UNREADABLE}")
            elif name in names:
                self.note(f"{quoted(path)} is left out: another has the name {quoted(name)}")
            else:
                names.add(name)
                usable[path] = PluginFile(path, name)
        return tuple(usable.values())


_UNREADABLE = "it does not exist, cannot be read, is too large or is a link out of the plugin"


class _ListedOnce:
    """A listing that goes through each folder once: many components are looked for in the same."""

    def __init__(self, listing: Listing) -> None:
        self.read = listing.read
        self._list = listing.files
        self._known: dict[str, list[str]] = {}

    def files(self, folder: str) -> list[str]:
        if folder not in self._known:
            self._known[folder] = self._list(folder)
        return self._known[folder]


def _depth(path: str) -> int:
    return len(path.split("/")) if path else 0


def _is_skill(path: str) -> bool:
    return path.rpartition("/")[2] == SKILL
