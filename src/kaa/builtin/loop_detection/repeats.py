"""Recognizes calls that lead nowhere, by digests of the last ones: in bounded memory, and bounded time for each."""

import re
from collections import OrderedDict, deque
from typing import Literal, NamedTuple, TypeAlias

from kaa.hands.digest import blake2b

# What a call does for the question whether another one can have a new result now.
Effect: TypeAlias = Literal["looks", "changes", "waits"]

_MOST_CALLS = 64
_MOST_CHANGES = 6
_MOST_EDITS = 16
_NEAR = 12  # calls: what is looked at again after more was asked for on purpose
_TIMES = 3
_PATIENT_TIMES = 10
# What differs although nothing has changed: how long something took, and where in memory it was.
_VOLATILE = re.compile(r"(?<!\d)\d+[.:]\d+[\d.:]*|\b\d+ ?(?:ns|us|µs|ms|s|sec|seconds?|min|minutes?)\b|0x[0-9a-f]+")


class SeenCall(NamedTuple):
    """A call that was made.

    Attributes:
        result: a digest of its result.
        effect: `changes`: calls before it can have other results now; `waits`: it is repeated until something happens.
        is_patient: what it looks at may change by itself, so that more repetitions are usual.
        edit: digests of what it replaced and of what it put there, in one file; None if it is not known.
    """

    title: str
    call: str
    result: str
    effect: Effect = "looks"
    is_patient: bool = False
    edit: tuple[str, str, str] | None = None


class _Repeated:
    """In how many replies a call gave the same result, and when last."""

    def __init__(self, result: str, number: int, reply: int) -> None:
        self.result = result
        self.times = 1
        self.last = number
        self.reply = reply


class Repeats:
    """The last calls of one model, since something changed.

    Attributes:
        number: how many calls there were.
    """

    def __init__(self) -> None:
        self.number = 0
        self._reply = 0
        self._looks: OrderedDict[str, _Repeated] = OrderedDict()
        self._recent: deque[tuple[str, str]] = deque(maxlen=4)
        self._changes: deque[tuple[str, str]] = deque(maxlen=_MOST_CHANGES)
        self._edits: deque[tuple[str, str, str]] = deque(maxlen=_MOST_EDITS)

    def begin_reply(self) -> None:
        """The next calls are of another reply: those of one reply run at the same time, and count once."""
        self._reply += 1

    def see(self, seen: SeenCall) -> str:
        """Take note of a call. Returns in what way it leads nowhere, in a sentence; empty if it does not."""
        self.number += 1
        match seen.effect:
            case "waits":
                return ""
            case "changes":
                return self._see_change(seen)
            case "looks":
                return self._see_look(seen)

    def _see_look(self, seen: SeenCall) -> str:
        known = self._looks.pop(seen.call, None)
        if known is None or known.result != seen.result or self.number - known.last > _NEAR:
            known = _Repeated(seen.result, self.number, self._reply)
        elif known.reply == self._reply:
            known.last = self.number
            self._looks[seen.call] = known
            return ""
        else:
            known.times, known.last, known.reply = known.times + 1, self.number, self._reply
        self._looks[seen.call] = known
        if len(self._looks) > _MOST_CALLS:
            self._looks.popitem(last=False)
        if known.times >= (_PATIENT_TIMES if seen.is_patient else _TIMES):
            return f"{seen.title} gave the same result {known.times} times"
        if seen.is_patient:
            self._recent.clear()
            return ""
        self._recent.append((seen.call, seen.result))
        return f"{seen.title} alternates with another call, without a new result" if _alternates(self._recent) else ""

    def _see_change(self, seen: SeenCall) -> str:
        self._looks.clear()
        self._recent.clear()
        self._changes.append((seen.call, seen.result))
        last = list(self._changes)
        if len(set(last[-_TIMES:])) == 1 and len(last) >= _TIMES:
            return f"{seen.title} was made {_TIMES} times in a row"
        if _alternates(last[-4:]):
            return f"{seen.title} alternates with another change, which reverts it"
        if seen.edit is None:
            return ""
        path, old, new = seen.edit
        is_back_and_forth = seen.edit in self._edits and (path, new, old) in self._edits
        self._edits.append(seen.edit)
        return f"{seen.title} was made, reverted and made again" if is_back_and_forth else ""


def _alternates(last: "deque[tuple[str, str]] | list[tuple[str, str]]") -> bool:
    """Whether four calls are two, in turn."""
    return len(last) == 4 and last[0] == last[2] != last[1] == last[3]


def without_volatile(text: str) -> str:
    """A text without what differs each time although nothing has changed."""
    return _VOLATILE.sub("", text)


def digest(text: str) -> str:
    """A short digest of a text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
