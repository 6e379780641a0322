"""Tools that extensions call: hooks and approvals judge the calls as they judge the model's."""

from kaa.core.events import Event, ToolExecutionEnd, ToolExecutionStart
from kaa.core.hooks import Block
from kaa.core.messages import Json, ToolCall
from kaa.core.tool import ToolResult
from kaa.ext.api import CommandContext, ExtensionAPI, ToolContext
from kaa.ext.context import ConversationContext
from kaa.ext.hooks import SessionStart
from kaa.ext.questions import AllowForSession, AllowOnce, AnswerT, Approval, Deny, Dismissed, Question
from kaa.shell.host import HostedConversation
from kaa.shell.options import ConversationOptions
from tests.support.extended import in_a_command, play
from tests.support.stage import Stage
from tests.support.toolbox import text_of

_ASKING = ConversationOptions(model="m", approvals="ask")
_CALL: dict[str, Json] = {"path": "new.txt", "content": "milk"}


class Person:
    """Answers each question about a call in the same way.

    Attributes:
        asked: the tools that the questions were about, with who called them.
    """

    can_ask = True

    def __init__(self, answer: AllowOnce | AllowForSession | Deny) -> None:
        self._answer = answer
        self.asked: list[tuple[str, str | None]] = []

    async def ask(self, question: Question[AnswerT]) -> AnswerT | Dismissed:
        """Answer."""
        if isinstance(question, Approval):
            self.asked.append((question.tool, question.agent))
        return question.fit(self._answer)


def _called(stage: Stage, *arguments: dict[str, Json]) -> list[ToolResult]:
    """What the tool `write` answers to an extension."""
    results: list[ToolResult] = []

    async def work(context: CommandContext) -> None:
        results.extend([await context.call_tool("write", one) for one in arguments])

    in_a_command(stage, work, options=_ASKING)
    return results


def test_a_call_is_approved_under_the_name_of_the_extension(stage: Stage) -> None:
    person = stage.asker = Person(AllowOnce())

    [result] = _called(stage, _CALL)

    assert not result.is_error
    assert person.asked == [("write", "extension ci")]


def test_a_denial_is_the_result_of_the_call(stage: Stage) -> None:
    stage.asker = Person(Deny())

    [result] = _called(stage, _CALL)

    assert result.is_error
    assert "The user does not allow this" in text_of(result)


def test_an_answer_for_the_session_holds_for_the_next_call(stage: Stage) -> None:
    person = stage.asker = Person(AllowForSession())

    first, second = _called(stage, _CALL, _CALL)

    assert not first.is_error
    assert not second.is_error
    assert len(person.asked) == 1


def test_rules_of_the_user_hold_for_the_call(stage: Stage) -> None:
    stage.home.mkdir(parents=True, exist_ok=True)
    (stage.home / "settings.json").write_text('{"approvals": {"deny": ["write: new.txt"]}}')

    [result] = _called(stage, _CALL)

    assert result.is_error
    assert "new.txt" in text_of(result)


def test_hooks_of_other_extensions_judge_the_call(stage: Stage) -> None:
    seen: list[str] = []

    def guard(kaa: ExtensionAPI) -> None:
        @kaa.before_tool
        async def judge(call: ToolCall, _: ConversationContext) -> Block | None:
            seen.append(call.name)
            return Block("not today")

    async def work(context: CommandContext) -> None:
        result = await context.call_tool("read", {"path": "notes.txt"})
        seen.append(text_of(result))

    in_a_command(stage, work, guard)

    assert seen[0] == "read"
    assert seen[1].startswith("not today (extension ")


def test_calls_within_calls_end_at_a_limit(stage: Stage) -> None:
    found: list[str] = []

    def again(kaa: ExtensionAPI) -> None:
        @kaa.tool(exposure="deferred")
        async def deeper(context: ToolContext, depth: int) -> str:
            """Call itself."""
            found.append(str(depth))
            return text_of(await context.call_tool("deeper", {"depth": depth + 1}))

    async def work(context: CommandContext) -> None:
        found.append(text_of(await context.call_tool("deeper", {"depth": 1})))

    in_a_command(stage, work, again, options=ConversationOptions(model="m", approvals="auto"))

    assert found[:-1] == ["1", "2", "3", "4", "5"]
    assert "deeper was not run: it would be the 6th agent or call within another one, and the limit is 5" in found[-1]


def test_events_name_the_extension(stage: Stage) -> None:
    events: list[Event] = []

    def extend(kaa: ExtensionAPI) -> None:
        async def act(_: str, context: CommandContext) -> None:
            await context.call_tool("read", {"path": "notes.txt"})

        kaa.register_command("act", "Act", act)

    async def scene(hosted: HostedConversation) -> None:
        hosted.conversation.subscribe_agents(events.append)
        await hosted.work.command("/act")

    play(stage, scene, extend)

    calls = [event for event in events if isinstance(event, ToolExecutionStart | ToolExecutionEnd)]
    assert [(type(one), one.tool_name, one.agent) for one in calls] == [
        (ToolExecutionStart, "read", "extension ci"),
        (ToolExecutionEnd, "read", "extension ci"),
    ]


def test_a_context_is_of_use_after_its_hook(stage: Stage) -> None:
    found: list[str] = []

    def keeps(kaa: ExtensionAPI) -> None:
        kept: list[ConversationContext] = []

        @kaa.on_session_start
        async def start(_: SessionStart, context: ConversationContext) -> None:
            kept.append(context)

        async def act(_: str, context: CommandContext) -> None:
            found.append(text_of(await kept[0].call_tool("read", {"path": "notes.txt"})))

        kaa.register_command("act", "Act", act)

    async def scene(hosted: HostedConversation) -> None:
        await hosted.work.command("/act")

    play(stage, scene, keeps)

    assert found == ["remember the milk"]
