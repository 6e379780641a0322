"""Loops of scripted models in whole conversations: who is told, and how it ends."""

import asyncio
import json
from collections.abc import Collection, Sequence
from itertools import pairwise

import pytest

from kaa.core.events import AgentEnd, ToolExecutionEnd
from kaa.ext.display import DisplayKind, DisplayUpdate, plain_text_of
from kaa.ext.questions import Chosen, Dismissed
from kaa.shell.conversation import Conversation
from kaa.shell.options import ConversationOptions
from kaa.workspace.protocol import CommandRequest, CommandResult
from tests.end_to_end.kaa_process import conversation as said_in
from tests.support.model_server import ScriptItem, call, say
from tests.support.person import Person
from tests.support.stage import Stage

_READ = call("read", path="notes.txt")


class Display:
    """Keeps the notices that are shown."""

    shows: Collection[DisplayKind] = ("notice", "status")

    def __init__(self) -> None:
        self.notices: list[str] = []

    def show(self, update: DisplayUpdate) -> None:
        self.notices.append(plain_text_of(update.change))


def play(stage: Stage, script: Sequence[ScriptItem], *messages: str) -> tuple[list[AgentEnd], list[str]]:
    """Play a conversation. Returns the ends of its runs, and the ends of the results of its calls."""
    stage.server.begin(script)
    stage.commands = stage.commands or (lambda _: CommandResult(1, None, b"1 failed in 0.12s\n", 18, 1))
    ends: list[AgentEnd] = []
    results: list[str] = []

    def observe(event: object) -> None:
        match event:
            case AgentEnd():
                ends.append(event)
            case ToolExecutionEnd(result=result):
                results.append(result.text)
            case _:
                pass

    async def scene(conversation: Conversation) -> None:
        conversation.subscribe(observe)
        for message in messages or ("do it",):
            await conversation.submit(message)

    stage.play(scene, ConversationOptions(model="m", approvals="auto"))
    return ends, results


@pytest.fixture
def display(stage: Stage) -> Display:
    stage.display = display = Display()
    return display


def test_the_model_is_told_once_then_the_user_then_a_script_stops(stage: Stage, display: Display) -> None:
    [end], results = play(stage, [_READ] * 9)

    assert [("[loop]" in one) for one in results] == [False, False, True, False, False]
    assert "[loop] read `notes.txt` gave the same result 3 times. Do something else" in results[2]
    assert display.notices == ["The model repeats itself: read `notes.txt` gave the same result 4 times."]
    assert (end.reason, end.error) == (
        "loop",
        "the model repeats itself: read `notes.txt` gave the same result 5 times",
    )


def test_one_that_listens_goes_on(stage: Stage, display: Display) -> None:
    [end], _ = play(stage, [_READ, _READ, _READ, call("read", path="other.txt"), say("Done.")])

    assert (end.reason, display.notices) == ("done", [])


def test_what_was_sent_does_not_change(stage: Stage) -> None:
    play(stage, [_READ] * 4 + [say("Done.")])

    bodies = [request.json["messages"] for request in stage.server.requests if request.method == "POST"]
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(bodies))


def test_at_the_terminal_the_user_decides(stage: Stage, display: Display) -> None:
    stage.asker = person = Person(Chosen("Continue"), Chosen("Stop"))

    ends, results = play(stage, [*[_READ] * 8, say("Continued.")], "do it", "continue")

    assert person.questions[0].title.startswith("The model repeats itself: read `notes.txt` gave the same result 4")
    assert [end.reason for end in ends] == ["loop", "done"]
    assert (ends[0].error or "").startswith("paused, because the model repeats itself")
    assert len(results) == 8
    assert display.notices == []


def test_closing_the_question_pauses(stage: Stage) -> None:
    stage.asker = Person(Dismissed())

    [end], _ = play(stage, [_READ] * 9)

    assert end.reason == "loop"


def test_edits_that_revert_each_other_are_a_loop(stage: Stage) -> None:
    stage.files["a.py"] = b"x = 1\ny = 2\n"
    there = call("edit", path="a.py", edits=[{"oldText": "x = 1", "newText": "x = 2"}])
    back = call("edit", path="a.py", edits=[{"oldText": "x = 2\ny = 2", "newText": "x = 1\ny = 2"}])
    test = call("bash", command="pytest")

    [end], results = play(stage, [there, test, back, test, there, test, back, test, there, test, say("?")])

    assert "[loop] edit `a.py` was made, reverted and made again." in results[4]
    assert end.reason == "loop"


def edit(old: str, new: str) -> ScriptItem:
    return call("edit", path="long.txt", edits=[{"oldText": old, "newText": new}])


