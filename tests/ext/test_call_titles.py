"""Titles of tool calls: what a template can name, and what becomes of arguments of any kind."""

from typing import Any

import pytest

from kaa.core.messages import Json
from kaa.ext.call_titles import checked_title, filled_title
from kaa.ext.errors import RegistrationError
from tests.support.tables import each

_PARAMETERS: dict[str, Json] = {"type": "object", "properties": {"path": {}, "count": {}}}


@each(
    ("arguments", "title"),
    [
        ({"path": "a.txt", "count": 3}, "a.txt (3)"),
        ({"path": "a.txt"}, "a.txt (…)"),
        ({"path": None, "count": True}, "… (true)"),
        ({"path": "two\nlines\tand more", "count": 1}, "two lines and more (1)"),
        ({"path": "\x1b[31mred\x07\u202e", "count": 0}, "\\x1b[31mred\\x07\\u202e (0)"),
        ({"path": "{count}", "count": "{path}"}, "{count} ({path})"),
        ({"path": ["ü", {"a": 1}], "count": 1.5}, '["ü", {"a": 1}] (1.5)'),
        ({"path": "\ud800", "count": ["\ud800"]}, '\\ud800 (["\\ud800"])'),
        ({"path": "x" * 5000, "count": 1}, f"{'x' * 99}… (1)"),
    ],
)
def test_arguments_are_one_clean_line(arguments: dict[str, Json], title: str) -> None:
    assert filled_title(checked_title("{path} ({count})", _PARAMETERS), arguments) == title


def test_braces_can_be_written_and_long_titles_are_cut() -> None:
    assert filled_title(checked_title("{{{path}}}", _PARAMETERS), {"path": "a"}) == "{a}"
    assert len(filled_title("{path}{path}{path}", {"path": "x" * 100})) == 200


@each(
    ("template", "problem"),
    [
        ("{file}", "{file} is not one of the parameters {path}, {count}"),
        ("{}", "{} is not one of the parameters"),
        ("{path.__class__}", "{path.__class__} is not one of the parameters"),
        ("{path!r}", "{path!r} is not one of the parameters"),
        ("{path:>999999999}", "is not one of the parameters"),
        ("{path", "{ is not one of the parameters"),
        ("path}", "} is not one of the parameters"),
        ("two\nlines", "use one line of at most 200 characters"),
        ("\x1b[31m", "use one line of at most 200 characters"),
        ("x" * 201, "use one line of at most 200 characters"),
        (3, "invalid title '3': use one line"),
    ],
)
def test_what_names_no_parameter_is_refused(template: Any, problem: str) -> None:
    with pytest.raises(RegistrationError) as error:
        checked_title(template, _PARAMETERS)

    assert problem in str(error.value)


def test_a_tool_without_parameters_has_none_to_name() -> None:
    with pytest.raises(RegistrationError, match="there are none"):
        checked_title("{path}", {})
