r"""Cuts what a program writes into texts and control sequences, wherever its pieces end.

Synchronized output (`CSI ? 2026 h` to `CSI ? 2026 l`) is held back until it is complete.
"""

import codecs
import re
from collections.abc import Generator, Iterator
from typing import Literal, NamedTuple, cast

# `csi`, `osc`, `string` (APC, DCS, PM, SOS; its first character says which) and `escape` are without their introducer;
# `frame` is the `begin` or the `end` of a synchronized frame.
Kind = Literal["text", "control", "csi", "osc", "string", "escape", "broken", "frame"]


class Token(NamedTuple):
    """A text or a control sequence."""

    kind: Kind
    content: str


_TOKEN = re.compile(
    r"(?P<text>[^\x00-\x1f\x7f-\x9f]+)"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f-\x9f])"
    r"|\x1b\[(?P<csi>[<=>?!]?[0-9:;]*[ -/]*[@-~])"
    r"|\x1b\](?P<osc>[^\x07\x1b]*)(?:\x07|\x1b\\)"
    # Within a string an escape is doubled (tmux's passthrough).
    r"|\x1b(?P<string>[PX^_](?:[^\x1b]|\x1b\x1b)*)\x1b\\"
    r"|\x1b(?P<escape>[ -/]*[0-OQ-WYZ`-~])"
    # Everything that cannot become one of these any more.
    r"|(?P<broken>\x1b(?=[^\[\]PX^_ -/])|\x1b\[[<=>?!]?+[0-9:;]*+[ -/]*+(?=[^@-~]))"
)
_FRAME_BEGIN, _FRAME_END = "\x1b[?2026h", "\x1b[?2026l"


class Parser:
    """Takes pieces, gives tokens.

    Args:
        synchronized: whether it knows synchronized output.
    """

    def __init__(self, *, synchronized: bool) -> None:
        self._synchronized = synchronized
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = ""
        # A frame that has not ended, in the pieces it came in: one may be of many megabytes.
        self._held: list[str] = []
        self._held_end = ""

    def feed(self, data: bytes | str) -> Iterator[Token]:
        """The tokens that are complete now."""
        text = self._pending + (data if isinstance(data, str) else self._decoder.decode(data))
        self._pending = ""
        if self._held:
            self._held.append(text)
            self._held_end = (self._held_end + text)[-len(text) - len(_FRAME_END) :]
            if _FRAME_END not in self._held_end:
                return
            text = "".join(self._held)
            self._held.clear()
        while text:
            begin = text.find(_FRAME_BEGIN) if self._synchronized else -1
            if begin:
                outside = text if begin < 0 else text[:begin]
                taken = yield from _tokens(outside)
                if taken < len(outside):
                    self._pending = text[taken:]  # the rest of a sequence has not come yet
                    return
                text = text[len(outside) :]
            elif (end := text.find(_FRAME_END)) >= 0:
                yield Token("frame", "begin")
                yield from _tokens(text[len(_FRAME_BEGIN) : end])
                yield Token("frame", "end")
                text = text[end + len(_FRAME_END) :]
            else:
                self._held, self._held_end = [text], text[-len(_FRAME_END) :]
                return


def _tokens(text: str) -> Generator[Token, None, int]:
    """All complete tokens; returns how many characters these are."""
    position = 0
    while match := _TOKEN.match(text, position):
        position = match.end()
        kind = cast("Kind", match.lastgroup)
        yield Token(kind, match[kind])
    return position
