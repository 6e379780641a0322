"""Hooks of extensions in a whole conversation: sessions, requests, compaction, navigation, notifications."""

from collections.abc import Sequence

import pytest

from kaa.core.events import AgentEnd, Event, WorkEnd, WorkStart
from kaa.ext.asking import AnswerT
from kaa.ext.errors import CommandError, NavigationBlockedError
from kaa.ext.questions import Confirmation, Confirmed, Dismissed, Question
from kaa.shell.conversation import Conversation
from kaa.shell.options import ConversationOptions
from tests.shell.test_conversation import ask, sent
from tests.support.model_server import say
from tests.support.person import Person, yes_or_no
from tests.support.stage import Stage


class Notes:
    """What an extension of the test's wrote down."""

    def __init__(self, stage: Stage) -> None:
        self._path = stage.home.parent / "notes"
        self._path.touch()
        self._stage = stage

    def install(self, *lines: str) -> None:
        """Install an extension; its hooks may call `note(text)`."""
        opened = f"    with open({str(self._path)!r}, 'a') as file:"
        body = "\n    ".join(("def note(text):", opened, "        file.write(f'{text}\\n')", *lines))
        imports = "from kaa.core.hooks import Block, ReplaceMessages\nfrom kaa.core.messages import user_message\n"
        self._stage.install(f"{imports}def extend(api):\n    {body}\n")

    def read(self) -> Sequence[str]:
        """The lines."""
        return self._path.read_text().splitlines()


@pytest.fixture
def notes(stage: Stage) -> Notes:
    return Notes(stage)


class TestSessions:
    def test_hooks_run_at_the_start_and_at_the_end(self, stage: Stage, notes: Notes) -> None:
        notes.install(
            "async def start(session, context): note(f'{session.reason} {session.path}')",
            "async def end(session, context): note(f'{session.reason} {context.asker.can_ask}')",
            "api.on_session_start(start)",
            "api.on_session_end(end)",
        )
        stage.asker = yes_or_no(True, True)

        async def scene(conversation: Conversation) -> None:
            await conversation.begin("startup")
            notes_now = notes.read()
            assert notes_now == [f"startup {conversation.session_path}"]

        stage.play(scene)

        assert notes.read()[1:] == ["quit False"]

    def test_one_that_raises_is_reported_and_the_others_run(self, stage: Stage, notes: Notes) -> None:
        notes.install(
            "async def broken(session, context): raise ValueError('no idea')",
            "async def end(session, context): note(session.reason)",
            "api.on_session_start(broken)",
            "api.on_session_end(broken)",
            "api.on_session_end(end)",
        )

        stage.play(lambda conversation: conversation.begin("new"))

        assert notes.read() == ["quit"]
        assert len([notice for notice in stage.notices if "no idea" in notice and "mine.py" in notice]) == 2


class TestRequests:
    def test_messages_are_changed_for_one_request_only(self, stage: Stage, notes: Notes) -> None:
        notes.install(
            "async def shorten(request, context):",
            "    note(f'{request.model.id} {len(request.messages)}')",
            "    return ReplaceMessages((user_message('something else'),)) if len(request.messages) > 1 else None",
            "api.before_request(shorten)",
        )
        stage.server.begin([say("one"), say("two"), say("three")])

        async def scene(conversation: Conversation) -> None:
            for text in ("first", "second", "third"):
                await ask(conversation, text)

        stage.play(scene)

        assert notes.read() == ["m 1", "m 3", "m 5"]
        assert [message["content"] for message in sent(stage)["messages"][1:]] == ["something else"]

    def test_one_can_end_the_run_and_is_named(self, stage: Stage, notes: Notes) -> None:
        notes.install(
            "from kaa.ext.api import GiveUp",
            "async def stop(request, context): return GiveUp('enough')",
            "api.before_request(stop)",
        )

        end = stage.play(lambda conversation: ask(conversation, "hello"))

        assert isinstance(end, AgentEnd)
        assert end.reason == "unfinished"
        assert str(end.error).startswith("enough (extension ")
        assert stage.server.requests == []

    @pytest.mark.parametrize(
        "what",
        [
            "raise ValueError('no idea')",
            "return 'nonsense'",
            "return ReplaceMessages(['x'])",
            "from kaa.ext.api import GiveUp; return GiveUp('')",
            "from kaa.ext.api import GiveUp; return GiveUp('x', 'nonsense')",
        ],
    )
    def test_one_that_fails_ends_the_run_before_anything_is_sent(self, stage: Stage, notes: Notes, what: str) -> None:
        notes.install(f"async def broken(request, context): {what}", "api.before_request(broken)")

        end = stage.play(lambda conversation: ask(conversation, "hello"))

        assert isinstance(end, AgentEnd)
        assert end.reason == "error"
        assert "The request was not sent: Extension" in str(end.error)
        assert stage.server.requests == []


