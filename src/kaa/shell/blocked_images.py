"""Tells the user once that images are withheld from models, when the first one is: see `kaa.llm.models.adapters`."""

from collections.abc import Callable

from kaa.core.agent import Agent
from kaa.core.messages import AssistantMessage, ImageContent
from kaa.core.provider import Request
from kaa.shell.models.switching import Models

_NOTICE = (
    "kaa does not send images to models, because the setting images.blockImages is true: "
    "the model gets a note in place of each image"
)


class BlockedImages:
    """Watches the requests of a conversation.

    Args:
        agent: sends them.
        models: knows whether images are blocked.
        notify: told, in a sentence.
    """

    def __init__(self, agent: Agent, models: Models, notify: Callable[[str], None]) -> None:
        self._models = models
        self._notify = notify
        self._told = False
        agent.observe_requests(self._observe)

    def _observe(self, request: Request) -> None:
        if self._told or not self._models.in_force.endpoint.tuning.block_images:
            return
        self._told = any(
            isinstance(block, ImageContent)
            for message in request.messages
            if not isinstance(message, AssistantMessage)
            for block in message.content
        )
        if self._told:
            self._notify(_NOTICE)
