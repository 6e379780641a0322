"""`/login` and `/logout`: which provider, in which way, and what came of it."""

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, Protocol

from kaa.ext.errors import CommandError
from kaa.frontends.browser import open_in_browser
from kaa.frontends.interactive.core_thread import Post
from kaa.frontends.interactive.dialogs.choices import DialogChoice
from kaa.frontends.interactive.dialogs.frame import DialogFrame
from kaa.frontends.interactive.engine import Engine, OpeningError
from kaa.frontends.interactive.event_presenter import EventPresenter
from kaa.frontends.interactive.login.dialogs import KeyDialog, WayDialog
from kaa.frontends.interactive.selectors.lists import words_first
from kaa.frontends.interactive.ui_context import UIContext
from kaa.tui.components.select_list import SelectItem

if TYPE_CHECKING:
    from kaa.llm.models.verification import KeyVerdict
    from kaa.shell.logins import LoginOption, Logins, Method


_WAYS = {
    "browser": ("in the browser", "here; from another machine, paste an address"),
    "device": ("with a code", "in a browser on any machine"),
    "key": ("with an API key", "from the provider"),
}


class LoggingIn:
    """Asks, shows and tells.

    Args:
        open_conversation: tries again to open the conversation that could not be opened without a key.
    """

    def __init__(
        self,
        ui: UIContext,
        presenter: EventPresenter,
        copy: Callable[[str], None],
        open_conversation: Callable[[], None],
    ) -> None:
        self._ui = ui
        self._presenter = presenter
        self._copy = copy
        self._open_conversation = open_conversation
        self._attempt = 0  # answers to a check that was given up are no answers any more

    def login(self, provider: str = "") -> None:
        """Log in to a provider; one that is not named is chosen from a list."""

        def choose(options: "Sequence[LoginOption]") -> None:
            named = {option.provider: option for option in options}
            if provider in named:
                self._choose_way(named[provider])
                return
            items = [SelectItem(one.provider, one.provider, _facts(one)) for one in options]
            self._ui.lists.choose(
                "Log in",
                items,
                lambda name: self._choose_way(named[name]),
                hint="Esc goes back",
                query=provider,
                find=words_first,
            )

        self._ui.call(_login_options, choose)

    def logout(self, provider: str = "") -> None:
        """Remove the stored key or login of a provider; one that is not named is chosen from a list."""

        def choose(stored: Sequence[str]) -> None:
            if stored:
                items = [SelectItem(name, name) for name in stored]
                self._ui.lists.choose("Remove the key or login of", items, self._log_out, hint="Esc goes back")
            else:
                self._ui.say("auth.json has no key and no login", "warning")

        if provider:
            self._log_out(provider)
        else:
            self._ui.call(_stored_logins, choose)

    def _log_out(self, provider: str) -> None:
        def told(left: str | None) -> None:
            there = f" There is still one in {left}." if left else ""
            self._presenter.show_notice(f"The key or login of {provider} was removed.{there}")

        self._ui.call(lambda engine: _log_out(engine, provider), told)

    def _choose_way(self, option: "LoginOption") -> None:
        if len(option.methods) == 1:
            self._begin(option.provider, option.methods[0])
            return
        items = [SelectItem[str](method, *_WAYS[method]) for method in option.methods]
        methods: dict[str, Method] = {method: method for method in option.methods}
        self._ui.lists.choose(
            f"Log in to {option.provider}", items, lambda method: self._begin(option.provider, methods[method])
        )

    def _begin(self, provider: str, method: "Method") -> None:
        if method == "key":
            self._ask_for_key(provider)
            return
        way = method

        def cancel() -> None:
            self._ui.lists.close(dialog)
            self._ui.call(lambda _: login.abort())
            self._ui.say("the login was aborted")

        def open_address(address: str) -> None:
            if not open_in_browser(address):
                self._ui.say("there is no browser here: open the address yourself", "warning")

        def finished(is_open: bool) -> None:
            self._ui.lists.close(dialog)
            self._done(f"You are logged in to {provider}.", is_open=is_open)

        def failed(error: BaseException) -> None:
            self._ui.lists.close(dialog)
            self._presenter.show_failure(error)

        dialog = WayDialog(
            self._ui.main_view.context,
            provider,
            on_open=open_address,
            on_copy=self._copy,
            on_paste=lambda text: self._ui.call(lambda _: login.take(text)),
            on_cancel=cancel,
            refresh=self._ui.refresh,
        )
        login = _LoginSession(self._ui.main_view.app.reactor.post, dialog)
        self._open(dialog)
        self._ui.call(lambda engine: login.run(engine, provider, way), finished, failed)

    def _ask_for_key(self, provider: str, problem: str = "") -> None:
        if self._ui.main_view.shows_typing:
            self._presenter.show_notice(
                f"Line by line, what you type would be shown: run  kaa login {provider}  in a terminal.", "warning"
            )
            return

        def entered(key: str) -> None:
            self._ui.lists.close(dialog)
            self._check(provider, key)

        dialog = KeyDialog(self._ui.main_view.context, provider, problem, entered, lambda: self._ui.lists.close(dialog))
        self._open(dialog)

    def _check(self, provider: str, key: str) -> None:
        self._attempt += 1
        attempt = self._attempt

        def judge(verdict: "KeyVerdict") -> None:
            if attempt != self._attempt:
                return
            match verdict.state:
                case "works":
                    self._keep(provider, key, f"The key of {provider} is saved and works. {verdict.said}".rstrip())
                case "refused" | "expired":
                    self._ask_for_key(provider, verdict.said)
                case "unreachable" | "unverified":
                    self._ask_whether_to_keep(provider, key, verdict.said)

        self._ui.say(f"asking {provider} whether it knows this key…")
        self._ui.call(
            lambda engine: _check_key(engine, provider, key),
            judge,
            lambda error: self._ask_for_key(provider, str(error)),
        )

    def _ask_whether_to_keep(self, provider: str, key: str, why: str) -> None:
        def keep() -> None:
            self._ui.lists.close(dialog)
            self._keep(provider, key, f"The key of {provider} is saved without a check.")

        choices = [
            DialogChoice("n", "No, discard it", lambda: self._ui.lists.close(dialog)),
            DialogChoice("y", "Yes, save it unchecked", keep),
        ]
        dialog = self._ui.lists.ask("The key could not be checked. Save it?", why, choices)

    def _keep(self, provider: str, key: str, said: str) -> None:
        self._ui.call(
            lambda engine: _keep_key(engine, provider, key),
            lambda is_open: self._done(said, is_open=is_open),
        )

    def _done(self, said: str, *, is_open: bool) -> None:
        self._presenter.show_notice(f"{said} Choose a model with /model." if is_open else said)
        if not is_open:
            self._open_conversation()

    def _open(self, dialog: DialogFrame) -> None:
        self._ui.main_view.dock.open(dialog)
        self._ui.refresh()


