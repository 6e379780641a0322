"""Several conversations in one process: their extensions, projects, trust, notifications, and going to another one."""

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.core.events import AgentEnd, Event, MessageUpdate
from kaa.core.messages import user_message
from kaa.ext.errors import ExtensionError, MessageBlockedError
from kaa.ext.loader import load_extension
from kaa.ext.questions import Confirmed, Dismissed, Question, TrustDecision
from kaa.session.errors import SessionNotFoundError
from kaa.shell.conversation import CommandReply, Conversation
from kaa.shell.home import Home
from kaa.shell.host import Host, HostedConversation, HostNotice
from kaa.shell.options import ConversationOptions, HostOptions, ResumeSession
from kaa.shell.safety import SandboxFlags
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.protocol import CommandRequest
from tests.support.agents import run
from tests.support.elsewhere import folder_elsewhere
from tests.support.extension_ids import named
from tests.support.model_script import Answer, Fault, call, say
from tests.support.person import AnswerT, Person, yes_or_no
from tests.support.stage import Stage

_OPTIONS = ConversationOptions(model="m", approvals="never")

# Notes when it is executed, when it registers and when it is unloaded.
_NOTING = """
from pathlib import Path

from kaa.ext.api import Reply

def note(word):
    with Path(__file__).with_name("noted.txt").open("a") as file:
        print(word, file=file)

note("executed")

def extend(api):
    note("registered")
    api.on_close(lambda: note("unloaded"))
    async def greet(arguments, context):
        return Reply("hello")
    api.register_command("greet", "Say hello.", greet)
"""

# Asks, and answers with the conversation that it was asked in.
_ASKING = """
from kaa.ext.api import Reply
from kaa.ext.asking import confirm

def extend(api):
    async def ask(arguments, context):
        await confirm(context.asker, "Go on?")
        return Reply(context.conversation_id)
    api.register_command("ask", "Ask.", ask)
"""


_TOOL = """
    from kaa.ext.api import TypedTool, text_result
    import msgspec
    class Nothing(msgspec.Struct): pass
    async def look(arguments, context):
        return text_result("seen")
    api.register_tool(TypedTool("look", "Look.", Nothing, look))
"""

_FOLDER = """
from kaa.ext.api import Reply
from .words import WORD

def extend(api):
    async def greet(arguments, context):
        return Reply(WORD)
    api.register_command("greet", "Say hello.", greet)
"""


async def reload(conversation: Conversation) -> str:
    """What `/reload` answers."""
    reply = await conversation.submit("/reload")
    assert isinstance(reply, CommandReply)
    return reply.text


def noted(stage: Stage) -> list[str]:
    return (stage.home / "extensions" / "noted.txt").read_text().split()


def names(conversation: Conversation) -> set[str]:
    return {command.name for command in conversation.commands}


