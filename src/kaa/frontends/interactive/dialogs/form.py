"""The dialog of a form: its fields with their values as a list, and one of them at a time to be entered."""

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from kaa.core.forms import (
    ChoiceField,
    ChoicesField,
    Field,
    FieldError,
    FieldOption,
    NumberField,
    TextField,
    YesNoField,
    checked,
    defaults,
    typed,
)
from kaa.core.messages import Json
from kaa.ext.questions import Declined, Dismissed, Filled, Form
from kaa.frontends.interactive.dialogs.frame import QuestionDialog
from kaa.frontends.interactive.dialogs.paragraph import paragraph
from kaa.frontends.interactive.selectors.lists import words_first
from kaa.tui.component import Component
from kaa.tui.components.input import Input
from kaa.tui.components.select_list import SelectItem, SelectList
from kaa.tui.context import Context
from kaa.tui.events import Input as InputEvent
from kaa.tui.events import Key
from kaa.tui.sanitize import one_line, squeezed

_Row: TypeAlias = tuple[Literal["field", "end"], str]
_SEND: _Row = ("end", "send")
_DECLINE: _Row = ("end", "decline")

_EMPTY = "(empty)"
_REQUIRED = "(required)"


class FormDialog(QuestionDialog[Filled | Declined | Dismissed]):
    """Takes the values of a form. Nothing is sent before the person chooses to."""

    _keys = "Enter changes a value or sends the form, Esc cancels"

    def __init__(
        self, context: Context, question: Form, on_answer: Callable[[Filled | Declined | Dismissed], None]
    ) -> None:
        super().__init__(context, question.title, self._said, on_answer)
        self._fields: dict[str, Field] = {field.name: field for field in question.fields}
        self._message = question.message
        self._values = defaults(question.fields)
        self._asked: Field | None = None
        self._problem = ""
        self._overview: _Fields | None = None

    def _answering(self) -> Component:
        self._overview = _Fields(
            self._context,
            self._rows(),
            on_select=lambda item: self._choose(item.value),
            on_cancel=lambda: self._answer(Dismissed()),
            on_type=self._begin,
        )
        missing = [name for name, field in self._fields.items() if field.required and name not in self._values]
        first = (missing or list(self._fields))[:1]
        self._overview.select(("field", first[0]) if first else _DECLINE)
        return self._overview

    def _rows(self) -> list[SelectItem[_Row]]:
        fields: list[SelectItem[_Row]] = [
            SelectItem(("field", name), squeezed(field.label), squeezed(self._value(field)))
            for name, field in self._fields.items()
        ]
        return [*fields, SelectItem(_SEND, "Send"), SelectItem(_DECLINE, "Decline")]

    def _value(self, field: Field) -> str:
        value = self._values.get(field.name)
        if value is None:
            return _REQUIRED if field.required else _EMPTY
        if isinstance(field, ChoiceField | ChoicesField):
            chosen = value if isinstance(value, list) else [value]
            return ", ".join(option.text for option in field.options if option.value in chosen) or "(none)"
        return _as_text(value)

    def _said(self, width: int) -> list[str]:
        """Why the form is there, what the value in question is, and what was wrong with the one before."""
        said = [(line, "text") for line in self._message.splitlines()]
        if self._asked is not None:
            said += [("", "text")] if said else []
            said.append((f"{self._asked.label}:", "accent"))
            said += [(line, "text") for line in self._asked.description.splitlines()]
        if self._problem:
            said.append((self._problem, "error"))
        return [line for text, token in said for line in paragraph(self._context, text, token, width)]

    def _choose(self, row: _Row) -> None:
        kind, name = row
        if kind == "field":
            self._change(self._fields[name])
        elif row == _DECLINE:
            self._answer(Declined())
        else:
            self._send()

    def _begin(self, row: _Row, typed: InputEvent) -> None:
        """Take what is typed as the beginning of the selected field's value, or of the option to find."""
        kind, name = row
        if kind == "field":
            self._change(self._fields[name])
            if isinstance(self.control, Input):
                self.control.set_text("")  # Esc brings the value back
            self.control.key(typed)

    def _send(self) -> None:
        try:
            values = checked(tuple(self._fields.values()), self._values)
        except FieldError as error:
            self._complain(str(error))
            return
        self._answer(Filled(values))

    def _change(self, field: Field) -> None:
        self._asked, self._problem = field, ""
        self.tell(self._said)
        self.exchange(self._control_of(field), "Enter takes the value, Esc goes back")

    def _control_of(self, field: Field) -> Component:
        match field:
            case YesNoField():
                options = (FieldOption("yes", "Yes"), FieldOption("no", "No"))
                return self._list(options, lambda answer: self._entered(answer == "yes"))
            case ChoiceField(options=options):
                return self._list(options, self._entered)
            case ChoicesField():
                return _Ticks(self._context, field, self._ticked(field), self._entered, self._back)
            case TextField() | NumberField():
                line = Input(self._context)  # its label is what `_said` ends with
                line.set_text(_as_text(self._values.get(field.name, "")))
                line.on_submit = self._typed
                line.on_cancel = self._back
                return line

    def _list(self, options: Sequence[FieldOption], take: Callable[[str], None]) -> SelectList[str]:
        assert self._asked is not None
        now = self._values.get(self._asked.name)
        now = ("yes" if now else "no") if isinstance(now, bool) else now
        items = [SelectItem(option.value, squeezed(option.text), is_current=option.value == now) for option in options]
        return SelectList(
            self._context,
            items,
            on_select=lambda item: take(item.value),
            on_cancel=self._back,
            rank=words_first,
        )

    def _ticked(self, field: ChoicesField) -> list[str]:
        value = self._values.get(field.name)
        return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []

    def _typed(self, text: str) -> None:
        field = self._asked
        assert isinstance(field, TextField | NumberField)
        if not text and not field.required:
            self._values.pop(field.name, None)
            self._next()
            return
        try:
            self._values[field.name] = typed(field, text)
        except FieldError as error:
            self._complain(str(error))
        else:
            self._next()

    def _entered(self, value: Json) -> None:
        assert self._asked is not None
        try:
            self._values[self._asked.name] = self._asked.check(value)
        except FieldError as error:
            self._complain(str(error))
        else:
            self._next()

    def _complain(self, problem: str) -> None:
        self._problem = problem
        self.tell(self._said)

    def _next(self) -> None:
        """Back to the list, at the field behind the one that was changed."""
        assert self._asked is not None
        rows: list[_Row] = [*(("field", name) for name in self._fields), _SEND]
        self._back(rows[rows.index(("field", self._asked.name)) + 1])

    def _back(self, row: _Row | None = None) -> None:
        assert self._overview is not None
        stay: _Row | None = ("field", self._asked.name) if self._asked else None
        self._asked, self._problem = None, ""
        self._overview.set_items(self._rows())
        if (at := row or stay) is not None:
            self._overview.select(at)
        self.tell(self._said)
        self.exchange(self._overview, self._keys)


