"""A core that only tells and answers: what it tells is by chance, in an order that can happen."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from kaa.core.events import CompactionEnd, CompactionStart
from kaa.core.messages import Usage, UserMessage
from kaa.core.provider import Model
from kaa.core.usage import ContextUse, Spent, UsageReport
from kaa.ext.choices import ModelState
from kaa.ext.errors import CommandError
from kaa.ext.questions import Answer, AnyQuestion
from kaa.shell.conversation import CommandReply
from kaa.shell.home import Home
from kaa.shell.status import Status
from kaa.shell.work_queue import WorkResult
from kaa.workspace.file_index import FileListing
from kaa.workspace.git import Head
from kaa.workspace.sandbox.sandbox import SandboxStatus
from tests.frontends.interactive.chance import Chance
from tests.frontends.interactive.scripted_agent import ScriptedAgent, Story, user_command
from tests.frontends.interactive.scripted_sessions import ScriptedNavigation, ScriptedSessions

ResultT = TypeVar("ResultT")


class ScriptedCore:
    """Stands for the core's thread and for the engine in it, and tells what an agent might do.

    Args:
        chance: what it says.
        home: kaa's folder.

    Attributes:
        audience: is told; set before anything else is done.
        respondent: is asked; likewise.
    """

    def __init__(self, chance: Chance, home: Path) -> None:
        self.audience: Any = None
        self.respondent: Any = None
        self.chance = chance
        self.home = Home(home)
        self.conversation = self
        self.models = self
        self.files = self
        self.workspace = self
        self.naming = self
        self.compaction = self
        self.work = self
        self.root = "/project"
        self.commands: tuple[Any, ...] = ()
        self.approvals = self
        self.policy = "ask"
        self._loop = asyncio.new_event_loop()
        self._calls: list[Callable[[], None]] = []
        self._agent = ScriptedAgent(chance)
        self._stories: list[Story] = []
        self._runs_command = False
        self._listings = 0
        self._questions: list[AnyQuestion] = []
        self._number = 0

    def close(self) -> None:
        """No more calls come."""
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    # As `CoreThread`.

    def call(
        self,
        work: Callable[[Any], Awaitable[ResultT]],
        done: Callable[[ResultT], None] | None = None,
        failed: Callable[[BaseException], None] | None = None,
    ) -> None:
        """Work that is carried out some time later, in order."""

        async def awaited() -> ResultT:
            return await work(self)

        def carry_out() -> None:
            try:
                if failed is not None and self.chance.one_in(15):
                    raise OSError(self.chance.text(4))
                result = self._loop.run_until_complete(awaited())
            except Exception as error:
                if failed is None:
                    raise
                failed(error)
            else:
                if done is not None:
                    done(result)

        self._calls.append(carry_out)

    # What happens.

    def go_on(self) -> None:
        """Something happens: work that was asked for is done, the agent goes on, or somebody has a question."""
        random = self.chance.random
        what = random.randrange(10)
        if self._calls and what < 5:
            self._calls.pop(0)()
        elif what < 9:
            self.work_on()
        else:
            random.choice((self._ask, self._withdraw, self._tell_status, self._notice))()

    def work_on(self) -> None:
        """The agent or a command goes on, if there is one."""
        if self._stories:
            story = self.chance.random.choice(self._stories)
            events = next(story, None)
            if events is None:
                self._stories.remove(story)
            else:
                self.audience.show_events(events)

    def _ask(self) -> None:
        if len(self._questions) > 2:
            return
        self._number += 1
        question = self.chance.question(self._number)
        self._questions.append(question)
        answers: list[Answer] = []

        def answer(given: Answer) -> None:
            assert not answers, "a question was answered twice"
            answers.append(given)
            question.fit(given)
            self._questions = [asked for asked in self._questions if asked is not question]

        self.respondent.ask(question, answer)

    def _withdraw(self) -> None:
        if self._questions:
            self.respondent.withdraw(self._questions.pop(self.chance.random.randrange(len(self._questions))))

    def _tell_status(self) -> None:
        self.audience.show_status(self._status())
        self.audience.show_head(
            self.chance.random.choice([None, Head(self.chance.text(1)), Head("0" * 40, detached=True)])
        )

    def _notice(self) -> None:
        self.audience.show_notice(self.chance.text())

    # As `Engine` and what it has.

    async def serve(self, audience: object, respondent: object) -> None:
        self.audience, self.respondent = audience, respondent

    async def open(self, session: object = None) -> "ScriptedCore":
        await self.abort()
        for story in self._stories:
            for events in story:
                self.audience.show_events(events)
        self._stories = []
        return self

    def transcript(self) -> list[Any]:
        return self.chance.entries()

    async def submit_first(self) -> None:
        pass

    async def prepare(self) -> None:
        pass

    def refresh_status(self) -> None:
        self._tell_status()

    async def in_turn(self) -> None:
        pass

    async def say(
        self, message: UserMessage, *, follow_up: bool = False, kept: Callable[[], None] = lambda: None
    ) -> None:
        kept()
        if self._agent.is_working:
            self._agent.steering.append(message)
            self.audience.show_events([self._agent.queue()])
        else:
            self._agent.is_working = True
            self._stories.append(self._agent.run(message))

    async def say_held(self, message: UserMessage) -> None:
        await self.say(message)

    async def aside(self, work: Callable[[], Awaitable[ResultT]]) -> WorkResult[ResultT]:
        return WorkResult(await work(), self._agent.steering if self.chance.one_in(4) else [])

    async def take_unsaid(self) -> list[UserMessage]:
        return await self.abort()

    async def compact(self, instructions: str) -> None:
        if self._agent.is_working or self.chance.one_in(4):
            raise CommandError(self.chance.text(4))
        self._stories.append(self._compaction())

    def _compaction(self) -> Story:
        """It takes its time, and may be stopped or go wrong."""
        chance = self.chance
        yield [CompactionStart("manual")]
        end = chance.random.choice(
            (
                CompactionEnd("manual", chance.text(9), 9, 3, 2),
                CompactionEnd("manual", aborted=True),
                CompactionEnd("manual", error=chance.text(4), warning=chance.random.choice((None, chance.text(3)))),
            )
        )
        yield [end]

    async def command(self, text: str, kept: Callable[[], None] = lambda: None) -> CommandReply:
        kept()
        return CommandReply(self.chance.text())

    async def abort(self) -> list[UserMessage]:
        waiting, self._agent.steering = self._agent.steering, []
        self._agent.is_aborted = self._agent.is_working
        if waiting:
            self.audience.show_events([self._agent.queue()])
        return waiting

    def dequeue(self) -> UserMessage | None:
        message = self._agent.steering.pop() if self._agent.steering else None
        self.audience.show_events([self._agent.queue()])
        return message

    async def run_command(self, command: str, *, in_context: bool) -> None:
        if self._runs_command:
            raise RuntimeError("a command runs already")
        self._runs_command = True
        self._stories.append(self._user_command(command, in_context=in_context))

    def _user_command(self, command: str, *, in_context: bool) -> Story:
        yield from user_command(self.chance, command, in_context=in_context)
        self._runs_command = False

    async def status(self) -> Status:
        return self._status()

    def set_network(self, network: str, *, named: bool = False) -> str:
        return network

    @property
    def policies(self) -> dict[str, str]:
        return {"ask": self.chance.text(2), "auto": self.chance.text(2)}

    async def git_head(self) -> Head | None:
        return None

    def sessions(self) -> ScriptedSessions:
        return ScriptedSessions(self.chance)

    @property
    def session_path(self) -> Path:
        return Path("/sessions/1.jsonl")

    @property
    def navigation(self) -> ScriptedNavigation:
        return ScriptedNavigation(self.chance, self.audience.show_events)

    def set_name(self, name: str) -> None:
        pass

    @property
    def current(self) -> ModelState:
        return ModelState(self._models()[0], "high", ("off", "low", "high"))

    def available(self) -> Sequence[Model]:
        return self._models()

    def scoped(self) -> tuple[Any, ...]:
        return ()

    async def set_scoped(self, patterns: object, *, keep: bool = False) -> None:
        pass

    async def choose(self, query: str, *, keep: bool = False) -> ModelState:
        return self.current

    async def cycle(self, step: int) -> ModelState:
        return self.current

    def cycle_thinking(self) -> str:
        return "low"

    def think(self, level: str) -> str:
        return level

    async def reload(self) -> str:
        return self.chance.text(3)

    async def refresh(self) -> FileListing:
        self._listings += 1
        return FileListing(tuple(filter(None, (self.chance.text(2) for _ in range(9)))), True, self._listings)

    async def complete_path(self, typed: str) -> list[str]:
        return [typed + self.chance.text(1) for _ in range(3)]

    async def stat(self, path: str) -> None:
        return None

    def _models(self) -> list[Model]:
        return [Model(f"m{number}{self.chance.text(1)}", "provider", "api") for number in range(3)]

    def _status(self) -> Status:
        text = self.chance.text
        sandbox = SandboxStatus("full", "workspace-write", text(1), True, False, {}, (), (), {})
        usage = UsageReport(Spent(), Spent(), Spent(Usage(100, 20)), ContextUse(5000, 100_000, True))
        named = self.chance.random.choice((None, text(2)))
        return Status(
            self.current,
            text(1),
            named,
            text(2),
            usage,
            sandbox,
            None,
            "ask",
        )
