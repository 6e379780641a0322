"""Reads what kaa writes to a terminal, and takes nothing but the sequences that kaa means to write.

Stricter than any terminal: a sequence of another form is foreign text that got through, even if it does no harm.
"""

import base64
import binascii
import re

_TEXT = re.compile("[^\x00-\x1f\x7f-\x9f]+")
# Controls that are written for themselves: to go to the next row, and to ring.
_CONTROLS = re.compile("\r\n|\r|\a")
_SEQUENCE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|(?P<string>[\]_])(?P<body>[^\x00-\x1f\x7f-\x9f]*)\x1b\\"
    r"|\]1337;File=[a-zA-Z0-9=;]*:[A-Za-z0-9+/=]*\x07|[78\\])"
)
_FORMS = re.compile(
    r"\x1b(?:"
    r"\[[0-9;:]*m"  # styles
    r"|\[[0-9]*[ABG]|\[H|\[[0-9]+;[0-9]+H|\[0?J|\[[23]J|\[2?K"  # movements and erasing
    r"|\[\?(?:7|25|1002|1004|1006|1049|2004|2026|2031)[hl]"  # modes
    r"|\[>5u|\[<u|\[>4;[02]m"  # the keyboard
    r"|\[2[23];2t"  # the stack of titles
    r"|\[6n|\[c|\[\?u|\[>q|\[\?2026\$p|\[16t"  # questions
    r"|[78\\]"  # saving the cursor, the end of a string that was cut off
    r")"
)
_LINK = re.compile(r"8;[^;]*;.*")
_STRINGS = re.compile(r"2;.*|9;4;[03];0|9;[^;].*|777;notify;[^;]*;.*|133;[ABC]|133;D;[0-9]+|1[01];\?")
_CLIPBOARD = re.compile("52;c;(.*)")


class UnknownSequenceError(AssertionError):
    """Something was written that kaa has no reason to write."""


class KnownSequences:
    """Takes all that is written, in pieces that end where sequences do, as kaa's writes do.

    Attributes:
        titles: the titles that were set.
        copied: what was copied to the clipboard.
        wipes: how often the scrollback was erased.
    """

    def __init__(self) -> None:
        self.titles: list[str] = []
        self.copied: list[str] = []
        self.wipes = 0

    def feed(self, text: str) -> None:
        """Read a piece.

        Raises:
            UnknownSequenceError: it is not all text and sequences that are known.
        """
        position = 0
        while position < len(text):
            if match := _TEXT.match(text, position):
                text[position : match.end()].encode()  # halves of surrogate pairs cannot be written
                position = match.end()
            elif match := _CONTROLS.match(text, position):
                position = match.end()
            elif match := _SEQUENCE.match(text, position):
                self._check(match)
                position = match.end()
            else:
                raise UnknownSequenceError(
                    f"a bare control character in {text[max(0, position - 40) : position + 40]!r}"
                )

    def _check(self, match: re.Match[str]) -> None:
        sequence = match[0]
        match match["string"]:
            case "]":
                self._check_osc(match["body"])
            case "_":
                if not re.fullmatch("G[a-zA-Z0-9,=-]*(?:;[A-Za-z0-9+/=]*)?", match["body"]):
                    raise UnknownSequenceError(repr(sequence))
            case _ if not sequence.endswith("\a"):
                if not _FORMS.fullmatch(sequence):
                    raise UnknownSequenceError(repr(sequence))
                self.wipes += sequence == "\x1b[3J"

    def _check_osc(self, body: str) -> None:
        if copied := _CLIPBOARD.fullmatch(body):
            try:
                self.copied.append(base64.b64decode(copied[1], validate=True).decode())
            except (binascii.Error, UnicodeDecodeError) as error:
                raise UnknownSequenceError(repr(body)) from error
        elif not _LINK.fullmatch(body) and not _STRINGS.fullmatch(body):
            raise UnknownSequenceError(repr(body))
        elif body.startswith("2;"):
            self.titles.append(body[2:])
