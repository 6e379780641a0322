"""Inline Markdown as spans: emphasis, code, links, images, line breaks.

Tokens are made harmless once more: entities in them may stand for characters that the source did not have.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from kaa.tui.components.markdown_syntax import References, inline, is_link
from kaa.tui.context import Context
from kaa.tui.sanitize import one_line
from kaa.tui.style import BOLD, ITALIC, STRIKE, Span, Style, join, paint_spans

if TYPE_CHECKING:
    from markdown_it.token import Token

# A link without markup (GFM's extended autolinks), and the punctuation behind it that is not part of it.
_BARE_LINK = re.compile(r"https?://[^\s<>\"'`|\\^{}]+", re.IGNORECASE)
_BEHIND_LINK = ".,;:!?*_~"
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
# Some terminals do not take longer ones (VTE: 2083).
_LONGEST_URL = 2000
_CUT_URL = 80


class LinkStyle(str):
    """The style of text that is a link: it knows where to, and stays with the text when that is wrapped."""

    url: str

    def __new__(cls, style: Style, url: str) -> "LinkStyle":
        """A style with the address, which must be one that `is_link` lets through."""
        made = super().__new__(cls, style)
        made.url = url
        return made


def paint_linked(spans: Iterable[Span]) -> str:
    """The spans as one painted line, links with their OSC 8 sequences."""
    spans = list(spans)
    if not any(isinstance(style, LinkStyle) for _, style in spans):
        return paint_spans(spans)
    return "".join(
        f"\x1b]8;;{url}\x1b\\{paint_spans(group)}\x1b]8;;\x1b\\" if url else paint_spans(group)
        for url, group in groupby(spans, key=lambda span: span[1].url if isinstance(span[1], LinkStyle) else "")
    )


class InlinePainter:
    """Makes spans of inline Markdown.

    Args:
        context: what all components know.
    """

    def __init__(self, context: Context) -> None:
        self._context = context

    def spans(self, source: str, references: References, base: Style) -> list[Span]:
        """The spans of a text; line feeds in them are hard breaks.

        Args:
            source: inline Markdown, sanitized.
            references: what links refer to.
            base: the style of text without markup.
        """
        spans: list[Span] = []
        tokens = inline(source, references)
        styles = [base]
        # Where the text of the open link begins among the spans, and where it leads.
        link: tuple[int, str] | None = None
        for token in tokens:
            match token.type:
                case "link_open":
                    link = len(spans), str(token.attrs.get("href", ""))
                    styles.append(self._link_style(styles[-1], link[1]))
                case "link_close":
                    styles.pop()
                    if link:
                        spans += self._address(spans[link[0] :], link[1])
                    link = None
                case _ if token.nesting == 1:
                    styles.append(join(styles[-1], _EMPHASIS.get(token.type, "")))
                case _ if token.nesting == -1:
                    styles.pop()
                case "image":
                    spans += self._image(token, styles[-1])
                case _:
                    spans += self._leaf(token, styles[-1], in_link=link is not None)
        return spans

    def _leaf(self, token: "Token", style: Style, *, in_link: bool) -> Iterable[Span]:
        match token.type:
            case "softbreak":
                return [(" ", style)]
            case "hardbreak":
                return [("\n", style)]
            case "html_inline" if _BREAK.fullmatch(token.content):
                # What cells of tables have instead of hard breaks.
                return [("\n", style)]
            case "code_inline":
                code = join(style, self._context.palette["mdCode"])
                return [(one_line(token.content), LinkStyle(code, style.url) if isinstance(style, LinkStyle) else code)]
        text = one_line(token.content)
        return [(text, style)] if in_link or "://" not in text else self._with_bare_links(text, style)

    def _with_bare_links(self, text: str, style: Style) -> Iterator[Span]:
        position = 0
        for match in _BARE_LINK.finditer(text):
            url = match[0].rstrip(_BEHIND_LINK)
            while url.endswith(")") and url.count(")") > url.count("("):
                url = url[:-1].rstrip(_BEHIND_LINK)
            yield text[position : match.start()], style
            yield url, self._link_style(style, url)
            position = match.start() + len(url)
        yield text[position:], style

    def _link_style(self, base: Style, url: str) -> Style:
        style = join(base, self._context.palette["mdLink"])
        if self._context.hyperlinks and len(url) <= _LONGEST_URL and is_link(url):
            return LinkStyle(style, url)
        return style

    def _address(self, shown: list[Span], url: str) -> list[Span]:
        """The address behind a link to a file, that no terminal can open, or whose text pretends to be another one."""
        text = "".join(text for text, _ in shown)
        if not url or text in (url, url.removeprefix("mailto:")):
            return []
        is_file = url.lower().startswith("file:")  # which a command may have written, and a click may execute
        if shown and isinstance(shown[0][1], LinkStyle) and not is_file and not _BARE_LINK.match(text):
            return []
        if url.lower().startswith("data:"):
            url = url[:_CUT_URL] + self._context.glyphs.ellipsis
        return [(f" ({one_line(url)})", self._context.palette["mdLinkUrl"])]

    def _image(self, token: "Token", base: Style) -> list[Span]:
        url = str(token.attrs.get("src", ""))
        alt = "".join(child.content for child in token.children or ()) or "image"
        style = self._link_style(join(base, ITALIC), url)
        shown = [(one_line(f"[{alt}]"), style)]
        return shown + self._address(shown, url)


_EMPHASIS = {"em_open": ITALIC, "strong_open": BOLD, "s_open": STRIKE}
