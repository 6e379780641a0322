"""What the model gets of the rules of a project: in the prompt, or with the files that a rule is for."""

import msgspec

from kaa.components.frontmatter import document_in
from kaa.components.rule import rule_in, seen_from
from kaa.ext.api import ContextFile
from kaa.shell.trust.instructions import InstructionFile


def rule_file(file: InstructionFile, text: str, trusted: bool, notices: list[str]) -> ContextFile | None:
    """The text of a rule; None if the model does not get it.

    Args:
        text: its fields and its text, without what a reader would not see.
        notices: gets what is not understood of it, in sentences.
    """
    rule = rule_in(document_in(text), file.rule or "claude")
    notices += [f"{file.path}: {note}" for note in rule.notes]
    whole = ContextFile(file.path, rule.text, trusted)
    if not rule.text:
        return None
    if rule.always:
        return whole
    if rule.globs:
        globs = seen_from(rule.globs, file.way) if file.way else rule.globs
        return msgspec.structs.replace(whole, paths=globs) if globs else None
    if rule.description:  # Cursor's model reads such a rule when it finds that it fits
        return msgspec.structs.replace(whole, text=f"Read {file.path} when it fits the task: {rule.description}")
    return None