class TestNavigation:
    def test_an_extension_may_object(self, stage: Stage, notes: Notes) -> None:
        notes.install(
            "async def stay(wanted, context):",
            "    note(f'{wanted.kind} {wanted.restore}')",
            "    return Block('stay here')",
            "api.before_navigation(stay)",
        )
        stage.server.begin([say("one")])

        async def scene(conversation: Conversation) -> None:
            await ask(conversation, "first")
            with pytest.raises(CommandError, match=r"stay here \(extension .*mine.py\)"):
                await conversation.navigation.undo()
            with pytest.raises(NavigationBlockedError):
                await conversation.allow_switch("new", None)
            destination = await conversation.navigation.back()
            assert destination is not None
            with pytest.raises(NavigationBlockedError):
                await conversation.navigation.go(destination)
            assert len(conversation.navigation.points()) == 1

        stage.play(scene)

        assert notes.read() == ["undo both", "new conversation", "tree conversation"]

    def test_a_broken_hook_does_not_lock_the_user_in(self, stage: Stage, notes: Notes) -> None:
        notes.install("async def broken(wanted, context): 1 // 0", "api.before_navigation(broken)")
        stage.server.begin([say("one")])

        async def scene(conversation: Conversation) -> None:
            await ask(conversation, "first")
            await conversation.navigation.undo()
            assert conversation.navigation.points() == ()

        stage.play(scene)

        assert "before_navigation hook failed: ZeroDivisionError" in "\n".join(stage.notices)


class TestNotifications:
    def test_notices_and_questions_are_told(self, stage: Stage, notes: Notes) -> None:
        notes.install("api.on_notification(lambda told, context: note(f'{told.kind}: {told.text}'))")
        stage.asker = yes_or_no(True, True)
        stage.server.begin([say("one")])

        async def scene(conversation: Conversation) -> None:
            await conversation.asker.ask(Confirmation("Really?"))

        stage.play(scene)

        assert "question: Really?" in notes.read()

    def test_notices_are_told(self, stage: Stage, notes: Notes) -> None:
        notes.install("api.on_notification(lambda told, context: note(f'{told.kind}: {told.text}'))")

        stage.play(lambda c: ask(c, "/help"), ConversationOptions(model="m", fallback=("nowhere/x",)))

        shown = [notice for notice in stage.notices if "nowhere/x" in notice]
        assert [f"notice: {notice}" for notice in shown] == [line for line in notes.read() if "nowhere/x" in line]

    def test_a_handler_that_raises_is_switched_off(self, stage: Stage, notes: Notes) -> None:
        notes.install("api.on_notification(lambda told, context: (note('called'), 1 // 0))")
        stage.asker = yes_or_no(True, True)

        async def scene(conversation: Conversation) -> None:
            for _ in range(2):
                await conversation.asker.ask(Confirmation("Really?"))

        stage.play(scene)

        assert notes.read() == ["called"]
        assert any("on_notification handler failed" in notice for notice in stage.notices)


class TestSlowCode:
    def test_nothing_is_announced_while_the_person_is_asked(self, stage: Stage) -> None:
        stage.install(
            "import asyncio\n"
            "from kaa.core.events import WorkStart\n"
            "from kaa.ext.asking import confirm\n"
            "def extend(api):\n"
            "    slow = asyncio.Event()\n"
            "    async def crawl(arguments, context):\n"
            "        await slow.wait()\n"
            "        await confirm(context.asker, 'Go on?')\n"
            "    api.register_command('crawl', '', crawl)\n"
            "    api.on_event(lambda event, _: slow.set() if isinstance(event, WorkStart) else None)\n"
        )
        events: list[Event] = []
        seen: list[Event] = []

        class Watching(Person):
            async def ask(self, question: Question[AnswerT]) -> AnswerT | Dismissed:
                seen.extend(events)
                return await super().ask(question)

        stage.asker = Watching(Confirmed(yes=True))

        async def scene(conversation: Conversation) -> None:
            conversation.subscribe(events.append)
            await conversation.submit("/crawl")

        stage.play(scene)

        owner = str(stage.home / "extensions" / "mine.py")
        assert seen == events == [WorkStart(owner, "/crawl"), WorkEnd(owner, "/crawl")]
