"""What a person has to see to answer a question about a call: what a yes does, why it is asked, what would happen.

In this order: a command can be long, and what follows it would be read by nobody.
"""

from collections.abc import Iterator

from kaa.core.messages import Json
from kaa.ext import questions
from kaa.ext.questions import Approval
from kaa.frontends.interactive.dialogs.paragraph import paragraph
from kaa.frontends.json_text import encoded
from kaa.host.unified_diff import hunks
from kaa.tui.components.diff import DiffView
from kaa.tui.components.text import harmless
from kaa.tui.context import Context
from kaa.tui.layout import wrap
from kaa.tui.sanitize import one_line
from kaa.tui.style import BOLD, Span, join

# All of a change is shown, so that nothing is allowed unseen. Beyond these, laying it out would keep the screen waiting
# for seconds; the person is told so.
_MAX_DIFF_LINES = 10_000
_MAX_CHARACTERS = 500_000
_BUTTON_CHARACTERS = 40

_RISKS = {
    "read": "reads files",
    "write": "changes a file",
    "command": "runs a command",
    "fetch": "gets a web page",
    "granted": "does what you permitted its extension",
    "outside": "runs code of an extension outside the sandbox",
}


class ApprovalView:
    """The body of the question, as lines."""

    def __init__(self, context: Context, request: Approval) -> None:
        self._context = context
        self._request = request

    def lines(self, width: int) -> list[str]:
        """All of it, wrapped at this width."""
        return [line for part in self._parts(width) for line in part]

    def _parts(self, width: int) -> Iterator[list[str]]:
        request = self._request
        if request.problem is not None:
            yield self._said(request.problem, "warning", width)
        if request.warning is not None:
            yield self._said(f"Warning: {request.warning}", "error", width)
        for permitted in request.permits:
            yield self._said(permitted, "warning", width, bullet=True)
        for reason in request.further_reasons:
            yield self._said(reason, "text", width, bullet=True)
        if request.only_permits:
            return
        again = ""
        if request.was_run:  # an edit has changed nothing then
            is_edit = request.risk == "write"
            again = (
                " The sandbox blocked it."
                if is_edit
                else " It ran and was blocked; “Yes” runs it again from the start."
            )
        if request.writes_files:
            yield self._said("While a command ran, it or you changed this; kaa set the change aside.", "muted", width)
        else:
            yield self._said(f"{request.tool} {deed(request)}.{again}", "muted", width)
        yield from self._judged(width)
        if request.suggestion is not None:  # a label is cut off on a narrow screen
            yield self._said(f"For the session, s allows: {rules_in_words(request.suggestion)}", "muted", width)
        if (broader := request.broader_rule) is not None:
            yield self._said(f"For the session, t allows: {rules_in_words(broader)}", "muted", width)
        yield [""]
        yield from self._what(width)

    def _judged(self, width: int) -> Iterator[list[str]]:
        """The commands that a command consists of, if some of them differ in whether rules allow them, and why not."""
        parts, palette, glyphs = self._request.parts, self._context.palette, self._context.glyphs
        if len({part.reason for part in parts}) < 2:
            return
        yield self._said("Commands:", "muted", width)
        for part in parts:
            glyph, token = (glyphs.check, "success") if part.reason is None else (glyphs.cross, "warning")
            spans: list[Span] = [(_shown(part.text), "")]
            if part.reason is not None:
                spans.append((f"  {_shown(part.reason)}", palette["muted"]))
            yield wrap(spans, width, [(f" {glyph} ", palette[token])], [("   ", "")])

    def _what(self, width: int) -> Iterator[list[str]]:
        """The call itself: the command, the change, or whatever the tool is told."""
        arguments = self._request.arguments
        if self._request.writes_files:
            for path, change in arguments.items():
                yield self._said(path, "toolTitle", width)
                yield from self._change(str(change).split("\n"), width)
            return
        match self._request.risk, arguments:
            case "command", {"command": str(command)}:
                style = join(self._context.palette["toolTitle"], BOLD)
                yield wrap([(_shown(command), style)], width, [("$ ", self._context.palette["accent"])], [("  ", "")])
                if self._request.diff:  # of the protected files that a checkout changes
                    yield [""]
                    yield from self._change(self._request.diff.split("\n"), width)
            case "write", {"path": str(path)} if self._request.diff:
                yield self._said(path, "toolTitle", width)
                yield from self._change(self._request.diff.split("\n"), width)
            case "write", {"path": str(path), "edits": list(edits)}:
                yield self._said(path, "toolTitle", width)
                yield from self._change(list(_patch(edits)), width, numbers=False)
            case "write", {"path": str(path), "content": str(content)}:
                lines = _lines(content)
                yield self._said(f"{path} ({len(lines)} line{'s' if len(lines) != 1 else ''})", "toolTitle", width)
                yield from self._change([f"+{number} {line}" for number, line in enumerate(lines, 1)], width)
            case _:
                yield self._said(self._request.title, "toolTitle", width)
                for name, value in arguments.items():
                    yield self._argument(name, value, width)

    def _change(self, patch: list[str], width: int, *, numbers: bool = True) -> Iterator[list[str]]:
        """A change as a diff, and above it that it is not all, if it is not."""
        text = "\n".join(patch)
        shown = text[:_MAX_CHARACTERS].rsplit("\n", 1)[0] if len(text) > _MAX_CHARACTERS else text
        if shown != text or len(patch) > _MAX_DIFF_LINES:
            yield self._said("Only the beginning is shown: the rest does not fit here.", "error", width)
        yield DiffView(self._context, shown, max_lines=_MAX_DIFF_LINES, numbers=numbers).render(width)

    def _argument(self, name: str, value: Json, width: int) -> list[str]:
        text = value if isinstance(value, str) else encoded(value).decode()
        return wrap(
            [(_shown(text), "")], width, [(f"  {one_line(name)}: ", self._context.palette["muted"])], [("    ", "")]
        )

    def _said(self, text: str, token: str, width: int, *, bullet: bool = False) -> list[str]:
        return paragraph(self._context, _limited(text), token, width, bullet=bullet)


