"""Tests that are coroutines."""

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import ParamSpec

_P = ParamSpec("_P")


def in_loop(test: Callable[_P, Coroutine[None, None, None]]) -> Callable[_P, None]:
    """Run a test in an event loop of its own, for 30 seconds at most."""

    @functools.wraps(test)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), 30))

    return run
