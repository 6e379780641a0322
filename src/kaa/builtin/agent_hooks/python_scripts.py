"""Judges programs in Python that hooks execute, by their syntax tree."""

import ast
import os
import re
from collections import Counter
from collections.abc import Iterator

from kaa.builtin.agent_hooks.own_files import is_outside

# Modules of the standard library that start no program and open no file that they are not told to.
_MODULES = frozenset(
    """
    __future__ abc argparse base64 bisect collections contextlib copy dataclasses datetime decimal difflib enum errno
    fnmatch functools glob hashlib heapq hmac html io ipaddress itertools json locale math operator os pathlib posixpath
    random re secrets shlex signal socket stat statistics string sys textwrap time traceback typing unicodedata urllib
    uuid warnings zoneinfo
    """.split()  # noqa: SIM905 - as a list it would fill the screen
)
_OF_OS = frozenset(
    """
    access cpu_count curdir environ error fsdecode fsencode fspath getcwd getenv getlogin getpid getppid getuid isatty
    linesep listdir lstat makedirs mkdir name path pathsep scandir sep stat times uname walk
    """.split()  # noqa: SIM905 - as above
)
_EVALUATING = frozenset({"__import__", "breakpoint", "compile", "eval", "exec", "globals", "vars"})
_JUDGED = frozenset({"io", "os", "sys"})
_NOT_OF_SYS = frozenset({"meta_path", "modules", "path", "path_hooks"})
# They use a file: named by the first argument, or the path that they are methods of.
_OPENING = frozenset({"open", "makedirs", "mkdir", "urlretrieve"})
_OF_PATHS = frozenset(
    """
    hardlink_to mkdir open read_bytes read_text rename rmdir symlink_to touch unlink write_bytes write_text
    """.split()  # noqa: SIM905 - as above
)
_OF_KAA = "session"  # stands for a value that is not the model's: a time, or the name of the session
_OBEYS_SAFE_PATH = re.compile(r"python3\.(?:1[1-9]|[2-9]\d)")


def is_harmless_python(text: str, path: str, root: str) -> bool:
    """Whether a program starts no other one, and uses only files that commands of the model cannot write.

    Args:
        text: of the program.
        path: its file, or empty.
        root: the directory of the project.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return _Program(tree, path, root).is_harmless()


def ignores_directory(program: str | None) -> bool:
    """Whether a Python obeys the variable with which it loads no modules from the directory that it starts in."""
    return program is not None and _OBEYS_SAFE_PATH.fullmatch(os.path.basename(os.path.realpath(program))) is not None


class _Program:
    def __init__(self, tree: ast.Module, path: str, root: str) -> None:
        self._tree = tree
        self._file = path
        self._root = root
        names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
        arguments = [node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)]
        stored = Counter((*(node.id for node in names), *arguments))
        self._constants = {name: value for name, value in _assignments(tree) if stored[name] == 1}

    def is_harmless(self) -> bool:
        """Judge it whole."""
        return all(map(self._is_harmless, ast.walk(self._tree)))

    def _is_harmless(self, node: ast.AST) -> bool:
        match node:
            case ast.Import(names=names):
                return all(self._is_known(one.name) and (not one.asname or one.name not in _JUDGED) for one in names)
            case ast.ImportFrom(module=module, level=level, names=names):
                if level or module is None or not self._is_known(module):
                    return False
                names_of = {one.name for one in names}
                if module == "os":
                    return names_of <= _OF_OS
                return not (module == "sys" and names_of & _NOT_OF_SYS) and "*" not in names_of
            case ast.Name(id=name):
                return name not in _EVALUATING
            case ast.Attribute(value=ast.Name(id="os"), attr=attribute):
                return attribute in _OF_OS
            case ast.Attribute(value=ast.Name(id="sys"), attr=attribute):
                return attribute not in _NOT_OF_SYS
            case ast.Call(func=ast.Name(id="open") | ast.Attribute(value=ast.Name(id="os" | "io")) as called) if (
                called.id if isinstance(called, ast.Name) else called.attr
            ) in _OPENING:
                return bool(node.args) and self._is_own(node.args[0])
            case ast.Call(func=ast.Attribute(value=value, attr=attribute)) if attribute in _OF_PATHS:
                return self._is_own(value)
            case ast.Call(func=ast.Attribute(attr="urlretrieve" | "fdopen")):
                return False
            case _:
                return True

    def _is_known(self, module: str) -> bool:
        return module.partition(".")[0] in _MODULES

    def _is_own(self, node: ast.expr) -> bool:
        """Whether an expression is stdin, or a path that commands cannot write, known before the program runs."""
        if isinstance(node, ast.Constant) and node.value in (0, "/dev/stdin"):
            return True
        path = self._path(node, 0)
        return path is not None and is_outside(path, self._root)

    def _path(self, node: ast.expr, depth: int) -> str | None:
        if depth > 20:
            return None
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.Name(id="__file__"):
                return os.path.realpath(os.path.expanduser(self._file)) if self._file else None
            case ast.Name(id=name) if name in self._constants:
                return self._path(self._constants[name], depth + 1)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self._joined([left, right], depth)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._added([left, right], depth)
            case ast.JoinedStr(values=values):
                return self._added(values, depth)
            case ast.FormattedValue(value=value):
                return self._path(value, depth + 1)
            case ast.Subscript(slice=ast.Constant(value="session_id")):
                return _OF_KAA
            case ast.Attribute(value=value, attr="parent"):
                return self._parent(value, depth)
            case ast.Call():
                return self._path_of_call(node, depth)
            case _:
                return None

    def _path_of_call(self, node: ast.Call, depth: int) -> str | None:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="Path"), attr="home"), args=[]):
                return os.path.expanduser("~")
            case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value="session_id"), *_]):
                return _OF_KAA
            case ast.Call(func=ast.Attribute(attr="isoformat" | "strftime")):
                return _OF_KAA
            case ast.Call(func=ast.Attribute(attr="expanduser"), args=[value]):
                path = self._path(value, depth + 1)
                return None if path is None else os.path.expanduser(path)
            case ast.Call(func=ast.Attribute(value=value, attr="expanduser" | "resolve" | "absolute"), args=[]):
                path = self._path(value, depth + 1)
                return None if path is None else os.path.expanduser(path)
            case ast.Call(func=ast.Attribute(attr="abspath" | "realpath"), args=[value]):
                return self._path(value, depth + 1)
            case ast.Call(func=ast.Attribute(attr="dirname"), args=[value]):
                return self._parent(value, depth)
            case ast.Call(func=ast.Name(id="Path") | ast.Attribute(attr="Path" | "join"), args=[_, *_] as parts):
                return self._joined(parts, depth)
            case _:
                return None

    def _parent(self, node: ast.expr, depth: int) -> str | None:
        path = self._path(node, depth + 1)
        return None if path is None else os.path.dirname(path)

    def _added(self, parts: list[ast.expr], depth: int) -> str | None:
        found = [self._path(one, depth + 1) for one in parts]
        texts = [one for one in found if one is not None]
        return "".join(texts) if len(texts) == len(found) else None

    def _joined(self, parts: list[ast.expr], depth: int) -> str | None:
        found = [self._path(one, depth + 1) for one in parts]
        names = [one for one in found if one is not None]
        return os.path.join(*names) if names and len(names) == len(found) else None


def _assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value
