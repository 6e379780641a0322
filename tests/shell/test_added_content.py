"""What hooks add to a message reaches the model, and does not come back as the person's own words."""

from pathlib import Path

from kaa.core.events import Event, QueueUpdate
from kaa.core.messages import user_message
from kaa.frontends.interactive.attachments import Attachments
from kaa.session.catalogue.catalogue import Catalogue
from kaa.shell.conversation import Conversation
from tests.support.model_script import say
from tests.support.stage import Stage

HOOK = """
import msgspec
from kaa.core.messages import ImageContent, TextContent

def extend(kaa):
    @kaa.on_user_message
    async def add(message, context):
        content = (TextContent(message.content),) if isinstance(message.content, str) else message.content
        added = TextContent("branch main"), ImageContent("", "image/png")
        return msgspec.structs.replace(message, content=(*content, *added))
"""


def test_it_is_not_in_what_can_be_sent_again_nor_in_lists(stage: Stage, tmp_path: Path) -> None:
    stage.install(HOOK)
    stage.server.begin([say("hi"), say("hi")])
    queued: list[QueueUpdate] = []

    def note(event: Event) -> None:
        if isinstance(event, QueueUpdate):
            queued.append(event)

    async def scene(conversation: Conversation) -> None:
        conversation.subscribe(note)
        await conversation.submit("one")
        [point] = conversation.navigation.points()
        message = conversation.navigation.message_at(point.entry_id)
        rows = (await conversation.navigation.outline()).rows
        assert point.text == "one"
        assert message is not None
        assert Attachments().take_back(message) == "one"
        assert [row.text for row in rows if row.kind == "user"] == ["one"]
        await conversation.steer(user_message("two"))
        assert queued[-1].steering == ("two",)
        conversation.clear_queues()
        assert conversation.session_path is not None
        summary, _ = Catalogue(tmp_path, (), "/project").summary(Path(conversation.session_path))
        assert summary.first_message == "one"

    stage.play(scene)

    assert "branch main" in str(stage.server.requests[-1].json)
