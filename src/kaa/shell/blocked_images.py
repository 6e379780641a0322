"""Tells the user that images are withheld from a model, and why, when the first one is: see `kaa.llm.handoff`."""

from collections.abc import Callable

from kaa.core.agent import Agent
from kaa.core.messages import AssistantMessage, ImageContent
from kaa.core.provider import Model, Request
from kaa.shell.models.switching import Models

_BLOCKED = (
    "kaa does not send images to models, because the setting images.blockImages is true: "
    "the model gets a note in place of each image"
)
_UNSUPPORTED = "{model} cannot see images; it gets a note instead"


class BlockedImages:
    """Watches the requests of a conversation.

    Args:
        notify: told, in a sentence.
    """

    def __init__(self, agent: Agent, models: Models, notify: Callable[[str], None]) -> None:
        self._models = models
        self._notify = notify
        self._told: set[str] = set()
        agent.observe_requests(self._observe)

    def _observe(self, request: Request) -> None:
        notice = self._reason(request.model)
        if notice is None or notice in self._told:
            return
        has_images = any(
            isinstance(block, ImageContent)
            for message in request.messages
            if not isinstance(message, AssistantMessage)
            for block in message.content
        )
        if has_images:
            self._told.add(notice)
            self._notify(notice)

    def _reason(self, model: Model) -> str | None:
        """Why a model gets no images."""
        if self._models.in_force.endpoint.tuning.block_images:
            return _BLOCKED
        return None if "image" in model.input else _UNSUPPORTED.format(model=f"{model.provider}/{model.id}")
