"""A call as far as it is known, what a renderer of calls is, and the lines that most of them are made of."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from kaa.core.messages import ImageContent, Json, TextContent, ToolResultMessage
from kaa.frontends.interactive.transcript.excerpt import ALL_LINES, beginning, head, paint_excerpt, tail
from kaa.frontends.interactive.transcript.live_output import LiveOutput
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.session.changed_paths import PATH_NAMES
from kaa.tui.style import Span

# Lines that our tools, and pi's, write behind what a tool gave: what is missing, and how a command ended.
_NOTE = re.compile(
    r"\[(?:Lines \d|Showing lines \d|The (?:first|last) |Line \d+ is longer|The file is empty"
    r"|\d+ background process|Process \d+:|Meanwhile, not by this command|stopped at \d|the search took"
    r"|long lines cut|\d+ of \d+ (?:lines|names) shown)"
    r"|Command (?:exited with code|was ended by signal|timed out after|aborted)"
    r"|(?:Interrupted|Stopped) by the user before|It finished\. The user stopped the run"
)
_SANDBOX = "[sandbox] "
_NEW_ERROR = "[new error] "
_NO_OUTPUT = ("(no output)", "exit code 0, no output")
_NOTE_CHARACTERS = 8192
_BRIEFING = "[briefing by kaa]\n"  # of `kaa.builtin.briefing`, in a block of its own behind the output
# How `kaa.builtin.prompt` writes instructions of the file's folders, in a block of its own behind the output.
_GUIDANCE = ("Standing instructions; where they disagree", "Information about the project from its files;")
_GUIDING_FILE = re.compile(r'^<(?:instructions|project-file) path="([^"\n]*)">$', re.MULTILINE)
# Of an output, as long as cards are not expanded.
OUTPUT_LINES = 5
_EXPANDED_LIVE_LINES = 20
_ERROR_LINES = 10


class ResultText(NamedTuple):
    """What the tool gave, and what was remarked about it. `blocked`: what the sandbox stopped."""

    output: str
    notes: list[str]
    blocked: list[str]


def take_apart(text: str) -> ResultText:
    """The output of a tool without the paragraphs of remarks at its end."""
    notes: list[str] = []
    blocked: list[str] = []
    rest = text
    while rest:
        before, _, paragraph = rest.rpartition("\n\n")
        lines = paragraph.split("\n") if len(paragraph) <= _NOTE_CHARACTERS else []
        advice = lines[-1:] if rest is text and len(lines) > 1 and lines[-2].startswith(_SANDBOX) else []
        advice = [line for line in advice if not _is_note(line)]  # of the gate, to the model
        lines = lines[: len(lines) - len(advice)]
        if not lines or not all(map(_is_note, lines)):
            break
        blocked[:0] = [line.removeprefix(_SANDBOX) for line in lines if line.startswith(_SANDBOX)] + advice
        notes[:0] = [_without_brackets(line) for line in lines if not line.startswith(_SANDBOX)]
        rest = before
    return ResultText("" if rest in _NO_OUTPUT else rest, notes, blocked)


def _is_note(line: str) -> bool:
    return line.startswith((_SANDBOX, _NEW_ERROR)) or _NOTE.match(line) is not None


def _without_brackets(line: str) -> str:
    if line.startswith(_NEW_ERROR):
        return f"new error: {line.removeprefix(_NEW_ERROR)}"
    return line[1:-1] if line.startswith("[") and line.endswith("]") else line


class ShownCall:
    """A tool call.

    Attributes:
        arguments: as far as the model has written them. Any of them may be missing, or of another type than it should.
        is_complete: whether these are all of them.
        output: what the tool printed while it runs.
        briefing: what kaa told the model about the project with the result; empty if nothing.
        instructions: files of instructions, such as AGENTS.md, that kaa gave the model with the result.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.arguments: Mapping[str, Json] = {}
        self.is_complete = False
        self.output = LiveOutput()
        self._result: ToolResultMessage | None = None
        self._text = ResultText("", [], [])
        self.briefing = ""
        self.instructions: tuple[str, ...] = ()

    @property
    def result(self) -> ToolResultMessage | None:
        return self._result

    @result.setter
    def result(self, result: ToolResultMessage) -> None:
        self._result = result
        texts = [block.text for block in result.content if isinstance(block, TextContent)]
        self.briefing = next((text for text in texts[1:] if text.startswith(_BRIEFING)), "")
        if self.briefing:
            texts.remove(self.briefing)
        guidance = next((text for text in texts[1:] if text.startswith(_GUIDANCE)), "")
        if guidance:
            texts.remove(guidance)
        self.instructions = tuple(_GUIDING_FILE.findall(guidance))
        self._text = take_apart("\n".join(texts))

    @property
    def text(self) -> ResultText:
        """The text of the result, taken apart; empty without one."""
        return self._text

    @property
    def failed(self) -> bool:
        """Whether there is a result that is an error."""
        return self._result is not None and self._result.is_error

    @property
    def images(self) -> tuple[ImageContent, ...]:
        content = self._result.content if self._result is not None else ()
        return tuple(block for block in content if isinstance(block, ImageContent))

    def argument(self, name: str) -> str:
        """An argument that is a text, empty if it is not."""
        value = self.arguments.get(name)
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> int | None:
        """An argument that is a whole number."""
        value = self.arguments.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    @property
    def path(self) -> str:
        """The file or directory that it is about, under any name that models give the argument."""
        return next(filter(None, map(self.argument, PATH_NAMES)), "")

    def detail(self, name: str) -> Json:
        """A field of the result's details, None if there is none."""
        details = self._result.details if self._result is not None else None
        return details.get(name) if isinstance(details, dict) else None


