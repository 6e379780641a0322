"""JSON for programs that may end up on a terminal."""

import json

from kaa.frontends.json_text import json_line


def test_what_a_terminal_acts_on_or_nobody_sees_is_escaped() -> None:
    value = {"name\x9b": 'a\x9b31m\u202eb\x7f\U000e0041"\\u202e', "other": "Zürich 👩‍💻"}

    line = json_line(value)

    assert json.loads(line) == value
    assert line == ('{"name\\u009b":"a\\u009b31m\\u202eb\\u007f\\udb40\\udc41\\"\\\\u202e","other":"Zürich 👩‍💻"}\n')
