"""The options of slash commands that run commands of the user's."""

import pytest

from kaa.builtin.acceptance import checks_in, options_in
from kaa.ext.errors import CommandError


@pytest.mark.parametrize(
    ("typed", "text", "options"),
    [
        ("Fix it", "Fix it", []),
        (" Fix it --check make test ", "Fix it", ["make test"]),
        ("Fix it\n--check a --check  b c", "Fix it", ["a", "b c"]),
        ("Fix it --check", "Fix it", [""]),
        ("--check a", "", ["a"]),
        ("Say --checked and x--check y", "Say --checked and x--check y", []),
        ('Fix it --check "ruff format --check ." --check true', "Fix it", ["ruff format --check .", "true"]),
        ("Fix it --check 'a --check b' --check 'c'", "Fix it", ["a --check b", "c"]),
        ('Fix it --check "my prog" --flag --check b', "Fix it", ['"my prog" --flag', "b"]),
        ("Fix it --check 'a' && 'b'", "Fix it", ["'a' && 'b'"]),
        ("Fix it --check 'a --check b", "Fix it", ["'a", "b"]),
        ("Fix it --check '", "Fix it", ["'"]),
        ("Fix it --check ''", "Fix it", [""]),
    ],
)
def test_commands_are_read(typed: str, text: str, options: list[str]) -> None:
    assert options_in(typed, "check") == (text, [("check", one) for one in options])


def test_options_have_names() -> None:
    assert options_in("2 Do it --models a,b --check x --models y", "check", "models") == (
        "2 Do it",
        [("models", "a,b"), ("check", "x"), ("models", "y")],
    )


@pytest.mark.parametrize(("values", "error"), [([""], "has no command"), (["x"] * 9, "At most 8 commands")])
def test_checks_are_refused(values: list[str], error: str) -> None:
    with pytest.raises(CommandError, match=error):
        checks_in([("check", one) for one in values])
