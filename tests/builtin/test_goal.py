"""`/goal`: how long it is pursued, what shows that it is reached, and what is no goal."""

import pytest

from kaa.core.messages import user_message
from kaa.shell.conversation import CommandReply
from kaa.shell.host import HostedConversation
from kaa.shell.options import ConversationOptions
from kaa.workspace.protocol import CommandRequest, CommandResult
from tests.end_to_end.kaa_process import conversation
from tests.support.model_server import call, say
from tests.support.stage import Stage

_OPTIONS = ConversationOptions(model="m", approvals="auto")


def enter(stage: Stage, *messages: str, options: ConversationOptions = _OPTIONS) -> str:
    """Enter messages one after another. Returns what the last one, a command, answers."""

    async def scene(hosted: HostedConversation) -> str:
        *earlier, command = messages
        for message in earlier:
            await hosted.work.submit(user_message(message))
            await hosted.work.settled()
        last = await hosted.work.submit(user_message(command))
        assert isinstance(last, CommandReply)
        return last.text

    return stage.play_hosted(scene, options)


def test_progress_keeps_it_going_for_ten_checks(stage: Stage) -> None:
    checked = iter(range(99))

    def count(request: CommandRequest) -> CommandResult:
        output = f"{next(checked)}\n".encode()
        return CommandResult(1 if request.argv[-1] == "cat count" else 0, None, output, len(output), 1)

    stage.commands = count
    stage.server.begin(
        [one for number in range(20) for one in (call("write", path="count", content=f"{number}"), say("Next."))]
    )

    state = enter(stage, "/goal Count --check cat count", "/goal")

    assert len(stage.server.requests) == 20
    assert "Goal not reached after 10 checks: Count" in state


def test_what_cannot_be_checked_three_times_is_blocked(stage: Stage) -> None:
    stage.server.begin([call("read", path="x"), say("1"), say("2"), say("3"), say("4")])
    options = ConversationOptions(model="m", approvals="auto", exclude_tools=("bash",))

    state = enter(stage, "/goal Make the file --check true", "/goal", options=options)

    assert "Goal blocked: Make the file" in state
    assert "the tool bash is switched off" in state


def test_what_no_command_shows_a_model_judges(stage: Stage) -> None:
    stage.server.begin(
        [
            say("A poem."),
            say('{"done": false, "missing": "It does not rhyme."}'),
            call("write", path="poem.txt", content="x"),
            say("A rhyme."),
            say('{"done": true}'),
        ]
    )

    state = enter(stage, "/goal Write a poem that rhymes", "/goal")

    requests = stage.server.requests
    assert "It does not rhyme." in conversation(requests[2])[-1][1]
    assert "<goal>\nWrite a poem that rhymes\n</goal>" in conversation(requests[1])[-1][1]
    assert len(requests) == 5
    assert "Goal reached after 2 checks" in state


def test_stopped_it_is_not_pursued(stage: Stage) -> None:
    stage.commands = lambda _: CommandResult(1, None, b"", 0, 1)
    stage.server.begin([say("Done."), say("Hello.")])
    options = ConversationOptions(model="m", approvals="auto", max_turns=1)

    state = enter(stage, "/goal Make the file --check false", "/goal stop", "hi", "/goal", options=options)

    assert len(stage.server.requests) == 2
    assert "Goal stopped" in state


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("", "There is no goal"),
        ("go", "There is no goal"),
        ("stop", "There is no goal"),
        ("--check true", "Say what is to be reached"),
        ("Go --check  --check true", "has no command"),
        ("Go" + " --check true" * 9, "At most 8 commands"),
    ],
)
def test_what_is_no_goal_is_refused(stage: Stage, arguments: str, error: str) -> None:
    assert error in enter(stage, f"/goal {arguments}")
    assert not stage.server.requests
