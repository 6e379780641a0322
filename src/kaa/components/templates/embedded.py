"""Finds the commands and file references in templates, before there are arguments: so no argument becomes one.

Sources: documentation of Claude Code (skills, 2026-08), opencode 1.18.33, Gemini CLI 0.61. Templates of pi and Codex
have neither.
"""

import re
from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from kaa.components.templates import Dialect


class LiteralText(msgspec.Struct, frozen=True):
    """Text of the message."""

    text: str


class EmbeddedCommand(msgspec.Struct, frozen=True):
    """A command for a shell, whose output stands here."""

    command: str


class File(msgspec.Struct, frozen=True):
    """A file or folder, whose content stands here.

    Attributes:
        path: as it is written: relative to the project, or absolute.
        source: the reference, which stays if there is no such file: `@path` is also how people and packages are named.
    """

    path: str
    source: str


Piece: TypeAlias = LiteralText | EmbeddedCommand | File

# Without what ends a sentence or a parenthesis around the reference.
_PATH = r"""(?P<path>[^\s`"'<>|,;]*[^\s`"'<>|,;.:!?)\]}*])"""
_CLAUDE = re.compile(
    r"^[ \t]*```![ \t]*\n(?P<block>[^`]*(?:`{1,2}(?!`)[^`]*)*)```[ \t]*$"
    r"|(?<!\S)!`(?P<command>[^`\n]+)`"
    rf'|(?<!\S)@(?:"(?P<quoted>[^"\n]+)"|{_PATH})',
    re.MULTILINE,
)
# Where a block of code begins or ends that is no block of commands.
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})(?!!)", re.MULTILINE)
_OPENCODE = re.compile(rf"!`(?P<command>[^`]+)`|(?<![\w`])@{_PATH}")
_GEMINI = re.compile(r"[!@]\{")
_BRACE = re.compile(r"[{}]")


def pieces_of(body: str, dialect: Dialect) -> Iterator[Piece]:
    """The pieces of a template, in order, with their placeholders."""
    match dialect:
        case "claude":
            return _by_pattern(body, _CLAUDE)
        case "opencode":
            return _by_pattern(body, _OPENCODE)
        case "gemini":
            return _in_braces(body)
        case "pi" | "codex" | "cursor":
            return iter((LiteralText(body),))


def has_unclosed_braces(body: str) -> bool:
    """Whether a template of Gemini CLI has a command or a reference without its end; from there on all is text."""
    return any(isinstance(piece, LiteralText) and _GEMINI.search(piece.text) for piece in _in_braces(body))


def _by_pattern(body: str, pattern: re.Pattern[str]) -> Iterator[Piece]:
    position = 0
    fences = _FENCE.finditer(body) if pattern is _CLAUDE else iter(())
    fence, within = next(fences, None), ""
    for found in pattern.finditer(body):
        while fence is not None and fence.start() < found.start():
            is_end = fence.start() < position  # of a block of commands
            if not is_end and (not within or fence[1].startswith(within)):
                within = "" if within else fence[1]
            fence = next(fences, None)
        if within:  # the block shows a command to its reader
            continue
        kind = found.lastgroup
        text = found[kind or 0].strip()
        if not text:
            continue
        if before := body[position : found.start()]:
            yield LiteralText(before)
        yield EmbeddedCommand(text) if kind in ("block", "command") else File(text, found[0])
        position = found.end()
    if rest := body[position:]:
        yield LiteralText(rest)


def _in_braces(body: str) -> Iterator[Piece]:
    """Commands and references whose braces are balanced, as in Gemini CLI; it refuses files where they are not."""
    position = 0
    while found := _GEMINI.search(body, position):
        end = _closing(body, found.end())
        if end is None:
            break
        if before := body[position : found.start()]:
            yield LiteralText(before)
        if inside := body[found.end() : end].strip():
            yield EmbeddedCommand(inside) if found[0] == "!{" else File(inside, body[found.start() : end + 1])
        position = end + 1
    if rest := body[position:]:
        yield LiteralText(rest)


def _closing(body: str, start: int) -> int | None:
    depth = 1
    for brace in _BRACE.finditer(body, start):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return brace.start()
    return None