class TestExtensions:
    def test_are_executed_once_for_conversations_one_after_the_other(self, stage: Stage) -> None:
        stage.install(_NOTING)

        async def scenario() -> None:
            host = stage.host()
            for _ in range(2):
                hosted = await host.open(_OPTIONS, MemoryWorkspace())
                assert await hosted.conversation.submit("/greet") == CommandReply("hello")
                await host.end(hosted)
            assert noted(stage) == ["executed", "registered"]
            await host.close()

        run(scenario())

        assert noted(stage) == ["executed", "registered", "unloaded"]

    def test_are_executed_once_for_conversations_at_the_same_time(self, stage: Stage) -> None:
        stage.install(_NOTING)

        async def scenario() -> None:
            host = stage.host()
            both = await asyncio.gather(*(host.open(_OPTIONS, MemoryWorkspace()) for _ in range(2)))
            for hosted in both:
                assert await hosted.conversation.submit("/greet") == CommandReply("hello")
            await host.end(both[0])
            assert await both[1].conversation.submit("/greet") == CommandReply("hello")
            await host.close()

        run(scenario())

        assert noted(stage) == ["executed", "registered", "unloaded"]

    def test_that_are_unloaded_and_loaded_again_change_what_a_conversation_offers(self, stage: Stage) -> None:
        stage.install(_NOTING)
        path = stage.home / "extensions" / "mine.py"

        async def scenario() -> None:
            host = stage.host()
            conversation = (await host.open(_OPTIONS, MemoryWorkspace())).conversation
            assert "greet" in names(conversation)

            host.extensions.unload(named(path))
            assert "greet" not in names(conversation)

            path.write_text(_NOTING.replace('"greet"', '"welcome"'))
            host.extensions.load(named(path), load_extension(path))
            assert "welcome" in names(conversation)
            assert await conversation.submit("/welcome") == CommandReply("hello")
            await host.close()

        run(scenario())

    def test_that_changed_are_loaded_again_during_a_conversation(self, stage: Stage) -> None:
        stage.install(_NOTING)
        path = stage.home / "extensions" / "mine.py"

        async def scenario() -> None:
            host = stage.host()
            conversation = (await host.open(_OPTIONS, MemoryWorkspace())).conversation
            assert "loaded again" not in await reload(conversation)

            path.write_text(_NOTING.replace('"greet"', '"welcome"') + _TOOL)
            assert f"extension {path} was loaded again" in await reload(conversation)
            assert {"welcome"} == names(conversation) & {"greet", "welcome"}
            assert "look" in conversation.active_tools

            path.write_text("def extend(api:")
            text = await reload(conversation)
            assert f"Extension {path} failed to load: SyntaxError" in text
            assert "Its previous version stays loaded" in text
            assert await conversation.submit("/welcome") == CommandReply("hello")
            await host.close()

        run(scenario())

        assert noted(stage) == ["executed", "registered", "executed", "registered", "unloaded", "unloaded"]

    def test_that_are_folders_are_loaded_again_with_all_their_modules(self, stage: Stage) -> None:
        folder = stage.home / "extensions" / "mine"
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(_FOLDER)
        (folder / "words.py").write_text('WORD = "hello"\n')

        async def scenario() -> None:
            host = stage.host()
            conversation = (await host.open(_OPTIONS, MemoryWorkspace())).conversation
            assert await conversation.submit("/greet") == CommandReply("hello")

            (folder / "words.py").write_text('WORD = "good evening"\n')
            await reload(conversation)

            assert await conversation.submit("/greet") == CommandReply("good evening")
            await host.close()

        run(scenario())

    def test_that_ask_a_context_for_something_unknown_get_the_valid_names(self, stage: Stage) -> None:
        stage.install(_NOTING.replace('return Reply("hello")', "return Reply(context.sesion_id)"))

        with pytest.raises(
            ExtensionError, match=r"context of a command has no attribute 'sesion_id': use .*session_id"
        ):
            stage.play(lambda conversation: conversation.submit("/greet"), _OPTIONS)

    def test_of_another_conversation_are_not_offered(self, stage: Stage) -> None:
        stage.install(_NOTING)
        path = stage.home / "extensions" / "mine.py"

        async def scenario() -> None:
            host = stage.host()
            before = await host.open(_OPTIONS, MemoryWorkspace())
            path.rename(path.with_name("moved.py"))  # registers the same command
            after = await host.open(_OPTIONS, MemoryWorkspace())

            assert "greet" in names(before.conversation) & names(after.conversation)
            host.extensions.unload(named(path))
            assert "greet" not in names(before.conversation)
            assert "greet" in names(after.conversation)
            await host.close()

        run(scenario())

    def test_with_the_same_command_cannot_be_used_together(self, stage: Stage, tmp_path: Path) -> None:
        stage.install(_NOTING)
        other = tmp_path / "other.py"
        other.write_text(_NOTING)
        host = Host(HostOptions(extensions=(other,)), Home(stage.home), stage.environ, lambda _: None)

        async def scenario() -> None:
            for _ in range(2):
                with pytest.raises(ExtensionError, match=r"other\.py.*'greet' is already registered by .*mine\.py"):
                    await host.open(_OPTIONS, MemoryWorkspace())
            await host.close()

        run(scenario())


