"""Which files a conversation has read and changed, as far as its tool calls say so."""

from collections.abc import Sequence

import msgspec

from kaa.core.messages import AssistantMessage, Json, ToolResultMessage
from kaa.session.changed_paths import changed_paths, named_path
from kaa.session.compaction.steps import PathStep
from kaa.session.entries import BranchSummary, Compaction

_READING = "read"


class TouchedFiles(msgspec.Struct, frozen=True):
    """Paths as the model gave them, sorted. A file that was changed counts as that only."""

    read: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()

    def details(self, model: str | None) -> dict[str, Json]:
        """What an entry keeps of them beside a summary, as pi does, and who wrote that (`provider/id`)."""
        return {"readFiles": list(self.read), "modifiedFiles": list(self.modified), "model": model}


def touched_files(steps: Sequence[PathStep], previous: Compaction | None = None) -> TouchedFiles:
    """What the calls in `steps` touched that did not fail, and what `previous` and summaries of branches tell of."""
    failed = {
        step.message.tool_call_id
        for step in steps
        if isinstance(step.message, ToolResultMessage) and step.message.is_error
    }
    read, modified = _told_by(previous)
    for step in steps:
        if isinstance(step.entry, BranchSummary):
            more_read, more_modified = _told_by(step.entry)
            read, modified = read | more_read, modified | more_modified
        if isinstance(step.message, AssistantMessage):
            calls = [call for call in step.message.tool_calls if call.id not in failed]
            read |= {path for call in calls if call.name == _READING for path in named_path(call.arguments)}
            modified |= {path for call in calls for path in changed_paths(call.name, call.arguments)}
    return TouchedFiles(tuple(sorted(read - modified)), tuple(sorted(modified)))


def _told_by(summary: Compaction | BranchSummary | None) -> tuple[set[str], set[str]]:
    """The files in the details of a summary, of kaa's or pi's; those of extensions may mean anything."""
    if summary is None or summary.from_hook or not isinstance(summary.details, dict):
        return set(), set()
    return _strings(summary.details.get("readFiles")), _strings(summary.details.get("modifiedFiles"))


def _strings(value: Json) -> set[str]:
    return {item for item in value if isinstance(item, str)} if isinstance(value, list) else set()
