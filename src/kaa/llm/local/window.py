"""Notices what a small window does to a conversation: what can never fit, and what a server cut off without a word.

Ollama says which window it gives a model only once it has loaded it, which a request without a prompt makes it do
(https://docs.ollama.com/api/generate). The first request would do so anyway.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Final

import msgspec

from kaa.core.errors import BadRequestError, ContextOverflowError
from kaa.core.messages import AssistantMessage, Json
from kaa.core.provider import Provider, ReplyInfo, Request, StreamDone, StreamEvent
from kaa.core.usage import context_parts, prompt_tokens
from kaa.llm.http.transport import HttpRequest, Transport
from kaa.llm.local.servers import JSON_HEADERS, LocalServer, RunningList, ask, get, window_advice

# Estimates count four characters a token and are rather too low; a server that says half of it has not read the rest.
_READ_SHARE = 0.5
# Below this the estimate says too little; and no window in use is so small that less is left of what was cut off.
_MEASURABLE_TOKENS = 1000
_LEAST_LEFT_TOKENS = 500
# What is one token too long is cut to half the window and two or so (github.com/ollama/ollama/issues/17427): at the
# limit that may be more than half of what was sent.
_HALF_AND = 8
_NEARLY_FULL_SHARE = 0.7
# Large models come from the disk at a few GB a second, or from a slow one.
_LOADING_SECONDS: Final = 120.0


class WithinWindow:
    """Wraps a provider; see `kaa.core.provider.Provider`.

    Args:
        truncates: the server cuts off what does not fit, and answers all the same.
    """

    def __init__(self, provider: Provider, *, truncates: bool) -> None:
        self._provider = provider
        self._truncates = truncates
        self._counts_all = False  # it has counted more of a conversation than what was new in it

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        """Stream a reply.

        Raises:
            BadRequestError: system prompt, tools and the last message alone are more than the window.
            ContextOverflowError: the server would cut the conversation off, or has done it.
        """
        return self._watched(request)

    async def _watched(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        _refuse_what_never_fits(request)
        sent = context_parts(request.system, request.tools, request.messages)
        text = sent.total - sent.images - sent.thinking  # which servers may leave out
        if self._truncates and text > request.model.context_window:
            raise ContextOverflowError(
                f"The conversation has about {text:,} tokens, the window of {request.model.id} only "
                f"{request.model.context_window:,}: the server would cut it off. {_advice(request)}"
            )
        read = 0
        async with aclosing(self._provider.stream(request)) as stream:
            async for event in stream:
                if isinstance(event, ReplyInfo) and event.usage is not None:
                    read = prompt_tokens(event.usage)
                if self._truncates and isinstance(event, StreamDone) and self._is_cut_off(read, text, request):
                    raise ContextOverflowError(
                        f"The server read {read:,} of about {text:,} tokens: it cut the conversation off, because the "
                        f"window it gives {request.model.id} is too small. {_advice(request)}"
                    )
                yield event

    def _is_cut_off(self, read: int, sent: int, request: Request) -> bool:
        """Whether a server that says that it read so many tokens has left out a part of what was sent.

        Ollama before 0.2 says how many were new to it, the rest came out of its cache
        (github.com/ollama/ollama/pull/5371). Until it is clear that a server counts all, only what came since the last
        reply is expected.
        """
        half = request.model.context_window // 2
        if half < read <= half + _HALF_AND and sent > _NEARLY_FULL_SHARE * request.model.context_window:
            return True
        new = _new_tokens(request)
        self._counts_all = self._counts_all or (new < sent and read > _READ_SHARE * sent and read > 2 * new)
        expected = sent if self._counts_all else new
        return _LEAST_LEFT_TOKENS < read < _READ_SHARE * expected and expected > _MEASURABLE_TOKENS


def _new_tokens(request: Request) -> int:
    """About how many tokens came since the last reply: no server can have them in its cache."""
    messages = request.messages
    replies = (at for at in range(len(messages), 0, -1) if isinstance(messages[at - 1], AssistantMessage))
    parts = context_parts("", (), messages[next(replies, 0) :])
    return parts.total - parts.images - parts.thinking


def _refuse_what_never_fits(request: Request) -> None:
    """Say so before anything is sent: condensing the conversation would not help."""
    window = request.model.context_window
    fixed = context_parts(request.system, request.tools, ())
    last = context_parts("", (), request.messages[-1:])
    if fixed.total + last.total - last.images < window:
        return
    raise BadRequestError(
        f"This does not fit into the window of {request.model.id}, {window:,} tokens: the system prompt takes about "
        f"{fixed.system_prompt:,}, the tools {fixed.tools:,}, the last message {last.total:,}. {_advice(request)} "
        "Fewer tools (--tools) and shorter project instructions help too."
    )


def _advice(request: Request) -> str:
    return window_advice(request.model.provider)


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
