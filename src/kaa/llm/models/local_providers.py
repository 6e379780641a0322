"""A server that was found on this machine, as models.json would describe it."""

from typing import Final

from kaa.core.messages import Json
from kaa.llm.local.servers import LocalModel, LocalServer
from kaa.llm.models.models_file import ProviderConfig

# Of a server that does not say: small enough for what is usually run at home.
_UNKNOWN_WINDOW: Final = 32_768
_OUTPUT_PART_OF_WINDOW: Final = 4
_MOST_OUTPUT: Final = 16_384
_FREE: Final[dict[str, Json]] = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}


def described(server: LocalServer) -> ProviderConfig:
    """`server` as a provider. What runs here costs nothing."""
    compat: dict[str, Json] = {"truncatesSilently": True} if server.kind == "ollama" else {}
    models: list[Json] = [_entry(model) for model in server.models]
    return ProviderConfig(base_url=f"{server.root}/v1", compat=compat, models=models)


def _entry(model: LocalModel) -> Json:
    window = model.window or _UNKNOWN_WINDOW
    entry: dict[str, Json] = {
        "id": model.id,
        "contextWindow": window,
        "maxTokens": max(1, min(_MOST_OUTPUT, window // _OUTPUT_PART_OF_WINDOW)),
        "input": ["text", "image"] if model.vision else ["text"],
        "cost": _FREE,
    }
    if model.thinks:  # docs.ollama.com/openai: reasoning_effort is high, medium, low or none
        entry |= {"reasoning": True, "thinkingLevelMap": {"off": "none", "minimal": None}}
    return entry
