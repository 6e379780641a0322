"""What fields of forms take, and how typed lines become their values."""

import pytest

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
from tests.support.tables import each

_COLOURS = (FieldOption("r", "Red"), FieldOption("b", "Blue"))


@each(
    ("field", "value"),
    [
        (TextField("a"), ""),
        (TextField("a", format="email"), "ann@example.com"),
        (TextField("a", format="uri"), "https://example.com/?q=1"),
        (TextField("a", format="date"), "2026-11-23"),
        (TextField("a", format="date-time"), "2026-11-23T09:30:00Z"),
        (NumberField("a"), 1.5),
        (NumberField("a", whole=True, minimum=1, maximum=3), 3),
        (YesNoField("a"), False),
        (ChoiceField("a", options=_COLOURS), "r"),
        (ChoicesField("a", options=_COLOURS), ["b", "r"]),
        (ChoicesField("a", options=_COLOURS), []),
    ],
)
def test_a_fitting_value_is_taken(field: Field, value: Json) -> None:
    assert checked((field,), {"a": value}) == {"a": value}


@each(
    ("field", "value", "problem"),
    [
        (TextField("a"), 1, "enter a text"),
        (TextField("a", min_length=3), "ab", "enter at least 3 characters"),
        (TextField("a", max_length=1), "ab", "enter at most 1 characters"),
        (TextField("a", format="email"), "ann", "enter an email address"),
        (TextField("a", format="uri"), "example.com", "enter an address"),
        (TextField("a", format="date"), "20261123", "enter a date"),
        (TextField("a", format="date-time"), "2026-11-23T09:30:00", "with a time zone"),
        (NumberField("a"), True, "enter a number"),
        (NumberField("a"), float("nan"), "enter a number"),
        (NumberField("a"), float("inf"), "enter a number"),
        (NumberField("a", whole=True), 1.5, "enter a whole number"),
        (NumberField("a", minimum=1), 0, "enter at least 1"),
        (YesNoField("a"), "yes", "enter true or false"),
        (ChoiceField("a", options=_COLOURS), "green", "invalid option 'green': use r, b"),
        (ChoicesField("a", options=_COLOURS), "r", "enter a list of options"),
        (ChoicesField("a", options=_COLOURS, min_items=1), [], "enter at least 1 options"),
        (ChoicesField("a", options=_COLOURS, max_items=1), ["r", "b"], "enter at most 1 options"),
    ],
)
def test_an_unfit_value_is_refused_with_the_field(field: Field, value: Json, problem: str) -> None:
    with pytest.raises(FieldError, match=f"^a: .*{problem}"):
        checked((field,), {"a": value})


def test_a_required_field_must_be_there_and_others_need_not() -> None:
    fields = (TextField("a", "Name", required=True), TextField("b"))

    with pytest.raises(FieldError, match="Name is required"):
        checked(fields, {"b": "x"})
    assert checked(fields, {"a": "x"}) == {"a": "x"}


def test_a_field_that_was_not_asked_for_is_refused() -> None:
    with pytest.raises(FieldError, match="invalid field 'c': use a, b"):
        checked((TextField("a"), TextField("b")), {"c": 1})


def test_a_default_that_does_not_fit_counts_as_none() -> None:
    fields = (NumberField("a", default=9, maximum=3), YesNoField("b", default=True), TextField("c"))

    assert defaults(fields) == {"b": True}


@pytest.mark.parametrize(("text", "value"), [("3", 3), (" -2 ", -2), ("2.5", 2.5), ("1e3", 1000.0)])
def test_a_typed_number_is_a_number(text: str, value: float) -> None:
    assert typed(NumberField("a"), text) == value


@pytest.mark.parametrize("text", ["", "three", "nan", "1e999", "٣x"])
def test_a_typed_text_is_no_number(text: str) -> None:
    with pytest.raises(FieldError, match="enter a number"):
        typed(NumberField("a"), text)


def test_a_whole_number_has_no_point() -> None:
    assert repr(typed(NumberField("a", whole=True), "3.0")) == "3"
