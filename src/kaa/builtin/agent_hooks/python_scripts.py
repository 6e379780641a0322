"""Judges programs in Python that hooks execute, by their syntax tree."""

import ast
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator

from kaa.builtin.agent_hooks.own_files import is_outside

# Modules of the standard library that start no program and open no file that they are not told to.
_MODULES = frozenset(
    """
    __future__ abc argparse base64 bisect collections contextlib copy dataclasses datetime decimal difflib enum errno
    fnmatch glob hashlib heapq hmac html ipaddress itertools json math os pathlib posixpath
    random re secrets shlex signal stat statistics string sys textwrap time traceback typing unicodedata urllib.parse
    uuid warnings zoneinfo
    """.split()  # noqa: SIM905 - as a list it would fill the screen
)
_OF_OS = frozenset(
    """
    access cpu_count curdir environ error fsdecode fsencode fspath getcwd getenv getlogin getpid getppid getuid isatty
    linesep listdir lstat makedirs mkdir name path pathsep scandir sep stat times uname walk
    """.split()  # noqa: SIM905 - as above
)
_EVALUATING = frozenset(
    """
    __builtins__ __import__ __loader__ __spec__ breakpoint compile delattr eval exec getattr globals locals setattr vars
    """.split()  # noqa: SIM905 - as above
)
_JUDGED = frozenset({"os", "sys"})
_LOADING = frozenset({"imp", "importlib", "pkgutil", "runpy", "site", "zipimport"})
# Attributes that lead from any object to modules, or evaluate text.
_EVALUATED = frozenset({"ForwardRef", "bltns", "evaluate_forward_ref", "get_type_hints", "stdlib_re"})
_HARMLESS_UNDERSCORED = re.compile(r"_(?:asdict|fields|make|replace)|__(?:class|doc|file|init|name|version)__")
_OTHER_MODULES = sys.stdlib_module_names - _MODULES
_NOT_OF_SYS = frozenset({"meta_path", "modules", "path", "path_hooks"})
# They use a file: named by the first argument, or the path that they are methods of.
_OPENING = frozenset({"open", "makedirs", "mkdir", "urlretrieve"})
_OF_PATHS = frozenset(
    """
    chmod hardlink_to lchmod link_to mkdir open read_bytes read_text rename rmdir symlink_to touch unlink write_bytes
    write_text
    """.split()  # noqa: SIM905 - as above
)
_OF_KAA = "session"  # stands for a value that is not the model's: a time, or the name of the session
_OBEYS_SAFE_PATH = re.compile(r"python3\.(?:1[1-9]|[2-9]\d)")


