"""A login that is under way in the core's thread, and what the conversation makes of it."""

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, Protocol

from kaa.ext.errors import CommandError
from kaa.frontends.interactive.core_thread import Post
from kaa.frontends.interactive.engine import Engine, OpeningError

if TYPE_CHECKING:
    from kaa.llm.models.verification import KeyVerdict
    from kaa.shell.logins import LoginOption, Logins


class LoginView(Protocol):
    """Who shows a login, in the thread of the user interface."""

    def show_address(self, address: str) -> None:
        """Have it opened in a browser."""
        ...

    def show_code(self, address: str, code: str) -> None:
        """Have the code entered there."""
        ...

    def complain(self, problem: str) -> None:
        """What was pasted is of no use."""
        ...


class LoginSession:
    """One login in the browser, or with a code (`LoginScreen`). Its methods run in the core's thread.

    Args:
        post: runs a function in the thread of the user interface.
    """

    def __init__(self, post: Post, view: LoginView) -> None:
        self._post = post
        self._view = view
        self._task: asyncio.Task[object] | None = None
        self._pasted: asyncio.Queue[str] = asyncio.Queue()

    async def run(self, engine: Engine, provider: str, method: Literal["browser", "device"]) -> bool:
        """Log in. Returns whether a conversation is open, which uses the login from now on.

        Raises:
            LoginError: it did not come about.
            ProviderError: the server cannot be reached.
            CredentialError: the login cannot be kept.
        """
        self._task = asyncio.current_task()
        await user_logins().log_in(provider, method, self)
        return await adopt(engine, provider)

    async def abort(self) -> None:
        """End it. Nothing is reported then."""
        if self._task is not None:
            self._task.cancel()

    async def take(self, pasted: str) -> None:
        """Take what the person pasted."""
        self._pasted.put_nowait(pasted)

    def show_address(self, address: str) -> None:
        self._post(lambda: self._view.show_address(address))

    def show_code(self, address: str, code: str) -> None:
        """Have the code entered there."""
        self._post(lambda: self._view.show_code(address, code))

    def complain(self, problem: str) -> None:
        """What was pasted is of no use."""
        self._post(lambda: self._view.complain(problem))

    async def pasted(self) -> str:
        """What the person pastes, when that is done."""
        return await self._pasted.get()


def user_logins() -> "Logins":
    """The user's keys and logins. Raises as `Logins.of` does."""
    from kaa.shell.logins import Logins  # lazy: only who logs in needs it

    return Logins.of(os.environ)


async def options(_: Engine) -> "Sequence[LoginOption]":
    """The providers one can log in to."""
    return await asyncio.to_thread(user_logins().options)


async def check_key(_: Engine, provider: str, key: str) -> "KeyVerdict":
    """Whether a provider accepts a key. Raises as `Logins.check_key` does."""
    return await user_logins().check_key(provider, key)


async def keep_key(engine: Engine, provider: str, key: str) -> bool:
    """Keep a key. Returns whether a conversation is open, which uses it from now on."""
    await asyncio.to_thread(user_logins().keep_key, provider, key)
    return await adopt(engine, provider)


async def log_out(engine: Engine, provider: str) -> str | None:
    """Forget a key or login. Returns where there is still one. What the conversation uses it goes on using."""
    left = await asyncio.to_thread(user_logins().log_out, provider)
    with suppress(OpeningError):
        await engine.conversation.models.reload()
    return left


async def stored(_: Engine) -> Sequence[str]:
    """The providers that auth.json has something of."""
    return await asyncio.to_thread(user_logins().stored)


async def adopt(engine: Engine, provider: str) -> bool:
    """Let the open conversation use what was just kept. Returns whether there is one."""
    try:
        models = engine.conversation.models
    except OpeningError:
        return False
    await models.reload()
    if models.current.model.provider == provider:
        with suppress(CommandError):  # it is recorded or replayed, and goes on as it began
            await models.choose(models.current.name, models.current.thinking)
    return True
