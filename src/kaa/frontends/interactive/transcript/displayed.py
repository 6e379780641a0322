"""Display values of extensions: as components, and in the transcript with a result, a message or an entry."""

from collections.abc import Sequence

from kaa.core.display_values import Code, Diff, DisplayValue, Fields, Markdown, Table, Text, table_lines, values_in
from kaa.core.messages import Json
from kaa.frontends.interactive.transcript.excerpt import rest
from kaa.frontends.interactive.transcript.summaries import SummaryBlock
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.tui.component import Component
from kaa.tui.components import markdown
from kaa.tui.components.code import Code as CodeView
from kaa.tui.components.diff import DiffView
from kaa.tui.components.display import Display
from kaa.tui.components.text import Text as TextView
from kaa.tui.components.text import harmless
from kaa.tui.context import Context
from kaa.tui.layout import wrap

_LINES = 10


class DisplayedValues:
    """Lines of display values: the first ones, or all of them when cards are expanded."""

    def __init__(self, view: ViewOptions, values: Sequence[DisplayValue]) -> None:
        self._view = view
        self._components: Sequence[Component] = [component_of(value, view.context) for value in values]

    def lines(self, width: int) -> list[str]:
        """The lines; none without display values."""
        lines = [line for component in self._components for line in component.render(width)]
        if len(lines) <= _LINES or self._view.expanded:
            return lines
        return [*lines[: _LINES - 1], rest(self._view, width)]


class ExtensionBlock(SummaryBlock):
    """What an extension says in the conversation: display values, or the text if there are no valid ones.

    Args:
        text: of a message; it may come from anywhere.
    """

    def __init__(self, view: ViewOptions, label: str, text: str, details: Json) -> None:
        super().__init__(view, label, text)
        self._displayed = DisplayedValues(view, values_in(details))

    def content(self, width: int) -> list[str]:
        """The display values, or the text."""
        return [f"  {line}" for line in self._displayed.lines(max(width - 2, 1))] or super().content(width)


def component_of(value: DisplayValue, context: Context) -> Component:
    match value:
        case Text(text=text, role=role):
            return TextView(context, text, role)
        case Markdown(text=text):
            return markdown.Markdown(context, text)
        case Diff(text=text):
            return DiffView(context, text)
        case Code(text=text, language=language):
            return CodeView(context, text, language=language)
        case Fields():
            return _FieldsView(context, value)
        case Table():
            return markdown.Markdown(context, "\n".join(table_lines(value)))


class _FieldsView(Display):
    """Names and values; the values stand below each other."""

    def __init__(self, context: Context, fields: Fields) -> None:
        super().__init__(context)
        self._fields = [(harmless(name), harmless(text)) for name, text in fields.fields]

    def _paint(self, width: int) -> list[str]:
        palette = self._context.palette
        indent = min(max((len(name) for name, _ in self._fields), default=0), width // 2) + 2
        lines: list[str] = []
        for name, text in self._fields:
            lines += wrap(
                [(text, palette["text"])], width, [(f"{name:<{indent}}", palette["muted"])], [(" " * indent, "")]
            )
        return lines
