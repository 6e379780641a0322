"""A reply of many calls takes as much work for each as one of few, in every wire format."""

from collections.abc import Callable

import pytest

from kaa.llm.anthropic.reply import MessageParser
from kaa.llm.completions.reply import CompletionParser
from kaa.llm.gemini.reply import GeminiParser
from kaa.llm.http.sse import SseDecoder
from kaa.llm.http.streaming import ReplyParser
from kaa.llm.responses.reply import ResponseParser
from kaa.llm.wire import Peer
from tests.support.model_script import Answer, Call
from tests.support.model_wire import Wire, render
from tests.support.work import instructions


@pytest.mark.parametrize(
    ("wire", "parser"),
    [
        ("openai-completions", CompletionParser),
        ("anthropic-messages", MessageParser),
        ("openai-responses", ResponseParser),
        ("google-generative-ai", GeminiParser),
    ],
)
@pytest.mark.parametrize("ids", ["call_{0}", "same"])
def test_many_calls_cost_each_what_few_do(wire: Wire, parser: Callable[[Peer], ReplyParser], ids: str) -> None:
    def work(count: int) -> int:
        calls = tuple(Call("ls", "{}", ids.format(number)) for number in range(count))
        rendered = SseDecoder().feed(b"".join(event.data for event in render(Answer(calls=calls), wire)))

        def read() -> None:
            reading = parser(Peer("vendor", "model-1", "host"))
            for event in rendered:
                reading.accept(event)
                reading.drain()
            reading.finish()

        return instructions(read)

    assert work(200) <= 11 * work(20)
