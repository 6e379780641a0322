"""Tests extensions without a terminal, a network and a sandbox: a conversation over a script and a project in memory.

`docs/extensions.md`, "Testing an extension", has an example.
"""

import asyncio
import json
import tempfile
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from kaa.core.events import AgentEnd, Event
from kaa.core.messages import AssistantMessage, Json, TextContent, ToolResultMessage
from kaa.core.provider import Request, StreamEvent
from kaa.ext.asking import AnswerT
from kaa.ext.display import ALL_KINDS, DisplayChange, DisplayKind, DisplayUpdate
from kaa.ext.extension_api import Extension, ExtensionAPI
from kaa.ext.loader import load_extension
from kaa.ext.places import ExtensionId
from kaa.ext.providers import ProviderAccess
from kaa.ext.questions import AllowOnce, Answer, Deny, Dismissed, Question
from kaa.ext.stores import StoreScope
from kaa.llm.scripted import Pause, ScriptedProvider, ScriptedReply, ScriptItem, reply
from kaa.shell.acting.settings import SECTION
from kaa.shell.conversation import CommandNotRun, CommandReply, SessionToOpen
from kaa.shell.home import Home
from kaa.shell.host import Host, HostedConversation, HostNotice
from kaa.shell.options import ConversationOptions, HostOptions, UnkeptSession
from kaa.shell.settings import ApprovalPolicy
from kaa.tui.key_notation import parse_key
from kaa.workspace.memory import CommandHandler, MemoryWorkspace
from kaa.workspace.protocol import CommandRequest, CommandResult

__all__ = [
    "AllowOnce",
    "CommandHandler",
    "CommandRequest",
    "CommandResult",
    "Deny",
    "MemoryWorkspace",
    "Pause",
    "ScriptItem",
    "ScriptedAsker",
    "ScriptedProvider",
    "ScriptedReply",
    "Talk",
    "conversation",
    "reply",
]

_MODEL: dict[str, Json] = {"id": "scripted", "contextWindow": 200_000}
_HANG_SECONDS = 60
_POLL_SECONDS = 0.01

ResultT = TypeVar("ResultT")


class ScriptedAsker:
    """Answers questions from a list.

    Attributes:
        answers: those that are left.
        questions: what was asked, in words.
        unanswered: the question that had no answer; empty as long as all had one.
    """

    def __init__(self, answers: Iterable[Answer] = ()) -> None:
        self.answers = list(answers)
        self.questions: list[str] = []
        self.unanswered = ""

    @property
    def can_ask(self) -> bool:
        """Always."""
        return True

    async def ask(self, question: Question[AnswerT]) -> AnswerT | Dismissed:
        """The next answer.

        Raises:
            AssertionError: there is none left.
        """
        self.questions.append(question.title)
        if not self.answers:
            self.unanswered = f"no answer is left for the question {question.title!r}: add it to answers"
            raise AssertionError(self.unanswered)
        return question.fit(self.answers.pop(0))


