"""Variables in the entries of servers."""

import pytest

from kaa.shell.mcp.config.variables import VariableError, filled_in, unset_in, variables_in
from tests.support.tables import each

_ENVIRON = {"TEAM": "blue", "EMPTY": "", "HOME": "/home/ada", "INPUT_API_KEY": "k"}


@each(
    ("text", "filled"),
    [
        ("${TEAM}-${env:TEAM}", "blue-blue"),
        ("${TEAM:-red} ${NONE:-red} ${EMPTY:-red} ${NONE:-}", "blue red red "),
        ("${NONE} $TEAM ${TEAM ${1}", "${NONE} $TEAM ${TEAM ${1}"),
        ("${workspaceFolder}${/}src ${userHome}", "/project/src /home/ada"),
        ("${TEAM:-${HOME}}", "blue}"),
        ("${input:api-key} ${input:other}", "k ${input:other}"),
    ],
)
def test_variables_and_places_are_filled_in(text: str, filled: str) -> None:
    assert filled_in(text, _ENVIRON, "/project") == filled


def test_a_variable_that_must_stay_secret_is_refused_by_name() -> None:
    with pytest.raises(VariableError, match=r"\$\{TEAM\} is a key of kaa"):
        filled_in("x ${TEAM:-red}", _ENVIRON, "/project", {"TEAM"})


def test_the_names_of_variables_are_told_but_not_those_of_places() -> None:
    assert variables_in("${A} ${env:B} ${C:-d} ${workspaceFolder} ${userHome} ${/}") == {"A", "B", "C"}


def test_what_is_not_set_and_has_no_default_is_told() -> None:
    assert unset_in(["${TEAM} ${NONE}", "${EMPTY} ${X:-y} ${workspaceFolder}", "${input:a b}"], _ENVIRON) == [
        "EMPTY",
        "INPUT_A_B",
        "NONE",
    ]