def deed(request: Approval) -> str:
    """What the call does, after the name of its tool."""
    server = request.server
    if server is None:
        return _RISKS.get(request.risk, request.risk)
    if server.host:
        return f"calls {server.title} with the arguments below"
    if request.risk == "outside":
        return f"calls {server.title}, which runs without a sandbox: whatever it loads has your rights"
    return f"calls {server.title}, which its own sandbox confines"


def rules_in_words(rules: str | None) -> str:
    """What an answer for the session allows, in a line; None: no rule could allow the call."""
    match rules:
        case None:
            return "exactly this call"
        case questions.ALL_EDITS:
            return "all edits in the project"
        case _:
            return one_line("; ".join(rules.splitlines()))


def rules_on_a_button(rules: str | None) -> str:
    """The same where there is room for a few words: the body of the question has all of a longer text."""
    said = rules_in_words(rules)
    if len(said) <= _BUTTON_CHARACTERS:
        return said
    return "this rule" if len((rules or "").splitlines()) == 1 else "these rules"


def _shown(text: str) -> str:
    return harmless(_limited(text))


def _limited(text: str) -> str:
    if len(text) <= _MAX_CHARACTERS:
        return text
    return f"{text[:_MAX_CHARACTERS]} … {len(text) - _MAX_CHARACTERS} more characters"


def _patch(edits: list[Json]) -> Iterator[str]:
    """The edits as a patch; the model may have sent anything."""
    for edit in edits:
        match edit:
            case {"oldText": str(old), "newText": str(new)}:
                yield from hunks(old.split("\n"), new.split("\n"), context_lines=2)
            case _:
                yield from ("@@ -1 +1 @@", " " + encoded(edit).decode())


def _lines(text: str) -> list[str]:
    """As editors count them; `splitlines` would also cut at characters that are no ends of lines in a file."""
    return text.removesuffix("\n").split("\n") if text else []
