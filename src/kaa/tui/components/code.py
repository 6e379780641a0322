"""Code: highlighted, and never reflowed, so that what is copied from the screen is what was there.

A line is highlighted once, when it is complete. So code that streams in costs what its new lines cost, and looks the
same as code that came at once. Pygments is imported with the first question: 30 ms, which no start should wait for.
"""

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from copy import copy
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, TypeAlias

from kaa.tui.components.display import Display
from kaa.tui.components.text import harmless
from kaa.tui.context import Context
from kaa.tui.palette import Palette
from kaa.tui.style import Span, Style, paint_spans
from kaa.tui.width import cells, graphemes, is_narrow

if TYPE_CHECKING:
    from pygments.lexer import ExtendedRegexLexer, Lexer, RegexLexer

_TOO_WIDE = "?"
# Pygments' token types are tuples that know their names.
_TokenType: TypeAlias = tuple[str, ...]
# What a pattern's match is: a token, nothing, or what a function says that it consists of.
_Action: TypeAlias = "_TokenType | Callable[[Lexer, re.Match[str]], Iterable[tuple[int, _TokenType, str]]] | None"
_Change: TypeAlias = tuple[str, ...] | str | int | None
_States: TypeAlias = dict[str, list[tuple[Callable[[str, int], re.Match[str] | None], _Action, _Change]]]
# Comments over several lines, which many lexers match as one piece; no single line of them is.
_COMMENTS = (("/*", "*/"), ("<!--", "-->"))
_PLAIN = ("plain", "plaintext", "text", "txt")
# What people write behind three backticks and Pygments does not know, or knows as something else.
_LANGUAGES = {"dotenv": "bash", "json5": "json", "jsonc": "json", "jsonl": "json", "mjs": "js", "svelte": "html"}
# Names of files that several lexers claim, or none.
_FILE_NAMES = {"*.m": "objective-c", "*.svelte": "html", "*.jsonc": "json", ".env": "bash"}


class Code(Display):
    """Highlighted code; lines that are too long go on in the next one.

    Args:
        context: what all components know.
        code: foreign text.
        filename: tells the language; empty if it is not known.
        language: the name of the language, where there is no file.
    """

    def __init__(self, context: Context, code: str, filename: str = "", language: str = "") -> None:
        super().__init__(context)
        self._code = harmless(code.removesuffix("\n"))
        self._filename = filename
        self._language = language

    def _paint(self, width: int) -> list[str]:
        palette = self._context.palette
        lines = highlight(self._code, palette, self._language or language_of(self._filename), palette["mdCodeBlock"])
        return [paint_spans(piece) for line in lines for piece in hard_wrap(line, width)]


def hard_wrap(spans: Sequence[Span], width: int) -> list[list[Span]]:
    """Spans without line feeds, cut wherever a line is full, into one line at least."""
    if sum(cells(text) for text, _ in spans) <= width:
        return [list(spans)]
    lines: list[list[Span]] = [[]]
    room = width
    for text, style in spans:
        for piece in _pieces(text, room, width):
            size = cells(piece)
            if size > room:
                lines.append([])
                room = width
            lines[-1].append((piece, style))
            room -= size
    return lines


def _pieces(text: str, room: int, width: int) -> Iterator[str]:
    """Narrow text by lines, first what is left of one; else graphemes, with a sign for those wider than a line."""
    if is_narrow(text):
        yield from filter(None, [text[:room]])
        yield from (text[start : start + width] for start in range(room, len(text), width))
        return
    for grapheme in graphemes(text):
        yield grapheme if cells(grapheme) <= width else _TOO_WIDE


class _LineLexer(Protocol):
    """Lexes one line after another."""

    def lex(self, line: str) -> Iterable[tuple[_TokenType, str]]:
        """The tokens of the next line, which ends with a line feed."""

    def fork(self) -> "_LineLexer":
        """Another one that knows the same lines."""


def _line_lexer(language: str) -> _LineLexer | None:
    """What lexes the lines of a piece of code in this language; None if it is unknown."""
    lexer = lexer_of(language)
    if lexer is None:
        return None
    from pygments.lexer import ExtendedRegexLexer, RegexLexer

    if not isinstance(lexer, RegexLexer):
        return _Stateless(lexer)
    if not isinstance(lexer, ExtendedRegexLexer):
        return _Stateful(lexer)
    # Those that bring a context of their own need the whole text (YAML).
    if type(lexer).get_tokens_unprocessed is ExtendedRegexLexer.get_tokens_unprocessed:
        return _Contextual(lexer)
    return _Stateless(lexer)


