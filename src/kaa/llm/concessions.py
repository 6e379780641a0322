"""Repeats a request without the parts that a server has refused."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from kaa.core.errors import BadRequestError
from kaa.core.provider import StreamEvent


async def conceding(
    ask: Callable[[], AsyncGenerator[StreamEvent, None]], concede: Callable[[str], bool]
) -> AsyncGenerator[StreamEvent, None]:
    """The reply to a request that is sent again for as long as something can be done without.

    Args:
        ask: sends the request, without what was conceded so far.
        concede: takes note of what a refusal is about; whether that is something new to do without.

    Raises:
        ProviderError: any that `ask` raises, but for refusals that were conceded to.
    """
    while True:
        begun = False
        try:
            async with aclosing(ask()) as events:
                async for event in events:
                    begun = True
                    yield event
            return
        except BadRequestError as error:
            if begun or not concede(str(error)):
                raise
