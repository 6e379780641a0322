import pytest

from kaa.frontends.interactive.working import QueuedMessages, StatusLine, WorkingLine, elapsed
from tests.support.painted import assert_well_formed, make_context, visible


class Clock:
    """Stands still unless it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_nothing_is_shown_while_nothing_goes_on() -> None:
    line = WorkingLine(make_context(), Clock(), lambda: "Esc stops it")

    assert line.render(80) == []
    assert not line.is_shown


def test_what_goes_on_is_shown_with_its_time_and_tokens() -> None:
    clock = Clock()
    line = WorkingLine(make_context(), clock, lambda: "Esc stops it")

    line.begin("Working")
    clock.now += 75
    line.change("Answering")
    line.add_tokens(1500)
    line.tick()

    assert visible(line.render(80)) == ["⠙ Answering (1 min 15 s, about 1.5k tokens, Esc stops it)"]
    line.end()
    assert line.render(80) == []


def test_tokens_are_counted_up_when_the_spinner_turns() -> None:
    line = WorkingLine(make_context(), Clock(), lambda: "")
    line.begin("Answering")
    before = line.render(80)

    line.add_tokens(3)
    assert line.render(80) is before
    line.tick()
    assert visible(line.render(80)) == ["⠙ Answering (0 s, about 3 tokens)"]


def test_what_it_waits_for_has_the_keys() -> None:
    clock = Clock()
    line = WorkingLine(make_context(), clock, lambda: "Esc stops it")
    line.begin("Running bash")
    line.add_tokens(33)
    line.tick()
    clock.now += 40

    line.show_instead("Waiting for your answer")
    clock.now += 8
    assert visible(line.render(80)) == ["⠙ Waiting for your answer (8 s)"]

    line.show_instead("")
    assert visible(line.render(80)) == ["⠙ Running bash (48 s, about 33 tokens, Esc stops it)"]


def test_the_time_begins_anew_with_each_run() -> None:
    clock = Clock()
    line = WorkingLine(make_context(), clock, lambda: "")
    line.begin("Working")
    line.add_tokens(7)
    clock.now += 60

    line.begin("Working")

    assert visible(line.render(80)) == ["⠋ Working (0 s)"]


def test_the_same_line_is_the_same_list() -> None:
    line = WorkingLine(make_context(), Clock(), lambda: "")
    line.begin("Working")

    assert line.render(80) is line.render(80)


@pytest.mark.parametrize("width", [1, 2, 10, 30])
def test_little_room_is_kept_to(width: int) -> None:
    context = make_context(columns=width)
    line = WorkingLine(context, Clock(), lambda: "Esc stops it")
    line.begin("Running \x1b]0;owned\x07 bash\nand more")
    queued = QueuedMessages(context, lambda: "Alt+Up takes the last one back")
    queued.show(["\x1b[2Jsteer\nlines", "two", "three"], ["four"])
    status = StatusLine(context)
    status.show("\x1b]52;c;eA==\x07copied\nand more")

    for component in (line, queued, status):
        assert_well_formed(component.render(width), width)


def test_what_waits_is_told_in_its_order_and_not_at_length() -> None:
    queued = QueuedMessages(make_context(), lambda: "Alt+Up takes the last one back")
    assert queued.render(80) == []

    queued.show(["one\ntwo"], ["three"])
    assert visible(queued.render(80)) == [
        " steering: one two",
        " afterwards: three",
        " Alt+Up takes the last one back",
    ]
    queued.show_entered(["four"])
    queued.show(["one"], [])
    assert visible(queued.render(80))[:2] == [" steering: one", " afterwards: four"]
    queued.show_entered([])
    assert visible(queued.render(80))[0] == " steering: one"
    queued.show(list("abcde"), [])
    assert visible(queued.render(80))[3] == " and 2 more"
    queued.show([], [])
    assert queued.render(80) == []


def test_a_status_is_shown_until_it_is_another() -> None:
    status = StatusLine(make_context())
    assert status.render(80) == []

    status.show("copied")
    assert visible(status.render(80)) == [" copied"]
    status.show("")
    assert status.render(80) == []


def test_a_long_status_can_be_read_to_its_end_but_does_not_take_the_screen() -> None:
    status = StatusLine(make_context())

    status.show("mine.json is not a theme: it is not JSON")
    assert visible(status.render(20)) == [" mine.json is not a", " theme: it is not", " JSON"]
    status.show("word " * 100)
    assert len(status.render(20)) == 4


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (59.9, "59 s"), (60, "1 min 00 s"), (3605, "60 min 05 s")]
)
def test_times_are_for_people(seconds: float, words: str) -> None:
    assert elapsed(seconds) == words


def test_reports_of_agents_that_wait_cannot_be_taken_back() -> None:
    queued = QueuedMessages(make_context(), lambda: "Alt+Up takes the last one back")

    queued.show([], ["[kaa.builtin.agents] [agent a1] It has finished"])

    assert visible(queued.render(80)) == [" afterwards: [agent a1] It has finished"]
