"""What the user types behind `/try`."""

import pytest

from kaa.builtin.attempts.running import Wanted, wanted_in
from kaa.ext.errors import CommandError
from tests.support.tables import each


@each(
    ("typed", "error"),
    [
        ("", "Say how many agents are to attempt it: /try N TASK"),
        ("Fix it", "Say how many agents"),
        ("1 Fix it", "1 agents cannot attempt it at once: use 2 to 8"),
        ("9 Fix it", "use 2 to 8"),
        (f"{'9' * 5000} Fix it", "use 2 to 8"),
        ("3", "Say what is to be attempted"),
        ("3 --check true", "Say what is to be attempted"),
        ("3 Fix it --check", "A --check has no command"),
        ("3 Fix it" + " --check true" * 9, "At most 8 commands"),
        ("3 Fix it --take first --check true", "invalid value 'first' of --take: use best"),
        ("3 Fix it --take best", "--take best needs a --check"),
        ("2 Fix it --models a,b,c", "--models names 3 models for 2 attempts"),
        ("2 Fix it --models a,,", "--models names an empty model"),
        ("2 Fix it --models a --models b", "--models is there twice"),
    ],
)
def test_what_cannot_be_attempted_is_refused(typed: str, error: str) -> None:
    with pytest.raises(CommandError) as refused:
        wanted_in(typed)

    assert error in str(refused.value)


def test_checks_and_models_are_read() -> None:
    wanted = wanted_in("3 Fix it --check make test --check true --models a,b --take best")

    assert wanted == Wanted("Fix it", 3, ("make test", "true"), ("a", "b"), takes_best=True)
    assert [wanted.model(number) for number in (1, 2, 3)] == ["a", "b", "a"]
