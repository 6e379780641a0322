"""Modules that belong into the only module that imports them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from scripts.structure.sources import Import, Module, When

_MOST_LINES = 420  # of a file that folding leaves: such a file is still read in one go (issue 40)
# Modules that stay apart although only one module imports them, `MODULE -> IMPORTER`, with the reason.
_APART = {
    "kaa.llm.*.request -> *.provider": "each wire format has a request, a reply and a provider",
    "kaa.llm.*.reply -> *.provider": "each wire format has a request, a reply and a provider",
    "kaa.ext.process.services.* -> *.table": "one module for each subject of requests; the table lists them",
    "kaa.frontends.extensions.* -> *.command": "one module for each subcommand",
    "kaa.frontends.mcp.* -> *.command": "one module for each subcommand",
    "kaa.frontends.interactive.* -> kaa.frontends.interactive.ui": "the user interface puts its parts together",
    "kaa.frontends.interactive.transcript.tools.* -> *.by_name": "one renderer for each kind of tool",
    "kaa.components.agent_definition.fields -> *": "a table that grows",
    "kaa.components.plugins.* -> *.reading": "one module for each format",
    "kaa.builtin.condensing.reporters -> *": "a table that grows",
    "kaa.builtin.diagnostics.ruff -> *": "one module for each checker",
    "kaa.builtin.masking.batches -> *": "computes from the conversation alone",
    "kaa.frontends.interactive.dialogs.approval_view -> *": "what there is to read, without the dialog's keys",
    "kaa.frontends.interactive.navigation.tree_nodes -> *": "arranges entries, without a screen",
    "kaa.hands.checkpoints.keeping -> *": "computes from states, without requests",
    "kaa.hands.parsing.parsers -> *": "a program, too, for any Python from 3.8 on",
    "kaa.hands.server -> kaa.hands.__main__": "the program starts it, and tests fork it",
    "kaa.hands.slot -> *": "the forked process, without what forks it",
    "kaa.hands.writing -> *": "named with its module: `writing.write`",
    "kaa.frontends.lab.intervals -> *": "statistics, without any lab",
    "kaa.frontends.lab.variants -> *": "a file's format",
    "kaa.shell.plugins.own_programs -> *": "judges command lines of hooks, without any plugin",
    "kaa.session.catalogue.database -> *": "hides SQLite",
    "kaa.workspace.hook_check -> *": "a script, too, that loads little",
    "kaa.tui.selection -> *": "computes what is selected, without a screen",
}


class Candidate(NamedTuple):
    """A module with one importer in its folder, which loads it anyway. `lines` are those of both together."""

    module: str
    importer: str
    lines: int


def candidates(
    modules: Mapping[str, Module], imports: Sequence[Import], apart: Mapping[str, str] = _APART
) -> Iterator[Candidate]:
    """Yield the modules that can be folded into their importer without loading anything earlier.

    Args:
        modules: all modules of the package, by their names.
        imports: all imports between them.
        apart: patterns of modules that stay apart, with the reasons.
    """
    moments = defaultdict(set)
    for one in imports:
        moments[one.imported].add((one.importer, one.when))
    for name, module in modules.items():
        importers = {importer for importer, _ in moments[name]} - {name}
        if module.is_package or len(importers) != 1:
            continue
        importer = modules[importers.pop()]
        lines = module.lines + importer.lines
        if (
            not importer.is_package
            and importer.folder == module.folder
            and (importer.name, When.LOADING) in moments[name]
            and lines <= _MOST_LINES
            and not any(fnmatchcase(f"{name} -> {importer.name}", pattern) for pattern in apart)
        ):
            yield Candidate(name, importer.name, lines)
