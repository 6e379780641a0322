"""Display values of extensions as components of the terminal."""

from kaa.core.display_values import Code, Diff, DisplayValue, Fields, Markdown, Table, Text, table_lines
from kaa.tui.component import Component
from kaa.tui.components import markdown
from kaa.tui.components.code import Code as CodeView
from kaa.tui.components.diff import DiffView
from kaa.tui.components.display import Display
from kaa.tui.components.text import Text as TextView
from kaa.tui.components.text import harmless
from kaa.tui.context import Context
from kaa.tui.layout import wrap


def component_of(value: DisplayValue, context: Context) -> Component:
    """What paints a display value."""
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
