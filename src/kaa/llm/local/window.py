"""Notices what a small window does to a conversation: what can never fit, and what a server cut off without a word."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from kaa.core.errors import BadRequestError, ContextOverflowError
from kaa.core.provider import Done, Provider, ReplyInfo, Request, StreamEvent
from kaa.core.usage import context_parts, prompt_tokens
from kaa.llm.local.servers import window_advice

# Estimates count four characters a token and are rather too low; a server that says half of it has not read the rest.
_READ_SHARE = 0.5
# Below this the estimate says too little.
_MEASURABLE_TOKENS = 1000


class WithinWindow:
    """Wraps a provider; see `kaa.core.provider.Provider`.

    Args:
        provider: asks the model.
        truncates: the server cuts off what does not fit, and answers all the same.
    """

    def __init__(self, provider: Provider, *, truncates: bool) -> None:
        self._provider = provider
        self._truncates = truncates

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        """See `Provider.stream`.

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
                if self._truncates and isinstance(event, Done) and _is_cut_off(read, text):
                    raise ContextOverflowError(
                        f"The server read {read:,} of about {text:,} tokens: it cut the conversation off, because the "
                        f"window it gives {request.model.id} is too small. {_advice(request)}"
                    )
                yield event


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


def _is_cut_off(read: int, sent: int) -> bool:
    return 0 < read < _READ_SHARE * sent and sent > _MEASURABLE_TOKENS


def _advice(request: Request) -> str:
    return window_advice(request.model.provider)