class TestExtensionsInAProject:
    """Commands of the model can write there: what kaa did not protect from its start on, it does not execute."""

    @pytest.fixture
    def project(self, stage: Stage) -> Iterator[Path]:
        with folder_elsewhere() as folder:
            stage.environ |= {"PATH": os.environ["PATH"], "HOME": str(folder)}
            (folder / "project" / "tools").mkdir(parents=True)
            (folder / "project" / "tools" / "mine.py").write_text(_NOTING)
            yield folder / "project"

    def configure(self, stage: Stage, *extensions: Path) -> None:
        stage.home.mkdir(exist_ok=True)
        (stage.home / "settings.json").write_text(json.dumps({"extensions": [*map(str, extensions)]}))

    @pytest.mark.parametrize("entry", ["mine.py", "folder", "link"])
    def test_that_were_added_since_wait_for_the_next_start(self, stage: Stage, project: Path, entry: str) -> None:
        extension = project / "tools" / entry
        if entry == "folder":
            extension.mkdir()
            (extension / "__init__.py").write_text(_NOTING)
        elif entry == "link":
            extension = project.parent / "link.py"
            extension.symlink_to(project / "tools" / "mine.py")

        async def commands() -> set[str]:
            host = stage.host()
            workspace = host.workspaces.open(str(project), SandboxFlags())
            try:
                await host.open(_OPTIONS, workspace)
                self.configure(stage, extension)
                second = (await host.open(_OPTIONS, workspace)).conversation
                await reload(second)
                return names(second)
            finally:
                await host.close()

        stage.asker = yes_or_no(False, False)
        assert "greet" not in run(commands())
        assert any(f"xtension {extension} is not loaded" in notice for notice in stage.notices)
        assert not [*project.rglob("noted.txt")]

        stage.notices.clear()
        stage.asker = yes_or_no(True)
        assert "greet" in run(commands())
        assert not any("is not loaded" in notice for notice in stage.notices)

    def test_that_were_there_at_the_start_are_loaded_again(self, stage: Stage, project: Path) -> None:
        extension = project / "tools" / "mine.py"
        self.configure(stage, extension)
        stage.asker = yes_or_no(True, True)

        async def scenario() -> None:
            host = stage.host()
            conversation = (await host.open(_OPTIONS, host.workspaces.open(str(project), SandboxFlags()))).conversation
            extension.write_text(_NOTING.replace('"greet"', '"welcome"'))
            assert f"extension {extension} was loaded again" in await reload(conversation)
            await host.close()

        run(scenario())

    def test_that_another_workspace_can_write_are_not_loaded_again(self, stage: Stage, project: Path) -> None:
        extension = project / "tools" / "mine.py"
        self.configure(stage, extension)
        stage.asker = yes_or_no(True, False)

        async def scenario() -> None:
            host = stage.host()
            conversation = (await host.open(_OPTIONS, host.workspaces.open(str(project), SandboxFlags()))).conversation
            self.configure(stage)
            host.workspaces.open(str(project), SandboxFlags(git=False))
            extension.write_text("raise SystemExit")
            told = await reload(conversation)
            assert f"extension {extension} changed. The version that you approved stays loaded" in told
            assert f"extension {extension} is not used any more" in told
            await host.close()

        run(scenario())