class CallRenderer(Protocol):
    """What is shown of one call. It is made for the call and may keep what is expensive to compute.

    What it shows of a call while it runs changes little where it has been shown already: lines are added at the end,
    up to a fixed number, so that nothing above moves.
    """

    def title(self, call: ShownCall) -> Sequence[Span]:
        """What is done, in a line or a few; as much as the arguments tell so far."""

    def body(self, call: ShownCall, width: int) -> list[str]:
        """Painted lines of what came of it, or is on the way. An error is shown without asking for them."""

    def aside(self, call: ShownCall) -> str:
        """Figures about the result in few words, perhaps none."""


def named(view: ViewOptions, tool: str, argument: str, rest: str = "") -> list[Span]:
    """The title of a call that one argument tells of."""
    palette = view.context.palette
    ellipsis = view.context.glyphs.ellipsis
    return [
        (tool, palette["toolTitle"]),
        (f" {beginning(argument) or ellipsis}", palette["accent"]),
        (f" {rest}" if rest else "", palette["muted"]),
    ]


def first_lines(view: ViewOptions, text: str, count: int, width: int) -> list[str]:
    """The first `count` lines of an output, or all of them when cards are expanded."""
    excerpt = head(text, ALL_LINES if view.expanded else count)
    return paint_excerpt(view, excerpt, width, view.context.palette["toolOutput"], whole=view.expanded)


def last_lines(view: ViewOptions, text: str, count: int, width: int) -> list[str]:
    """The last `count` lines of an output, or all of them when cards are expanded."""
    excerpt = tail(text, ALL_LINES if view.expanded else count)
    return paint_excerpt(view, excerpt, width, view.context.palette["toolOutput"], from_end=True, whole=view.expanded)


def live_lines(view: ViewOptions, output: LiveOutput, width: int, count: int = OUTPUT_LINES) -> list[str]:
    """The end of what a running tool has printed: never more than a few rows, so that little of it moves."""
    excerpt = output.end(max(count, _EXPANDED_LIVE_LINES) if view.expanded else count)
    return paint_excerpt(view, excerpt, width, view.context.palette["toolOutput"], from_end=True)


def error_lines(view: ViewOptions, text: str, width: int) -> list[str]:
    """Why a call failed, in the tool's words."""
    excerpt = head(text, ALL_LINES if view.expanded else _ERROR_LINES)
    return paint_excerpt(view, excerpt, width, view.context.palette["error"], whole=True)
