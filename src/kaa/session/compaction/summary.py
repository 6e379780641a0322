"""The text of a summary: what a model wrote, and behind it in sections what is carried over as it is."""

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate

from kaa.core.usage import tokens_in
from kaa.session.compaction.files import TouchedFiles
from kaa.session.compaction.quoting import in_summary

# What the names of files may take, of each kind. All of them are in the entry's details.
_MOST_FILE_TOKENS = 2000
_LINE_END = re.compile(r"[\r\n]+")
_SECTIONS = re.compile(r"(?:\A|\n\n)<(?:carried name=|user-messages>|read-files>|modified-files>)")


def put_together(
    prose: str,
    files: TouchedFiles,
    *,
    words: Sequence[str] = (),
    more_words: bool = False,
    carried: Mapping[str, str] | None = None,
    file_tokens: int = _MOST_FILE_TOKENS,
) -> str:
    """The whole summary.

    Args:
        words: the user's messages, the oldest first.
        more_words: there are older ones that are left out.
        carried: texts of extensions, by name.
        file_tokens: about what the names of files may take, of each kind; no more than 2,000 are used.
    """
    parts = [in_summary(prose.strip())]
    parts += [f'<carried name="{name}">\n{text.strip()}\n</carried>' for name, text in (carried or {}).items()]
    if words:
        intro = "The user's own words up to here, the oldest first" + (
            " (older ones are left out):" if more_words else ":"
        )
        messages = "\n".join(f"<message>\n{text.strip()}\n</message>" for text in words)
        parts.append(f"<user-messages>\n{intro}\n{messages}\n</user-messages>")
    room = min(file_tokens, _MOST_FILE_TOKENS)
    parts += [_listed("read-files", files.read, room)] if files.read else []
    parts += [_listed("modified-files", files.modified, room)] if files.modified else []
    return "\n\n".join(parts)


def _listed(name: str, paths: Sequence[str], tokens: int) -> str:
    lines = [in_summary(_LINE_END.sub(" ", path)) for path in paths]
    taken = accumulate(tokens_in(line) for line in lines)
    fitting = [line for line, total in zip(lines, taken, strict=True) if total <= tokens]
    if left_out := len(lines) - len(fitting):
        fitting.append(f"[… {left_out:,} more …]")
    return "\n".join([f"<{name}>", *fitting, f"</{name}>"])


def prose_of(summary: str) -> str:
    """What was written of a summary, without the sections behind it: those are made anew each time."""
    sections = _SECTIONS.search(summary)
    return (summary[: sections.start()] if sections else summary).strip()