class TestProjects:
    @pytest.fixture
    def projects(self) -> Iterator[tuple[Path, Path]]:
        with folder_elsewhere() as folder:
            (folder / "one").mkdir()
            (folder / "two").mkdir()
            yield folder / "one", folder / "two"

    def test_in_two_directories_have_sandboxes_of_their_own(self, stage: Stage, projects: tuple[Path, Path]) -> None:
        stage.environ |= {"PATH": os.environ["PATH"], "HOME": str(projects[0].parent)}
        script = [call("write", path="new.txt", content="new"), say("tried")]

        async def write(hosted: HostedConversation) -> None:
            stage.server.begin(script)
            assert isinstance(await hosted.conversation.submit("write"), AgentEnd)

        async def scenario() -> None:
            host = stage.host()
            readable = host.workspaces.open(str(projects[0]), SandboxFlags("read-only"))
            writable = host.workspaces.open(str(projects[1]), SandboxFlags("workspace-write"))
            try:
                if not (await readable.sandbox.status()).confined:
                    pytest.skip("nothing can be confined on this machine")
                first = await host.open(_OPTIONS, readable)
                second = await host.open(_OPTIONS, writable)
                await write(first)
                await write(second)
                await write(first)
                assert [hosted.conversation.workspace.root for hosted in host.conversations] == [*map(str, projects)]
            finally:
                await host.close()

        run(scenario())

        assert [path.name for path in projects[0].iterdir()] == []
        assert [path.name for path in projects[1].iterdir()] == ["new.txt"]

    def test_are_opened_once_for_each_choice(self, stage: Stage, projects: tuple[Path, Path]) -> None:
        stage.environ |= {"PATH": os.environ["PATH"], "HOME": str(projects[0].parent)}
        early, open_to_all = SandboxFlags(), SandboxFlags("full-access")

        async def scenario() -> None:
            host = stage.host()
            adopted = LocalWorkspace.start(str(projects[0]), env=stage.environ)
            host.workspaces.adopt(adopted, early)
            try:
                assert host.workspaces.open(str(projects[0]), early) is adopted
                other = host.workspaces.open(str(projects[0]), open_to_all)
                assert other is not adopted
                assert host.workspaces.open(f"{projects[1]}/../one", open_to_all) is other
            finally:
                await host.close()

        run(scenario())

    def test_are_asked_about_once(self, stage: Stage) -> None:
        person = Person(TrustDecision("stored"))
        stage.asker = person
        options = ConversationOptions(model="m", trust=None)
        workspace = MemoryWorkspace({".kaa/APPEND_SYSTEM.md": b"Be kind."})

        async def scenario() -> None:
            host = stage.host()
            await asyncio.gather(*(host.open(options, workspace) for _ in range(2)))
            await host.open(options, workspace)
            await host.close()

        run(scenario())

        assert [question.title for question in person.questions] == ["Do you trust this project?"]
        assert not any("not trusted" in notice for notice in stage.notices)

    def test_that_were_reviewed_are_trusted_whatever_the_options_say(self, stage: Stage) -> None:
        stage.asker = Person(TrustDecision("stored"))
        options = ConversationOptions(model="m", trust="no")
        workspace = MemoryWorkspace({".kaa/APPEND_SYSTEM.md": b"Be kind."})

        async def scenario() -> None:
            host = stage.host()
            conversation = (await host.open(options, workspace)).conversation
            assert any("not trusted" in notice for notice in stage.notices)
            stage.notices.clear()
            await conversation.review_trust()
            await host.open(options, workspace)
            assert not any("not trusted" in notice for notice in stage.notices)
            await host.close()

        run(scenario())


def test_notifications_name_the_conversation(stage: Stage) -> None:
    told: list[HostNotice] = []
    host = Host(HostOptions(), Home(stage.home), stage.environ, told.append)
    project = MemoryWorkspace({".kaa/APPEND_SYSTEM.md": b"Be kind."})

    async def scenario() -> list[str]:
        opened = [await host.open(_OPTIONS, project), await host.open(_OPTIONS, project)]
        await host.close()
        return [hosted.id for hosted in opened]

    ids = run(scenario())

    assert len(set(ids)) == 2
    assert [notification.conversation for notification in told if "not trusted" in notification.text] == ids


class TestModels:
    """Are the process's: conversations borrow them."""

    def test_are_reached_over_one_connection_that_outlives_conversations(self, stage: Stage) -> None:
        stage.server.begin([say("one"), say("two"), say("three")])

        async def scenario() -> None:
            host = stage.host()
            first, second = [await host.open(_OPTIONS, MemoryWorkspace()) for _ in range(2)]
            for hosted in (first, second):
                await hosted.conversation.submit("work")
            await host.end(first)
            await second.conversation.submit("work")
            assert len(stage.server.connections) == 1
            await host.close()

        run(scenario())

    def test_are_read_again_for_all(self, stage: Stage) -> None:
        file = stage.home / "models.json"

        async def scenario() -> None:
            host = stage.host()
            first, second = [(await host.open(_OPTIONS, MemoryWorkspace())).conversation for _ in range(2)]
            provider = {
                "baseUrl": stage.server.url,
                "api": "openai-completions",
                "apiKey": "k",
                "models": [{"id": "n"}],
            }
            file.parent.mkdir(exist_ok=True)
            file.write_text(json.dumps({"providers": {"mine": provider}}))
            await first.reload()
            for conversation in (first, second):
                assert "mine/n" in [model.qualified_id for model in conversation.models.available()]
            await host.close()

        run(scenario())

    def test_do_not_share_the_key_that_was_given_for_one_conversation(self, stage: Stage) -> None:
        given = ConversationOptions(model="anthropic/claude-opus-4-1", api_key="k")

        async def scenario() -> None:
            host = stage.host()
            first = (await host.open(given, MemoryWorkspace())).conversation
            second = (await host.open(_OPTIONS, MemoryWorkspace())).conversation
            known = [{model.provider for model in one.models.available()} for one in (first, second)]
            assert ["anthropic" in providers for providers in known] == [True, False]
            await host.close()

        run(scenario())


