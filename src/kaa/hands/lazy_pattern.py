"""Regular expressions that are compiled when they are used first: most processes need few of theirs."""

import re
from collections.abc import Callable
from functools import cached_property
from typing import AnyStr, Generic


class LazyPattern(Generic[AnyStr]):
    """A regular expression, with the methods of `re.Pattern` that are needed.

    Args:
        flags: of `re`.
    """

    def __init__(self, source: AnyStr, flags: int = 0) -> None:
        self._source: AnyStr = source
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[AnyStr]:
        return re.compile(self._source, self._flags)

    def fullmatch(self, text: AnyStr) -> re.Match[AnyStr] | None:
        return self._compiled.fullmatch(text)

    def match(self, text: AnyStr) -> re.Match[AnyStr] | None:
        return self._compiled.match(text)

    def search(self, text: AnyStr) -> re.Match[AnyStr] | None:
        return self._compiled.search(text)

    def findall(self, text: AnyStr) -> list[AnyStr]:
        """As `re.Pattern.findall`, of an expression without groups."""
        return self._compiled.findall(text)

    def split(self, text: AnyStr) -> list[AnyStr]:
        """As `re.Pattern.split`, of an expression without groups."""
        return list(self._compiled.split(text))

    def sub(self, replacement: Callable[[re.Match[AnyStr]], AnyStr], text: AnyStr) -> AnyStr:
        return self._compiled.sub(replacement, text)
