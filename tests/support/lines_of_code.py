"""Counts lines of code."""

import re

# Comments, and strings that are statements of their own: docstrings, of attributes too. Other strings are matched so
# that nothing begins within them. Parsing would take ten times as long.
_WORDS = re.compile(
    r'''
    ^[ ]*r?"""(?:[^"\\]|\\[\s\S]|"(?!""))*"""[ ]*$ | \#.*
    | (?P<text> """(?:[^"\\]|\\[\s\S]|"(?!""))*""" | "(?:[^"\\\n]|\\[\s\S])*" | '(?:[^'\\\n]|\\[\s\S])*' )
    ''',
    re.MULTILINE | re.VERBOSE,
)


def lines_of_code(source: str) -> int:
    """How many lines a module has, without blank ones, comments and docstrings. `source` is formatted as by ruff."""
    code = _WORDS.sub(lambda match: match["text"] or "", source)
    return sum(not line.isspace() for line in code.splitlines(keepends=True))