class TestQuestionsAndEvents:
    """Of two conversations in one project."""

    def test_name_the_conversation_that_asks(self, stage: Stage) -> None:
        stage.install(_ASKING)
        person = stage.asker = Person(Confirmed(True), Confirmed(True))

        async def scenario() -> list[str]:
            host = stage.host()
            project = MemoryWorkspace()
            opened = [await host.open(_OPTIONS, project) for _ in range(2)]
            for hosted in reversed(opened):
                assert await hosted.conversation.submit("/ask") == CommandReply(hosted.id)
            await host.close()
            return [hosted.id for hosted in opened]

        ids = run(scenario())

        assert [question.conversation for question in person.questions] == ids[::-1]

    def test_name_the_conversation_in_questions_of_trust(self, stage: Stage) -> None:
        person = stage.asker = Person(TrustDecision("no"), TrustDecision("no"))
        project = MemoryWorkspace({".kaa/APPEND_SYSTEM.md": b"Be kind."})

        async def scenario() -> list[str]:
            host = stage.host()
            opened = [await host.open(ConversationOptions(model="m", trust=None), project) for _ in range(2)]
            await opened[1].conversation.review_trust()
            await host.close()
            return [hosted.id for hosted in opened]

        ids = run(scenario())

        assert [question.conversation for question in person.questions] == ids

    def test_carry_an_id_that_is_known_before_the_conversation_is_open(self, stage: Stage) -> None:
        class Reader(Person):
            """Reads who asks at once."""

            async def ask(self, question: Question[AnswerT]) -> AnswerT | Dismissed:
                known.append(question.conversation in ids)
                return await super().ask(question)

        stage.asker = Reader(TrustDecision("no"))
        project = MemoryWorkspace({".kaa/APPEND_SYSTEM.md": b"Be kind."})
        ids: list[str] = []
        known: list[bool] = []

        async def scenario() -> list[str]:
            host = stage.host()
            ids.append(host.new_id())
            opened = [
                await host.open(_OPTIONS, MemoryWorkspace()),
                await host.open(ConversationOptions(model="m", trust=None), project, id=ids[0]),
            ]
            await host.close()
            return [hosted.id for hosted in opened]

        first, second = run(scenario())

        assert known == [True]
        assert [second] == ids
        assert first != second

    def test_reach_those_who_follow_that_conversation(self, stage: Stage) -> None:
        stage.server.begin([say("for the second")])

        async def scenario() -> None:
            host = stage.host()
            project = MemoryWorkspace()
            first, second = [await host.open(_OPTIONS, project) for _ in range(2)]
            events: dict[str, list[Event]] = {first.id: [], second.id: []}
            for hosted in (first, second):
                hosted.conversation.subscribe(events[hosted.id].append)
            await second.conversation.submit("work")
            assert events[first.id] == []
            assert isinstance(events[second.id][-1], AgentEnd)
            await host.close()

        run(scenario())


def test_findings_of_the_guard_reach_the_conversation_whose_command_runs_or_else_all(stage: Stage) -> None:
    told: asyncio.Queue[HostNotice] = asyncio.Queue()

    async def scenario(project: Path) -> None:
        host = Host(HostOptions(), Home(stage.home), stage.environ, told.put_nowait)
        workspace = host.workspaces.open(str(project), SandboxFlags())
        try:
            if not (await workspace.sandbox.status()).confined:
                pytest.skip("nothing can be confined on this machine")
            first, second = [await host.open(_OPTIONS, workspace) for _ in range(2)]
            while not told.empty():  # warnings of this machine
                told.get_nowait()
            own = first.conversation.workspace
            await own.run_in_background(CommandRequest(["sh", "-c", "touch runs sub/.envrc; exec sleep 1000"]))
            await _appears(project / "runs")
            assert (await told.get()).conversation == first.id

            await own.processes.stop(1)
            question = CommandRequest(
                ["sh", "-c", "touch asks; until test -e go; do sleep 0.01; done"], carries_findings=False
            )
            asking = asyncio.create_task(own.run(question))
            await _appears(project / "asks")
            (project / "sub" / ".exrc").touch()
            (project / "go").touch()
            await asking
            assert {(await told.get()).conversation for _ in range(2)} == {first.id, second.id}
            assert told.empty()
        finally:
            await host.close()

    with folder_elsewhere() as folder:
        (folder / "project" / "sub").mkdir(parents=True)
        stage.environ |= {"PATH": os.environ["PATH"], "HOME": str(folder)}
        run(scenario(folder / "project"))


