"""The modules of a package as their syntax trees, and which of them import which others."""

import ast
import re
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

_MODULE_NAME = re.compile(r"[a-z_]\w*(?:\.\w+)+")  # in a text: the argument of `import_module`, or of `python -m`


class When(IntEnum):
    """The moment of an import, the earliest first."""

    LOADING = 0
    USING = 1
    NEVER = 2  # only type checkers follow it


class Import(NamedTuple):
    """One module imports another."""

    importer: str
    imported: str
    when: When


class Module(NamedTuple):
    """A file of the package."""

    name: str
    file: Path
    source: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        """The number of its lines, with blank ones, comments and docstrings."""
        return self.source.count("\n")

    @property
    def folder(self) -> str:
        """The package that it belongs to; a package's `__init__` belongs to the package itself."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    @property
    def is_package(self) -> bool:
        """True if it is the `__init__` of a folder."""
        return self.file.name == "__init__.py"


def read_modules(package: Path) -> dict[str, Module]:
    """Read all modules of a package in a folder, by their names."""
    modules = (_read_module(file, package.parent) for file in sorted(package.rglob("*.py")))
    return {module.name: module for module in modules}


def _read_module(file: Path, above: Path) -> Module:
    parts = file.relative_to(above).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    source = file.read_text("utf-8")
    return Module(name, file, source, ast.parse(source))


def imports_of(module: Module, known: dict[str, Module]) -> Iterator[Import]:
    """Yield the imports of modules that are known, also those that texts name. Relative imports do not occur."""
    for node, when in _nodes(module.tree, When.LOADING):
        for name in _imported(node, known):
            yield Import(module.name, name, when)


def _nodes(node: ast.AST, when: When) -> Iterator[tuple[ast.AST, When]]:
    yield node, when
    for child in ast.iter_child_nodes(node):
        yield from _nodes(child, max(when, _moment(node, child)))


def _moment(parent: ast.AST, child: ast.AST) -> When:
    if isinstance(parent, ast.If) and "TYPE_CHECKING" in ast.unparse(parent.test) and child in parent.body:
        return When.NEVER
    if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return When.USING
    return When.LOADING


def _imported(node: ast.AST, known: dict[str, Module]) -> Iterator[str]:
    match node:
        case ast.Import(names):
            yield from (alias.name for alias in names if alias.name in known)
        case ast.ImportFrom(str(package), names, 0):
            submodules = {f"{package}.{alias.name}" for alias in names} & set(known)
            yield from submodules
            if package in known and len(submodules) < len(names):
                yield package
        case ast.Constant(str(text)) if _MODULE_NAME.fullmatch(text) and text in known:
            yield text
        case _:
            pass