def is_harmless_python(text: str, path: str, root: str) -> bool:
    """Whether a program starts no other one, and uses only files that commands of the model cannot write.

    Args:
        path: its file, or empty.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return _Program(tree, path, root).is_harmless()


def needs_no_packages(text: str) -> bool:
    """Whether a program imports only the standard library, and loads no modules in other ways."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    modules: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                modules |= {one.name.partition(".")[0] for one in names}
            case ast.ImportFrom(module=module, level=level):
                modules.add((module or ".").partition(".")[0] if not level else ".")
            case ast.Name(id="__import__" | "exec" | "eval"):
                return False
            case _:
                continue
    return bool(text) and modules <= sys.stdlib_module_names - _LOADING


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
        stored = Counter((*(node.id for node in names), *arguments, *_otherwise_set(tree)))
        self._called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        self._held = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        self._modules = {
            (one.asname or one.name).partition(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for one in node.names
        }
        self._stored = stored
        self._constants = {name: value for name, value in _assignments(tree) if stored[name] == 1}

    def is_harmless(self) -> bool:
        return all(map(self._is_harmless, ast.walk(self._tree)))

    def _is_harmless(self, node: ast.AST) -> bool:
        match node:
            case ast.Import(names=names):
                return all(self._is_known(one.name) and (not one.asname or one.name not in _JUDGED) for one in names)
            case ast.ImportFrom(module=module, level=level, names=names):
                return level == 0 and module is not None and self._gives_known(module, {one.name for one in names})
            case ast.Name(id=name):
                return self._is_harmless_name(node, name)
            case ast.Attribute(value=value, attr=attribute):
                return self._is_harmless_attribute(node, value, attribute)
            case ast.Call():
                return self._is_harmless_call(node)
            case _:
                return True

    def _gives_known(self, module: str, names: set[str]) -> bool:
        """Whether names of a module lead to nothing that starts a program, or opens a file unseen."""
        if (
            not self._is_known(module)
            or names & {"*", *_JUDGED}
            or any(_leads_on(name, of_module=module not in _JUDGED) for name in names)
        ):
            return False
        return names <= _OF_OS if module == "os" else not (module == "sys" and names & _NOT_OF_SYS)

    def _is_harmless_name(self, node: ast.Name, name: str) -> bool:
        """Judge a name: what opens files is only called, and modules that are judged have no other name."""
        if name == "open":
            return id(node) in self._called
        return name not in _EVALUATING and (name not in _JUDGED or id(node) in self._held)

    def _is_harmless_attribute(self, node: ast.Attribute, value: ast.expr, attribute: str) -> bool:
        is_own = isinstance(value, ast.Name) and value.id in ("self", "cls")
        is_of_module = isinstance(value, ast.Name) and value.id in self._modules - _JUDGED
        if _leads_on(attribute, of_module=is_of_module) and not (is_own and not attribute.endswith("__")):
            return False
        match value:
            case ast.Name(id="os"):
                return attribute in _OF_OS
            case ast.Name(id="sys"):
                return attribute not in _NOT_OF_SYS
            case _:
                is_method = attribute in _OF_PATHS and id(node) not in self._called
                return not is_method and attribute not in {*_JUDGED, "FileType", "builtins"}  # as `pathlib.os`

    def _is_harmless_call(self, node: ast.Call) -> bool:
        match node:
            case ast.Call(func=ast.Name(id="open") | ast.Attribute(value=ast.Name(id="os")) as called) if (
                called.id if isinstance(called, ast.Name) else called.attr
            ) in _OPENING:
                return bool(node.args) and self._is_own(node.args[0])
            case ast.Call(func=ast.Attribute(attr="replace"), args=[_], keywords=[]):
                return False  # of a path: that of a text has two arguments
            case ast.Call(func=ast.Attribute(value=value, attr=attribute)) if attribute in _OF_PATHS:
                return self._is_own(value)
            case ast.Call(func=ast.Attribute(attr="urlretrieve" | "fdopen")):
                return False
            case _:
                return True

    def _is_known(self, module: str) -> bool:
        return module in _MODULES or (module.partition(".")[0] in _MODULES and "urllib" not in module)

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
            case ast.Subscript(value=value, slice=ast.Constant(value="session_id")) if self._is_input(value, 0):
                return _OF_KAA
            case ast.Attribute(value=value, attr="parent"):
                return self._parent(value, depth)
            case ast.Call():
                return self._path_of_call(node, depth)
            case _:
                return None

    def _path_of_call(self, node: ast.Call, depth: int) -> str | None:
        match node:
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Name(id="Path") | ast.Attribute(value=ast.Name(id="pathlib"), attr="Path"), attr="home"
                ),
                args=[],
            ):
                return os.path.expanduser("~")
            case ast.Call(
                func=ast.Attribute(value=value, attr="get"),
                args=[ast.Constant(value="session_id")] | [ast.Constant(value="session_id"), ast.Constant()],
            ) if self._is_input(value, 0):
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

    def _is_input(self, node: ast.expr, depth: int) -> bool:
        """Whether an expression is all that kaa gives the program, and not a part of that, which may be the model's."""
        if depth > 20:
            return False
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="json"), attr="load" | "loads"), args=[given]):
                return self._is_stdin(given, 0)
            case ast.BoolOp(op=ast.Or(), values=[first, ast.Dict(keys=[])]):
                return self._is_input(first, depth + 1)
            case ast.Name(id=name):
                assigned = [value for one, value in _assignments(self._tree) if one == name]
                parameters, passed = self._passed(name)
                values = [one for one in (*assigned, *passed) if not (isinstance(one, ast.Dict) and not one.keys)]
                is_known = bool(values) and self._stored[name] == len(assigned) + parameters
                return is_known and all(self._is_input(one, depth + 1) for one in values)
            case _:
                return False

    def _passed(self, name: str) -> tuple[int, list[ast.expr]]:
        """How many functions have a parameter of a name, and what they are called with there."""
        functions = {one.name: one for one in ast.walk(self._tree) if isinstance(one, ast.FunctionDef)}
        places = {
            function: [one.arg for one in node.args.args].index(name)
            for function, node in functions.items()
            if name in [one.arg for one in node.args.args]
        }
        found: list[ast.expr] = []
        for call in ast.walk(self._tree):
            match call:
                case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)) if called in places:
                    place = places[called] - isinstance(call.func, ast.Attribute)  # behind `self`
                    found += call.args[place : place + 1]
                    found += (one for one in call.args if isinstance(one, ast.Starred))
                    found += (one.value for one in call.keywords if one.arg in (name, None))
        return len(places), found

    def _is_stdin(self, node: ast.expr, depth: int) -> bool:
        match node:
            case ast.Attribute(value=ast.Name(id="sys"), attr="stdin") | ast.Constant(value=0 | "/dev/stdin"):
                return True
            case (
                ast.Attribute(value=value, attr="buffer")
                | ast.Call(func=ast.Attribute(value=value, attr="read"), args=[])
            ):
                return self._is_stdin(value, depth)
            case ast.Call(func=ast.Name(id="open"), args=[given, *_]):
                return isinstance(given, ast.Constant) and self._is_stdin(given, depth)
            case ast.Name(id=name) if name in self._constants and depth < 20:
                return self._is_stdin(self._constants[name], depth + 1)
            case _:
                return False

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


def _leads_on(name: str, *, of_module: bool) -> bool:
    """Whether an attribute, or a name in a module, leads to a module that is not known, or evaluates text."""
    if name in _EVALUATED or (of_module and name in _OTHER_MODULES):
        return True
    return name.startswith("_") and _HARMLESS_UNDERSCORED.fullmatch(name) is None


def _assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value


def _otherwise_set(tree: ast.Module) -> Iterator[str]:
    """Names that get a value, but not in an assignment or a loop."""
    for node in ast.walk(tree):
        match node:
            case (
                ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.MatchMapping(rest=str(name))
                | ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                yield name
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                yield from names
            case ast.alias(name=name, asname=asname):
                yield asname or name.partition(".")[0]
            case _:
                continue
