r"""Which lines of a session file can contain what is looked for: by their bytes, before any line is decoded.

A line of JSON can write one character in several ways: as UTF-8, as `\uXXXX`, and some as an escape of two characters.
The lines found here are a superset of those that match.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import product

# Programs write these characters as they are, apart from rare escapes as `\u0041`.
_PLAIN = re.compile(r"[ !#-.0-\[\]-~]+")
_OTHER = re.compile(r"[^\x00-\x7f]+")
# Fewer characters of ASCII stand in most lines.
_SELECTIVE = 3
_ESCAPED_PLAIN = re.compile(rb"\\u00[2-7]")
_ESCAPED_PLAIN_START = b"\\u00"
# A character beyond ASCII that is written as it is, and one after it that is escaped, in lower case.
_MIXED = re.compile(rb"\\u(?<=[\x80-\xff]\\u)(?!00[0-7])")
# Each variant of upper and lower case costs one pass over the files.
_MOST_VARIANTS = 4


class Needle:
    """Finds lines.

    Args:
        words: without blanks; a line must contain all of them, in upper or lower case.
    """

    def __init__(self, words: Sequence[str]) -> None:
        plain = max((run for word in words for run in _PLAIN.findall(word)), key=len, default="")
        other = max((run for word in words for run in _OTHER.findall(word)), key=len, default="")
        self._runs = tuple(max(runs, key=len).lower().encode() for word in words if (runs := _PLAIN.findall(word)))
        self._is_plain = bool(plain) and (len(plain) >= _SELECTIVE or not other)
        self._variants = (plain.lower().encode(),) if self._is_plain else _variants(other) if other else ()

    def lines(self, data: bytes) -> Iterator[bytes]:
        """The lines of a file that can match, without their line feeds, the last one first."""
        if not self._variants:
            yield from reversed(data.split(b"\n"))
            return
        lowered = data.lower()
        starts = {start for variant in self._variants for start in _starts(lowered, variant)}
        if not self._is_plain:
            starts.update(data.rfind(b"\n", 0, match.start()) + 1 for match in _MIXED.finditer(lowered))
        elif _ESCAPED_PLAIN_START in data:
            starts.update(data.rfind(b"\n", 0, match.start()) + 1 for match in _ESCAPED_PLAIN.finditer(data))
        for start in sorted(starts, reverse=True):
            end = data.find(b"\n", start)
            end = end if end >= 0 else len(data)
            line = data[start:end]
            if all(lowered.find(run, start, end) >= 0 for run in self._runs) or _ESCAPED_PLAIN_START in line:
                yield line


def _starts(data: bytes, variant: bytes) -> Iterator[int]:
    """Where the lines begin that contain the variant."""
    at = data.find(variant)
    while at >= 0:
        yield data.rfind(b"\n", 0, at) + 1
        end = data.find(b"\n", at)
        at = data.find(variant, end) if end >= 0 else -1


def _variants(text: str) -> tuple[bytes, ...]:
    """The beginning of a text without ASCII, as lines whose ASCII is in lower case can contain it."""
    cases: list[list[str]] = []
    count = 1
    for character in text:
        forms = _forms(character)
        count *= len(forms)
        if cases and count > _MOST_VARIANTS:
            break
        cases.append(forms)
    raw = ["".join(forms).encode("utf-8", "replace") for forms in product(*cases)]
    escaped = ["".join(f"\\u{unit:04x}" for unit in _units(form)).encode() for form in cases[0]]
    return (*raw, *escaped)


def _forms(character: str) -> list[str]:
    """Upper and lower case of a character, as far as they are single characters."""
    forms = {character, character.lower(), character.upper(), character.upper().lower(), character.lower().upper()}
    return sorted(form for form in forms if len(form) == 1)


def _units(character: str) -> Iterator[int]:
    encoded = character.encode("utf-16-be", "surrogatepass")
    return (int.from_bytes(encoded[at : at + 2], "big") for at in range(0, len(encoded), 2))
