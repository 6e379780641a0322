"""What a server executes of what commands can write: what its command line names, and the package around that.

As far as it can be judged: a program can find further code in ways that no command line shows.
"""

import glob
import hashlib
import os
import re
import stat
from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from kaa.builtin.amounts import counted
from kaa.host.paths import is_below
from kaa.host.python_environments import folders_of_environment, is_environment
from kaa.shell.mcp.code_files import (
    BEGINNING,
    entries,
    has_code,
    has_name_of_program,
    is_code,
    is_data_file,
    is_program,
)
from kaa.shell.mcp.compiled import line_loads_compiled, loads_compiled
from kaa.shell.mcp.config.entry import ConfiguredServer
from kaa.shell.mcp.deciding_files import CHOOSE_VERSIONS, deciding_files
from kaa.shell.mcp.imported import can_be_imported, is_installed
from kaa.shell.mcp.installed import INSTALLED, PACKAGES, TooManyPackageFilesError, fingerprint
from kaa.shell.mcp.mentioned import mentioned
from kaa.shell.mcp.named_code import MANIFESTS, has_program_outside, named_code
from kaa.shell.mcp.outside_folders import OutsideFolders
from kaa.shell.mcp.outside_programs import Loaded, loaded_by_programs
from kaa.shell.mcp.outside_texts import without_comments
from kaa.shell.mcp.place import ServerCommandLine, ServerPlace
from kaa.shell.mcp.references import PackageManifests
from kaa.shell.mcp.runners import imports_from_directory, imports_here

FOLDER = "all code in this folder"
"""What is said of a folder instead of a digest: it has no code but what is named besides."""
FILES = "the code directly in this folder"
"""The same, but folders in it are not meant."""
MENTIONED = "code in this folder"
"""Of a folder that code only mentions: what is in it is known, but a server may also read there what people work on."""
BESIDE = "a folder from which programs can import"
"""Of a folder beside code: its name is known, since a new one could be taken for a library. Its files are not."""
MAX_BYTES = 512 * 1024 * 1024
"""Of code that a server executes."""

_NOT_UTF_8 = re.compile("[\ud800-\udfff]")  # as Python decodes other bytes
_MAX_FILES = 20_000
_MAX_ENTRIES = 200_000  # of the folders with code, data included
_MAX_TEXT_BYTES = 8 * 1024 * 1024  # of code that is searched for names of folders
_MAX_STARTING_BYTES = 1024 * 1024  # of a file that is searched for what it starts
_MAX_NAMED = 40  # files of code that was never approved
_LINK = "link to "


class CodeChangedError(ValueError):
    """Code is not what the user approved."""

    def __init__(self, path: str = "") -> None:
        which = f" ({path})" if path else ""
        super().__init__(f"code that it executes was changed meanwhile{which}. The next use asks about it")


class UnknownCodeError(ValueError):
    """Code cannot be known; the message says what to do."""


class TooMuchCodeError(UnknownCodeError):
    """There is too much of it."""


def code_of(server: ConfiguredServer, place: ServerPlace, folders: OutsideFolders | None = None) -> dict[str, str]:
    """The code that a server executes and commands can write: digests of files and folders, by path. Blocks.

    Args:
        folders: lists those outside; None makes a list of its own.

    Raises:
        VariableError: the command line needs a variable that it may not have.
        UnknownCodeError: that is too much, or has names that nobody can read.
        OSError: a file cannot be read.
    """
    place = place.seen_by(server)
    folders = OutsideFolders() if folders is None else folders
    line = ServerCommandLine.of(server, place)
    base = os.path.realpath(line.base(place.project))
    if not line.cwd:  # it starts in the directory only if its code lies there
        named = list(named_code(line, place, starts_there=not has_program_outside(line, place)))
        loaded = loaded_by_programs(line, place, folders, starts_there=False)
        if not place.has_some((*named, *loaded.paths), base):
            code = _code(line, named, loaded, place)
            if not place.has_some(code, base):
                return code
    named, loaded = list(named_code(line, place)), loaded_by_programs(line, place, folders)
    starts_python = (named and imports_from_directory(line.words)) or ((named or loaded.paths) and loaded.imports)
    imports = starts_python and place.commands_can_write(base)
    return _code(line, named, loaded, place, files_of=base if imports else "")


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """What changed, in lines: all of it, since an approval is about all. What is new comes first.

    Of code that was never approved, a large folder stands for the files in it.
    """
    if not before:
        return _summed_up({path: digest for path, digest in now.items() if digest != BESIDE})
    changed = [path for path in now if path in before and before[path] != now[path]]
    changed.sort(key=lambda path: not now[path].startswith(_LINK))  # a link can lead to anything
    return [
        *(f"new: {_said(path, now[path])}" for path in now if path not in before),
        *(f"changed: {_said(path, now[path])}" for path in changed),
        *(f"gone: {path}" for path in before if path not in now),
    ]


