"""What programs outside of projects load of them: editable installs, linked packages, and files that scripts name.

Most people start a server so that they develop: from an environment of its own that imports the code of the project.
"""

import functools
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from glob import escape, glob
from typing import NamedTuple

from kaa.host.paths import is_below, trail
from kaa.host.programs import host_programs, is_program
from kaa.host.python_environments import is_environment
from kaa.host.regular_files import text_of
from kaa.host.shims import is_shim, leads_to_shim
from kaa.shell.mcp.builds import folder_that_is_built
from kaa.shell.mcp.code_files import has_name_of_program
from kaa.shell.mcp.compiled import loads_compiled
from kaa.shell.mcp.deciding_files import chosen_versions
from kaa.shell.mcp.executed_words import executed, is_container
from kaa.shell.mcp.long_texts import around_names
from kaa.shell.mcp.named_by_texts import files_in_texts, named_by_texts
from kaa.shell.mcp.named_code import MANIFESTS, is_data, is_loaded_from, named_code
from kaa.shell.mcp.outside_folders import OutsideFolders, is_of_system, may_be_package
from kaa.shell.mcp.outside_texts import (
    PART,
    OutsideText,
    code_in,
    code_of_package,
    package_around,
    with_values,
    without_comments,
    without_data,
)
from kaa.shell.mcp.place import ServerCommandLine, ServerPlace
from kaa.shell.mcp.references import PackageManifests
from kaa.shell.mcp.runners import imports_here, is_path
from kaa.shell.mcp.startup_files import executing_part, startup_files

