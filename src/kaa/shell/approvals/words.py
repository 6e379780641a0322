"""The plain part of bash's language: words that stand for themselves, the operators between them, and nothing else.

Two readers judge a command. This one is small enough to be checked by eye and accepts only what it is certain of;
the grammar (`grammar.py`) knows the whole language. A rule can allow a command only where both see the same programs
with the same words. Text is handled as Latin-1 here, one character for each byte.
"""

import re
from collections.abc import Sequence
from itertools import groupby, takewhile
from typing import Literal

import msgspec

# Unquoted characters that mean themselves wherever they stand. `=` does not: at the start of a command it assigns.
_BARE = r"[A-Za-z0-9_@%+:,./=-]"
# Revisions of git, such as HEAD~2 and HEAD^: a tilde is expanded at the start of a word and after `=` and `:` only.
# And `@{1}`, `@{u}`: bash expands braces with a comma or two dots in them only.
_REVISION = r"(?<=[A-Za-z0-9_~^])[~^]|(?<=@)\{-?[A-Za-z0-9]+\}"
_ESCAPED = r"\\[\x20-\x7e]"
_SINGLE = r"'[^']*'"
_DOUBLE = r'"(?:[^"\\$`]|\\[\n\x20-\x7e])*"'
_PLACEHOLDER = r"\{\}"  # of find and xargs; braces with something between them are expanded
# Atomic groups, so that a hostile word cannot make the search backtrack. Not possessive ones: Python before 3.11.5
# misreads those (python/cpython#106052).
_PIECE = re.compile(f"(?>(?:{_BARE}|{_REVISION})+)|{_PLACEHOLDER}|{_ESCAPED}|{_SINGLE}|{_DOUBLE}")
_WORD = re.compile(f"(?>(?:{_PIECE.pattern})+)")
_ALONE = re.compile(r"[{}!]")  # keywords, or themselves, if nothing else is in the word
_ENDS_WORD = re.compile(r"[ \t\n;&|()<>]|\Z")

# Names with `*` and `?`, as bash and Python expand them alike: no options, and no wildcards for names with a dot first.
_GLOB = re.compile(r"(?!-)(?!(?:.*/)?\.[^/]*[*?])[A-Za-z0-9_@%+,./=*?-]+")

# Redirections that lose nothing and write nowhere.
_HARMLESS = re.compile(r"(?:[012]?>&[12]|(?:[12]|&)?>>?[ \t]*/dev/null|0?<[ \t]*/dev/null)")
_BLANK = re.compile(r"(?:[ \t]|(?<=[ \t\n])\\\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_OPERATOR = re.compile(r"&&|\|\||\|&?|;(?!;)|&(?!>)|\((?!\()|\)|\n")

# What could be read differently elsewhere, even within quotes: control characters and NUL.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")

# Words that bash obeys where a command may begin; a command may follow the first ones, an end the others.
_OPENING = frozenset({"if", "then", "elif", "else", "while", "until", "do", "{", "!"})
_CLOSING = frozenset({"fi", "done", "}"})
_OTHER_KEYWORDS = frozenset({"case", "coproc", "esac", "for", "function", "in", "select", "time", "[[", "]]"})

# In double quotes a backslash is itself, except before these (POSIX.1-2017, shell, 2.2.3).
_DOUBLE_ESCAPE = re.compile(r'\\([$`"\\\n])')


class Token(msgspec.Struct, frozen=True):
    """A piece of a plain command line."""

    kind: Literal["word", "operator", "redirection"]
    text: bytes


def scan(line: bytes) -> tuple[Token, ...] | None:
    """The words, operators and harmless redirections of a line, None if there is anything else in it."""
    text = line.decode("latin-1")
    if _CONTROL.search(text):
        return None
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        if match := _BLANK.match(text, position) or (
            _COMMENT.match(text, position) if _is_free(text, position) else None
        ):
            position = match.end()
            continue
        token = _token(text, position)
        if token is None:
            return None
        tokens.append(token)
        position += len(token.text)
    return tuple(tokens)


def plain_commands(line: bytes) -> list[tuple[str, ...]] | None:
    """The words of each simple command of a line, in their order; None if there is anything else in it."""
    tokens = scan(line)
    if tokens is None:
        return None
    commands: list[tuple[str, ...]] = []
    for is_operator, group in groupby(tokens, key=lambda token: token.kind == "operator"):
        if is_operator:
            continue
        words = [token.text for token in group if token.kind == "word"]
        command = _command(words)
        if command is None:
            return None
        if command:
            commands.append(command)
    return commands


def literal(word: bytes) -> str | None:
    """What a word stands for, exactly as bash reads it; None unless it stands for itself.

    Raises nothing: a word that is no UTF-8 is not literal.
    """
    text = word.decode("latin-1")
    if _WORD.fullmatch(text) and not _CONTROL.search(text):
        value = "".join(_value(piece) for piece in _PIECE.findall(text))
    elif _ALONE.fullmatch(text):
        value = text
    else:
        return None
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return None


def simple_glob(word: bytes) -> str | None:
    """A word that bash expands to names of files by `*` and `?` alone; None for any other."""
    text = word.decode("latin-1")
    return text if _GLOB.fullmatch(text) and not {"*", "?"}.isdisjoint(text) else None


def split(line: str) -> tuple[str, ...] | None:
    """The literal words of a line that consists of nothing else, None for any other."""
    try:
        data = line.encode()
    except UnicodeEncodeError:
        return None
    tokens = scan(data)
    if tokens is None or any(token.kind != "word" for token in tokens):
        return None
    return _literals([token.text for token in tokens])


def is_harmless_redirection(text: bytes) -> bool:
    """Whether a redirection writes nowhere: between the command's own outputs, or from and to /dev/null."""
    return _HARMLESS.fullmatch(text.decode("latin-1")) is not None


def _command(words: Sequence[bytes]) -> tuple[str, ...] | None:
    """The words behind the keywords that they begin with; empty if there are none."""
    keywords = list(takewhile(lambda word: word.decode("latin-1") in _OPENING | _CLOSING, words))
    rest = words[len(keywords) :]
    first = rest[0].decode("latin-1") if rest else ""
    closes = any(word.decode("latin-1") in _CLOSING for word in keywords)
    return None if first in _OTHER_KEYWORDS or (rest and closes) else _literals(rest)


def _literals(words: Sequence[bytes]) -> tuple[str, ...] | None:
    values = [literal(word) for word in words]
    known = tuple(value for value in values if value is not None)
    return known if len(known) == len(values) else None


def _token(text: str, position: int) -> Token | None:
    if (match := _HARMLESS.match(text, position)) and _ENDS_WORD.match(text, match.end()):
        return Token("redirection", match[0].encode("latin-1"))
    if match := _OPERATOR.match(text, position):
        return Token("operator", match[0].encode("latin-1"))
    match = _WORD.match(text, position) or _ALONE.match(text, position)
    # What directly follows a word must end it, and a parenthesis would make it a function or a pattern.
    if match and _ENDS_WORD.match(text, match.end()) and not text.startswith("(", match.end()):
        return Token("word", match[0].encode("latin-1"))
    return None


def _is_free(text: str, position: int) -> bool:
    """Whether a word would begin here, so that `#` begins a comment."""
    return position == 0 or text[position - 1] in " \t\n;&|()"


def _value(piece: str) -> str:
    match piece[0]:
        case "'":
            return piece[1:-1]
        case '"':
            return _DOUBLE_ESCAPE.sub(lambda match: match[1].replace("\n", ""), piece[1:-1])
        case "\\":
            return piece[1]
        case _:
            return piece
