"""Watches a text that still arrives for the place where a written tool call may begin.

What comes before that place is passed on at once; from there on all is held back until the text is complete, because
only then can be said what it is. At most a few hundred characters are looked at twice.
"""

import re
from collections.abc import Collection
from typing import Final

# How models mark their calls, after which nothing else is meant.
MARKS: Final = ("<tool_call>", "<function=", "<|python_tag|>", "[TOOL_CALLS]")
# What a fence with a call says it holds.
FENCE_KINDS: Final = ("", "json", "tool_call", "tool_code", "tool")

_OPENING = re.compile("|".join(["`{3,}", *map(re.escape, MARKS)]))
_FENCE = re.compile("`{3,}")
# Longer than the first line of any fence, and than any beginning of a call with blanks as models set them.
_LONGEST_LINE: Final = 200
_LONGEST_HEAD: Final = 400
# A text that comes at once is taken in pieces, so that its length does not count twice.
_PIECE: Final = 4096
_BLANKS = re.compile(r"\s+")


def may_begin_call(text: str, names: Collection[str]) -> bool | None:
    """Whether the JSON that `text` begins with names one of these tools; None if that cannot be told yet."""
    head = _BLANKS.sub("", text[:_LONGEST_HEAD]).replace("'", '"').removeprefix("[")
    undecided = False
    for name in names:
        for before in ('{"name":"', '{"type":"function","name":"', '{"type":"function","function":{"name":"'):
            wanted = f'{before}{name}"'
            if head.startswith(wanted):
                return True
            undecided = undecided or wanted.startswith(head)
    return None if undecided and len(text) < _LONGEST_HEAD else False


class MarkWatch:
    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self._waiting = ""  # seen, and not yet understood
        self._held: list[str] = []
        self._holds = False
        self._fence = 0  # how many backticks the open fence has
        self._line_before = ""
        self._at_beginning = True

    def feed(self, text: str) -> str:
        """Take more of the text. Returns what can be passed on."""
        passed: list[str] = []
        for start in range(0, len(text), _PIECE):
            if self._holds:
                self._held.append(text[start:])
                break
            self._waiting += text[start : start + _PIECE]
            while length := self._understood():  # nothing is, from where a call may begin
                passed.append(self._take(length))
        return "".join(passed)

    @property
    def holds(self) -> bool:
        """Whether `rest` begins with what may be a call."""
        return self._holds

    @property
    def line_before(self) -> str:
        """What was passed on of the line on which `rest` begins; of a long one beginning and end."""
        return self._line_before

    def rest(self) -> str:
        """What was not passed on."""
        return "".join([self._waiting, *self._held])

    def _take(self, length: int) -> str:
        taken, self._waiting = self._waiting[:length], self._waiting[length:]
        _, newline, line = taken.rpartition("\n")
        line = line if newline else self._line_before + line
        self._line_before = line if len(line) <= 2 * _LONGEST_LINE else line[:_LONGEST_LINE] + line[-_LONGEST_LINE:]
        return taken

    def _is_blank_line(self, text: str) -> bool:
        """Whether only blanks stand on the line, once `text` was passed on too."""
        _, newline, line = text.rpartition("\n")
        return not line.strip() and (bool(newline) or not self._line_before.strip())

    def _understood(self) -> int:
        """How much of what waits is certainly no call."""
        if self._at_beginning:
            return self._at_the_beginning()
        return self._in_code() if self._fence else self._in_prose()

    def _at_the_beginning(self) -> int:
        """A reply that is nothing but a call."""
        verdict = may_begin_call(self._waiting, self._names)
        if verdict is not None:
            self._holds = verdict
            self._at_beginning = False
            return 0 if verdict else self._understood()
        return 0

    def _in_prose(self) -> int:
        text = self._waiting
        match = _OPENING.search(text)
        if match is None:
            return len(text) - _beginning_of_mark(text)
        if match.group()[0] != "`":
            if text[match.start() - 1 : match.start()] == "`":
                return match.end()  # talks about the mark
            if match.start() == 0:
                self._holds = True
            return match.start()
        if not self._is_blank_line(text[: match.start()]):
            return match.end() if match.end() < len(text) or len(match.group()) > _LONGEST_LINE else match.start()
        return match.start() or self._at_fence(len(match.group()))

    def _at_fence(self, backticks: int) -> int:
        """A fence begins here: does it hold a call?"""
        text = self._waiting
        end = text.find("\n", 0, _LONGEST_LINE + 1)
        if end < 0 and len(text) <= _LONGEST_LINE:
            return 0
        line = text[backticks : _LONGEST_LINE if end < 0 else end]
        is_kind = end >= 0 and line.strip().lower() in FENCE_KINDS
        verdict = may_begin_call(text[end + 1 :], self._names) if is_kind else False
        self._holds = bool(verdict)
        if verdict is not False:
            return 0
        # A span of code on a line of its own is no fence.
        self._fence = 0 if "`" in line else min(backticks, _LONGEST_LINE)
        return max(end, backticks)

    def _in_code(self) -> int:
        text = self._waiting
        match = _FENCE.search(text)
        if match is None:
            return len(text.rstrip("`"))
        if match.end() == len(text) and len(match.group()) <= _LONGEST_LINE:
            return match.start()  # more backticks may come
        if self._is_blank_line(text[: match.start()]) and len(match.group()) >= self._fence:
            self._fence = 0
        return match.end()


def _beginning_of_mark(text: str) -> int:
    """How many characters at the end may be the beginning of a mark or a fence, with the backtick before it."""
    if text.endswith("`"):
        return min(len(text) - len(text.rstrip("`")), 2)
    for mark in MARKS:
        for length in range(min(len(mark) - 1, len(text)), 0, -1):
            if text.endswith(mark[:length]):
                return length + (text[: len(text) - length].endswith("`"))
    return 0