class _Fields(SelectList[_Row]):
    """The fields and the ends of a form. It has no search: what is typed is for the selected field."""

    def __init__(
        self,
        context: Context,
        rows: Sequence[SelectItem[_Row]],
        *,
        on_select: Callable[[SelectItem[_Row]], None],
        on_cancel: Callable[[], None],
        on_type: Callable[[_Row, InputEvent], None],
    ) -> None:
        super().__init__(context, rows, on_select=on_select, on_cancel=on_cancel)
        self._on_type = on_type

    def key(self, key: InputEvent) -> bool:
        """Move, choose, cancel, or hand over what is typed."""
        if super().key(key):
            return True
        if self.selected is None or not key.text or (isinstance(key, Key) and key.action == "release"):
            return False
        self._on_type(self.selected.value, key)
        return True


class _Ticks(SelectList[str]):
    """Options to tick; the last row takes them."""

    def __init__(
        self,
        context: Context,
        field: ChoicesField,
        ticked: list[str],
        on_done: Callable[[list[Json]], None],
        on_cancel: Callable[[], None],
    ) -> None:
        self._field = field
        self._ticked = ticked
        self._on_done = on_done
        super().__init__(context, self._entries(), on_select=self._toggle, on_cancel=on_cancel, rank=words_first)

    def _entries(self) -> list[SelectItem[str]]:
        marks = {True: "[x]", False: "[ ]"}
        entries = [
            SelectItem(f"option {option.value}", squeezed(option.text), mark=marks[option.value in self._ticked])
            for option in self._field.options
        ]
        return [*entries, SelectItem("done", "Done", mark="   ")]

    def _toggle(self, item: SelectItem[str]) -> None:
        if item.value == "done":
            self._on_done([option.value for option in self._field.options if option.value in self._ticked])
            return
        self._ticked = [*{*self._ticked} ^ {item.value.removeprefix("option ")}]
        self.set_items(self._entries())
        self.select(item.value)


def _as_text(value: Json) -> str:
    match value:
        case bool():
            return "Yes" if value else "No"
        case float() if value == int(value):
            return str(int(value))
        case str():
            return one_line(value)
        case _:
            return str(value)
