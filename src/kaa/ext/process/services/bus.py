"""Messages between extensions: `host/publish`, `host/subscribe`."""

from collections.abc import Mapping

import msgspec

from kaa.core.messages import Json
from kaa.ext.process.services.caller import Caller
from kaa.ext.process.wire import INTERNAL_ERROR, INVALID_PARAMS, RpcError, parse


class _Topic(msgspec.Struct, frozen=True):
    topic: str = ""
    data: Json = None


async def publish(params: Mapping[str, Json], caller: Caller) -> Json:
    """Tell all extensions that subscribed to a topic, also the one that publishes."""
    event = parse(params, _Topic)
    caller.host.bus.publish(event.topic, event.data)
    return {}


async def subscribe(params: Mapping[str, Json], caller: Caller) -> Json:
    """Hear of a topic, or of all that a pattern with `*` matches."""
    topic = parse(params, _Topic).topic
    if not topic:
        raise RpcError(INVALID_PARAMS, "`topic` is empty: use a name such as memory:updated")
    number = caller.host.bus.subscribe(caller.manifest.extension.key, topic, caller.notify)
    if number is None:
        raise RpcError(INTERNAL_ERROR, "the extension has too many subscriptions")
    return {"subscriptionId": number}
