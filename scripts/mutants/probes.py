"""Probes: statements in a copy of the sources that count in shared memory how often the lines of mutants are reached.

Coverage does not see the code behind the walls: the hands start without site-packages and with an empty environment,
fork, confine themselves to where no file can be written, and end by `_exit` or a signal. Memory that is mapped when
`kaa` is first imported is inherited by all forks, whatever confines or ends them.
"""

import ast
from collections.abc import Iterable, Mapping, Sequence

from scripts.mutants.listed import Mutant, MutantError

_PRELUDE = "from kaa import _reached"

# Appended to kaa/__init__.py. A process counts for the worker of the tests that is its closest ancestor.
_RUNTIME = """

def _counters():
    import mmap
    import os

    pid = os.getpid()
    try:
        while pid > 1 and not os.path.exists(f"{folder}/{{pid}}"):
            with open(f"/proc/{{pid}}/stat") as file:
                pid = int(file.read().rpartition(")")[2].split()[1])
        descriptor = os.open(f"{folder}/{{pid}}" if pid > 1 else "{folder}/others", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return [0] * {count}
    try:
        return memoryview(mmap.mmap(descriptor, 8 * {count})).cast("Q")
    finally:
        os.close(descriptor)


_counts = _counters()


def _reached(probe):
    _counts[probe] += 1
"""


def runtime(folder: str, count: int) -> str:
    """Return the code of `kaa/__init__.py` that the probes call.

    Args:
        folder: where the workers of the tests keep a file of counters each, named by their process id.
        count: number of probes.
    """
    return _RUNTIME.format(folder=folder, count=count)


def instrument(text: str, probes: Mapping[int, Mutant]) -> str:
    """Put probes into the text of a file, each before the statement in which its mutant's line is.

    Args:
        text: of the file.
        probes: mutants of this file, by their probe's number.

    Raises:
        MutantError: a line is not there exactly once, or is outside of functions, where each import reaches it.
    """
    tree = ast.parse(text)
    insertions = [edit for number, mutant in probes.items() for edit in _edits(text, tree, number, mutant)]
    lines = text.encode().split(b"\n")
    for line, column, inserted in sorted([*insertions, _prelude(tree)], reverse=True):
        before, after = lines[line - 1][:column], lines[line - 1][column:]
        lines[line - 1] = before + inserted.encode() + after
    return b"\n".join(lines).decode()


def _prelude(tree: ast.Module) -> tuple[int, int, str]:
    """An insertion after the docstring and the imports from the future."""
    first = next(node for node in tree.body if not _is_docstring(node) and not _is_future(node))
    return first.lineno, 0, f"{_PRELUDE}\n"


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _edits(text: str, tree: ast.Module, number: int, mutant: Mutant) -> Iterable[tuple[int, int, str]]:
    """Insertions (line, column in bytes, text) that count when the mutant's line is reached."""
    line = mutant.locate(text) + 1
    around = _around(tree, line)
    if not any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in around[:-1]):
        raise MutantError(f"mutant {mutant.name}: line {line} of {mutant.file} is in no function: choose another one")
    *_, parent, statement = around
    source = text.encode().split(b"\n")[statement.lineno - 1][statement.col_offset :]
    if isinstance(parent, ast.If) and isinstance(statement, ast.If) and source.startswith(b"elif"):
        test = statement.test
        assert test.end_lineno is not None
        assert test.end_col_offset is not None
        yield test.lineno, test.col_offset, f"_reached({number}) or ("
        yield test.end_lineno, test.end_col_offset, ")"
    else:
        yield statement.lineno, statement.col_offset, f"_reached({number})\n{' ' * statement.col_offset}"


def _around(tree: ast.Module, line: int) -> Sequence[ast.stmt]:
    """Statements that contain a line, from the outermost to the innermost."""
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))
