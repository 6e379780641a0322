"""The user's keys and logins: which there are, whether they work, keeping and forgetting them."""

import asyncio
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from kaa.host.private_file import PrivateFileError
from kaa.llm.auth.auth_file import AuthFile
from kaa.llm.auth.credentials import CredentialStore
from kaa.llm.auth.errors import CredentialError, LoginError
from kaa.llm.auth.oauth.config import KEY_GRANTS, OAuthConfig
from kaa.llm.auth.oauth.renewal import KeptLogin
from kaa.llm.auth.oauth.screen import LoginScreen
from kaa.llm.former_names import current_name
from kaa.llm.http.live import LiveTransport
from kaa.llm.http.transport import Transport
from kaa.llm.models.keys import ProviderKeys
from kaa.llm.models.matching import close_names
from kaa.llm.models.product_names import product_names, providers_of
from kaa.llm.models.providers import ConfiguredProvider, load_providers
from kaa.llm.models.registry import ModelChoice, ModelRegistry, NoModelError
from kaa.llm.models.resolved import UnlistedServer
from kaa.llm.models.verification import KeyState, KeyVerdict, verify
from kaa.shell.home import Home
from kaa.shell.mistakes import MistakeError
from kaa.shell.settings import load_user_settings

Method = Literal["browser", "device", "key"]

# Somebody waits for the answer. Models that think before the first word take long.
_CONNECT_SECONDS: Final = 10.0
_SILENCE_SECONDS: Final = 30.0
_AT_ONCE: Final = 8


class LoginOption(msgspec.Struct, frozen=True):
    """A provider one can log in to.

    Attributes:
        source: where its key or login is, such as `auth.json`; None if there is none.
        methods: the ways to log in, the best first.
        products: what else people call it, such as `Claude`.
    """

    provider: str
    source: str | None
    methods: tuple[Method, ...]
    products: tuple[str, ...] = ()


class CredentialCheck(msgspec.Struct, frozen=True):
    """What came of checking the key or login of a provider. `state`: `unreadable` if there is none to be sent."""

    provider: str
    source: str
    state: KeyState | Literal["unreadable"]
    said: str = ""


class UnknownProviderError(LoginError, MistakeError):
    """There is no provider of the name that was given."""


