"""Reads scripts and settings outside of projects as text: the names in them, and the files that these lead to."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from kaa.shell.mcp.code_files import has_name_of_program, is_file, is_program
from kaa.shell.mcp.executed_words import is_interpreter
from kaa.shell.mcp.installed import PACKAGES
from kaa.shell.mcp.named_code import MANIFESTS
from kaa.shell.mcp.outside_folders import OutsideFolders
from kaa.shell.mcp.runners import package_of_runner
from kaa.shell.mcp.shell_text import without_shell_comments

PART = re.compile(r"\.?[\w@+-]+(?:\.+[\w@+-]+)*")
"""A name in a text: all between characters that few names have. Paths consist of them."""
MAX_DEEP = 12
"""Names of a path below a folder."""

_LANGUAGES = re.compile(r".+\.(?:py|[cm]?[jt]sx?|rb|pl|php|lua)")
_INTERPRETER = re.compile(r"#!.*(?:python|node|deno|bun|ruby|perl|php|lua)")
# Languages in which `#` begins a comment; in JavaScript, PHP and C it begins private fields, attributes and directives.
_OF_SHELL = re.compile(
    r".+\.(?:ba|da|z|k|fi)?sh|\.(?:ba|z|k)shrc|\.(?:bash_|z)?profile|\.zshenv|\.(?:bash_|z)login|\.envrc"
)
_SHELL = re.compile(r"#!.*\b(?:ba|da|z|k|fi)?sh\b")
_HAS_COMMENTS = re.compile(
    r".+\.(?:pyw?|rb|p[lm]|toml|ya?ml|ini|cfg|conf|env|properties|mk)|\.env(?:\.\w+)*|\.npmrc|[mM]akefile|[jJ]ustfile"
)
_COMMENTING = re.compile(r"#!.*\b(?:python|pypy|ruby|perl)")
# Literals of several lines stay, in Python and TOML those with three quotes.
_COMMENT = re.compile(r"""(?P<kept>"{3}[\s\S]*?"{3}|'{3}[\s\S]*?'{3})|^[ \t]*#.*$""", re.MULTILINE)
_BEGINS_LITERAL = re.compile(r"(?:[:-]|[!&]\S{1,80})[ ]{1,80}[|>][-+\d]{0,2}(?:[ ]{1,80}#.*)?$")  # of YAML
_METADATA = re.compile(r"^# /// script$", re.MULTILINE)  # in comments (PEP 723)
_STATEMENTS = re.compile(r"([\n;|&]+)")
_QUOTES = re.compile(r"['\"]")
_ASSIGNED = re.compile(
    r"(?:^|[;&|])\s*(?:(?:export|local|readonly)\s+)?([A-Za-z_]\w*)=([^\s;&|`()]+)(?=[\s;&|]|$)", re.MULTILINE
)
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_SETTINGS = re.compile(r".+\.(?:ya?ml|toml|ini|cfg|conf|env)|\.env")
_OTHERS = re.compile(r"tests?|__tests__|docs?|examples?|fixtures|coverage")  # of a package, nobody executes these
_LEADS_UP = re.compile(r"\.\.(?![.\w])|\.parent\b|\bdirname\s*\(\s*(?:os\.path\.|path\.)?dirname|from \.\.")
_OF_WHOLE_PACKAGES = frozenset({*MANIFESTS, ".git"}) - {"__main__.py", "index.js"}  # which any folder of one may have
_MAX_UP = 4  # folders above a script in which a manifest is looked for, with its own
_MAX_WITHOUT_MANIFEST = 2
_MAX_DEPTH = 4  # of folders in a package
_MAX_OF_PACKAGE = 150  # files that are read of one
_MAX_END = 200  # characters of a line that say that a literal begins
_MAX_FILES = 60  # that are read of a folder
_MAX_WORDS = 200  # of a statement
_MAX_BESIDE = 2_000  # files beside a script


class OutsideText(NamedTuple):
    """A script or settings outside.

    Attributes:
        path: of the file; an absolute path.
        is_of_package: whether nothing is known of it but that it lies in the package of a script.
    """

    path: str
    content: str
    is_of_package: bool = False

    @property
    def is_code(self) -> bool:
        """True unless it is one of a shell, or settings: names have quotes there."""
        return _LANGUAGES.fullmatch(self.path) is not None or _INTERPRETER.match(self.content) is not None

    def named_outside(self, home: str, folders: OutsideFolders) -> list[tuple[str, bool]]:
        """Paths that names lead to, beside the text, in the home and in its `.config`, and whether they are beside it.

        A single name in the home is one of a file there.
        """
        folder, names = os.path.dirname(self.path), list(map(str, PART.findall(self.content)))
        said = {one for name in names for one in (name, *name.split("."))}
        beside = (one for one in folders.names(folder)[:_MAX_BESIDE] if {one, one.partition(".")[0]} & said)
        found = [(os.path.join(folder, one), True) for one in beside]
        for place in (folder, home, os.path.join(home, ".config")):
            begins, is_beside = frozenset(folders.names(place)), place == folder
            runs = dict.fromkeys(tuple(names[at : at + MAX_DEEP]) for at, name in enumerate(names) if name in begins)
            paths = (walked(place, run) for run in runs)
            found += ((one, is_beside) for one, count in paths if count > 1 or is_beside or os.path.isfile(one))
        return list(dict.fromkeys(found))