class _Stateless:
    """Lexes every line as if it were the first."""

    def __init__(self, lexer: "Lexer") -> None:
        self._lexer = lexer

    def lex(self, line: str) -> Iterator[tuple[_TokenType, str]]:
        return ((token, piece) for _, token, piece in self._lexer.get_tokens_unprocessed(line))

    def fork(self) -> "_Stateless":
        return self


class _Contextual:
    """Lexes with a lexer that tells its states to whoever asks."""

    def __init__(self, lexer: "ExtendedRegexLexer") -> None:
        self._lexer = lexer
        self._stack = ["root"]

    def lex(self, line: str) -> Iterator[tuple[_TokenType, str]]:
        from pygments.lexer import LexerContext

        context = LexerContext(line, 0, self._stack)
        for _, token, piece in self._lexer.get_tokens_unprocessed(context=context):
            yield token, piece

    def fork(self) -> "_Contextual":
        fork = copy(self)
        fork._stack = self._stack[:]
        return fork


class _Stateful:
    """Runs the state machine of a `RegexLexer` over one line and keeps its stack of states.

    Pygments' own loop (`RegexLexer.get_tokens_unprocessed`, 2.19) begins in any state but does not say in which one it
    ended; the tables it runs on have been the same since its first versions.
    """

    def __init__(self, lexer: "RegexLexer") -> None:
        from pygments.token import Comment, Error

        self._lexer = lexer
        self._states: _States = lexer._tokens  # type: ignore[attr-defined]  # its metaclass makes it
        self._stack = ["root"]
        # In a comment: what it ends with.
        self._comment_end = ""
        self._comment, self._error = Comment.Multiline, Error

    def fork(self) -> "_Stateful":
        fork = copy(self)
        fork._stack = self._stack[:]
        return fork

    def lex(self, line: str) -> Iterator[tuple[_TokenType, str]]:
        position = 0
        if self._comment_end:
            end = line.find(self._comment_end)
            position = len(line) if end < 0 else end + len(self._comment_end)
            if end >= 0:
                self._comment_end = ""
            yield self._comment, line[:position]
        # States change without a character being read, but no language needs that more often than this.
        for _ in range(4 * len(line) + 100):
            if position >= len(line):
                return
            self._comment_end = self._opened_comment(line, position)
            if self._comment_end:
                break
            position = yield from self._step(line, position)
        yield (self._comment if self._comment_end else self._error), line[position:]

    def _opened_comment(self, line: str, position: int) -> str:
        """How a comment ends that begins here and goes on in the next line; empty if there is none.

        There is none in a string, and none in a language that has no such comments.
        """
        opening, closing = next((pair for pair in _COMMENTS if line.startswith(pair[0], position)), ("", ""))
        if not opening or line.find(closing, position + len(opening)) >= 0:
            return ""
        closed = f"{line[:position]}{opening}{closing}\n"
        for pattern, action, _ in self._states[self._stack[-1]]:
            match = pattern(closed, position)
            if match:
                is_comment = not isinstance(action, tuple) or action[:1] == ("Comment",)
                return closing if is_comment and match.end() >= len(closed) - 1 else ""
        return ""

    def _step(self, line: str, position: int) -> Generator[tuple[_TokenType, str], None, int]:
        """One match of one pattern; returns where the next one is to be looked for."""
        for pattern, action, change in self._states[self._stack[-1]]:
            match = pattern(line, position)
            if not match:
                continue
            if isinstance(action, tuple):
                yield action, match[0]
            elif action is not None:
                for _, token, piece in action(self._lexer, match):
                    yield token, piece
            self._change_state(change)
            return match.end()
        if line[position] == "\n":
            self._stack = ["root"]
        yield self._error, line[position]
        return position + 1

    def _change_state(self, change: _Change) -> None:
        """Push and pop states as a pattern of the lexer says; the first state stays."""
        if isinstance(change, int):
            del self._stack[max(1, len(self._stack) + change) :]
            return
        for state in (change,) if isinstance(change, str) else change or ():
            if state == "#pop":
                del self._stack[max(1, len(self._stack) - 1) :]
            else:
                self._stack.append(self._stack[-1] if state == "#push" else state)


