"""Highlights code line by line, in the palette's syntax tokens.

A line is highlighted once, when it is complete. So code that streams in costs what its new lines cost, and looks the
same as code that came at once.
"""

from kaa.tui.components.line_lexers import LineLexer, TokenType, line_lexer
from kaa.tui.palette import Palette
from kaa.tui.style import Span, Style

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
        self._lexer = line_lexer(language)
        self._styles: dict[TokenType, Style] = {}
        self._lines = 0

    def preview(self, text: str) -> list[Span]:
        """The spans of the next line as far as it is known."""
        return self._spans(text, self._lexer.fork()) if self._lexer else self._spans(text, None)

    def line(self, text: str) -> list[Span]:
        """The spans of the next line, given without its line feed."""
        self._lines += 1
        return self._spans(text, self._lexer)

    def _spans(self, text: str, lexer: LineLexer | None) -> list[Span]:
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

    def _style(self, token: TokenType) -> Style:
        style = self._styles.get(token)
        if style is None:
            style = self._styles[token] = self._palette[_token_of(token)] or self._base
        return style


def _token_of(token: TokenType) -> str:
    for length in range(len(token), 0, -1):
        found = _TOKENS.get(".".join(token[:length]))
        if found:
            return found
    return ""