def walked(folder: str, names: Sequence[str]) -> tuple[str, int]:
    """The deepest path that exists below a folder and consists of the first of some names, and their number."""
    path = folder
    for number, name in enumerate(names):
        if not os.path.lexists(below := os.path.join(path, name)):
            return path, number
        path = below
    return path, len(names)


def without_data(content: str) -> str:
    """The text of a script without the arguments of package runners and containers: most are names and data.

    What a runner executes that is an interpreter, and paths that end as those of programs do, stay.
    """
    kept: list[str] = []
    for statement in _STATEMENTS.split(content):  # and what separates them
        words = statement.split(maxsplit=_MAX_WORDS)
        while words and (words[0] == "exec" or "=" in words[0]):
            del words[0]
        if words and (package := package_of_runner(words)) is not None:
            if any(is_interpreter(_QUOTES.sub("", word)) for word in words[package:]):
                kept.append(statement)
            else:
                paths = (word for word in words[package + 1 :] if has_name_of_program(_QUOTES.sub("", word)))
                kept.append(" ".join((*words[: package + 1], *paths)))
        elif not (words and os.path.basename(words[0]) in ("docker", "podman") and "compose" not in words):
            kept.append(statement)
    return "".join(kept)


def without_comments(path: str, content: str) -> str:
    """A text without the lines that are comments: those that begin with `#` if it is of a language that has these."""
    first = content.partition("\n")[0]
    if _OF_SHELL.fullmatch(os.path.basename(path)) or _SHELL.match(first):
        return without_shell_comments(content)
    if not (_HAS_COMMENTS.fullmatch(os.path.basename(path)) or _COMMENTING.match(first)) or _METADATA.search(content):
        return content
    if path.endswith((".yaml", ".yml")):
        return "\n".join(_without_comments_of_yaml(content.split("\n")))
    return _COMMENT.sub(lambda found: found["kept"] or "", content)


def _without_comments_of_yaml(lines: Sequence[str]) -> Iterator[str]:
    """Lines without those that are comments, which none in a literal is: these have more blanks before them."""
    literal: int | None = None  # the blanks before the line that begins one
    for line in lines:
        text = line.lstrip()
        blanks = len(line) - len(text)
        if literal is not None and text and blanks <= literal:
            literal = None
        if literal is None and text.startswith("#"):
            continue
        yield line
        if literal is None and _BEGINS_LITERAL.search(line[-_MAX_END:]):
            literal = blanks


def with_values(text: str) -> str:
    """A script of a shell without quotes, with the variables filled in to which it assigns plain values."""
    assigned: dict[str, str] = {}

    def filled(text: str) -> str:
        return _VARIABLE.sub(lambda found: assigned.get(found[1] or found[2], found[0]), text)

    text = _QUOTES.sub("", text)
    for name, value in _ASSIGNED.findall(text):
        assigned[name] = filled(value)
    return filled(text)


def code_in(folder: str, folders: OutsideFolders) -> Iterator[str]:
    """The code and manifests in a folder, and in the `src` in which tools look for it without being told."""
    pending, number = [folder], 0
    while pending and number < _MAX_FILES:
        current = pending.pop()
        for entry in folders.entries(current):
            is_manifest = entry.name in MANIFESTS
            if is_file(entry) and (has_name_of_program(entry.name) or is_manifest) and number < _MAX_FILES:
                number += 1
                yield entry.path
            elif entry.is_dir(follow_symlinks=False) and (current != folder or entry.name == "src"):
                pending.append(entry.path)


def code_of_package(top: str, folders: OutsideFolders) -> Iterator[str]:
    """The code and settings in a folder and in those below it, however its files find each other; nearest first."""
    pending, number = [(top, 0)], 0
    while pending and number < _MAX_OF_PACKAGE:
        current, depth = pending.pop(0)
        for entry in folders.entries(current):
            if is_file(entry) and number < _MAX_OF_PACKAGE and (_is_read(entry.name) or is_program(entry)):
                number += 1
                yield entry.path
            elif depth < _MAX_DEPTH and _holds_code(entry):
                pending.append((entry.path, depth + 1))


def package_around(script: str, text: str, is_own: Callable[[str], bool]) -> str:
    """The folder of the package that a script is one of; that of the script if nothing says that it is larger.

    Args:
        script: its real path.
        is_own: whether all in a folder may belong to it.
    """
    folder = os.path.dirname(script)
    above = [folder]
    while len(above) < _MAX_UP and is_own(os.path.dirname(above[-1])):
        above.append(os.path.dirname(above[-1]))
    for one in above:
        if any(os.path.exists(os.path.join(one, name)) for name in _OF_WHOLE_PACKAGES):
            return one
    return above[min(len(_LEADS_UP.findall(text)), len(above) - 1, _MAX_WITHOUT_MANIFEST)]


def _is_read(name: str) -> bool:
    return has_name_of_program(name) or name in MANIFESTS or _SETTINGS.fullmatch(name) is not None


def _holds_code(entry: os.DirEntry[str]) -> bool:
    is_left_out = entry.name.startswith(".") or _OTHERS.fullmatch(entry.name) is not None or entry.name in PACKAGES
    return not is_left_out and entry.is_dir(follow_symlinks=False)
