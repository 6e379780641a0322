"""The size of the sources and of a printed turn, ambiguous names of classes, and modules to fold into their importer.

python -m scripts.structure
"""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from scripts.structure.folding import candidates
from scripts.structure.names import SHARED, ambiguous_classes
from scripts.structure.sources import imports_of, read_modules
from tests.end_to_end.kaa_process import Kaa
from tests.support.ordinary_project import ordinary_kaa
from tests.support.printed_turn import lines_in, reply_after_a_while, reply_at_once

_REPOSITORY = Path(__file__).parents[2]


def main() -> None:
    """Print the report."""
    for line in (*_sources(), *_printed_turn()):
        print(line)


def _sources() -> Iterator[str]:
    modules = read_modules(_REPOSITORY / "src" / "kaa")
    lines = sum(module.lines for module in modules.values())
    yield f"sources: {len(modules):,} files, {lines:,} lines"

    ambiguous = ambiguous_classes(modules.values())
    yield f"public classes with a name that others have too: {len(ambiguous)}"
    for name, places in ambiguous.items():
        yield f"  {name}: {', '.join(places)} ({SHARED.get(name, 'without a reason: rename one')})"

    imports = [one for module in modules.values() for one in imports_of(module, modules)]
    found = sorted(candidates(modules, imports))
    yield f"modules that fit into their only importer, with the lines of both: {len(found)}"
    yield from (f"  {one.module} -> {one.importer.rpartition('.')[2]}: {one.lines}" for one in found)


def _printed_turn() -> Iterator[str]:
    # Not in a temporary directory: the sandbox has its own.
    with TemporaryDirectory(prefix=".structure-", dir=_REPOSITORY) as folder:
        tier = json.loads(_project(Path(folder, "doctor")).run("doctor", "--json").out)["tier"]
        if tier != "full":  # as for the budgets
            yield f"a printed turn: not counted, because this machine has the sandbox {tier!r} instead of 'full'"
            return
        at_once = reply_at_once(_project(Path(folder, "once")))
        after_a_while, _ = reply_after_a_while(_project(Path(folder, "while")))
    for reply, files in (("at once", at_once), ("after a while", after_a_while)):
        yield f"a printed turn, reply {reply}: {len(files)} modules, {sum(map(lines_in, files)):,} lines of code"


def _project(folder: Path) -> Kaa:
    folder.mkdir()
    return ordinary_kaa(folder)


if __name__ == "__main__":
    main()
