"""Finds what failed in the long output of a command, within bounded time and size, whatever the output is."""

import asyncio
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from kaa.builtin.condensing.reporters import Reporter, of_command
from kaa.builtin.truncate import SHORT_END_BYTES, SHORT_END_LINES, cut_line, keep_head, keep_tail
from kaa.core.terminal_text import plain_text
from kaa.ext.api import ConversationContext
from kaa.workspace.protocol import CommandResult, Workspace

# Of a command, this much is looked at; of an output, as much at its beginning and at its end.
_COMMAND_CHARACTERS = 4000
_SCANNED_BYTES = 1024 * 1024
_SCANNED_LINES = 60_000  # of each of the two
# Of a line, this much is compared, and this much is shown.
_COMPARED_CHARACTERS = 300
_LINE_CHARACTERS = 500
# What is shown of a failure, and of all.
_FAILURE_LINES = 40
_FAILURES_BYTES = 12 * 1024
_SUMMARY_BYTES = 3 * 1024


async def failures_in(command: str, result: CommandResult, context: ConversationContext) -> str | None:
    """What failed, if the command and its output are of a program that reports that in a known form.

    Args:
        result: of the command; its whole output is in a log.
        context: of the conversation, whose workspace has the log.
    """
    reporters = of_command(command[:_COMMAND_CHARACTERS])
    if not reporters or result.log_path is None or not context.features.condensed_output:
        return None
    try:
        parts = await _read(result, result.log_path, context.workspace)
    except OSError:
        return None  # the log is gone: the end of the output is all there is
    return await asyncio.to_thread(_found, reporters, parts)


async def _read(result: CommandResult, path: str, workspace: Workspace) -> list[bytes]:
    """The beginning and the end of the output."""
    begin = (await workspace.read(path, 0, _SCANNED_BYTES)).data
    if result.log_cut:
        return [begin, result.tail]
    if result.output_bytes <= _SCANNED_BYTES:
        return [begin]
    rest = max(_SCANNED_BYTES, result.output_bytes - _SCANNED_BYTES)
    return [begin, (await workspace.read(path, rest, _SCANNED_BYTES)).data]


def _found(reporters: Sequence[Reporter], parts: Sequence[bytes]) -> str | None:
    texts = (plain_text(part.decode("utf-8", "replace")).removesuffix("\n") for part in parts)
    lines = [line for text in texts for line in _outer(text.split("\n"))]
    compared = [line[:_COMPARED_CHARACTERS] for line in lines]
    speaking = [one for one in reporters if any(map(re.compile(one.says).match, compared))]
    if not speaking:
        return None
    at_end = keep_tail(lines, SHORT_END_LINES, SHORT_END_BYTES)  # is shown anyway
    end = len(lines) - (0 if at_end.partial else len(at_end.lines))
    blocks = [block for block in _blocks(speaking, compared) if block.start < end]
    summary = [lines[at] for at in _matching([one.summary for one in speaking], compared) if at < end]
    if not blocks and not summary:
        return None
    shown, left = _shown(blocks, lines)
    kept = keep_head((cut_line(line, _LINE_CHARACTERS) for line in summary), max_bytes=_SUMMARY_BYTES)
    names = ", ".join(one.name for one in speaking)
    more = f"; {left} more in the full output" if left else ""
    return "\n".join((f"[What failed ({names}{more}):]", *shown, *kept.lines, "[The end of the output:]"))


def _outer(lines: list[str]) -> list[str]:
    """The lines at both ends, as many as are looked at: a megabyte of line feeds would take seconds."""
    half = _SCANNED_LINES // 2
    return lines if len(lines) <= _SCANNED_LINES else [*lines[:half], *lines[-half:]]


def _blocks(speaking: Sequence[Reporter], compared: Sequence[str]) -> list[range]:
    """Where failures are described, in the order of the output."""
    found: list[range] = []
    for reporter in speaking:
        ends = re.compile(reporter.ends).match
        starts = _matching([reporter.begins], compared)
        for start, following in pairwise([*starts, len(compared)]):
            end = next((at for at in range(start + 1, following) if ends(compared[at])), following)
            found.append(range(start, end))
    apart: list[range] = []
    for block in sorted(found, key=lambda block: block.start):
        if not apart or block.start >= apart[-1].stop:  # two programs may report in the same form
            apart.append(block)
    return apart


def _matching(patterns: Iterable[str], compared: Sequence[str]) -> list[int]:
    match = re.compile("|".join(f"(?:{one})" for one in patterns)).match
    return [at for at, line in enumerate(compared) if match(line)]


def _shown(blocks: Sequence[range], lines: Sequence[str]) -> tuple[list[str], int]:
    """The lines of the first failures, as many as there is room for, and how many failures are left."""
    shown: list[str] = []
    room = _FAILURES_BYTES
    for number, block in enumerate(blocks):
        text = [cut_line(line, _LINE_CHARACTERS) for line in _of_block(block, lines)]
        room -= sum(len(line.encode("utf-8", "replace")) + 1 for line in text)
        if room < 0 and shown:
            return shown, len(blocks) - number
        shown += text
    return shown, 0


def _of_block(block: range, lines: Sequence[str]) -> list[str]:
    """What is shown of a failure: of a long one its beginning and its end."""
    whole = [lines[at] for at in block]
    while len(whole) > 1 and not whole[-1].strip():
        whole.pop()
    if len(whole) <= _FAILURE_LINES:
        return whole
    half = _FAILURE_LINES // 2
    return [*whole[:half], f"[... {len(whole) - 2 * half} lines ...]", *whole[-half:]]