@pytest.mark.parametrize("is_loop", [False, True])
def test_different_edits_of_a_long_line_are_no_loop(stage: Stage, display: Display, is_loop: bool) -> None:
    """They differ behind what a diff shows of the line."""
    stage.files["long.txt"] = ("x" * 2000 + "a=1;b=1;c=1;d=1;e=1;f=1;\n").encode()
    test = call("bash", command="pytest")
    edits = [edit(f"{name}=1;", f"{name}=2;") for name in "abcdef"]
    if is_loop:
        edits = [edit("a=1;", "a=2;"), edit("a=2;", "a=1;")] * 3

    [end], results = play(stage, [*(step for one in edits for step in (one, test)), say("Done.")])

    assert (end.reason == "loop") == is_loop
    assert any("[loop]" in result for result in results) == is_loop


def test_failing_edits_that_are_repeated_are_a_loop(stage: Stage) -> None:
    wrong = call("edit", path="notes.txt", edits=[{"oldText": "tea", "newText": "x"}])

    [end], results = play(stage, [wrong] * 6)

    assert "[loop]" in results[2]
    assert end.reason == "loop"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (call("bash", command="pytest"), call("bash", command="git status")),
        (_READ, call("bash", command="ls")),
    ],
)
def test_two_calls_in_turn_are_a_loop(stage: Stage, first: ScriptItem, second: ScriptItem) -> None:
    [end], results = play(stage, [first, second] * 5)

    assert "[loop]" in results[3]
    assert end.reason == "loop"


def test_tests_after_edits_are_none_although_they_fail_alike(stage: Stage) -> None:
    tries = [
        one
        for number in range(6)
        for one in (
            call("write", path="a.py", content=f"x = {number}"),
            call("bash", command="pytest"),
            call("bash", command=f"sed -i s/{number}/7/ a.py"),
            call("bash", command="pytest"),
        )
    ]

    [end], results = play(stage, [*tries, say("Done.")])

    assert end.reason == "done"
    assert not any("[loop]" in one for one in results)


@pytest.mark.parametrize(
    ("poll", "times"),
    [
        (call("bash", command="sleep 5; cat log"), 30),
        (call("process", action="list"), 30),
        (call("bash", command="curl -s localhost:8000/health"), 9),
    ],
)
def test_waiting_is_none(stage: Stage, poll: ScriptItem, times: int) -> None:
    [end], results = play(stage, [*[poll] * times, say("Done.")])

    assert end.reason == "done"
    assert not any("[loop]" in one for one in results)


def test_while_something_runs_in_the_background_looking_is_waiting(stage: Stage) -> None:
    async def command(request: CommandRequest) -> CommandResult:
        if "serve" in request.argv[-1]:
            await asyncio.Event().wait()
        return CommandResult(1, None, b"not yet", 7, 1)

    stage.commands = command
    script = [call("bash", command="serve", background=True), *[call("bash", command="grep -c ready log")] * 8]

    [end], results = play(stage, [*script, say("Done.")])

    assert end.reason == "done"
    assert not any("[loop]" in one for one in results)


@pytest.mark.parametrize(
    "refused", [call("bash", command="git push --force"), call("no_such_tool"), call("read", nonsense=1)]
)
def test_calls_that_are_refused_are_seen_too(stage: Stage, refused: ScriptItem) -> None:
    [end], results = play(stage, [refused] * 9)

    assert len(results) == 5
    assert end.reason == "loop"
    told = [text for request in stage.server.requests for _, text in said_in(request)]
    assert any("[loop]" in one for one in told)


def test_long_outputs_are_compared_without_the_files_that_have_them(stage: Stage) -> None:
    logs = iter(range(99))
    output = b"failed\n" * 3_000
    stage.commands = lambda _: CommandResult(1, None, output, 99_999, 9_999, log_path=f"/tmp/{next(logs)}x.log")

    [end], results = play(stage, [call("bash", command="make test")] * 9)

    assert "x.log" in results[0]
    assert end.reason == "loop"


def test_a_message_of_the_user_begins_anew(stage: Stage, display: Display) -> None:
    ends, results = play(stage, [_READ, _READ, say("1"), _READ, _READ, say("2")], "one", "two")

    assert [end.reason for end in ends] == ["done", "done"]
    assert not any("[loop]" in one for one in results)


def test_an_agent_that_repeats_itself_ends(stage: Stage, display: Display) -> None:
    [end], results = play(stage, [call("agent", agent="explore", task="look"), *[_READ] * 5, say("It could not.")])

    assert end.reason == "done"
    assert "the model repeats itself: read `notes.txt`" in results[-1]


def test_off_nothing_is_told(stage: Stage) -> None:
    stage.home.mkdir(exist_ok=True)
    (stage.home / "settings.json").write_text(json.dumps({"features": {"loopDetection": False}}))

    [end], results = play(stage, [*[_READ] * 8, say("Done.")])

    assert end.reason == "done"
    assert not any("[loop]" in one for one in results)
