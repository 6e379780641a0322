"""Providers that extensions add and take back while a conversation goes on."""

from collections.abc import AsyncGenerator

import pytest

from kaa.core.provider import Request, StreamDone, StreamEvent, TextChunk
from kaa.ext.api import ExtensionAPI, ProviderAccess
from kaa.ext.errors import RegistrationError
from kaa.shell.host import HostedConversation
from tests.support.extended import play
from tests.support.model_server import say
from tests.support.stage import Stage

_ENTRY = {"models": [{"id": "large"}]}


async def _stream(_request: Request, _access: ProviderAccess) -> AsyncGenerator[StreamEvent, None]:
    yield TextChunk(0, "I am acme.")
    yield StreamDone("stop")


def test_a_provider_that_is_taken_back_answers_until_the_user_switches(stage: Stage) -> None:
    stage.environ["OPENAI_API_KEY"] = "key"
    stage.server.begin([say("I am the other one.")])

    def models(hosted: HostedConversation) -> set[str]:
        return {model.provider for model in hosted.conversation.models.available()}

    async def scene(hosted: HostedConversation) -> None:
        conversation, api = hosted.conversation, apis[0]
        api.register_provider("acme", _ENTRY, _stream)
        assert "acme" in models(hosted)
        await conversation.models.switch("acme/large")

        api.unregister_provider("acme")

        await conversation.submit("who are you?")
        await conversation.models.switch("openai/m")
        assert "acme" not in models(hosted)
        await conversation.submit("and now?")
        assert [one.text for one in conversation.messages[1::2]] == ["I am acme.", "I am the other one."]
        api.register_provider("acme", _ENTRY, _stream)
        assert "acme" in models(hosted)

    apis: list[ExtensionAPI] = []
    play(stage, scene, apis.append)

    assert stage.notices == []


def test_only_its_own_providers_can_be_taken_back(stage: Stage) -> None:
    async def scene(hosted: HostedConversation) -> None:
        apis[0].register_provider("acme", _ENTRY, _stream)
        with pytest.raises(RegistrationError, match=r"extension /extensions/ci2.py has no provider named 'acme'"):
            apis[1].unregister_provider("acme")

        assert "acme" in {model.provider for model in hosted.conversation.models.available()}

    apis: list[ExtensionAPI] = []
    play(stage, scene, apis.append, apis.append)