def _facts(option: "LoginOption") -> str:
    """What else a provider is called, and where its key is."""
    return "  ".join(fact for fact in (", ".join(option.products), option.source) if fact)


class _LoginView(Protocol):
    """Who shows a login, in the thread of the user interface."""

    def show_address(self, address: str) -> None:
        """Have it opened in a browser."""

    def show_code(self, address: str, code: str) -> None: ...

    def complain(self, problem: str) -> None:
        """What was pasted is of no use."""


class _LoginSession:
    """One login in the browser, or with a code (`LoginScreen`). Its methods run in the core's thread.

    Args:
        post: runs a function in the thread of the user interface.
    """

    def __init__(self, post: Post, view: _LoginView) -> None:
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
        await _user_logins().log_in(provider, method, self)
        return await _adopt(engine, provider)

    async def abort(self) -> None:
        """End it. Nothing is reported then."""
        if self._task is not None:
            self._task.cancel()

    async def take(self, pasted: str) -> None:
        self._pasted.put_nowait(pasted)

    def show_address(self, address: str) -> None:
        self._post(lambda: self._view.show_address(address))

    def show_code(self, address: str, code: str) -> None:
        self._post(lambda: self._view.show_code(address, code))

    def complain(self, problem: str) -> None:
        self._post(lambda: self._view.complain(problem))

    async def pasted(self) -> str:
        """What the person pastes, when that is done."""
        return await self._pasted.get()


def _user_logins() -> "Logins":
    """The user's keys and logins. Raises as `Logins.of` does."""
    from kaa.shell.logins import Logins  # lazy: only who logs in needs it

    return Logins.of(os.environ)


async def _login_options(_: Engine) -> "Sequence[LoginOption]":
    """The providers one can log in to."""
    return await asyncio.to_thread(_user_logins().options)


async def _check_key(_: Engine, provider: str, key: str) -> "KeyVerdict":
    """Whether a provider accepts a key. Raises as `Logins.check_key` does."""
    return await _user_logins().check_key(provider, key)


async def _keep_key(engine: Engine, provider: str, key: str) -> bool:
    """Keep a key. Returns whether a conversation is open, which uses it from now on."""
    await asyncio.to_thread(_user_logins().keep_key, provider, key)
    return await _adopt(engine, provider)


async def _log_out(engine: Engine, provider: str) -> str | None:
    """Forget a key or login. Returns where there is still one. What the conversation uses it goes on using."""
    left = await asyncio.to_thread(_user_logins().log_out, provider)
    with suppress(OpeningError):
        await engine.conversation.models.reload()
    return left


async def _stored_logins(_: Engine) -> Sequence[str]:
    """The providers that auth.json has something of."""
    return await asyncio.to_thread(_user_logins().stored)


async def _adopt(engine: Engine, provider: str) -> bool:
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
