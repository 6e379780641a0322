"""Is a session whole? Everything that is unusual in its file, by line, and what becomes of it."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias

import msgspec

from kaa.core.messages import AssistantMessage, ToolCall, ToolResultMessage
from kaa.session.entries import FORMAT_VERSION, AnyEntry, Compaction, MessageEntry
from kaa.session.errors import SessionBusyError, SessionError, SessionReadError
from kaa.session.file.decoding import decode_entry
from kaa.session.file.file_store import journal_path
from kaa.session.file.lock import lock
from kaa.session.tree import Node, SessionTree
from kaa.session.upkeep.survey import Survey, SurveyedLine, survey

# error: something that was said is lost. warning: nothing is lost here, but other programs may lose it. note: as it
# may be.
FindingSeverity: TypeAlias = Literal["error", "warning", "note"]


class HealthFinding(msgspec.Struct, rename="camel", frozen=True):
    """Something unusual.

    Attributes:
        line: from 1 on; 0 for the file as a whole.
        problem: what it is, for programs.
        text: what it is and what becomes of it, for people.
    """

    line: int
    severity: FindingSeverity
    problem: str
    text: str


class Health(msgspec.Struct, rename="camel", frozen=True):
    """How a session is.

    Attributes:
        id: of the session; empty if its header is lost.
        entries: how many can be read.
        findings: by line.
        in_use: whether somebody has it open; `holder` is the process, where the system tells.
    """

    path: Path
    id: str
    version: int
    entries: int
    findings: tuple[HealthFinding, ...]
    in_use: bool = False
    holder: int | None = None

    @property
    def is_sound(self) -> bool:
        """Whether there is nothing to repair."""
        return all(finding.severity == "note" for finding in self.findings)


def check(path: Path) -> Health:
    """Look for everything unusual. The file is not changed.

    Raises:
        SessionReadError: it cannot be read.
        NotASessionError: it is something else.
    """
    surveyed = survey(path)
    try:
        in_use, holder = _holder(path)
        with path.open("rb") as file:
            findings = [*_line_findings(surveyed), *_tree_findings(surveyed), *_content_findings(surveyed, file)]
    except OSError as error:
        raise SessionReadError(path, error) from error
    if in_use:
        who = f"process {holder}" if holder is not None else "another process"
        findings.append(HealthFinding(0, "note", "in_use", f"{who} has it open"))
    elif journal_path(path).exists():
        text = "a reply or a tool was interrupted; what had come of it is recovered when the session is opened"
        findings.append(HealthFinding(0, "note", "journal", text))
    header = surveyed.header
    return Health(
        path,
        header.id if header is not None else "",
        header.version if header is not None else 0,
        len(surveyed.tree),
        tuple(sorted(findings, key=lambda finding: finding.line)),
        in_use,
        holder,
    )


def _holder(path: Path) -> tuple[bool, int | None]:
    """Whether somebody has the session open, and who. To find out, it is locked for a moment and no longer."""
    with path.open("rb") as file:
        try:
            lock(file.fileno(), path)
        except SessionBusyError as busy:
            return True, busy.pid
        except SessionError:
            return False, None  # a file system that will not say
    return False, None


def _line_findings(surveyed: Survey) -> Iterator[HealthFinding]:
    header, lines = surveyed.header, surveyed.lines
    if header is None:
        yield HealthFinding(
            1, "error", "no_header", "the header is lost: the session can only be opened when it is repaired"
        )
    elif header.version != FORMAT_VERSION:
        newer = "a newer format; what is not understood is kept"
        older = "an older format; it is continued in a new file"
        text = newer if header.version > FORMAT_VERSION else older
        yield HealthFinding(1, "note", "version", f"version {header.version} is {text}")
    for line in lines:
        is_last = line is lines[-1]
        match line.kind:
            case "damaged" if is_last and not surveyed.is_terminated:
                yield HealthFinding(
                    line.number, "error", "torn", "the last line was not written to its end; kaa skips it"
                )
            case "damaged":
                yield HealthFinding(line.number, "error", "unreadable", "the line cannot be read; kaa skips it")
            case "glued":
                text = "the entry stands behind the beginning of another one, which is lost; other programs lose both"
                yield HealthFinding(line.number, "error", "glued", text)
            case "header_again":
                yield HealthFinding(line.number, "note", "header_again", "a second header; kaa skips it")
            case _ if is_last and not surveyed.is_terminated:
                text = "the last line lacks its line feed, which other programs do not add before they write"
                yield HealthFinding(line.number, "warning", "unterminated", text)
            case _:
                pass


def _tree_findings(surveyed: Survey) -> Iterator[HealthFinding]:
    if surveyed.header is not None and surveyed.header.version < FORMAT_VERSION:
        return  # these know no tree
    known: dict[str, int] = {}
    later = {node.id for node in surveyed.tree.nodes}
    for line, head, node in surveyed.entries():
        if node.id in known:
            text = f"the id '{node.id}' is that of line {known[node.id]} too; what follows belongs to this one"
            yield HealthFinding(line.number, "warning", "duplicate_id", text)
        match head.parent_id:
            case str(parent) if parent not in known and parent in later:
                text = f"the parent '{parent}' stands in no earlier line; it continues from the entry before"
                yield HealthFinding(line.number, "warning", "cycle", text)
            case str(parent) if parent not in known:
                text = f"the parent '{parent}' is missing; it continues from the entry before"
                yield HealthFinding(line.number, "warning", "dangling_parent", text)
            case _:
                pass
        known[node.id] = line.number


def _content_findings(surveyed: Survey, file: BinaryIO) -> Iterator[HealthFinding]:
    """What only shows when the entries themselves are read."""
    calls: dict[str, int] = {}
    for line, _, node in surveyed.entries():
        entry = _entry(file, node)
        yield from _entry_findings(line, node, entry, surveyed.tree)
        match entry:
            case MessageEntry(message=AssistantMessage(content=content)):
                calls |= {block.id: line.number for block in content if isinstance(block, ToolCall)}
            case MessageEntry(message=ToolResultMessage(tool_call_id=call_id)):
                calls.pop(call_id, None)
            case _:
                pass
    for call_id, number in calls.items():
        text = f"the call '{call_id}' has no result; kaa tells the model that it was interrupted"
        yield HealthFinding(number, "note", "call_without_result", text)


def _entry_findings(
    line: SurveyedLine, node: Node, entry: AnyEntry | None, tree: SessionTree
) -> Iterator[HealthFinding]:
    if entry is None:
        yield HealthFinding(
            line.number, "note", "unknown", f"kaa does not understand this {node.type} entry and keeps it"
        )
    if isinstance(entry, Compaction) and entry.first_kept_entry_id:
        path = tree.path(node)
        if all(earlier.id != entry.first_kept_entry_id for earlier in path):
            kept = entry.first_kept_entry_id
            text = f"the summary keeps what follows '{kept}', which is not on its branch: nothing before it is kept"
            yield HealthFinding(line.number, "warning", "compaction", text)


def _entry(file: BinaryIO, node: Node) -> AnyEntry | None:
    return decode_entry(os.pread(file.fileno(), node.length, node.offset))
