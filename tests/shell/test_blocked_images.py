"""`images.blockImages`: no image reaches a model, on any way; judged by the bodies of the real requests."""

import base64
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from kaa.core.messages import ImageContent, Json, user_message
from kaa.shell.conversation import Conversation
from kaa.shell.options import ContinueSession, ConversationOptions, Record
from tests.support.model_script import Answer, Call, Refusal, say
from tests.support.model_server import Wire
from tests.support.stage import Stage

_NOTE = "image omitted"


def _png() -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(stream, "PNG")
    return stream.getvalue()


_PNG = _png()
_BASE64 = base64.b64encode(_PNG).decode()
_MESSAGE = user_message("what is this?", (ImageContent(_BASE64, "image/png"),))
_READ = Answer(calls=(Call("read", '{"path": "shot.png"}'),))


@pytest.fixture
def seeing(stage: Stage) -> Callable[[Wire], Stage]:
    """A stage with two models that take images, in a wire format."""

    def prepared(wire: Wire) -> Stage:
        url = f"{stage.server.url}/v1" if wire.startswith("openai") else stage.server.url
        models = [{"id": name, "input": ["text", "image"]} for name in ("one", "two")]
        provider = {"baseUrl": url, "api": wire, "apiKey": "k", "models": models}
        stage.home.mkdir(parents=True, exist_ok=True)
        (stage.home / "models.json").write_text(json.dumps({"providers": {"acme": provider}}))
        stage.environ = {}
        stage.files["shot.png"] = _PNG
        return stage

    return prepared


def _settings(stage: Stage, *, block: bool, **settings: Json) -> None:
    (stage.home / "settings.json").write_text(json.dumps({"images": {"blockImages": block}, **settings}))


def _opened(**changes: Json) -> ConversationOptions:
    return ConversationOptions(model="acme/one", **changes)


def _with_images(stage: Stage) -> list[bool]:
    """Of each request, whether the image is in it."""
    return [_BASE64 in request.body.decode() for request in stage.server.requests]


def _notices(stage: Stage) -> list[str]:
    return [notice for notice in stage.notices if "images.blockImages" in notice]


_WIRES: list[Wire] = ["openai-completions", "anthropic-messages", "openai-responses", "google-generative-ai"]


@pytest.mark.parametrize("wire", _WIRES)
@pytest.mark.parametrize("block", [True, False])
def test_images_of_messages_and_tools(seeing: Callable[[Wire], Stage], wire: Wire, block: bool) -> None:
    stage = seeing(wire)
    _settings(stage, block=block)
    stage.server.begin([_READ, say("red")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit(_MESSAGE)

    stage.play(scene, _opened())

    first, second = (request.body.decode() for request in stage.server.requests)
    assert (first.count(_BASE64), second.count(_BASE64)) == ((0, 0) if block else (1, 2))
    assert (first.count(_NOTE), second.count(_NOTE)) == ((1, 2) if block else (0, 0))
    assert len(_notices(stage)) == (1 if block else 0)


def test_images_of_a_resumed_session_after_a_switch_and_for_a_summary(seeing: Callable[[Wire], Stage]) -> None:
    stage = seeing("anthropic-messages")
    _settings(stage, block=False)
    stage.server.begin([say("red"), say("still red"), say("a summary"), say("red, as I said")])

    async def before(conversation: Conversation) -> None:
        await conversation.submit(_MESSAGE)

    async def after(conversation: Conversation) -> None:
        await conversation.models.choose("acme/two")
        await conversation.submit("are you sure?")
        await conversation.compaction.compact()
        await conversation.submit("really?")

    stage.play(before, _opened())
    sizes = {"keepRecentTokens": 0, "reserveTokens": 1000}
    _settings(stage, block=True, compaction=sizes)
    stage.play(after, ConversationOptions(session=ContinueSession()))

    assert _with_images(stage) == [True, False, False, False]
    assert len(_notices(stage)) == 1


def test_a_fallback_model_gets_no_images(seeing: Callable[[Wire], Stage]) -> None:
    stage = seeing("openai-completions")
    _settings(stage, block=True, retry={"enabled": False}, fallbackModels=["acme/two"])
    stage.server.begin([Refusal(402), say("red")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit(_MESSAGE)

    stage.play(scene, _opened())

    assert [request.json["model"] for request in stage.server.requests] == ["one", "two"]
    assert _with_images(stage) == [False, False]


@pytest.mark.parametrize("recorded", [True, False])
def test_a_reload_holds_from_the_next_request_on(
    seeing: Callable[[Wire], Stage], tmp_path: Path, recorded: bool
) -> None:
    stage = seeing("openai-responses")
    _settings(stage, block=False)
    stage.server.begin([say("red"), say("still red")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit(_MESSAGE)
        _settings(stage, block=True)
        await conversation.reload()
        await conversation.submit("are you sure?")

    stage.play(scene, _opened(**({"wire": Record(tmp_path / "run.jsonl")} if recorded else {})))

    assert _with_images(stage) == [True, False]


def test_the_user_learns_once_that_a_model_takes_no_images(seeing: Callable[[Wire], Stage]) -> None:
    stage = seeing("openai-completions")
    models = json.loads((stage.home / "models.json").read_text())
    models["providers"]["acme"]["models"][0]["input"] = ["text"]
    (stage.home / "models.json").write_text(json.dumps(models))
    stage.server.begin([say("I see none."), say("Still none.")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit(_MESSAGE)
        await conversation.submit("and now?")

    stage.play(scene, _opened())

    assert _with_images(stage) == [False, False]
    assert [notice for notice in stage.notices if "cannot see images" in notice] == [
        "acme/one cannot see images; it gets a note instead"
    ]
