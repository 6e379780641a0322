"""Reads Markdown: CommonMark, tables and strikethrough, with markdown-it. HTML is text like any other.

A text is read in units: its blocks, and the items of its lists one by one. Each unit's lines can be painted knowing
nothing of its neighbours but whether an empty line is between, which is what lets a text that streams in settle unit by
unit. Inline markup is read when a unit is painted.
"""

import re
from collections.abc import Iterator, MutableMapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

# What links refer to, by label, as markdown-it keeps it.
References: TypeAlias = MutableMapping[str, dict[str, Any]]

# Lists and quotes inside one another: what is deeper is text. A list counts twice, for its items.
_DEEPEST = 40

# In a text with more of them no links are looked for: that takes time that grows with the square of their number.
_MOST_BRACKETS = 200

_LABEL = re.compile(r"\[((?:[^\[\]\\]|\\.)+)\]", re.DOTALL)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
LINK_SCHEMES = ("http:", "https:", "mailto:", "file:")


class Unit(NamedTuple):
    """A block at the top of a text, or an item of a list there.

    Attributes:
        kind: markdown-it's name for the token it begins with.
        tokens: its tokens; lines in their maps count from where the parsed text begins.
        start: the line it begins in.
        end: the line after the last one that has something of it.
        number: for items of ordered lists.
        gap: whether an empty line is between it and the unit before.
    """

    kind: str
    tokens: "Sequence[Token]"
    start: int
    end: int
    number: int | None
    gap: bool


def units(source: str, first_number: int | None = None) -> list[Unit]:
    """The units of a text.

    Args:
        source: the text, sanitized.
        first_number: of the item that the text begins with, if it is not what the text says.
    """
    found: list[Unit] = []
    for token, inner in groups(blocks(source)):
        if token.type in ("bullet_list_open", "ordered_list_open"):
            if not found and first_number is not None:
                token.attrs["start"] = first_number
            found += _items(token, inner)
        else:
            tokens = [token, *inner]
            start, end = token.map or (0, 0)
            found.append(Unit(token.type, tokens, start, content_end(tokens) or end, None, gap=True))
    return found


def blocks(source: str) -> "list[Token]":
    """The block tokens of a sanitized text; their inline markup has not been read."""
    tokens: list[Token] = []
    parser = _parser()
    parser.block.parse(source, parser, {}, tokens)
    return tokens


def inline(source: str, references: References) -> "list[Token]":
    """The tokens of inline markup."""
    tokens: list[Token] = []
    may_link = ("](" in source or bool(references)) and source.count("[") <= _MOST_BRACKETS
    parser = _parser(links=may_link)
    parser.inline.parse(source, parser, {"references": references}, tokens)
    return tokens


def groups(tokens: "Sequence[Token]") -> "Iterator[tuple[Token, Sequence[Token]]]":
    """Tokens on the highest level, each with those inside it. Closing tokens are left out."""
    index = 0
    while index < len(tokens):
        token = tokens[index]
        first = index = index + 1
        if token.nesting != 1:
            yield token, ()
            continue
        while index < len(tokens) and tokens[index].level > token.level:
            index += 1
        yield token, tokens[first:index]
        index += 1


def content_end(tokens: "Sequence[Token]") -> int:
    """The line after the last one that has content; lists count the empty lines behind them as theirs."""
    return max((token.map[1] for token in tokens if token.nesting == 0 and token.map), default=0)


def item_number(list_token: "Token", index: int) -> int | None:
    """What an item of a list is numbered with."""
    if list_token.type == "bullet_list_open":
        return None
    return int(list_token.attrs.get("start", 1)) + index


def definitions(tokens: "Sequence[Token]") -> Iterator[tuple[str, dict[str, Any]]]:
    """What links may refer to, by label."""
    for token in tokens:
        if token.type == "definition":
            yield token.meta["id"], {"href": token.meta["url"], "title": token.meta["title"]}


def labels(source: str) -> frozenset[str]:
    """The labels that this text may refer to, if they are defined somewhere."""
    if "[" not in source:
        return frozenset()
    from markdown_it.common.utils import normalizeReference  # lazily, as below

    return frozenset(map(normalizeReference, _LABEL.findall(source)))


def code_blocks(text: str) -> list[tuple[str, str]]:
    """The code blocks of a text, each with its language, wherever they stand in it."""
    return [
        (language_of_fence(token.info), token.content.removesuffix("\n"))
        for token in blocks(text)
        if token.type in ("fence", "code_block")
    ]


def language_of_fence(info: str) -> str:
    """The language of what stands behind three backticks: `python title="x"`, `{.python}`, `rust,ignore`."""
    words = re.split(r"[\s,{}]+", info.strip().lstrip("{."), maxsplit=1)
    return words[0]


def is_link(url: str) -> bool:
    """Whether a terminal may be told to open it."""
    return url.lower().startswith(LINK_SCHEMES) and url.isascii() and url.isprintable()


@lru_cache(maxsize=2)
def _parser(*, links: bool = True) -> "MarkdownIt":
    # Lazily: 40 ms that the first frame does not wait for.
    from markdown_it import MarkdownIt

    # Its own limit throws away what is deeper; ours comes before it.
    parser = MarkdownIt("commonmark", {"maxNesting": 2 * _DEEPEST, "inline_definitions": True})
    parser.enable(["table", "strikethrough"])
    parser.block.ruler.before("table", "too_deep", _too_deep)
    if not links:
        parser.disable(["link", "image"])
    parser.validateLink = _is_destination  # type: ignore[method-assign]  # its documented way to say what is a link
    return parser


def _is_destination(url: str) -> bool:
    # Pictures within the text are read as such, to be left out.
    return not _SCHEME.match(url) or url.lower().startswith((*LINK_SCHEMES, "data:image/"))


def _items(token: "Token", inner: "Sequence[Token]") -> Iterator[Unit]:
    previous_end = None
    for index, (item, content) in enumerate(groups(inner)):
        start = item.map[0] if item.map else 0
        end = max(content_end(content), start + 1)
        # The first item of a list begins a block.
        gap = previous_end is None or previous_end < start
        yield Unit(item.type, [item, *content], start, end, item_number(token, index), gap)
        previous_end = end


def _too_deep(state: "StateBlock", start_line: int, end_line: int, silent: bool) -> bool:
    """A block rule: what is nested too deeply is a paragraph, whatever it looks like."""
    if state.level < _DEEPEST:
        return False
    line = start_line + 1
    while line < end_line and (state.isEmpty(line) or state.sCount[line] >= state.blkIndent):
        line += 1
    if not silent:
        state.line = line
        state.push("paragraph_open", "p", 1).map = [start_line, line]
        text = state.push("inline", "", 0)
        text.content = state.getLines(start_line, line, state.blkIndent, False).strip()
        text.map = [start_line, line]
        text.children = []
        state.push("paragraph_close", "p", -1)
    return True
