"""Which files a text imports: `@path`, as for Claude Code and Gemini CLI, but not in code or comments."""

import re
from collections.abc import Iterator

_MAX_IMPORTS = 100  # of one text
_IMPORT = re.compile(r"(?<!\S)@((?:\./|\.\./|~/|/)?[\w.-][\w./-]*)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_TICKS = re.compile(r"`+")
_COMMENT = re.compile(r"<!--|-->")


def imports_in(text: str) -> list[str]:
    """The paths after `@`, as they stand there, each once. A word such as `@alice` may be one, too."""
    found: dict[str, None] = {}
    for paragraph in _paragraphs(_without_comments(text)):
        for match in _IMPORT.finditer(_without_code(paragraph)):
            found.setdefault(match[1].rstrip(".,;:"), None)
            if len(found) == _MAX_IMPORTS:
                return list(found)
    return list(found)


def _paragraphs(text: str) -> Iterator[str]:
    """Lines that belong together, without blocks of code: marks of code in a line end with the paragraph."""
    lines: list[str] = []
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip("`~ \t"):
                fence = ""
        elif mark:
            fence = mark[1]
        elif line.strip():
            lines.append(line)
            continue
        if lines:
            yield "\n".join(lines)
            lines = []
    yield "\n".join(lines)


def _without_code(paragraph: str) -> str:
    """Without spans of code: a run of backticks ends at the next run of the same length (CommonMark, section 6.1)."""
    runs = list(_TICKS.finditer(paragraph))
    later: dict[int, int] = {}
    ends: list[int | None] = []
    for at in range(len(runs) - 1, -1, -1):
        length = len(runs[at][0])
        ends.append(later.get(length))
        later[length] = at
    ends.reverse()
    kept: list[str] = []
    begin = at = 0
    while at < len(runs):
        end = ends[at]
        if end is None:
            at += 1
            continue
        kept += [paragraph[begin : runs[at].start()], "`"]  # which separates nothing: `a`@b imports nothing
        begin, at = runs[end].end(), end + 1
    return "".join([*kept, paragraph[begin:]])


def _without_comments(text: str) -> str:
    kept: list[str] = []
    begin, hidden = 0, False
    for match in _COMMENT.finditer(text):
        if match[0] == "<!--" and not hidden:
            kept.append(text[begin : match.start()])
            hidden = True
        elif match[0] == "-->" and hidden:
            begin, hidden = match.end(), False
    return "".join([*kept, "" if hidden else text[begin:]])
