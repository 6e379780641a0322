"""Has Ollama load a model before the conversation begins: only then it says which window it gives the model.

https://docs.ollama.com/api/generate: a request without a prompt loads the model. The first request would do so anyway.
"""

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from kaa.core.messages import Json
from kaa.llm.http.transport import HttpRequest, Transport
from kaa.llm.local.servers import JSON_HEADERS, LocalServer, RunningList, ask, get

# Large models come from the disk at a few GB a second, or from a slow one.
_LOADING_SECONDS: Final = 120.0


async def with_loaded(
    server: LocalServer, model_id: str, transport: Transport, notify: Callable[[str], None]
) -> LocalServer:
    """`server` with the window that it gives the model, loading the model if only that tells.

    Nothing changes where it cannot be loaded, or the server is too old to tell.
    """
    model = next((one for one in server.models if one.id == model_id), None)
    if server.kind != "ollama" or model is None or not model.guessed:
        return server
    if not model.loaded:
        notify(f"{server.name} loads {model_id}, to learn how large its window is")
        body = msgspec.json.encode({"model": model_id, "stream": False})
        request = HttpRequest("POST", f"{server.root}/api/generate", JSON_HEADERS, body)
        try:
            async with asyncio.timeout(_LOADING_SECONDS):
                await ask(request, dict[str, Json], transport)
        except TimeoutError:
            return server
    running = await get(f"{server.root}/api/ps", RunningList, transport) or RunningList()
    window = next((one.context_length for one in running.models if one.name == model_id), None)
    if not window:
        return server
    known = msgspec.structs.replace(model, window=window, loaded=True, guessed=False)
    models = tuple(known if one is model else one for one in server.models)
    return msgspec.structs.replace(server, models=models)
