"""Values stay data in commands, as bash itself confirms."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kaa.components.templates.expansion import ShellCommand, UnsafeValueError
from tests.support.tables import each

HOSTILE = st.text(st.sampled_from("ab '\"\\$`!#&|;<>(){}[]*?~\n\t-=%^é"), min_size=1, max_size=12)
# Arguments of a command, with V in place of a value, and what it then gets, in Python's format.
PLACES = (
    ("V", "{0}"),
    ("-x=V,V", "-x={0},{0}"),
    ('"V"', "{0}"),
    ('"a V \\" V"', 'a {0} " {0}'),
    ("'V'", "{0}"),
    ("'\"V'V\"'V\"", "\"{0}{0}'{0}"),
    ("\\'V\\\\V", "'{0}\\{0}"),
    ('${NONE}"${NONE}V"', "{0}"),
    ("\\$V", "${0}"),
    ('"\\$V"', "${0}"),
    ("V'$'\"\\$\"V", "{0}$${0}"),
)


def filled(template: str, value: str) -> str:
    command = ShellCommand()
    first, *others = template.split("V")
    command.add(first)
    for part in others:
        command.add_value(value, (value,))
        command.add(part)
    return command.text


@given(st.lists(HOSTILE, min_size=1, max_size=8))
@settings(max_examples=25)
def test_commands_get_values_as_they_are(values: list[str]) -> None:
    cases = [(template, expected, value) for template, expected in PLACES for value in values]
    script = "\n".join(f"printf '%s\\0' {filled(template, value)}" for template, _, value in cases)

    # Restricted: if the code were wrong, this would execute anything.
    done = subprocess.run(["bash", "-rc", script], capture_output=True, check=False)

    assert done.stderr == b""
    assert done.stdout.decode().split("\0")[:-1] == [expected.format(value) for _, expected, value in cases]


@each(
    "place",
    [
        "echo $(cat V)",
        'echo "$(cat V)"',
        "echo $(true) V",
        "echo `cat V`",
        'echo "`cat V`"',
        "cat <<E\nV\nE",
        "true # it's V",
        "((V))",
        "echo $[V]",
        "echo $'V'",
        "a[V]=1",
        "V[V]=1",
        "echo ${x:-V}",
        'echo "${x:-V}"',
        "echo \\V",
        "echo $V",
        'echo "$V"',
        "echo $$V",
    ],
)
def test_where_quoting_is_uncertain_only_plain_values_are_put(place: str) -> None:
    with pytest.raises(UnsafeValueError):
        filled(place, "$(id)")
    assert "src/a-b.py HEAD" in filled(place, "src/a-b.py HEAD")


@pytest.mark.parametrize("place", ["[ -f V ] && cat V", "[[ -f V ]] || (cd V; ls)", 'x="V" y=V; { ls V; } >V 2>&1 <V'])
def test_usual_places_are_certain(place: str) -> None:
    assert filled(place, "a'b") == place.replace('"V"', '"a\'b"').replace("V", "'a'\"'\"'b'")


def test_an_empty_value_is_nothing_and_words_are_quoted_one_by_one() -> None:
    command = ShellCommand()
    command.add("git diff ")
    command.add_value("", ("",))
    command.add_value("a 'b;c'\0", ["a", "b;c\0"])

    assert command.text == "git diff a 'b;c'"