async def _appears(path: Path) -> None:
    while not path.exists():
        await asyncio.sleep(0.01)


class TestWhatWasSaidWhileARunEnded:
    """It is said behind the run, one message after another."""

    @staticmethod
    async def _ended_with(hosted: HostedConversation, *texts: str) -> "asyncio.Task[None]":
        """Begin a run in whose last moment these are said."""

        def say_more(event: Event) -> None:
            if isinstance(event, AgentEnd):
                unsubscribe()
                for text in texts:
                    hosted.conversation.queue(user_message(text), steer=True)

        unsubscribe = hosted.conversation.subscribe(say_more)
        return asyncio.create_task(hosted.work.say(user_message("work")))

    def test_is_in_a_file_until_the_session_has_it(self, stage: Stage) -> None:
        stage.server.begin([say("one"), Answer(text=("two", "."), fault=Fault("stall"))])

        async def scenario() -> list[str]:
            host = stage.host()
            hosted = await host.open(_OPTIONS, MemoryWorkspace())
            await hosted.begin()
            saying = await self._ended_with(hosted, "first", "second")
            await asyncio.to_thread(stage.server.wait_until_stalled)
            (path,) = stage.home.glob("sessions/**/*.waiting")
            waiting = [part["text"] for message in json.loads(path.read_bytes()) for part in message["content"]]
            await host.close()
            await saying
            return waiting

        assert run(scenario()) == ["second"]

    def test_comes_back_if_it_is_kept_from_the_model(self, stage: Stage) -> None:
        stage.server.begin([say("one")])
        stage.install(
            "from kaa.ext.api import Block\n"
            "async def judge(message, context):\n"
            "    return Block('no apples') if 'apples' in message.text else None\n"
            "def extend(api):\n"
            "    api.on_user_message(judge)\n"
        )

        async def scenario() -> list[str]:
            host = stage.host()
            hosted = await host.open(_OPTIONS, MemoryWorkspace())
            await hosted.begin()
            saying = await self._ended_with(hosted, "apples", "second")
            with pytest.raises(MessageBlockedError):
                await saying
            unsaid = [message.text for message in await hosted.work.take_unsaid()]
            await host.close()
            return unsaid

        assert run(scenario()) == ["apples", "second"]


class TestSwitching:
    def test_ends_the_one_before_and_keeps_what_waited(self, stage: Stage) -> None:
        stage.server.begin([Answer(text=("one", "two"), fault=Fault("stall")), say("never asked")])

        async def scenario() -> None:
            host = stage.host()
            before = await host.open(_OPTIONS, MemoryWorkspace())
            replies = asyncio.Event()
            before.conversation.subscribe(lambda event: replies.set() if isinstance(event, MessageUpdate) else None)
            saying = asyncio.ensure_future(before.work.say(user_message("work")))
            await replies.wait()
            await before.work.say(user_message("and this"))

            after = await host.switch(before, _OPTIONS, MemoryWorkspace())

            await saying
            assert not before.is_open
            assert after.is_open
            assert host.conversations == (after,)
            assert [message.content for message in await after.work.take_unsaid()] == [user_message("and this").content]
            assert await after.work.take_unsaid() == []
            await host.close()

        run(scenario())

    def test_changes_nothing_if_the_other_cannot_be_opened(self, stage: Stage) -> None:
        stage.server.begin([say("I am still here")])

        async def scenario() -> None:
            host = stage.host()
            before = await host.open(_OPTIONS, MemoryWorkspace())

            with pytest.raises(SessionNotFoundError):
                await host.switch(
                    before, ConversationOptions(model="m", session=ResumeSession("nowhere")), MemoryWorkspace()
                )

            assert host.conversations == (before,)
            await before.work.say(user_message("work"))
            assert before.conversation.usage.total.replies == 1
            await host.close()

        run(scenario())


def test_what_was_ended_can_be_ended_again(stage: Stage) -> None:
    async def scenario() -> None:
        host = stage.host()
        hosted = await host.open(_OPTIONS, MemoryWorkspace())
        await host.end(hosted)
        await host.end(hosted)
        await host.close()
        assert host.conversations == ()

    run(scenario())