# A script that activates an environment has the next program be one of it.
_PYTHON_OR_ENVIRONMENT = re.compile(r"(?:python|pypy)[\d.]*|activate(?:\.\w+)?")
_SHELL = re.compile(r"(?:ba|da|z|k|fi)?sh")
_OF_SHELL = (
    *(".sh", ".bash", ".zsh", ".ksh", "/.profile", "/.bash_profile", "/.bash_login", "/.bashrc", "/.kshrc"),
    *("/.zshenv", "/.zprofile", "/.zlogin", "/.zshrc", "/.mavenrc", "/.direnvrc", "/direnvrc"),
)
_CONDA = re.compile(r"conda|mamba|micromamba")
_SEPARATORS = re.compile(r"[\s'\"`();,=|&<>{}]+")
# pip's first lines where the path of the interpreter is too long, or has blanks, for one of the kernel's.
_LONG_INTERPRETER = re.compile(r"""^'''exec' ["']?(/[^"'\n]+?)["']? ["']?\$0""", re.MULTILINE)
_ABSOLUTE = re.compile(r"(?:~|\$HOME|\$\{HOME\}|(?<![\w.})]))/[\w./@+-]+")
# Behind a variable or a call that says where the script lies, as in the scripts of pnpm.
_BESIDE_SCRIPT = re.compile(r"""\$(?:\w+|\{\w+[^}\n]*\}|\(dirname[^)\n]*\))["']?/([\w./@+-]+)""")
_NAME = re.compile(r"(?<![\w./$@~-])[A-Za-z][\w.-]*(?![\w./=(-])")
_IMPORTS_FROM = re.compile(
    r"sys\.path|\bpath\s*\+?=|addsitedir|(?:PYTHON|NODE_|LOAD_|CLASS)PATH|\buse lib|\brequire|\bimport"
    r"|\bPATH\b\s*[+:]?=|\bset\b.*\bPATH\b|\b(?:fish_)?add_path\b|\bfish_user_paths\b"
)
_INSTALLED = frozenset({"node_modules", "site-packages", "dist-packages"})  # nobody writes what is in there by hand
_WRITTEN_BY_HAND = ("/usercustomize.py", "/sitecustomize.py")  # among these
_INSTALLED_FOR_ALL = ("/usr/local",)  # where Python of Debian looks, besides its own place
_OF_DISTRIBUTION = ("/bin", "/sbin", "/lib", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/share", "/usr/libexec")
_OF_KERNEL = ("/proc", "/sys", "/dev")
_ENVIRONMENTS = (".venv", "venv", ".pixi/envs/*")
_ROOTS_OF_CONDA = ("miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba", ".conda")
_ATTACHED = re.compile(r"^-[A-Za-z](?=[~/])")  # `make -C/home/me/server`
# Options with a folder that has what programs load, or settings with the paths of that.
_WITH_SETTINGS = re.compile(
    r"--?(?:[\w-]+-)?(?:config|configuration|settings|plugins?|modules?|extensions?|hooks)(?:-?(?:dir|directory|folder|home|path))?"
)
_MAX_PROGRAMS = 200
_MAX_SCRIPT_BYTES = 64 * 1024
_MAX_NAMES = 300  # that a script is searched for programs of the PATH
_MAX_CHARACTERS = 1024 * 1024  # of texts that are searched for names in pieces


class Loaded(NamedTuple):
    """What programs outside load.

    Attributes:
        paths: links, and real paths of folders and files, that commands can write.
        built: folders among them that are built as a whole.
        loads_compiled: whether one may start a Python that loads compiled modules from beside their sources.
        imports: whether one may start a Python or Lua that looks for modules in the current directory.
    """

    paths: list[str]
    built: list[str]
    loads_compiled: bool
    imports: bool


def loaded_by_programs(
    line: ServerCommandLine, place: ServerPlace, folders: OutsideFolders, *, starts_there: bool = True
) -> Loaded:
    """What commands can write and programs outside load.

    Args:
        starts_there: whether the server starts in the directory that its paths are relative to, so that programs obey
            what lies there.
    """
    programs = _Programs(line, place, folders, starts_there=starts_there)
    paths = list(programs.loaded())
    said = {name for text in programs.texts for name in PART.findall(text.content)}
    built = (folder_that_is_built(path, said) for path in paths)
    compiled = any(loads_compiled(os.fsencode(text.content)) for text in programs.texts)
    started = (text for text in programs.texts if not text.is_of_package)
    imports = any(imports_here(text.content) for text in started)
    return Loaded(paths, list(filter(None, dict.fromkeys(built))), compiled, imports)


def file_named_outside(line: ServerCommandLine, place: ServerPlace, folders: OutsideFolders) -> str:
    """The path of a file with code, in a folder that commands can write, that scripts and settings outside name.

    Empty if there is none. Whether the file is there does not matter: what has no sandbox would execute what a command
    puts there for a moment. Arguments as for `loaded_by_programs`.
    """
    programs = _Programs(line, place, folders, starts_there=False)
    for _ in programs.loaded():
        pass
    return next(files_in_texts(programs.texts, place, line.base(place.project)), "")


class _Programs:
    """Follows programs outside to what they load.

    Attributes:
        texts: the scripts and settings that were read.
    """

    def __init__(
        self, line: ServerCommandLine, place: ServerPlace, folders: OutsideFolders, *, starts_there: bool
    ) -> None:
        self._line = line
        self._place = place
        self._outside = folders
        self._starts_there = starts_there
        self._base = line.base(place.project)
        self._home = os.path.realpath(place.user_home)
        self._programs = host_programs(place.environ)
        entries = dict.fromkeys((*line.variables.get("PATH", "").split(os.pathsep), *self._programs.entries))
        # No server has an entry that commands can write, unless its own variables name it.
        self._entries = [one for one in entries if os.path.isabs(one) and not self._is_written(os.path.realpath(one))]
        self._projects = [one for one in place.writable() if one.count("/") > 1]
        self._seen: set[str] = set()
        self._led: set[str] = set()  # paths whose way was looked at
        self._had_around: set[str] = set()  # folders
        self._looked_for: set[str] = set()  # files of homes that programs obey
        self.texts: list[OutsideText] = []
        self._given = [*line.words[1:], *line.naming.values()]  # what programs get, or find by links
        self._folders: dict[str, None] = {}  # that are executed, such as that of `npm --prefix`
        homes = (place.user_home, os.path.join(self._base, place.expanded(line.variables.get("HOME", self._home))))
        self._homes = tuple(dict.fromkeys(map(os.path.realpath, homes)))
        self._packages: dict[str, None] = {}  # all of which may be loaded
        self._is_of_package = False  # what is read now

    def loaded(self) -> Iterator[str]:
        words, (first, *others) = self._line.words, self._line.words
        path = os.path.abspath(os.path.join(self._base, self._place.expanded(first)))
        is_named = "/" not in first or leads_to_shim(path, tuple(trail(path)))
        started = self._programs.find(path if "/" in first else first) if is_named else None
        yield from self._of_word(first) if started is None else self._leading(started)
        yield from self._started(" ".join(words[:1] if is_container(words) else words))
        numbers = executed(words, lambda word: os.path.exists(os.path.join(self._base, self._place.expanded(word))))
        for number, word in enumerate(() if is_container(words) else others, 1):
            option = word.partition("=")[0] if word.startswith("-") else words[number - 1]
            for part in dict.fromkeys(filter(None, (word, *_SEPARATORS.split(word)))):
                yield from self._of_word(part, is_executed=number in numbers)
                if _WITH_SETTINGS.fullmatch(option) and is_path(part):
                    self._packages[os.path.realpath(os.path.join(self._base, self._place.expanded(part)))] = None
        if any(_CONDA.fullmatch(os.path.basename(word)) for word in words):
            for environment in self._environments_of_conda(set(others)):
                yield from self._written(self._outside.imported_by(environment))
        for name, value in self._line.naming.items():
            for part in filter(is_path, dict.fromkeys((value, *_SEPARATORS.split(value)))):
                yield from self._of_word(part, is_executed=False)
                if is_loaded_from(name):
                    self._packages[os.path.realpath(os.path.join(self._base, self._place.expanded(part)))] = None
        if self._line.cwd:
            self._folders[os.path.realpath(self._base)] = None
        for path, is_of_package in self._files_of_folders():
            self._is_of_package = is_of_package
            yield from self._of_program(path)
        lines = [OutsideText(self._base, f"#!/usr/bin/env {first}\n{word}") for word in others if " " in word]
        if self.texts or not is_container(words):
            texts = [*self.texts, *(() if is_container(words) else lines)]
            yield from named_by_texts(texts, self._given, self._place, self._base, of_plugin=bool(self._line.told))

    def _files_of_folders(self) -> Iterator[tuple[str, bool]]:
        """The files of the folders that are executed, and of packages, also of those that are found meanwhile.

        With each comes whether nothing is known of it but that it lies in a package.
        """
        entered, known = set[str](), set[str]()
        while self._folders or self._packages:
            if self._folders:
                folder, _ = self._folders.popitem()
                if folder not in entered and self._is_of_user(folder):
                    yield from ((path, False) for path in code_in(folder, self._outside))
                entered.add(folder)
            else:
                folder, _ = self._packages.popitem()
                if folder not in known and self._is_of_user(folder):
                    yield from ((path, True) for path in code_of_package(folder, self._outside))
                known.add(folder)

    def _of_word(self, word: str, *, is_executed: bool = True) -> Iterator[str]:
        word = _ATTACHED.sub("", word)
        if "/" not in word or word.startswith("@"):
            for path in self._named(word):
                yield from self._leading(path)
            return
        path = os.path.join(self._base, self._place.expanded(word))
        if self._is_written(os.path.realpath(path)):  # what a path leads to is named
            return
        if os.path.isdir(path):  # of other words, folders are data
            if is_executed:
                self._folders[os.path.realpath(path)] = None
                yield from self._around(os.path.realpath(path))
        else:
            if os.path.basename(path) in MANIFESTS:  # `cargo --manifest-path`: it means the folder
                self._folders[os.path.realpath(os.path.dirname(path))] = None
            yield from self._of_program(path)

    def _named(self, name: str) -> Iterator[str]:
        """Programs of a name on the PATH, and packages of Node that are installed beside them."""
        for entry, packages in self._entries_and_packages:
            if is_program(path := f"{entry}/{name}"):
                yield path
            if packages and os.path.isfile(manifest := f"{packages}/{name}/package.json"):
                yield manifest

    @functools.cached_property
    def _entries_and_packages(self) -> list[tuple[str, str]]:
        """The entries of the PATH, each with the folder of the packages of Node beside it if there is one."""
        beside = ((entry, os.path.join(os.path.dirname(entry), "lib/node_modules")) for entry in self._entries)
        return [(entry, packages if os.path.isdir(packages) else "") for entry, packages in beside]

    def _leading(self, path: str) -> Iterator[str]:
        """What commands can write of what a path leads to, or what the program there loads."""
        if path in self._led:
            return
        self._led.add(path)
        written = [one for one in trail(path) if self._is_written(one)]
        yield from written or self._of_program(path)

    def _of_program(self, path: str) -> Iterator[str]:
        """What a program, or a script for one, loads. It lies outside."""
        if path in self._seen or len(self._seen) >= _MAX_PROGRAMS or not self._may_be_program(path):
            return
        self._seen.add(path)
        if self._starts_there and is_shim(path):
            yield from self._chosen_versions()
        places = list(trail(path))
        if any(_PYTHON_OR_ENVIRONMENT.fullmatch(os.path.basename(one)) for one in (path, *places)):
            yield from self._written(self._imported([os.path.normpath(path), *places]))
        try:
            text = os.fsdecode(text_of(path, _MAX_SCRIPT_BYTES))
        except OSError:  # executable but not readable
            return
        if "\0" in text:
            return
        text = executing_part(path, text)
        if text.startswith("#!"):
            yield from self._interpreted(path, text)
        if not is_below(places[-1], _OF_DISTRIBUTION):
            yield from self._mentioned(places[-1], text)
            yield from self._around(os.path.dirname(places[-1]))
            is_written_by_hand = places[-1].endswith(_WRITTEN_BY_HAND)
            if is_written_by_hand or _INSTALLED.isdisjoint(places[-1].split("/")):
                yield from self._of_script(places[-1], text)

    def _may_be_program(self, path: str) -> bool:
        """Whether a file may be one, and no list of the system, such as `/etc/passwd`: these name folders of all users.

        Some files of the kernel wait for whoever reads them.
        """
        real = os.path.realpath(path)
        if not is_of_system(real, self._home):
            return os.path.isfile(path)
        is_kept = os.path.isfile(path) and not is_below(real, _OF_KERNEL)
        return is_kept and (has_name_of_program(real) or os.access(real, os.X_OK))

    def _of_script(self, path: str, text: str) -> Iterator[str]:
        """What a script that somebody wrote by hand starts and names, and what lies around it."""
        first, _, _ = text.partition("\n")  # which may be no comment
        yield from self._started(f"{first}\n{without_comments(path, text)}")
        if is_of_system(path, self._home):
            return
        if len(text) >= _MAX_SCRIPT_BYTES // 4:  # of characters with up to four bytes
            text += "\n" + around_names(path, len(os.fsencode(text)), self._projects)
        yield from self._named_in_pieces(path, text)
        if self._is_of_user(os.path.dirname(path)):
            self._packages[package_around(path, text, self._is_of_user)] = None

    def _started(self, text: str) -> Iterator[str]:
        """What the files of the home load that the programs obey which a text starts."""
        for path in startup_files(text, self._homes, self._looked_for):
            yield from self._leading(path)

    def _chosen_versions(self) -> Iterator[str]:
        """The files that a shim obeys in the directory where the server starts, and above it."""
        folder = os.path.realpath(self._base)
        while self._is_written(folder):
            for path in chosen_versions(folder):
                with suppress(OSError):  # it is gone meanwhile
                    self.texts.append(OutsideText(path, os.fsdecode(text_of(path, _MAX_SCRIPT_BYTES))))
                yield path
            folder = os.path.dirname(folder)

    def _interpreted(self, path: str, text: str) -> Iterator[str]:
        """What the interpreters in the first lines of a script load, and the environment that it is installed in."""
        words = text[2:].partition("\n")[0].split() or [""]
        named = words if os.path.basename(words[0]) == "env" else words[:1]
        for word in (*named, *_LONG_INTERPRETER.findall(text)):
            yield from self._of_program(word) if "/" in word else self._of_word(word)
        for one in trail(path):
            if is_environment(environment := os.path.dirname(os.path.dirname(one))):
                yield from self._written(self._outside.imported_by(environment))

    def _imported(self, pythons: list[str]) -> Iterator[str]:
        """The folders outside that a Python imports from."""
        for python in pythons:
            environment = os.path.dirname(os.path.dirname(python))
            yield from self._outside.imported_by(environment)
            if _is_isolated(environment):
                return
        for prefix in (*_INSTALLED_FOR_ALL, os.path.join(self._home, ".local")):
            yield from self._outside.imported_by(prefix)

    def _mentioned(self, script: str, text: str) -> Iterator[str]:
        """What the text of a script names."""
        folder, words = os.path.dirname(script), text[2:].partition("\n")[0].split()
        is_of_shell = script.endswith(_OF_SHELL) or (
            text.startswith("#!") and any(_SHELL.fullmatch(os.path.basename(word)) for word in words)
        )
        text = without_comments(script, text)
        if is_of_shell:
            for one in dict.fromkeys(map(without_data, (text, with_values(text)))):
                line = ServerCommandLine(("env", "sh", "-c", f"{one} "), self._line.variables, self._line.cwd)
                yield from named_code(line, self._place, starts_there=self._starts_there)
            for name in dict.fromkeys(_NAME.findall(text)[:_MAX_NAMES]):
                yield from self._of_word(name)
        for one in text.splitlines():
            paths = [self._place.expanded(re.sub("/+", "/", found)) for found in _ABSOLUTE.findall(one)]
            paths += (os.path.join(folder, found) for found in _BESIDE_SCRIPT.findall(one))
            for path in paths:
                if os.path.isfile(path) and self._may_be_read(path):
                    yield from self._leading(path)
                elif os.path.isdir(path):
                    self._folders[os.path.realpath(path)] = None
                    if _IMPORTS_FROM.search(one):
                        yield from self._written([os.path.realpath(path)])

    def _named_in_pieces(self, path: str, text: str) -> Iterator[str]:
        """What files outside load that a text names in pieces, or that lie beside it. The text itself is kept."""
        if sum(len(one.content) for one in self.texts) > _MAX_CHARACTERS:
            return
        self.texts.append(OutsideText(path, without_comments(path, text), self._is_of_package))
        for one, is_beside in self.texts[-1].named_outside(self._home, self._outside):
            real = os.path.realpath(one)
            if os.path.isfile(real):
                yield from self._leading(one) if self._may_be_read(one) else ()
            elif not self._is_written(real):
                self._folders[real] = None
            elif is_beside:  # a link
                self._given.append(real)
                yield from self._package(real)

    def _may_be_read(self, path: str) -> bool:
        """Whether a file that a text names may be code, or outside, settings with a path of code."""
        return not is_data(path) or (path.endswith(".txt") and not self._is_written(os.path.realpath(path)))

    def _is_of_user(self, folder: str) -> bool:
        """Whether the code in a folder may be what the user wrote for a server, and commands cannot write it."""
        if self._is_written(folder) or is_below(self._home, (folder,)) or is_below(folder, _OF_DISTRIBUTION):
            return False
        if not may_be_package(folder, self._home):
            return False
        is_of_programs = folder in map(os.path.realpath, self._entries)
        return not is_of_programs and _INSTALLED.isdisjoint(folder.split("/")) and not is_environment(folder)

    def _around(self, folder: str) -> Iterator[str]:
        """What the folder of a package, and those above it, load: environments, linked packages, path dependencies."""
        manifests = PackageManifests()
        while folder not in self._had_around and not self._is_end(folder):
            self._had_around.add(folder)
            if os.path.basename(folder) == "node_modules":  # what links there lead to is loaded by those that name it
                break
            for environment in (one for name in _ENVIRONMENTS for one in glob(f"{escape(folder)}/{name}")):
                yield from self._written(self._outside.imported_by(environment))
            for link in self._links(f"{folder}/node_modules"):
                yield from self._package(os.path.realpath(link))
            for path in (os.path.join(folder, name) for name in self._outside.names(folder)):
                if os.path.isfile(path) and os.access(path, os.R_OK):
                    manifests.add(path)
            folder = os.path.dirname(folder)
        for path in sorted(manifests.referred(lambda _: True)):
            yield from self._package(path)

    def _is_end(self, folder: str) -> bool:
        """Whether nothing in a folder, and in those above it, belongs to a package."""
        is_above = is_below(self._home, (folder,)) or folder == "/usr/local"
        return is_above or is_below(folder, _OF_DISTRIBUTION) or is_of_system(folder, self._home)

    def _links(self, packages: str) -> Iterator[str]:
        """The links among packages of Node, also among those of a scope."""
        for name in self._outside.names(packages):
            path = os.path.join(packages, name)
            if os.path.islink(path):
                yield path
            elif name.startswith("@"):
                yield from filter(os.path.islink, (os.path.join(path, one) for one in self._outside.names(path)))

    def _package(self, path: str) -> Iterator[str]:
        """A folder or file that a package loads, by its manifest if it has one: what is around that counts, too."""
        manifest = os.path.join(path, "package.json")
        yield from self._written([manifest if os.path.isfile(manifest) else path])

    def _environments_of_conda(self, names: set[str]) -> Iterator[str]:
        """The environments that conda may mean by some words."""
        roots = [os.path.join(self._home, name) for name in _ROOTS_OF_CONDA]
        roots += filter(None, map(self._place.environ.get, ("MAMBA_ROOT_PREFIX", "CONDA_ROOT", "CONDA_PREFIX")))
        for word in self._line.words:
            if _CONDA.fullmatch(os.path.basename(word)):
                paths = [word] if "/" in word else self._named(word)
                roots += (os.path.dirname(os.path.dirname(os.path.realpath(path))) for path in paths)
        known = [os.path.join(root, "envs", name) for root in roots for name in names if "/" not in name]
        try:
            listed = os.fsdecode(text_of(os.path.join(self._home, ".conda/environments.txt"))).splitlines()
        except OSError:  # there is no conda
            listed = []
        known += (one for one in listed if os.path.basename(one) in names)
        yield from filter(is_environment, dict.fromkeys(known))

    def _written(self, paths: Iterable[str]) -> Iterator[str]:
        return filter(self._is_written, paths)

    def _is_written(self, path: str) -> bool:
        return self._place.commands_can_write(path)


def _is_isolated(environment: str) -> bool:
    """True for a virtual environment that imports from no other place."""
    try:
        settings = text_of(os.path.join(environment, "pyvenv.cfg")).lower()
    except OSError:  # it is none
        return False
    return re.search(rb"^include-system-site-packages\s*=\s*true", settings, re.MULTILINE) is None
