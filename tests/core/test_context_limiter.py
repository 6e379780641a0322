"""The loop lets a context limiter make room, before every request and after one that was too long."""

import asyncio
from collections.abc import Sequence

from kaa.core.agent import Agent
from kaa.core.errors import ContextOverflowError
from kaa.core.events import AgentEnd, MessageEnd, MessageStart
from kaa.core.messages import AssistantMessage, Message, Usage, UserMessage
from kaa.llm.scripted import ScriptItem, reply
from tests.support.agents import MODEL, Scene, run, say

TOO_LONG = ContextOverflowError("the conversation is too long")
ECHO = reply(tool_calls=[("echo", {"text": "hi"})])


class Limiter:
    """Puts one message in place of all, when it is asked to."""

    def __init__(self, agent: Agent, *, at_requests: Sequence[int] = (), rescues: int = 0) -> None:
        self._agent = agent
        self._at_requests = at_requests
        self._rescues = rescues
        self.asked = 0

    async def before_request(self) -> None:
        self.asked += 1
        if self.asked in self._at_requests:
            self._condense()

    @property
    def can_make_room(self) -> bool:
        return self._rescues > 0

    async def make_room(self, error: ContextOverflowError) -> bool:
        if not self._rescues:
            return False
        self._rescues -= 1
        self._condense()
        return True

    def _condense(self) -> None:
        kept = [message for message in self._agent.messages if not isinstance(message, UserMessage)]
        self._agent.condense((say("summary"), *kept))


def kept_scene(script: list[ScriptItem], *, at_requests: Sequence[int] = (), rescues: int = 0) -> tuple[Scene, Limiter]:
    scene = Scene(script)
    limiter = Limiter(scene.agent, at_requests=at_requests, rescues=rescues)
    scene.agent.set_context_limiter(limiter)
    return scene, limiter


def sent(scene: Scene, request: int) -> list[str]:
    return [message.text for message in scene.provider.requests[request].messages]


def roles(messages: Sequence[Message]) -> list[str]:
    return [type(message).__name__ for message in messages]


def test_the_limiter_is_asked_before_each_request_and_may_shorten_the_conversation() -> None:
    scene, limiter = kept_scene([ECHO, ECHO, reply("done")], at_requests=[2])

    run(scene.agent.run(say("begin")))

    assert limiter.asked == 3
    assert sent(scene, 0) == ["begin"]
    assert sent(scene, 1) == ["summary", "", "hi"]
    assert sent(scene, 2) == ["summary", "", "hi", "", "hi"]


def test_the_end_of_a_run_has_all_its_messages_whatever_was_condensed() -> None:
    scene, _ = kept_scene([reply("1"), ECHO, reply("2")], at_requests=[2, 3])

    run(scene.agent.run(say("first")))
    end = run(scene.agent.run(say("second")))

    assert [message.text for message in end.messages] == ["second", "", "hi", "2"]


def test_system_prompt_and_tools_stay_the_same_when_the_conversation_is_condensed() -> None:
    scene, _ = kept_scene([ECHO, reply("done")], at_requests=[2])

    run(scene.agent.run(say("begin")))

    first, second = scene.provider.requests
    assert (first.system, first.tools, first.model) == (second.system, second.tools, second.model)


def test_an_overflow_is_tried_again_after_room_was_made_without_a_trace_in_the_conversation() -> None:
    scene, _ = kept_scene([TOO_LONG, reply("done")], rescues=1)

    end = run(scene.agent.run(say("begin")))

    assert end.reason == "done"
    assert sent(scene, 1) == ["summary"]
    assert roles(end.messages) == ["UserMessage", "AssistantMessage"]


def test_an_overflow_without_room_to_be_made_is_the_end() -> None:
    scene, _ = kept_scene([TOO_LONG, TOO_LONG], rescues=1)

    end = run(scene.agent.run(say("begin")))

    assert (end.reason, end.error) == ("error", "the conversation is too long")
    assert len(scene.of(MessageStart)) == len(scene.of(MessageEnd)) == 2


def test_a_reply_that_had_no_room_to_begin_is_an_overflow() -> None:
    full = reply(stop_reason="length", usage=Usage(input=MODEL.context_window))
    scene, _ = kept_scene([full, reply("done")], rescues=1)

    end = run(scene.agent.run(say("begin")))

    assert end.reason == "done"
    assert [message.text for message in end.messages] == ["begin", "", "done"]
    assert sent(scene, 1) == ["summary"]


def test_a_conversation_that_the_server_cut_off_is_an_overflow() -> None:
    cut = reply("half an answer", usage=Usage(input=1, cache_read=MODEL.context_window))
    scene, _ = kept_scene([cut, reply("done")], rescues=1)

    end = run(scene.agent.run(say("begin")))

    assert end.reason == "done"
    broken = end.messages[1]
    assert isinstance(broken, AssistantMessage)
    assert broken.stop_reason == "error"
    assert sent(scene, 1) == ["summary"]


def test_a_reply_to_a_cut_off_conversation_stands_where_no_room_can_be_made() -> None:
    cut = reply("half an answer", usage=Usage(input=MODEL.context_window + 1))
    scene, _ = kept_scene([cut])

    end = run(scene.agent.run(say("begin")))

    assert end.reason == "done"
    assert end.messages[-1].text == "half an answer"


def test_what_was_said_while_room_is_made_waits_and_an_abort_leaves_it_waiting() -> None:
    class Slow(Limiter):
        async def before_request(self) -> None:
            self.begun.set()
            await asyncio.Event().wait()

        begun = asyncio.Event()

    async def scenario() -> tuple[AgentEnd, list[str]]:
        scene = Scene([])
        limiter = Slow(scene.agent)
        scene.agent.set_context_limiter(limiter)
        running = asyncio.create_task(scene.agent.run(say("begin")))
        await limiter.begun.wait()
        scene.agent.steer(say("and this"))
        scene.agent.abort()
        return await running, [message.text for message in scene.agent.clear_queues()]

    end, waiting = run(scenario())

    assert end.reason == "aborted"
    assert waiting == ["and this"]