def digest_of(content: bytes) -> str:
    """The digest of a file."""
    return hashlib.sha256(b"\0" + content).hexdigest()


def link_text(leads_to: str) -> str:
    """What is said of a link instead of a digest."""
    return f"{_LINK}{leads_to}"


def _code(
    line: ServerCommandLine, named: Collection[str], loaded: Loaded, place: ServerPlace, files_of: str = ""
) -> dict[str, str]:
    """What is named and loaded, with all that belongs to it; and the code directly in a folder."""
    if not named and not loaded.paths:
        return {}
    compiled = loaded.loads_compiled or line_loads_compiled(line.words, line.variables)
    code = _Code(place, deciding_files(line.words), os.path.realpath(line.base(place.project)), loads_compiled=compiled)
    for path in (*named, *loaded.built):
        code.add(path)
    for path in loaded.paths:
        code.add_loaded(path)
    if files_of:
        code.add_files(files_of)
    return code.found()


def _starts_here(path: str, content: bytes) -> bool:
    """Whether content is that of a text that may start a Python which imports from the current directory."""
    if len(content) > _MAX_STARTING_BYTES or b"\0" in content:
        return False
    return imports_here(without_comments(path, content.decode("utf-8", "replace")))


def _is_text(content: bytes, status: os.stat_result) -> bool:
    """Whether content is that of a script, whatever its name."""
    return content.startswith(BEGINNING) or (bool(status.st_mode & stat.S_IXUSR) and b"\0" not in content)


def _summed_up(code: Mapping[str, str]) -> list[str]:
    """All code in lines: of more than a few, without files in folders that are named with all that is in them."""
    if len(code) <= _MAX_NAMED:
        return [_said(path, digest) for path, digest in code.items()]
    whole = tuple(path for path, digest in code.items() if digest in (FOLDER, MENTIONED))
    inside = {
        path: next((one for one in _up_to(os.path.dirname(path), "/") if code.get(one) in (FOLDER, MENTIONED)), "")
        for path, digest in code.items()
        if not digest.startswith(_LINK)
    }
    files = Counter(folder for path, folder in inside.items() if path not in whole)
    return [
        f"{_said(path, digest)}, {counted(files[path], 'file')}" if path in whole else _said(path, digest)
        for path, digest in code.items()
        if path in whole or not inside.get(path)
    ]


def _said(path: str, digest: str) -> str:
    is_told = digest in (FOLDER, FILES, MENTIONED, BESIDE) or digest.startswith(_LINK)
    return f"{path} ({digest})" if is_told else path


