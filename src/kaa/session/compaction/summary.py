"""The text of a summary: what a model wrote, and behind it in sections what is carried over as it is.

Files that were read and changed are known as far as tool calls say so.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate

import msgspec

from kaa.core.messages import AssistantMessage, Json, ToolResultMessage
from kaa.core.usage import tokens_in
from kaa.session.changed_paths import changed_paths, named_path
from kaa.session.compaction.quoting import in_summary
from kaa.session.compaction.steps import PathStep
from kaa.session.entries import BranchSummary, Compaction

_READING = "read"
# What the names of files may take, of each kind. All of them are in the entry's details.
_MOST_FILE_TOKENS = 2000
_LINE_END = re.compile(r"[\r\n]+")
_SECTIONS = re.compile(r"(?:\A|\n\n)<(?:carried name=|user-messages>|read-files>|modified-files>)")


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


def put_together(
    prose: str,
    files: TouchedFiles,
    *,
    words: Sequence[str] = (),
    more_words: bool = False,
    carried: Mapping[str, str] | None = None,
    file_tokens: int = _MOST_FILE_TOKENS,
) -> str:
    """The whole summary.

    Args:
        words: the user's messages, the oldest first.
        more_words: there are older ones that are left out.
        carried: texts of extensions, by name.
        file_tokens: about what the names of files may take, of each kind; no more than 2,000 are used.
    """
    parts = [in_summary(prose.strip())]
    parts += [f'<carried name="{name}">\n{text.strip()}\n</carried>' for name, text in (carried or {}).items()]
    if words:
        intro = "The user's own words up to here, the oldest first" + (
            " (older ones are left out):" if more_words else ":"
        )
        messages = "\n".join(f"<message>\n{text.strip()}\n</message>" for text in words)
        parts.append(f"<user-messages>\n{intro}\n{messages}\n</user-messages>")
    room = min(file_tokens, _MOST_FILE_TOKENS)
    parts += [_listed("read-files", files.read, room)] if files.read else []
    parts += [_listed("modified-files", files.modified, room)] if files.modified else []
    return "\n\n".join(parts)


def _listed(name: str, paths: Sequence[str], tokens: int) -> str:
    lines = [in_summary(_LINE_END.sub(" ", path)) for path in paths]
    taken = accumulate(tokens_in(line) for line in lines)
    fitting = [line for line, total in zip(lines, taken, strict=True) if total <= tokens]
    if left_out := len(lines) - len(fitting):
        fitting.append(f"[… {left_out:,} more …]")
    return "\n".join([f"<{name}>", *fitting, f"</{name}>"])


def prose_of(summary: str) -> str:
    """What was written of a summary, without the sections behind it: those are made anew each time."""
    sections = _SECTIONS.search(summary)
    return (summary[: sections.start()] if sections else summary).strip()
