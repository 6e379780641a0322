"""What somebody types to find a session: words, "phrases" or a regular expression (`re:`), as in pi's picker."""

import re
from typing import Self

from kaa.session.catalogue.records import SessionSummary

_REGEX = "re:"
_TERM = re.compile(r'"([^"]*)"?|(\S+)')
# Letters of a word may be this far apart, in one word: `rdhd` finds `read_head`, not any text that is long enough.
_GAP = 4

# How good a match of a term is. The best of each term is added up.
_WORD_START = 4.0
_ANYWHERE = 3.0
_IN_ORDER = 1.0
# A session is rather known by its name than by where it is.
_FIELD_WEIGHTS = (3.0, 2.0, 1.0)


class QueryError(ValueError):
    """What was typed cannot be looked for; the message says why."""


class Query:
    """What to look for. Use `parse`. Upper and lower case are the same.

    Attributes:
        terms: words and phrases, all of which must be there.
        pattern: the regular expression instead of them, or None.
    """

    def __init__(self, words: tuple[str, ...], phrases: tuple[str, ...], pattern: re.Pattern[str] | None) -> None:
        self.terms = (*phrases, *words)
        self.pattern = pattern
        self._phrases = [exactly(phrase) for phrase in phrases]
        self._words = [(exactly(word), _in_order(word)) for word in words]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Understand what was typed. A quotation mark that is not closed yet goes to the end.

        Raises:
            QueryError: the regular expression is none.
        """
        text = text.strip()
        if text.startswith(_REGEX):
            return cls((), (), _pattern(text.removeprefix(_REGEX).strip()))
        terms = [match.groups() for match in _TERM.finditer(text)]
        phrases = tuple(" ".join(phrase.split()) for phrase, _ in terms if phrase and phrase.strip())
        return cls(tuple(word for _, word in terms if word), phrases, None)

    @property
    def is_empty(self) -> bool:
        return self.pattern is None and not self.terms

    def score(self, summary: SessionSummary) -> float | None:
        """How well a session fits by its name, first message, directory and id; None if it does not."""
        fields = (summary.name or "", " ".join(summary.first_message.split()), f"{summary.cwd} {summary.id}")
        if self.pattern is not None:
            return max(
                (weight for weight, field in zip(_FIELD_WEIGHTS, fields, strict=True) if self.pattern.search(field)),
                default=None,
            )
        total = 0.0
        for plain, in_order in (*((phrase, None) for phrase in self._phrases), *self._words):
            best = max(
                _quality(plain, in_order, field) * weight for weight, field in zip(_FIELD_WEIGHTS, fields, strict=True)
            )
            if not best:
                return None
            total += best
        return total


def _pattern(source: str) -> re.Pattern[str] | None:
    """The regular expression; None while it has not been typed."""
    try:
        return re.compile(source, re.IGNORECASE) if source else None
    except (re.error, OverflowError, RecursionError) as error:
        raise QueryError(f"'{source}' is not a regular expression: {error}") from error


def exactly(text: str) -> re.Pattern[str]:
    """Finds the text; blanks in it stand for any."""
    return re.compile(r"\s+".join(map(re.escape, text.split())), re.IGNORECASE)


def _in_order(word: str) -> re.Pattern[str]:
    """Finds the letters of a word with a few others between them, but no blanks."""
    return re.compile(rf"\S{{0,{_GAP}}}?".join(map(re.escape, word)), re.IGNORECASE)


def _quality(plain: re.Pattern[str], in_order: re.Pattern[str] | None, field: str) -> float:
    if plain.search(field) is None:
        return _IN_ORDER if in_order is not None and in_order.search(field) else 0.0
    at_start = any(not field[: match.start()][-1:].isalnum() for match in plain.finditer(field))
    return _WORD_START if at_start else _ANYWHERE