class Logins:
    """All of them. auth.json and models.json are read anew for each call.

    Args:
        proxy: URL of the HTTP proxy of the user's settings; None for none.
    """

    def __init__(self, home: Home, environ: Mapping[str, str], proxy: str | None = None) -> None:
        self._models_file = home.path / "models.json"
        self._file = AuthFile(home.path / "auth.json")
        self._home = home
        self._environ = environ
        self._proxy = proxy

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "Logins":
        """Those of the user whose environment this is.

        Raises:
            SettingsError: it is not known where the user's home is, or the settings have a mistake.
        """
        home = Home.of(environ)
        return cls(home, environ, load_user_settings(home.settings).http_proxy)

    def options(self) -> tuple[LoginOption, ...]:
        """All providers one can log in to, in order of preference. Runs no commands."""
        providers, keys = self._providers()
        return tuple(
            LoginOption(name, self._source(provider, keys), _methods(provider), product_names(name))
            for name, provider in providers.items()
        )

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with models.json, one line each: providers that are described wrongly are not there."""
        return load_providers(self._models_file, self._environ)[1]

    def option(self, provider: str) -> LoginOption:
        """The one of this name.

        Raises:
            UnknownProviderError: there is no such provider.
        """
        provider, options = current_name(provider), self.options()
        for option in options:
            if option.provider == provider:
                return option
        close = providers_of(provider) or close_names(provider, [option.provider for option in options])
        meant = f"did you mean {' or '.join(close)}? If not, " if close else ""
        known = f"{meant}`kaa login` lists those there are, and models.json can add others"
        said = f"there is no provider {provider!r}: {known}"
        raise UnknownProviderError("\n".join([said, *self.problems]))

    async def check_key(self, provider: str, key: str) -> KeyVerdict:
        """Whether `provider` accepts a key.

        Raises:
            LoginError: the provider cannot be asked, because something else is missing.
        """
        if not key.isascii() or not key.isprintable() or " " in key:
            raise LoginError("a key has only letters, digits and signs, and no blanks: copy it once more")
        try:
            return await self._verified(ModelChoice(provider=provider, api_key=key))
        except (NoModelError, CredentialError) as error:
            raise LoginError(str(error)) from error

    def keep_key(self, provider: str, key: str) -> None:
        """Keep a key, as it is.

        Raises:
            CredentialError: auth.json cannot be read or written.
        """
        CredentialStore(self._file.path, self._environ).set(provider, key)

    async def log_in(self, provider: str, method: Literal["browser", "device"], screen: LoginScreen) -> None:
        """Log in and keep what that gives. Cancelling it ends the login.

        Raises:
            LoginError: it did not come about.
            ProviderError: the server cannot be reached.
            CredentialError: auth.json cannot be read or written.
        """
        # Before somebody goes to the browser and back for nothing.
        await asyncio.to_thread(self._must_be_sound)
        transport = self._new_transport()
        try:
            await self._log_in(provider, method, screen, transport)
        except PrivateFileError as error:
            raise CredentialError(str(error)) from error
        finally:
            await transport.close()

    def log_out(self, provider: str) -> str | None:
        """Forget the key or login of `provider`. Returns where there is still one, None if there is none.

        Raises:
            LoginError: auth.json has none.
            CredentialError: auth.json cannot be read or written.
        """
        provider = current_name(provider)
        was_there = CredentialStore(self._file.path, self._environ).remove(provider)
        source = next((option.source for option in self.options() if option.provider == provider), None)
        if not was_there:
            elsewhere = f"; there is one in {source}, which only you can remove" if source else ""
            raise LoginError(f"{self._file.path} has no key and no login of {provider}{elsewhere}")
        return source

    def stored(self) -> tuple[str, ...]:
        """The providers that auth.json has something of.

        Raises:
            CredentialError: it cannot be read.
        """
        try:
            return tuple(self._file.read())
        except PrivateFileError as error:
            raise CredentialError(str(error)) from error

    async def check(self) -> tuple[CredentialCheck, ...]:
        """Check whatever key or login there is; runs commands, and renews logins that have ended."""
        problem = await asyncio.to_thread(self._problem)
        turn = asyncio.Semaphore(_AT_ONCE)

        async def checked(provider: str, source: str) -> CredentialCheck:
            async with turn:
                try:
                    verdict = await self._verified(ModelChoice(provider=provider))
                except (CredentialError, NoModelError) as error:
                    said = error.reason if isinstance(error, NoModelError) else str(error)
                    return CredentialCheck(provider, source, "unreadable", said)
                return CredentialCheck(provider, source, verdict.state, verdict.said)

        options = await asyncio.to_thread(self.options)
        found = [checked(option.provider, option.source) for option in options if option.source]
        return (*problem, *await asyncio.gather(*found))

    def _new_transport(self) -> Transport:
        return LiveTransport(connect_timeout=_CONNECT_SECONDS, idle_timeout=_SILENCE_SECONDS, proxy=self._proxy)

    async def _verified(self, choice: ModelChoice) -> KeyVerdict:
        registry = ModelRegistry(self._home.path, self._environ, proxy=self._proxy)
        found = await asyncio.to_thread(registry.resolve, choice)  # a key may be a command that takes seconds
        transport = self._new_transport()
        try:
            if isinstance(found, UnlistedServer):
                return await verify(found.model, transport, is_named=False)
            return await verify(found, transport)
        finally:
            await transport.close()

    async def _log_in(
        self, provider: str, method: Literal["browser", "device"], screen: LoginScreen, transport: Transport
    ) -> None:
        # Lazy: who types a key needs no listener.
        from kaa.llm.auth.oauth.browser import get_key_with_browser, log_in_with_browser
        from kaa.llm.auth.oauth.device import log_in_with_device

        config = self._oauth(provider)
        if method == "browser" and config is None and provider in KEY_GRANTS:
            key = await get_key_with_browser(KEY_GRANTS[provider], transport, screen)
            await asyncio.to_thread(self.keep_key, provider, key)
            return
        if config is None:
            raise LoginError(f"{provider} has no login that kaa supports: use an API key")
        log_in = log_in_with_browser if method == "browser" else log_in_with_device
        tokens = await log_in(config, transport, screen)
        await asyncio.to_thread(KeptLogin(self._file, provider).keep, tokens)

    def _oauth(self, provider: str) -> OAuthConfig | None:
        providers, _ = self._providers()
        return providers[provider].config.oauth if provider in providers else None

    def _providers(self) -> tuple[Mapping[str, ConfiguredProvider], ProviderKeys]:
        providers, _ = load_providers(self._models_file, self._environ)
        store = CredentialStore(self._file.path, self._environ)
        return providers, ProviderKeys(store, self._environ, self._models_file, {})

    def _source(self, provider: ConfiguredProvider, keys: ProviderKeys) -> str | None:
        """Where the key or login is that counts."""
        try:
            raw = self._file.read().get(provider.name)
        except PrivateFileError:
            raw = None  # `check` tells it once
        if raw is not None and not _has_only_variables(raw):
            return self._file.path.name
        for variable, _ in provider.key_variables:
            if self._environ.get(variable):
                return variable
        if provider.config.api_key is not None:
            return self._models_file.name
        return "this machine" if keys.has(provider) else None

    def _must_be_sound(self) -> None:
        try:
            self._file.read()
        except PrivateFileError as error:
            raise CredentialError(str(error)) from error

    def _problem(self) -> tuple[CredentialCheck, ...]:
        """What is wrong with auth.json as a whole."""
        try:
            self._file.read()
        except PrivateFileError as error:
            return (CredentialCheck("", self._file.path.name, "unreadable", str(error)),)
        return ()


def _has_only_variables(raw: msgspec.Raw) -> bool:
    """Whether an entry of auth.json says something else than a key: the id of an account, say."""
    entry = msgspec.json.decode(raw)
    return isinstance(entry, dict) and entry.get("type") == "api_key" and "key" not in entry


def _methods(provider: ConfiguredProvider) -> tuple[Method, ...]:
    oauth = provider.config.oauth
    if oauth is None:
        return ("browser", "key") if provider.name in KEY_GRANTS and provider.official else ("key",)
    found: tuple[tuple[Method, bool], ...] = (
        ("browser", oauth.has_browser_login),
        ("device", oauth.has_device_login),
        ("key", provider.config.api_key is not None or provider.official),
    )
    return tuple(method for method, is_there in found if is_there)