class Talk:
    """A conversation that a test leads.

    Attributes:
        model: the scripted model; `model.requests` has what it was asked.
        workspace: the project; `workspace.files` has its contents.
        asker: answers questions; `asker.questions` has them.
        events: all events, the latest last.
        shown: what extensions showed: notices, status sections, widgets and so on.
        notices: kaa's own messages, with failures of extensions.
    """

    def __init__(
        self,
        extension: str,
        model: ScriptedProvider,
        workspace: MemoryWorkspace,
        asker: ScriptedAsker,
        runner: asyncio.Runner,
    ) -> None:
        self._extension = extension
        self._runner = runner
        self.model = model
        self.workspace = workspace
        self.asker = asker
        self.events: list[Event] = []
        self.shown: list[DisplayChange] = []
        self.notices: list[str] = []
        self._hosted: HostedConversation | None = None

    @property
    def shows(self) -> frozenset[DisplayKind]:
        """Everything, see `kaa.ext.showing.DisplayOutput`."""
        return ALL_KINDS

    def show(self, update: DisplayUpdate) -> None:
        """See `kaa.ext.showing.DisplayOutput`."""
        self.shown.append(update.change)

    def say(self, text: str) -> str:
        """Send a message or run a slash command, and wait for the end.

        Returns:
            The last reply of the model, or what the command answered.

        Raises:
            AssertionError: the script or the answers ended too early, or the run ended with an error.
            Exception: as `Conversation.submit` says.
        """
        return self._run(self._say(text))

    def press(self, key: str) -> str:
        """Press the key of a shortcut, and wait for the end.

        Raises:
            AssertionError: no command has this key; else as `say` does.
        """
        keys = {command.key: command.name for command in self._open.conversation.commands if command.key}
        assert parse_key(key) in keys, f"no command has the key {key!r} (keys: {', '.join(keys) or 'none'})"
        return self.say(f"/{keys[parse_key(key)]}")

    def stored(self, scope: StoreScope) -> dict[str, Json]:
        """What the extension keeps in a store."""
        return self._run(self._stored(scope))

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Let services and other background work go on until `condition` is true.

        Raises:
            TimeoutError: it is not after a minute.
        """

        async def wait() -> None:
            while not condition():  # noqa: ASYNC110 what a test waits for can be anything
                await asyncio.sleep(_POLL_SECONDS)

        self._run(wait())

    @property
    def results(self) -> list[str]:
        """What tools answered, in order."""
        messages = self._open.conversation.messages
        return [_text(message) for message in messages if isinstance(message, ToolResultMessage)]

    async def open(self, host: Host, approvals: ApprovalPolicy) -> None:
        """Begin the conversation. `conversation` does that."""
        options = ConversationOptions(model="scripted/scripted", approvals=approvals, session=UnkeptSession())
        self._hosted = await host.open(options, self.workspace)
        self._hosted.conversation.subscribe(self.events.append)
        await self._hosted.begin()
        self._require_answers()

    def _run(self, work: Coroutine[None, None, ResultT]) -> ResultT:
        return self._runner.run(asyncio.wait_for(work, _HANG_SECONDS))

    def _require_answers(self) -> None:
        if self.asker.unanswered:
            raise AssertionError(self.asker.unanswered)

    async def _stored(self, scope: StoreScope) -> dict[str, Json]:
        store = self._open.conversation.acting().store(self._extension, scope)
        return {key: await store.get(key) for key in await store.keys()}

    @property
    def _open(self) -> HostedConversation:
        assert self._hosted is not None, "the conversation is not open"
        return self._hosted

    async def _say(self, text: str) -> str:
        try:
            outcome = await self._open.work.command(text)
            await self._open.work.settled()
        except Exception:
            self._require_answers()  # else the extension seems to have failed
            raise
        self._require_answers()
        match outcome:
            case AgentEnd(reason="error", error=error):
                raise AssertionError(f"the run ended with an error: {error}")
            case CommandReply(text=answer) | CommandNotRun(text=answer) | SessionToOpen(text=answer):
                return answer
            case _:
                replies = [one for one in self._open.conversation.messages if isinstance(one, AssistantMessage)]
                return _text(replies[-1]) if replies else ""


@contextmanager
def conversation(
    extension: Extension | Path | str,
    script: Iterable[ScriptItem] = (),
    *,
    files: Mapping[str, str | bytes] | None = None,
    commands: CommandHandler | None = None,
    answers: Iterable[Answer] = (),
    approvals: ApprovalPolicy = "auto",
    settings: Mapping[str, Json] | None = None,
    flags: Mapping[str, str | None] | None = None,
) -> Iterator[Talk]:
    """Open a conversation that uses one extension besides kaa's own.

    Args:
        extension: the `extend` function, or the path of a file or folder in Python.
        script: what the model answers, one item for each request; see `reply`.
        files: the project: texts by path.
        commands: answers commands; without it every program is missing (exit code 127).
        answers: to questions, in order.
        approvals: as the setting; `ask` asks before calls of tools with the risk `outside`, `auto` does not here.
        settings: of the extension.
        flags: options of the command line with their values, as texts; None for one without a value.

    Raises:
        ExtensionError: the extension cannot be loaded.
    """
    if isinstance(extension, str | Path):
        path = Path(extension).absolute()
        which, extend = ExtensionId.at(path, path.parent), load_extension(path)
    else:
        which, extend = ExtensionId("tested", "tested", "tested"), extension
    model = ScriptedProvider(script)
    workspace = MemoryWorkspace(
        {name: text.encode() if isinstance(text, str) else text for name, text in (files or {}).items()},
        commands=commands,
    )
    with tempfile.TemporaryDirectory() as home, asyncio.Runner() as runner:
        talk = Talk(which.key, model, workspace, ScriptedAsker(answers), runner)
        options = HostOptions(discover_extensions=False, flags=dict(flags or {}))
        own = Home(Path(home))
        own.settings.write_text(json.dumps({SECTION: {which.key: dict(settings or {})}}))

        def notify(notice: HostNotice) -> None:
            talk.notices.append(notice.text)

        host = Host(options, own, {"KAA_LOCAL_SERVERS": "none"}, notify, talk.asker, talk)
        try:
            host.extensions.load(ExtensionId.built_in("kaa.testing"), _model_extension(model), built_in=True)
            host.extensions.load(which, extend)
            runner.run(talk.open(host, approvals))
            yield talk
        finally:
            runner.run(host.close())


def _model_extension(model: ScriptedProvider) -> Extension:
    """Registers the scripted model as a provider."""

    def extend(kaa: ExtensionAPI) -> None:
        @kaa.provider("scripted", {"models": [_MODEL], "apiKey": "none"})
        async def stream(request: Request, access: ProviderAccess) -> AsyncGenerator[StreamEvent, None]:
            async for event in model.stream(request):
                yield event

    return extend


def _text(message: AssistantMessage | ToolResultMessage) -> str:
    return "\n".join(block.text for block in message.content if isinstance(block, TextContent))
