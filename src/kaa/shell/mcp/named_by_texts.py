"""Finds what scripts and settings outside of projects name in folders that commands can write, also in pieces.

Few texts say plainly which files a program loads: `ROOT=$HOME/dev/app; node "$ROOT/x.js"`, `home() / "dev" / "app"`. So
each word of a text counts that is the name of such a folder, or begins a path below one, whatever stands between. Where
names with blanks, brackets and the like end, only a look into the folders tells.
"""

import os
import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from glob import escape, has_magic, iglob
from itertools import islice, takewhile
from typing import NamedTuple
from urllib.parse import unquote

from kaa.host.paths import is_below, trail
from kaa.host.regular_files import text_of
from kaa.shell.mcp.code_files import entries, has_code, has_name_of_program, is_program
from kaa.shell.mcp.named_code import MANIFESTS, is_data
from kaa.shell.mcp.outside_texts import MAX_DEEP, PART, OutsideText, walked, without_data
from kaa.shell.mcp.place import ServerPlace

_URL = re.compile(r"\b(?![a-z+.-]*\bfile:)[a-z][a-z+.-]*://[^\s'\"]+")
# What stands before a name that is no part of a path and no literal, in a shell or in settings: `cd app`, `root: app`.
_INTRODUCES = re.compile(r"""(?:(?:^|[\s;&|({])(?:cd|pushd|in|-(?!y\s|-yes\s)[\w-]+)\s+|[=:]\s*)["']?$""")
_PLAIN = re.compile(r"(?<![\w$}])[\w.-]+(?:/[\w.-]+)*/$")  # behind names of folders
_JOINED = re.compile(r"""[\w})]["']?/$""")  # behind a variable or a call
# Programs that work on any project read these.
_READ = re.compile(r"(?:package(?:-lock)?|[tj]sconfig[\w.-]*|composer|deno|lerna|turbo|nx|renovate)\.json")
_JOINS = re.compile(r"""["'`]?\s*(?:[/,+)]\s*)+["'`]?/?""")  # between names that may be joined to a path
_HOMES = frozenset({"home", "HOME", "homedir", "expanduser", "USERPROFILE", "user_home", "homeDir"})
# What joins a literal to a path: `join(root, "app`, `root / "app`, `root + "/app`, `"{root}/app`; others are any words.
_JOINS_LITERAL = re.compile(
    r"""(?:(?:\b(?:join|joinpath|resolve|Path|chdir)\([^()]*|[\w)\]]\s*[/+]\s*)["'`]/?|(?:\.\.|[})~]|\$\w+)/)$"""
)
_IMPORTS = re.compile(r"\b(?:from|import|require|use|load)\s+$")
_ENDINGS = (".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".rb", ".lua")  # that programs add to what they load
_WORD = re.compile(r"(?:[\w.@+~$/{}?*\[\]-]|\\.)+")  # of a shell
_MAX_PATTERNS, _MAX_MATCHES = 100, 200
_MAX_STARS = 3  # parts of a pattern that mean any name: each can multiply the folders that are listed
_MAX_BEFORE = 60  # characters
_MAX_MANIFEST_BYTES = 64 * 1024
_MAX_SEARCHED = 300  # folders that no text names
_MAX_PARTS = 60_000  # of all texts
_MAX_FOLDERS = 500
_MAX_NAMES = 200


class _Part(NamedTuple):
    """A name in a text: all between characters that no usual name has, or an unusual one."""

    name: str
    start: int
    end: int


class _Read(NamedTuple):
    """The names in a text.

    Attributes:
        content: what it says, without addresses and absolute paths.
        led: absolute paths in it that lead to what commands can write.
        files: those of files where commands can make one, whether it is there or not.
        folders: those of folders that commands can write, with where they end.
    """

    text: OutsideText
    content: str
    parts: list[_Part]
    led: list[str]
    files: list[str]
    folders: list[tuple[str, int]]

    def walked(self, folder: str, number: int) -> tuple[str, int]:
        """See `walked`; of the parts from a number on."""
        return walked(folder, [one.name for one in self.parts[number : number + MAX_DEEP]])

    def joined(self, end: int) -> Iterator[str]:
        """The name that is joined to a path that ends there, if there is one."""
        number = bisect_left(self.parts, end, key=lambda part: part.start)
        behind = next((one for one in self.parts[number : number + 2] if one.name != "+"), None)
        between = self.content[end : behind.start] if behind is not None else ""
        if behind is not None and (between == "/" or (_JOINS.fullmatch(between) and has_name_of_program(behind.name))):
            yield behind.name

    def is_path(self, start: int, end: int) -> bool:
        """Whether what stands there is written as a path, as a literal, or behind a word that expects a path."""
        before, after = self.content[max(0, start - 1) : start], self.content[end : end + 1]
        if before == "~" or "/" in (before, after) or (before and before in "'\"`" and before == after):
            return True
        return not self.text.is_code and self.stands_behind(_INTRODUCES, start)

    def stands_behind(self, pattern: re.Pattern[str], start: int) -> bool:
        return pattern.search(self.content[max(0, start - _MAX_BEFORE) : start]) is not None


def named_by_texts(
    texts: Sequence[OutsideText], given: Sequence[str], place: ServerPlace, base: str, *, of_plugin: bool = False
) -> Iterator[str]:
    """Links and real paths of what texts name as far as commands can write it: files, and folders with code in them.

    Args:
        given: words that the programs get, such as a path of a project.
        of_plugin: the entry names nothing in the project: `src` in `./build/src` is no name of what is there.
    """
    yield from _Naming(place, base, texts, of_plugin=of_plugin).found(given)


def files_in_texts(texts: Sequence[OutsideText], place: ServerPlace, base: str) -> Iterator[str]:
    """Paths of files with code that texts name in folders that commands can write, whether a file is there or not."""
    yield from _Naming(place, base, texts).files()


class _Naming:
    """Names of folders that commands can write."""

    def __init__(self, place: ServerPlace, base: str, texts: Sequence[OutsideText], *, of_plugin: bool = False) -> None:
        self._place = place
        self._texts = texts
        # Of `/tmp` and the like, every path on the machine has the name.
        self._roots = [one for one in place.writable() if one.count("/") > 1]
        self._near = [one for one in self._roots if place.can_write_now(one) or is_below(base, (one,))]
        self._of_plugin = of_plugin
        self._folders: dict[str, None] = {}  # that texts or words name
        self._by_name: dict[str, list[tuple[list[str], str]]] = {}
        self._names = Names([one.content for one in texts], self._roots[:_MAX_SEARCHED])
        for root in self._roots:
            parts = self._parts_of(root)
            self._by_name.setdefault(parts[-1] if parts else "", []).append((parts, root))
        self._in_folder: dict[str, frozenset[str]] = {}
        self._known: set[str] = set()

    def found(self, given: Sequence[str]) -> Iterator[str]:
        for word in given:
            for part in re.split(r"[\s=,:;'\"]+", word):
                path = os.path.realpath(os.path.join(self._place.project, self._place.expanded(part)))
                if "/" in part and is_below(path, self._roots):
                    self._folders[path if os.path.isdir(path) else os.path.dirname(path)] = None
        read: list[_Read] = []
        for text in self._texts:
            if (left := _MAX_PARTS - sum(len(one.parts) for one in read)) > 0:
                read.append(self._read(text, left))
        paths = dict.fromkeys(path for one in read for path in (*one.led, *self._mentioned(one)))
        whole = dict.fromkeys(filter(os.path.isdir, paths))
        self._folders.update(whole)
        for path in paths:
            yield from self._code_in(path) if path in whole else self._file(path)
        for path in dict.fromkeys(path for one in read for path in self._meant_by_patterns(one.text.content)):
            yield from self._code_in(path) if os.path.isdir(path) else self._file(path)
        for one in read:
            # Of a whole package, most texts are about anything else than what it loads.
            others = () if one.text.is_of_package else (*self._near, *self._others())
            yield from self._below(one, (*self._folders, *others))
        for folder in whole:
            for path in filter(os.path.isfile, (os.path.join(folder, name) for name in MANIFESTS)):
                try:
                    text = OutsideText(path, os.fsdecode(text_of(path, _MAX_MANIFEST_BYTES)))
                except OSError:  # it cannot be read, or is gone meanwhile
                    continue
                yield from self._below(self._read(text, _MAX_PARTS), [folder])

    def _meant_by_patterns(self, content: str) -> Iterator[str]:
        """What patterns of a shell mean below folders that texts name."""
        words = (found[0] for found in _WORD.finditer(content) if "/" in found[0] and has_magic(found[0]))
        for word in islice(words, _MAX_PATTERNS):
            pattern = word.replace("\\", "")
            for folder in self._folders:
                _, is_behind, below = pattern.partition(f"{os.path.basename(folder)}/")
                below = below if is_behind else pattern
                stars = sum(map(has_magic, below.split("/")))
                if 0 < stars <= _MAX_STARS and not below.startswith(("/", "~", "$")):
                    yield from islice(iglob(os.path.join(escape(folder), below)), _MAX_MATCHES)

    def _others(self) -> list[str]:
        """Folders that no text names."""
        return [one for one in self._roots if one not in self._folders and one not in self._near][:_MAX_SEARCHED]

    def _read(self, text: OutsideText, most: int) -> _Read:
        content = text.content if text.is_code else without_data(text.content)
        content = _URL.sub(lambda found: " " * len(found[0]), content)
        led: list[str] = []
        files: list[str] = []
        folders: list[tuple[str, int]] = []

        def blanked(found: re.Match[str]) -> str:
            path = self._place.expanded(self._names.plain(found[0]))
            exists, real = os.path.lexists(path), os.path.realpath(path)
            if is_below(real, self._roots) and not is_data(path) and not os.path.isdir(path):
                files.append(path)
            if not exists:
                return found[0]
            if is_below(real, self._roots):
                led.append(real)
                if os.path.isdir(real):
                    folders.append((real, found.end()))
            return " " * len(found[0])

        content = self._names.absolute.sub(blanked, content)
        parts = [_Part(*one) for one in islice(self._names.parts(content), most)]
        return _Read(text, content, parts, led, files, folders)

    def files(self) -> Iterator[str]:
        """Paths of files with code below roots that texts name, whether something is there or not.

        A command can make one, and take it away, between two looks.
        """
        for names in (self._read(text, _MAX_PARTS) for text in self._texts):
            yield from names.files
            found = [(path, names.parts[last].end) for path, last in self._named(names)]
            for path, end in (*names.folders, *found):
                if os.path.isdir(path):
                    yield from (os.path.join(path, name) for name in names.joined(end) if not is_data(name))
                elif not is_data(path):
                    yield path

    def _mentioned(self, names: _Read) -> Iterator[str]:
        """The deepest paths that names of roots, and those behind them, lead to."""
        for path, last in self._named(names):
            behind = names.parts[last + 1 : last + 2]
            is_joined = bool(behind) and names.content[names.parts[last].end : behind[0].start] == "/"
            if not (is_joined and is_data(behind[0].name)):  # one that is not there yet
                yield path

    def _named(self, names: _Read) -> Iterator[tuple[str, int]]:
        """The deepest paths that exist, with the numbers of the last of their names."""
        parts = names.parts
        for number, part in enumerate(parts):
            for of_root, root in self._by_name.get(part.name, ()):
                own = len(self._parts_of(os.path.basename(root)))
                before = [one.name for one in parts[max(0, number - len(of_root) + 1) : number + 1]]
                pairs = zip(reversed(before), reversed(of_root), strict=False)
                same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
                if same < own or (same == own and not names.is_path(parts[number - own + 1].start, part.end)):
                    continue
                path, count = names.walked(root, number + 1)
                if same == own and not self._is_sure(names, number - own, path):
                    is_joined = names.stands_behind(_JOINS_LITERAL, parts[number - own + 1].start)
                    if names.text.is_of_package or (names.text.is_code and not is_joined):
                        continue
                yield path, number + count

    def _is_sure(self, names: _Read, before: int, path: str) -> bool:
        """Whether the name of a root alone means it: behind a word for the home, or if it leads to a program."""
        return (before >= 0 and names.parts[before].name in _HOMES) or (
            os.path.isfile(path) and has_name_of_program(path)
        )

    def _below(self, names: _Read, folders: Sequence[str]) -> Iterator[str]:
        """What names lead to below folders, of which no name stands before them."""
        for folder in dict.fromkeys(folders):
            begins = self._begins(folder)
            for number, part in enumerate(names.parts):
                is_begin = part.name in begins or part.name.partition(".")[0] in begins
                path = self._meant(names, folder, number) if is_begin else folder
                if path != folder and path not in self._known:
                    self._known.add(path)
                    yield from self._file(path)
                    yield from self._code_in(path)

    def _meant(self, names: _Read, folder: str, number: int) -> str:
        """What a name and those behind it mean below a folder; the folder itself if nothing."""
        is_named, parts = folder in self._folders, names.parts
        path, count = names.walked(folder, number)
        if is_named and not os.path.isfile(path) and number + count < len(parts):
            name = parts[number + count].name
            ways = [os.path.join(path, one) for one in (name, name.replace(".", "/"))]  # or a module of Python or Lua
            loaded = (f"{way}{ending}" for way in ways for ending in ("", *_ENDINGS))
            path = next(filter(os.path.exists, loaded), path)
        start = parts[number].start
        is_file = os.path.isfile(path) and has_name_of_program(path)
        if is_named:
            is_imported = names.stands_behind(_IMPORTS, start)
            is_meant = count > 1 or is_file or is_imported or names.is_path(start, parts[number].end)
        elif folder in self._near:
            is_joined = names.stands_behind(_JOINED, start)
            is_elsewhere = self._of_plugin and names.stands_behind(_PLAIN, start)
            may_be_meant = is_joined or (is_file and not _READ.fullmatch(parts[number].name))
            is_meant = count > 1 or (may_be_meant and not is_elsewhere)
        else:
            is_meant = count > 1 and is_file
        return path if is_meant and (is_named or not self._is_beside(names.text, folder, path)) else folder

    def _is_beside(self, text: OutsideText, folder: str, path: str) -> bool:
        """Whether the same path exists beside a text, which it rather means."""
        relative, beside = os.path.relpath(path, folder), os.path.dirname(text.path)
        for _ in range(3):  # a script in `src` or `build/bin` names what lies beside these
            places = iglob(os.path.join(escape(beside), "*", escape(relative))) if self._of_plugin else ()
            for one in (os.path.join(beside, relative), *islice(places, 1)):
                if os.path.exists(one):
                    return not is_below(os.path.realpath(one), self._roots)
            beside = os.path.dirname(beside)
        return False

    def _file(self, path: str) -> Iterator[str]:
        """The places of a file that commands can write, if it is no data."""
        if os.path.isfile(path) and not is_data(path):
            yield from filter(self._place.commands_can_write, trail(path))

    def _code_in(self, folder: str) -> Iterator[str]:
        """A folder with code, by its manifest if it has one."""
        real = os.path.realpath(folder)
        if not os.path.isdir(real) or not self._place.commands_can_write(real):
            return
        manifest = next((path for one in MANIFESTS if os.path.isfile(path := os.path.join(real, one))), "")
        is_top = real == self._place.whole(real)
        if manifest or (any(map(is_program, entries(real))) if is_top else has_code(real)):
            yield manifest or real
        if manifest and os.path.isdir(sources := os.path.join(real, "src")):  # tools look there without being told
            yield sources

    def _begins(self, folder: str) -> frozenset[str]:
        """The names with which a path below a folder can begin."""
        if folder not in self._in_folder:
            try:
                names = os.listdir(folder)
            except OSError:
                names = []
            self._in_folder[folder] = frozenset((*names, *(os.path.splitext(one)[0] for one in names)))
        return self._in_folder[folder]

    def _parts_of(self, path: str) -> list[str]:
        return [name for name, _, _ in self._names.parts(path)]


class Names:
    """Reads the names in texts.

    Args:
        folders: in which unusual names may lie, at any depth as far as the texts name the folders in them.
    """

    def __init__(self, texts: Sequence[str], folders: Iterable[str]) -> None:
        unusual = sorted(_unusual(texts, folders), key=len, reverse=True)
        self._spelled = [(one, re.compile(_spelling(one))) for one in unusual]
        either = "|".join(spelling.pattern for _, spelling in self._spelled)
        self._part = re.compile(rf"(?<!\w)(?:{either})(?!\w)|{PART.pattern}" if either else PART.pattern)
        one = rf"(?:(?<=/)(?:{either})(?!\w)|[\w./@+-])" if either else r"[\w./@+-]"
        self.absolute = re.compile(rf"(?<![\w.}}$)/])(?:~|\$HOME|\$\{{HOME\}})?/{one}+")
        """Matches absolute paths as texts have them."""

    def parts(self, text: str) -> Iterator[tuple[str, int, int]]:
        """The names in a text, with where they begin and end."""
        return ((self.plain(found[0]), *found.span()) for found in self._part.finditer(text))

    def plain(self, written: str) -> str:
        """A name, or a path, without the escapes of a text."""
        if not self._spelled or PART.fullmatch(written):
            return written
        for name, spelling in self._spelled:
            written = name.join(spelling.split(written))
        return written


def _unusual(texts: Sequence[str], folders: Iterable[str]) -> Iterator[str]:
    """The unusual names that stand in texts."""
    said = {name for text in texts for one in (text, unquote(text)) for name in PART.findall(one)}
    pending, seen, found = deque(folders), 0, set[str]()
    while pending and seen < _MAX_FOLDERS and len(found) < _MAX_NAMES:
        seen += 1
        for entry in entries(pending.popleft()):
            is_usual = PART.fullmatch(entry.name) is not None
            if is_usual and entry.name not in said:
                continue
            if not is_usual:
                if not said.issuperset(PART.findall(entry.name)):
                    continue
                spelling = re.compile(_spelling(entry.name))
                if not any(map(spelling.search, texts)):
                    continue
                found.add(entry.name)
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
    return iter(found)


def _spelling(name: str) -> str:
    """An expression for a name as shells, URLs and literals spell it."""
    return "".join(one if one.isalnum() else _character(one) for one in name)


def _character(one: str) -> str:
    encoded = "".join(f"%{byte:02X}" for byte in one.encode(errors="surrogateescape"))
    return rf"(?:\\?{re.escape(one)}|{encoded}|{encoded.lower()})"