class _Code:
    """Collects code.

    Args:
        deciding: names of files above a package that decide what is executed of it.
        loads_compiled: whether Python may load compiled modules from beside their sources.
    """

    def __init__(self, place: ServerPlace, deciding: re.Pattern[str], base: str, *, loads_compiled: bool) -> None:
        self._place = place
        self._deciding = deciding
        self._base = base
        self._imports_here = False
        self._loads_compiled = loads_compiled
        self._found: dict[str, str] = {}
        self._bytes = 0
        self._searched = 0
        self._entries = 0
        self._unread: list[str] = []  # code whose text may mention further folders
        self._manifests = PackageManifests()
        self._referred: set[str] = set()  # what these refer to, as far as it was looked at

    def found(self) -> dict[str, str]:
        """All of it, with the folders that it mentions.

        Raises:
            UnknownCodeError: a name is not UTF-8: it could neither be shown nor kept.
        """
        self._add_referenced()
        while self._unread:
            files, self._unread = self._unread, []
            by_folder: dict[str, list[str]] = {}
            for path in files:
                for folder in self._around(path):
                    by_folder.setdefault(folder, []).append(path)
            for folder, paths in by_folder.items():
                self._add_mentioned(folder, paths)
            self._add_referenced()
            if self._imports_here and self._place.commands_can_write(self._base):
                self.add_files(self._base)  # modules there come before those of the standard library
        if self._loads_compiled:
            self._add_compiled()
        for path in self._found:
            if any(map(_NOT_UTF_8.search, (path, self._found[path]))):
                raise UnknownCodeError(
                    f"a name among the code that it executes is not UTF-8: {os.fsencode(path)!r}. Rename or remove it"
                )
        return dict(sorted(self._found.items()))

    def add(self, path: str) -> None:
        """Add what is named, a real path or a link, and what is loaded with it."""
        if self._found.get(path, FILES) not in (FILES, BESIDE):
            return
        if os.path.islink(path):
            self._add_link(path)
        elif os.path.isdir(path):
            self._add_package(path) if is_installed(path) else self._add_tree(path)
            self._add_above(path)
        else:
            self._add_file(path)
            self._add_around(os.path.dirname(path))
        self._add_environment(path)

    def add_loaded(self, path: str) -> None:
        """Add what programs outside load: a file or a link with what is around it, or a folder alone.

        What only chooses versions of programs is no part of a package.
        """
        if CHOOSE_VERSIONS.fullmatch(os.path.relpath(path, self._place.whole(os.path.dirname(path)))):
            self._add_file(path)
        elif os.path.islink(path) or not os.path.isdir(path):
            self.add(path)
        elif is_installed(path) or self._is_installed(path):
            self._add_package(path)
        else:
            self._add_folder(path)

    def _add_around(self, folder: str) -> None:
        """Add the package of a script, or the folder at the top of the project that it is in."""
        top = self._place.whole(folder)
        package = folder
        while package != top and not any(os.path.lexists(os.path.join(package, name)) for name in (*MANIFESTS, ".git")):
            package = os.path.dirname(package)
        if package == top and folder != top:
            package = os.path.join(top, os.path.relpath(folder, top).split("/")[0])
        if package == top:  # beside everything else
            self.add_files(top)
        elif is_installed(package):
            self._add_package(package)
        else:
            self._add_tree(package)
        self._add_above(folder)

    def _add_above(self, folder: str) -> None:
        """Add what decides in a folder, and in those above it, what is executed."""
        end = os.path.dirname(self._place.whole(folder))
        while folder != end:
            for entry in entries(folder):
                is_wanted = entry.name == "node_modules" or self._deciding.fullmatch(entry.name)
                if is_wanted and entry.name in PACKAGES and entry.is_dir(follow_symlinks=False):
                    self._add_package(entry.path)
                elif is_wanted or entry.name == "package.json":
                    if entry.is_symlink():
                        self._add_link(entry.path)
                    elif entry.is_dir():
                        self._add_tree(entry.path)
                    else:
                        self._add_file(entry.path)
            folder = os.path.dirname(folder)

    def _around(self, path: str) -> Iterator[str]:
        """The folders around the package of a file, in which other code may lie that it names."""
        folder, top = os.path.dirname(path), self._place.whole(os.path.dirname(path))
        trees = [one for one in _up_to(folder, top) if self._found.get(one) in (FOLDER, MENTIONED)]
        if top not in trees:
            yield from _up_to(os.path.dirname(trees[-1]) if trees else folder, top)

    def add_files(self, folder: str) -> None:
        """Add the code directly in a folder, packages of Python in it, and the names of others with modules."""
        if self._found.get(folder) in (FOLDER, FILES):
            return
        self._found[folder] = FILES
        for entry in entries(folder):
            if entry.is_symlink():
                self._add_link(entry.path)
            elif entry.is_file() and is_code(entry):
                self._add_file(entry.path)
            elif entry.is_dir() and any(one.name.startswith("__init__.") for one in entries(entry.path)):
                self._add_tree(entry.path)
            elif entry.is_dir() and can_be_imported(entry.path):
                self._found.setdefault(entry.path, BESIDE)

    def _add_tree(self, folder: str) -> None:
        pending = [folder] if self._found.get(folder) not in (FOLDER, MENTIONED) else []
        self._found.update(dict.fromkeys(pending, FOLDER))
        while pending:
            if is_environment(current := pending.pop()):
                self._add_package(current)
                continue
            for entry in entries(current):
                self._count_entry(entry.path)
                if entry.is_symlink():
                    self._add_link(entry.path)
                elif entry.is_dir():
                    if entry.name in PACKAGES:
                        self._add_package(entry.path)
                    elif self._found.get(entry.path) != FOLDER and entry.name != ".git":
                        pending.append(entry.path)
                elif entry.is_file() and is_code(entry):
                    self._add_file(entry.path)

    def _count_entry(self, path: str) -> None:
        self._entries += 1
        if self._entries > _MAX_ENTRIES:
            raise TooMuchCodeError(
                f"it executes code of a directory that commands can write, and with {path} this has more than"
                f" {_MAX_ENTRIES:,} files. Keep its code in a directory with its own manifest (such as package.json or"
                " pyproject.toml), or outside of the project"
            )

    def _add_link(self, path: str) -> None:
        if path in self._found:
            return
        try:
            self._found[path] = link_text(os.readlink(path))
        except OSError:  # it is gone meanwhile
            return
        real = os.path.realpath(path)
        if self._place.commands_can_write(real) and os.path.exists(real) and not self._is_installed(real):
            if os.path.isdir(real):
                if real != self._place.whole(real):
                    self._add_tree(real)
            elif not is_data_file(real):
                self._add_file(real)

    def _add_file(self, path: str) -> None:
        if path in self._found:
            return
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            self._found[path] = f"unreadable: {error.errno}"
            return
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            self._bytes += status.st_size
            if len(self._found) >= _MAX_FILES or self._bytes > MAX_BYTES:
                raise TooMuchCodeError(
                    f"it executes code of a directory that commands can write, and with {path} this is more than"
                    f" {_MAX_FILES:,} files or {MAX_BYTES // 1024**2} MiB. Keep its code in a directory with its"
                    " own manifest (such as package.json or pyproject.toml), or outside of the project"
                )
            content = file.read() if stat.S_ISREG(status.st_mode) else None
            self._found[path] = "no file" if content is None else digest_of(content)
        if content and self._searched < _MAX_TEXT_BYTES:
            starts_here = _starts_here(path, content)  # a Makefile may, and other settings
            self._imports_here = self._imports_here or starts_here
            if starts_here or has_name_of_program(path) or _is_text(content, status):
                self._searched += status.st_size
                self._loads_compiled = self._loads_compiled or loads_compiled(content)
                self._unread.append(path)
        self._manifests.add(path)

    def _add_package(self, folder: str) -> None:
        """Add installed packages, and folders of the project that links in them lead to."""
        if self._found.get(folder, "").startswith(INSTALLED):
            return
        try:
            self._found[folder], links = fingerprint(folder)
        except TooManyPackageFilesError as error:
            raise TooMuchCodeError(str(error)) from error
        led_to = {
            real for real in map(os.path.realpath, links) if os.path.isdir(real) and not is_below(real, (folder,))
        }
        for real in sorted({*led_to, *(folders_of_environment(folder) if is_environment(folder) else ())}):
            if not self._is_installed(real):
                self._add_folder(real)

    def _add_compiled(self) -> None:
        """Add the compiled modules in folders that the server sees as they are."""
        for path, digest in list(self._found.items()):
            if digest.startswith(INSTALLED):
                self._found[path], _ = fingerprint(path, compiled=True)
            elif digest == MENTIONED:
                for folder in glob.iglob(f"{glob.escape(path)}/**/__pycache__", recursive=True):
                    self._found[folder], _ = fingerprint(folder, compiled=True)

    def _add_environment(self, path: str) -> None:
        """Add the virtual environment that a program is in, and folders of the project that it imports from."""
        top = os.path.dirname(os.path.dirname(path))
        if is_environment(top) and self._place.commands_can_write(top):
            self._add_package(top)

    def _add_folder(self, folder: str) -> None:
        """Add a folder that something refers to, a real path, if commands can write it."""
        if self._place.commands_can_write(folder):
            self.add_files(folder) if folder == self._place.whole(folder) else self._add_tree(folder)

    def _add_referenced(self) -> None:
        """Add what manifests refer to, and what the manifests there refer to."""
        while found := self._manifests.referred(self._is_own) - self._referred:
            self._referred |= found
            for path in sorted(found):
                if self._is_of_code(path) or not self._place.commands_can_write(path):
                    continue
                if os.path.isdir(path):
                    self._add_package(path) if self._is_installed(path) else self._add_folder(path)
                    self._add_above(path)
                elif not is_data_file(path):
                    self._add_file(path)

    def _is_own(self, path: str) -> bool:
        """True for a file of the code, and not of a folder above it."""
        return self._found.get(os.path.dirname(path)) == FILES or self._is_of_code(path)

    def _is_of_code(self, path: str) -> bool:
        """True for a folder of the code, and for what is in one."""
        return any(self._found.get(one) in (FOLDER, MENTIONED) for one in _up_to(path, self._place.whole(path)))

    def _is_installed(self, path: str) -> bool:
        return not PACKAGES.isdisjoint(os.path.relpath(path, self._place.whole(path)).split("/"))

    def _add_mentioned(self, around: str, files: list[str]) -> None:
        """Add folders with code, or installed packages, in a folder around code that texts of it mention by name."""
        above = around.rstrip("/") + "/"
        found = (path for path, digest in self._found.items() if digest != BESIDE and path.startswith(above))
        known = {".git"} | {path[len(above) :].split("/")[0] for path in found}
        for entry in mentioned(around, known, files):
            if entry.is_symlink():
                self._add_link(entry.path)
            elif entry.is_file():
                self.add_files(around) if is_program(entry) else self._add_file(
                    entry.path
                )  # one loads others beside it
            elif entry.name in PACKAGES:
                self._add_package(entry.path)
            elif has_code(entry.path):
                self._add_tree(entry.path)
                self._found[entry.path] = MENTIONED


def _up_to(folder: str, top: str) -> Iterator[str]:
    """A folder and those above it, up to one that it is in."""
    while folder not in (top, "/"):
        yield folder
        folder = os.path.dirname(folder)
    yield top
