"""What `write` knows of files from the session, after it was opened again."""

from typing import TYPE_CHECKING, cast

import pytest

from kaa.builtin.seen_files import SeenFiles, _known_paths
from kaa.core.messages import AssistantMessage, ToolCall, ToolResultMessage, Usage
from kaa.ext.asking import NOBODY
from kaa.ext.context import ConversationContext
from kaa.shell.conversation import Conversation
from kaa.shell.options import ContinueSession, ConversationOptions
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.protocol import CommandResult
from tests.end_to_end.kaa_process import conversation
from tests.support.agents import run
from tests.support.model_server import ScriptItem, call, say
from tests.support.stage import Stage
from tests.support.toolbox import RecordedRun

if TYPE_CHECKING:
    from kaa.ext.agents import AgentRunner

_WRITE = call("write", path="notes.txt", content="new")


class Days:
    """A project in which kaa is started again and again, with the same session."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.workspace = MemoryWorkspace({"notes.txt": b"mine\n"})

    def play(self, *script: ScriptItem, message: str = "go") -> str:
        """What the last tool said, to a model that follows a script."""
        self.stage.server.begin([*script, say("Done.")])

        async def day() -> None:
            host = self.stage.host()
            options = ConversationOptions(model="m", approvals="auto", session=ContinueSession())
            try:
                await (await host.open(options, self.workspace)).conversation.submit(message)
            finally:
                await host.close()

        run(day())
        return [text for role, text in conversation(self.stage.server.requests[-1]) if role == "tool"][-1]

    def save(self) -> None:
        """The user saves something."""
        run(self.workspace.write("notes.txt", b"saved\n"))


@pytest.fixture
def days(stage: Stage) -> Days:
    return Days(stage)


@pytest.mark.parametrize("path", ["notes.txt", "./notes.txt", "/project/notes.txt"])
def test_a_file_that_was_read_before_is_overwritten(days: Days, path: str) -> None:
    days.play(call("read", path=path))

    assert days.play(_WRITE).startswith("Overwrote notes.txt")


def test_a_file_that_was_written_before_is_overwritten(days: Days) -> None:
    days.play(call("write", path="other.txt", content="1"))

    assert days.play(call("write", path="other.txt", content="2")).startswith("Overwrote other.txt")


def test_a_file_that_was_written_in_the_millisecond_of_its_result_is_known() -> None:
    call_of_write = AssistantMessage((ToolCall("1", "write", {"path": "a.txt"}),), "", "", "", Usage(), "toolUse")
    result = ToolResultMessage("1", "write", (), is_error=False, timestamp=1_000)

    assert list(_known_paths((call_of_write, result), 1_000_999_999)) == ["a.txt"]
    assert list(_known_paths((call_of_write, result), 1_001_000_000)) == []


def test_what_was_saved_since_is_not_overwritten(days: Days) -> None:
    days.play(call("read", path="notes.txt"))
    days.save()

    assert "saved" in days.play(_WRITE)
    assert days.workspace.files["/project/notes.txt"] == b"saved\n"


def test_a_read_that_failed_shows_nothing(days: Days) -> None:
    days.play(call("read", path="notes.txt", offset=100))

    assert "was not written" in days.play(_WRITE)


def test_another_file_of_the_same_name_was_not_read(days: Days) -> None:
    run(days.workspace.write("sub/notes.txt", b"theirs\n"))
    days.play(call("read", path="notes.txt"))

    assert "was not written" in days.play(call("write", path="sub/notes.txt", content="new"))


def test_what_was_saved_while_a_command_of_the_user_or_of_an_agent_ran_is_not_overwritten(stage: Stage) -> None:
    stage.server.begin([call("read", path="notes.txt"), say("Read."), _WRITE, say("Done.")])
    stage.commands = lambda _: CommandResult(0, None, b"", 0, 0)
    options = ConversationOptions(model="m", approvals="auto")

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("read it")
        own = ConversationContext(stage.workspace, NOBODY)
        agent = own.of_agent(stage.workspace, NOBODY, lambda: cast("AgentRunner", None), "helper").of_call(
            RecordedRun()
        )
        with conversation.state(SeenFiles, SeenFiles).command("sed -i s/a/b/ notes.txt", agent):
            await conversation.run_command("sleep 3 # notes.txt", in_context=True)
            await stage.workspace.write("notes.txt", b"saved\n")
        await conversation.submit("write it")

    stage.play(scene, options)

    assert stage.workspace.files["/project/notes.txt"] == b"saved\n"
    assert "+saved" in str(stage.server.requests[-1].json["messages"])