# Lexers are patterns written for code; on lines of data some of them take time that grows with the cube of the length.
_LONGEST_LINE = 1000
_MOST_LINES = 5000
# By the beginning of the name of Pygments' token type; the longest that fits counts.
_TOKENS = {
    "Comment": "syntaxComment",
    "Comment.Preproc": "syntaxKeyword",
    "Generic.Deleted": "toolDiffRemoved",
    "Generic.Heading": "mdHeading",
    "Generic.Inserted": "toolDiffAdded",
    "Generic.Subheading": "mdHeading",
    "Keyword": "syntaxKeyword",
    "Keyword.Constant": "syntaxNumber",
    "Keyword.Type": "syntaxType",
    "Literal.Number": "syntaxNumber",
    "Literal.String": "syntaxString",
    "Name.Attribute": "syntaxVariable",
    "Name.Builtin": "syntaxType",
    "Name.Builtin.Pseudo": "syntaxVariable",
    "Name.Class": "syntaxType",
    "Name.Constant": "syntaxVariable",
    "Name.Decorator": "syntaxFunction",
    "Name.Exception": "syntaxType",
    "Name.Function": "syntaxFunction",
    "Name.Namespace": "syntaxType",
    "Name.Tag": "syntaxKeyword",
    "Name.Variable": "syntaxVariable",
    "Operator": "syntaxOperator",
    "Operator.Word": "syntaxKeyword",
    "Punctuation": "syntaxPunctuation",
}


def highlight(code: str, palette: Palette, language: str, base: Style = "") -> list[list[Span]]:
    """Highlight code that is there as a whole.

    Args:
        code: sanitized text, tabs expanded.
        palette: where the styles come from.
        language: as behind three backticks; unknown ones are shown plain.
        base: style of what has no other.

    Returns:
        The spans of each line.
    """
    highlighter = Highlighter(palette, language, base)
    return [highlighter.line(line) for line in code.split("\n")]


class Highlighter:
    """Highlights a piece of code, one line after another.

    Args:
        palette: where the styles come from, as they are now.
        language: as behind three backticks; unknown ones are shown plain.
        base: style of what has no other.
    """

    def __init__(self, palette: Palette, language: str, base: Style = "") -> None:
        self._palette = palette
        self._base = base
        self._lexer = _line_lexer(language)
        self._styles: dict[_TokenType, Style] = {}
        self._lines = 0

    def preview(self, text: str) -> list[Span]:
        """The spans of the next line as far as it is known."""
        return self._spans(text, self._lexer.fork()) if self._lexer else self._spans(text, None)

    def line(self, text: str) -> list[Span]:
        """The spans of the next line, given without its line feed."""
        self._lines += 1
        return self._spans(text, self._lexer)

    def _spans(self, text: str, lexer: _LineLexer | None) -> list[Span]:
        if lexer is None or self._lines > _MOST_LINES or len(text) > _LONGEST_LINE:
            return [(text, self._base)] if text else []
        spans: list[Span] = []
        current, style = "", self._base
        for token, piece in lexer.lex(text + "\n"):
            found = self._style(token)
            if found != style:
                if current:
                    spans.append((current, style))
                current, style = "", found
            current += piece.replace("\n", "")
        if current:
            spans.append((current, style))
        return spans

    def _style(self, token: _TokenType) -> Style:
        style = self._styles.get(token)
        if style is None:
            style = self._styles[token] = self._palette[_token_of(token)] or self._base
        return style


def _token_of(token: _TokenType) -> str:
    for length in range(len(token), 0, -1):
        found = _TOKENS.get(".".join(token[:length]))
        if found:
            return found
    return ""


def language_of(filename: str) -> str:
    """The name of the language that files of this name are written in; empty if it is unknown."""
    name = filename.replace("\\", "/").rpartition("/")[2].lower()
    patterns = _file_patterns()
    if name in patterns:
        return patterns[name]
    while "." in name:
        name = name.partition(".")[2]
        if f"*.{name}" in patterns:
            return patterns[f"*.{name}"]
    return ""


@lru_cache(maxsize=32)
def lexer_of(language: str) -> "Lexer | None":
    """Pygments' lexer of a language; None if there is none, or nothing to be highlighted."""
    if not language or language.lower() in _PLAIN:
        return None
    name = _lexer_names().get(_LANGUAGES.get(language.lower(), language.lower()))
    if name is None:
        return None
    from pygments.lexers import find_lexer_class

    found = find_lexer_class(name)
    return found(stripnl=False, ensurenl=False) if found else None


@lru_cache(maxsize=1)
def _lexer_names() -> dict[str, str]:
    """The lexer of each language, by all the names it goes by. Plugins are left out: finding them takes long."""
    from pygments.lexers import get_all_lexers

    return {alias.lower(): name for name, aliases, _, _ in reversed(list(get_all_lexers(False))) for alias in aliases}


@lru_cache(maxsize=1)
def _file_patterns() -> dict[str, str]:
    """A name of the language for each pattern of file names; of several the one that is called like the extension."""
    from pygments.lexers import get_all_lexers

    found: dict[str, str] = {}
    for _, aliases, patterns, _ in get_all_lexers(False):
        for pattern in map(str.lower, patterns):
            if aliases and (pattern not in found or pattern.removeprefix("*.") in aliases):
                found[pattern] = aliases[0]
    return found | _FILE_NAMES
