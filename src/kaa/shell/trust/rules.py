"""Finds the rules of a project, in `.claude/rules` and `.cursor/rules`: instructions that can be trusted as others."""

import posixpath
from collections.abc import Sequence

import msgspec

from kaa.shell.components import Place
from kaa.shell.components.finding import find
from kaa.shell.trust.instructions import MAX_INSTRUCTION_BYTES, InstructionFile, RuleFormat
from kaa.workspace.protocol import Workspace

_MAX_RULES = 100


class FoundRules(msgspec.Struct, frozen=True):
    """What was found. `notices`: what was left out, in sentences."""

    files: tuple[InstructionFile, ...] = ()
    notices: tuple[str, ...] = ()


async def find_rules(workspace: Workspace, places: Sequence[Place], root: str) -> FoundRules:
    """The rules in some places, by name.

    Args:
        workspace: the project.
        places: where to look.
        root: the project's directory, without symlinks.
    """
    found = await find(workspace, places, root)
    files: list[InstructionFile] = []
    notices = list(found.notices)
    for file in sorted(found.files, key=lambda file: file.path):
        if b"\0" in file.data:
            notices.append(f"{file.path} is not used: it is a binary file")
        else:
            path, data = posixpath.join(workspace.root, file.path), file.data[: MAX_INSTRUCTION_BYTES + 1]
            rule: RuleFormat = "cursor" if file.place.agent == "cursor" else "claude"
            files.append(InstructionFile(path, file.path, data, "project", rule=rule))
    if len(files) > _MAX_RULES:
        notices.append(f"{len(files)} rules were found: only the first {_MAX_RULES} are used")
    return FoundRules(tuple(files[:_MAX_RULES]), tuple(notices))
