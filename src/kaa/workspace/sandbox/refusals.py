r"""Reads from the output of programs what the kernel refused them, and which paths they name.

The kernel tells only the program. Programs tell people, each in its own form: `touch: cannot touch '/etc/x': Read-only
file system`, `bash: line 1: .envrc: Permission denied`, `open .envrc: read-only file system` (Go), `EROFS: read-only
file system, open '.envrc'` (Node). Whether the sandbox is the reason is not decided here.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

Reason: TypeAlias = Literal["read-only", "denied", "busy", "missing"]

# In lower case.
_REASONS: tuple[tuple[Reason, tuple[str, ...]], ...] = (
    ("read-only", ("read-only file system", "erofs", "can't open file for writing")),  # the last one is vim's
    ("denied", ("permission denied", "operation not permitted", "eacces", "eperm")),
    ("busy", ("device or resource busy", "resource busy or locked", "ebusy")),
    # The second one is dash's, where the folder of a file is missing that it would create.
    (
        "missing",
        ("no such file or directory", "directory nonexistent", "enoent", "does not exist", "cannot find", "not found"),
    ),
)
_REASON_OF: dict[str, Reason] = {words: reason for reason, all_words in _REASONS for words in all_words}
# Patterns, not compiled, as most output tells of no refusal.
_REASON = "(?i)" + "|".join(sorted(map(re.escape, _REASON_OF), key=len, reverse=True))
_MAX_LINES = 500
_MAX_LINE_CHARACTERS = 4096  # to each side of the reason: paths are not longer
_RENAMED = 2  # of what is renamed and its new name, either may be meant
# The last ones are the quotes of GNU programs and of cargo.
_QUOTED = r"""'([^'\n]+)'|"([^"\n]+)"|\u2018([^\u2018\u2019\n]+)\u2019|`([^`'\n]+)[`']"""
# A name begins where no name goes on, and is tried once (`*+`): the time must not grow with the square of its length.
_PATH = r"""(?:~|\.{1,2})?/[^\s:'"`\u2018\u2019,;()]+|(?<![\w.@+-])[\w.][\w.@+-]*+(?:/[\w.@+-]+)+"""
# What stands directly after the reason: zsh's, Node's and Emacs's, Ruby's.
_AFTER = r"""(?::|,(?: [a-z]+)?| @ \w+ -) (?P<names>['"~./\w].*)$"""
_BARE = r"[^\s:'\"`\u2018\u2019,;()\[\]]+"
# Lines that grep, diff, a log viewer or a listing of source code print, but no program that complains.
_CITED = r"\s*(?:[-+|><#*'\"`]|\S+?:(?:\d+[:-])?(?=[^\s\d/\\])|\d+[:-]\S|\[?\d{4}-\d\d-\d\d)"
_CITED_AFTER = r"\\|[\"'`*_|)]{1,2}(?:$|[,;.)\s])"
_NO_PATH = r"[^\s./]+"  # a program that names itself, or a word such as `error`
_CAUSED_BY = r"\s*Caused by:\s*"


class Refusal(NamedTuple):
    """One line in which a program says that something failed.

    Attributes:
        paths: what it names as a path, the most likely one first.
        words: single words that stand where a path is named, the most likely one first; they may be none.
        cited: whether the line looks as if the program showed it from a file.
    """

    reason: Reason
    line: str
    paths: tuple[str, ...]
    words: tuple[str, ...] = ()
    cited: bool = False


def refusals(text: str) -> Iterator[Refusal]:
    """What was refused, in the order of the output.

    Args:
        text: the end of the output of a program.
    """
    folded = text.lower()
    if not any(words in folded for words in _REASON_OF):
        return
    position = 0
    for _ in range(_MAX_LINES):
        match = re.compile(_REASON).search(text, position)
        if match is None:
            return
        start = max(text.rfind("\n", 0, match.start()) + 1, match.start() - _MAX_LINE_CHARACTERS)
        end = text.find("\n", match.end())
        end = len(text) if end < 0 else end
        after = text[match.end() : min(end, match.end() + _MAX_LINE_CHARACTERS)]
        yield _refusal(text[start : match.start()], match[0], after, text[max(0, start - _MAX_LINE_CHARACTERS) : start])
        position = end


def _refusal(before: str, why: str, after: str, earlier: str) -> Refusal:
    line = before + why + after
    named = before + " " * len(why) + after
    reason = _REASON_OF[why.lower()]
    cited = re.match(_CITED, line) is not None or re.match(_CITED_AFTER, after) is not None
    symbolic = why.isupper()
    if not before.strip() and (caused := _effect(earlier)):
        return Refusal(reason, line, _quoted_or_slashed(caused, len(caused), "")[:1], (), cited)
    clause = "" if symbolic else _clause_before(before)
    following = re.match(_AFTER, after)
    names = following["names"] if following else ""
    after_words = tuple(re.findall(_BARE, names)[:_RENAMED])
    for quoted in ([name for _, name in _quoted(names)], [name for _, name in reversed(_quoted(clause))]):
        if quoted:
            return Refusal(reason, line, tuple(quoted[:_RENAMED]), after_words, cited)
    words = (*after_words, *reversed(re.findall(_BARE, clause)[-_RENAMED:]))
    if words and "/" in words[0]:
        return Refusal(reason, line, tuple(word for word in words if "/" in word), words, cited)
    program = before.partition(": ")[0] if ": " in before else ""
    return Refusal(reason, line, _quoted_or_slashed(named, len(before), program)[:1], words, cited)


def _clause_before(before: str) -> str:
    """What a program says right before the reason: `cannot touch 'x'` in `touch: cannot touch 'x': `."""
    stripped = before.rstrip()
    if not stripped.endswith((":", "(")):
        return ""
    _, colon, clause = stripped[:-1].rstrip().rpartition(": ")
    return clause if colon or not re.fullmatch(_NO_PATH, clause) else ""


def _effect(earlier: str) -> str:
    """The line in which cargo says what failed, if the next line says only why."""
    lines = earlier.splitlines()
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines or not re.fullmatch(_CAUSED_BY, lines.pop()):
        return ""
    return next((line for line in reversed(lines) if line.strip()), "")


def _quoted(text: str) -> list[tuple[tuple[int, int], str]]:
    found = ((match.span(), next(filter(None, match.groups()))) for match in re.finditer(_QUOTED, text))
    return [(span, name) for span, name in found if name.strip()]


def _quoted_or_slashed(line: str, where: int, program: str) -> tuple[str, ...]:
    """The paths in a line, the nearest to a position first: programs put their own name at the beginning."""
    quoted = _quoted(line)
    unquoted = re.sub(_QUOTED, lambda found: " " * len(found[0]), line)
    bare = [(found.span(), found[0]) for found in re.finditer(_PATH, unquoted) if found.start() >= len(program)]
    by_distance = sorted([*quoted, *bare], key=lambda found: min(abs(found[0][0] - where), abs(found[0][1] - where)))
    return tuple(path for _, path in by_distance)
