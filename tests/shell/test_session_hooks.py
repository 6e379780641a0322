"""Hooks for the start and the end of a session, and services, of extensions that come and go during the session."""

import asyncio

from kaa.shell.conversation import Conversation
from kaa.shell.host import Host
from kaa.shell.options import ConversationOptions
from kaa.workspace.memory import MemoryWorkspace
from tests.shell.test_extension_life import install, play
from tests.support.model_script import say
from tests.support.stage import Stage

_NOTING = """
import asyncio
from pathlib import Path

NOTES = Path(__file__).parents[1] / "notes.txt"


def note(text):
    with NOTES.open("a") as file:
        file.write("VERSION " + text + "\\n")


def extend(kaa):
    @kaa.on_session_start
    async def begun(start, context):
        note("start " + start.reason)

    @kaa.service
    async def served(context):
        note("service")
        try:
            await asyncio.Event().wait()
        finally:
            note("service ends")

    @kaa.on_session_end
    async def ended(end, context):
        note("end " + end.reason)

    @kaa.on_close
    def closed():
        note("closed")
"""


async def _begun(host: Host) -> Conversation:
    hosted = await host.open(ConversationOptions(model="m", approvals="never"), MemoryWorkspace())
    await hosted.begin()
    return hosted.conversation


def _version(name: str) -> str:
    return _NOTING.replace("VERSION", name)


def _notes(stage: Stage) -> list[str]:
    return (stage.home / "notes.txt").read_text().splitlines()


class TestReload:
    def test_ends_the_previous_version_before_the_next_one_starts(self, stage: Stage) -> None:
        path = install(stage, "mine.py", _version("one"))

        async def scene(host: Host) -> None:
            conversation = await _begun(host)
            await asyncio.sleep(0)  # services are tasks
            path.write_text(_version("two"))
            stage.server.begin([say("done"), say("done")])
            await conversation.submit("go")
            await conversation.submit("go")

        play(stage, scene)

        assert _notes(stage) == [
            "one start startup",
            "one service",
            "one service ends",
            "one end reload",
            "one closed",
            "two start reload",
            "two service",
            "two service ends",
            "two end quit",
            "two closed",
        ]

    def test_that_fails_calls_no_hook(self, stage: Stage) -> None:
        path = install(stage, "mine.py", _version("one"))

        async def scene(host: Host) -> None:
            conversation = await _begun(host)
            path.write_text(_version("two") + "    raise ValueError('bug')\n")
            await conversation.submit("/reload")

        play(stage, scene)

        assert [line for line in _notes(stage) if "service" not in line] == [
            "one start startup",
            "two closed",
            "one end quit",
            "one closed",
        ]

    def test_starts_new_extensions_and_ends_removed_ones_in_every_conversation(self, stage: Stage) -> None:
        install(stage, "other.py", "def extend(kaa): pass\n")

        async def scene(host: Host) -> None:
            conversation, _ = await _begun(host), await _begun(host)
            path = install(stage, "mine.py", _version("new"))
            await conversation.submit("/reload")
            path.unlink()
            await conversation.submit("/reload")

        play(stage, scene)

        # The second conversation uses what it was opened with.
        assert [line for line in _notes(stage) if "service" not in line] == [
            "new start reload",
            "new end reload",
            "new closed",
        ]

    def test_calls_the_hooks_in_all_conversations_that_use_the_extension(self, stage: Stage) -> None:
        path = install(stage, "mine.py", _version("one"))

        async def scene(host: Host) -> None:
            conversation, other = await _begun(host), await _begun(host)
            path.write_text(_version("two"))
            await conversation.submit("/reload")
            await other.submit("/help")

        play(stage, scene)

        notes = _notes(stage)
        assert notes.count("one end reload") == notes.count("two start reload") == 2

    def test_holds_the_next_message_until_the_hooks_have_returned(self, stage: Stage) -> None:
        install(stage, "mine.py", "def extend(kaa): pass\n")
        sending = """
def extend(kaa):
    @kaa.on_session_start
    async def begun(start, context):
        context.session.add_message("loaded by " + start.reason)
"""

        async def scene(host: Host) -> None:
            conversation = await _begun(host)
            (stage.home / "extensions" / "mine.py").write_text(sending)
            stage.server.begin([say("done")])
            await conversation.submit("go")
            texts = [getattr(message, "text", "") for message in conversation.messages]
            assert texts == ["loaded by reload", "go", "done"]

        play(stage, scene)


class TestSwitching:
    def test_an_extension_off_ends_its_session_and_on_starts_it(self, stage: Stage) -> None:
        install(stage, "mine.py", _version("one"))

        async def scene(host: Host) -> None:
            conversation = await _begun(host)
            for command in ("/extensions disable mine", "/extensions enable mine", "/help"):
                await conversation.submit(command)

        play(stage, scene)

        assert [line for line in _notes(stage) if "service" not in line] == [
            "one start startup",
            "one end reload",
            "one start reload",
            "one end quit",
            "one closed",
        ]
