"""Makes instructions, which can be trusted as others, of the rules that projects have for several agents."""

import posixpath

import msgspec

from kaa.shell.components import Found
from kaa.shell.trust.instructions import MAX_INSTRUCTION_BYTES, InstructionFile, RuleFormat

_MAX_RULES = 100


class FoundRules(msgspec.Struct, frozen=True):
    """What was found. `notices`: what was left out, in sentences."""

    files: tuple[InstructionFile, ...] = ()
    notices: tuple[str, ...] = ()


def rules_in(found: Found, root: str) -> FoundRules:
    """The rules in some files, by name: those of directories above the project first."""
    files: list[InstructionFile] = []
    notices = list(found.notices)
    for file in sorted(found.files, key=lambda file: file.path):
        if b"\0" in file.data:
            notices.append(f"{file.path} is not used: it is a binary file")
        else:
            path = posixpath.normpath(posixpath.join(root, file.path))
            data = file.data[: MAX_INSTRUCTION_BYTES + 1]
            above = posixpath.normpath(posixpath.join(root, file.place.folder, "..", ".."))
            way = "" if above == posixpath.normpath(root) else posixpath.relpath(root, above)
            agent = file.place.agent
            rule: RuleFormat = agent if agent in ("cursor", "windsurf", "copilot") else "claude"
            files.append(InstructionFile(path, file.path, data, "project", rule=rule, way=way))
    if len(files) > _MAX_RULES:
        notices.append(f"{len(files)} rules were found: only the first {_MAX_RULES} are used")
    return FoundRules(tuple(files[:_MAX_RULES]), tuple(notices))
