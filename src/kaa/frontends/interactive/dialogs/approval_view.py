"""What a person has to see to answer a question about a call: what would happen, why it is asked, what a yes does."""

import difflib
from collections.abc import Iterator

import msgspec

from kaa.core.messages import Json
from kaa.shell.approvals.requests import ApprovalRequest
from kaa.tui.components.diff import Diff
from kaa.tui.context import Context
from kaa.tui.layout import wrap
from kaa.tui.sanitize import sanitize
from kaa.tui.style import BOLD, Span, join
from kaa.tui.width import expand_tabs

# More than anybody reads before a yes; who wants all of it looks at the file.
_MAX_DIFF_LINES = 200
_MAX_CHARACTERS = 20_000

_RISKS = {
    "read": "reads files",
    "write": "changes a file",
    "command": "runs a command",
    "outside": "runs code of an extension, which nothing confines",
}


class ApprovalView:
    """The body of the question, as lines."""

    def __init__(self, context: Context, request: ApprovalRequest) -> None:
        self._context = context
        self._request = request

    def lines(self, width: int) -> list[str]:
        """All of it, wrapped at this width."""
        return [line for part in self._parts(width) for line in part]

    def _parts(self, width: int) -> Iterator[list[str]]:
        request, palette = self._request, self._context.palette
        if request.problem is not None:
            yield self._said("warning", request.problem, width)
        if request.warning is not None:
            yield self._said("error", f"Careful: {request.warning}", width)
        yield from self._what(width)
        yield [""]
        risk = _RISKS.get(request.risk, request.risk)
        again = " It was run and blocked; a yes runs it again from its beginning." if request.was_run else ""
        yield self._said("muted", f"{request.tool} {risk}.{again}", width)
        for reason in request.reasons:
            yield self._said("text", reason, width, bullet=True)
        for lift in request.lifts:
            yield self._said("warning", f"A yes {lift.text}.", width, bullet=True)
        if len(request.parts) > 1:
            yield self._said("muted", "Its commands:", width)
            for part in request.parts:
                glyph = self._context.glyphs.check if part.reason is None else self._context.glyphs.cross
                token = "success" if part.reason is None else "warning"
                spans: list[Span] = [(_shown(part.text), "")]
                if part.reason is not None:
                    spans.append((f"  {_shown(part.reason)}", palette["muted"]))
                yield wrap(spans, width, [(f" {glyph} ", palette[token])], [("   ", "")])

    def _what(self, width: int) -> Iterator[list[str]]:
        """The call itself: the command, the change, or whatever the tool is told."""
        arguments = self._request.arguments
        match self._request.risk, arguments:
            case "command", {"command": str(command)}:
                style = join(self._context.palette["toolTitle"], BOLD)
                yield wrap([(_shown(command), style)], width, [("$ ", self._context.palette["accent"])], [("  ", "")])
            case "write", {"path": str(path), "edits": list(edits)}:
                yield self._said("toolTitle", path, width)
                yield Diff(self._context, "\n".join(_patch(edits)), max_lines=_MAX_DIFF_LINES).render(width)
            case "write", {"path": str(path), "content": str(content)}:
                yield self._said("toolTitle", f"{path} ({len(content.splitlines())} lines)", width)
                added = "\n".join(f"+{line}" for line in content[:_MAX_CHARACTERS].splitlines())
                yield Diff(self._context, f"@@ @@\n{added}", max_lines=_MAX_DIFF_LINES).render(width)
            case _:
                yield self._said("toolTitle", self._request.title, width)
                for name, value in arguments.items():
                    yield self._argument(name, value, width)

    def _argument(self, name: str, value: Json, width: int) -> list[str]:
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        return wrap(
            [(_shown(text), "")], width, [(f"  {sanitize(name)}: ", self._context.palette["muted"])], [("    ", "")]
        )

    def _said(self, token: str, text: str, width: int, *, bullet: bool = False) -> list[str]:
        first: list[Span] = [(f" {self._context.glyphs.bullet} ", "")] if bullet else []
        rest: list[Span] = [("   ", "")] if bullet else []
        return wrap([(_shown(text), self._context.palette[token])], width, first, rest)


def _shown(text: str) -> str:
    if len(text) > _MAX_CHARACTERS:
        text = f"{text[:_MAX_CHARACTERS]} … {len(text) - _MAX_CHARACTERS} more characters"
    return expand_tabs(sanitize(text))


def _patch(edits: list[Json]) -> Iterator[str]:
    """The edits as a patch; the model may have sent anything."""
    for edit in edits:
        match edit:
            case {"oldText": str(old), "newText": str(new)}:
                changed = difflib.unified_diff(
                    old[:_MAX_CHARACTERS].splitlines(), new[:_MAX_CHARACTERS].splitlines(), n=2, lineterm=""
                )
                yield from list(changed)[2:]  # without the names of files
            case _:
                yield " " + msgspec.json.encode(edit).decode()
