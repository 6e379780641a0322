"""What counts as a call that leads nowhere, for digests of calls and results."""

from itertools import cycle, islice

import pytest

from kaa.builtin.loop_detection.repeats import Repeats, SeenCall, without_volatile
from tests.support.tables import each


def look(call: str, result: str = "same") -> SeenCall:
    return SeenCall(call, call, result)


def change(call: str, edit: tuple[str, str, str] | None = None) -> SeenCall:
    return SeenCall(call, call, "done", "changes", edit=edit)


def found(*calls: SeenCall) -> list[str]:
    """What each call was found to be, one in each reply."""
    repeats = Repeats()
    return [(repeats.begin_reply(), repeats.see(one))[1] for one in calls]  # type: ignore[func-returns-value]


def test_the_same_calls_of_one_reply_count_once() -> None:
    repeats = Repeats()

    assert not any(repeats.see(look("a")) for _ in range(9))


def test_the_third_identical_call_with_the_same_result_leads_nowhere() -> None:
    assert found(look("a"), look("a"), look("a"), look("a")) == [
        "",
        "",
        "a gave the same result 3 times",
        "a gave the same result 4 times",
    ]


def test_others_in_between_do_not_matter() -> None:
    calls = [one for number in range(3) for one in (look("a"), look(f"other {number}"))]

    assert found(*calls)[4] == "a gave the same result 3 times"


def test_two_calls_in_turn_lead_nowhere() -> None:
    assert found(look("a"), look("b"), look("a"), look("b"))[3].startswith("b alternates with another call")


@each(
    "calls",
    [
        [look("a", str(number)) for number in range(20)],
        [one for number in range(9) for one in (look("test"), change(f"edit {number}"))],
        [look("a"), look("a"), *(look(f"other {number}") for number in range(12)), look("a")],
        [SeenCall("poll", "poll", "same", "waits")] * 50,
        [look("curl")._replace(is_patient=True)] * 9,
        [one for _ in range(2) for one in (change("checkout"), change(f"try {_}"))],
        [change("x", ("a.py", "1", "2")), change("y", ("a.py", "2", "1"))],
        [change(f"edit {number}", ("a.py", str(number), str(number + 1))) for number in range(20)],
        [change(f"to {number}", (f"{number}.py", "1", "2")) for number in range(20)],
    ],
    ids=["new results", "after edits", "far apart", "waits", "patient", "tries", "one revert", "edits", "files"],
)
def test_what_gets_on_is_left_alone(calls: list[SeenCall]) -> None:
    assert set(found(*calls)) == {""}


def test_what_looks_out_is_patient_but_not_for_ever() -> None:
    calls = [look("curl")._replace(is_patient=True)] * 10

    assert found(*calls)[9] == "curl gave the same result 10 times"


def test_a_change_that_was_reverted_and_is_made_again_leads_nowhere() -> None:
    there, back = ("a.py", "1", "2"), ("a.py", "2", "1")
    calls = [change("x", there), look("test"), change("y", back), look("test"), change("z", there)]

    assert found(*calls)[4] == "z was made, reverted and made again"


@pytest.mark.parametrize("commands", [["sed -i s/a/b/ f"] * 3, ["patch f", "patch -R f"] * 2])
def test_commands_that_change_the_same_again_and_again_lead_nowhere(commands: list[str]) -> None:
    assert found(*map(change, commands))[-1]


def test_the_memory_is_bounded() -> None:
    repeats = Repeats()

    for number in range(10_000):
        repeats.see(look(str(number)))
        repeats.see(change(str(number), ("f", str(number), "x")) if number % 3 == 0 else look("b", str(number)))

    sizes = [len(kept) for kept in vars(repeats).values() if not isinstance(kept, int)]
    assert max(sizes) <= 64


def test_a_long_cycle_without_a_new_result_leads_nowhere_too() -> None:
    assert any(found(*islice(cycle([look("a"), look("b"), look("c"), look("d")]), 12)))


def test_times_and_versions_are_left_out_and_long_numbers_take_no_time() -> None:
    digits = "1" * 1_000_000

    assert without_volatile(f"12.5.1 a 3 ms, 0xff {digits}") == f" a ,  {digits}"
