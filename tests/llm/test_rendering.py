import msgspec

from kaa.core.messages import Message
from kaa.core.provider import Model
from kaa.llm.rendering import RenderedOnce
from tests.support.agents import MODEL, say


def test_each_message_is_rendered_once_while_the_conversation_grows() -> None:
    rendered: list[Message] = []

    def render(message: Message, model: Model) -> str:
        rendered.append(message)
        return f"{len(rendered)} for {model.id}"

    once, conversation = RenderedOnce(render), [say("a"), say("b")]
    once(conversation, MODEL)
    conversation.append(say("a"))

    pairs = once(conversation, MODEL)

    assert [text for _, text in pairs] == ["1 for test-model", "2 for test-model", "3 for test-model"]
    assert [message for message, _ in pairs] == conversation


def test_another_model_gets_a_rendering_of_its_own() -> None:
    def render(_message: Message, model: Model) -> str:
        return model.id

    once, conversation = RenderedOnce(render), [say("a")]

    for name in ("one", "two", "one"):
        assert once(conversation, msgspec.structs.replace(MODEL, id=name)) == [(conversation[0], name)]
