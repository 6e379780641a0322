"""Which vendors a router may send a request to, as the user wishes: in every format that routers speak."""

from kaa.llm.compat import Compat
from kaa.llm.rendering import JsonObject


def routing_fields(compat: Compat) -> JsonObject:
    """The fields of the request: https://openrouter.ai/docs/guides/routing/provider-selection."""
    routing: JsonObject = {}
    if compat.open_router_routing:
        routing["provider"] = compat.open_router_routing
    if compat.vercel_gateway_routing:
        routing["providerOptions"] = {"gateway": compat.vercel_gateway_routing}
    return routing
