"""What a choice of a model comes to: a model and the way to it, or a server that has to be asked for one."""

from typing import TYPE_CHECKING

import msgspec

from kaa.core.provider import Model, ThinkingLevel
from kaa.llm.wire import Endpoint

if TYPE_CHECKING:
    from kaa.llm.models.provided import ProvidedProvider


class ResolvedModel(msgspec.Struct, frozen=True):
    """A model and how to reach it.

    Attributes:
        thinking: the level asked for, or the nearest one the model has.
        provided: who gets the replies where kaa does not speak the wire format.
    """

    model: Model
    endpoint: Endpoint
    thinking: ThinkingLevel = "off"
    provided: "ProvidedProvider | None" = None


class UnlistedServer(msgspec.Struct, frozen=True):
    """A server of which only the address is known: it must be asked which models it has.

    Attributes:
        model: any model of this server, to be given the right id.
        known: models that may be there, in order of preference; empty where kaa should not guess.
    """

    endpoint: Endpoint
    model: ResolvedModel
    known: tuple[ResolvedModel, ...]
