"""What the user's files and environment give for a provider: its key, and what address, headers and proxies need."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import quote

from kaa.llm.auth.credentials import Credential, CredentialStore
from kaa.llm.auth.errors import CredentialError
from kaa.llm.catalogue import KnownModel
from kaa.llm.http.authorized import Authorizer
from kaa.llm.http.network_variables import is_network_variable
from kaa.llm.models.providers import ConfiguredProvider


class ProviderKeys:
    """Where the key of a provider comes from: `--api-key`, auth.json, the environment, models.json, in this order.

    Args:
        given: keys of this run, by provider, that count before all others.
    """

    def __init__(
        self, store: CredentialStore, environ: Mapping[str, str], models_file: Path, given: Mapping[str, str]
    ) -> None:
        self._store = store
        self._environ = environ
        self._models_file = models_file
        self._given = given

    def has(self, provider: ConfiguredProvider) -> bool:
        """Whether there is a key, and what the address depends on; commands are not run but trusted."""
        keyed = self._has_key(provider)
        template = provider.url_for(None, keyed=keyed)
        if not missing(template, {}):  # it depends on nothing
            return keyed
        if not keyed and provider.ambient is None:
            return False
        variables = {**self._environ, **self._store.likely_variables(provider.name)}
        return not missing(template, variables) and (keyed or self._has_ambient(provider, variables))

    def _has_key(self, provider: ConfiguredProvider) -> bool:
        configured = provider.config.api_key
        return (
            provider.name in self._given
            or self._store.has(provider.name)
            or any(self._environ.get(variable) for variable, _ in provider.key_variables)
            or (configured is not None and self._store.can_evaluate(provider.name, configured))
        )

    @staticmethod
    def _has_ambient(provider: ConfiguredProvider, variables: Mapping[str, str]) -> bool:
        if provider.ambient is None:
            return False
        from kaa.llm.auth.ambient import has_ambient  # lazy: most users have keys

        return has_ambient(provider.ambient, variables)

    def get(self, provider: ConfiguredProvider, api_key: str | None, *, run: bool = True) -> Credential | None:
        """The key, or None if there is none.

        Raises:
            CredentialError: it is there but cannot be read.
        """
        if api_key := api_key or self._given.get(provider.name):
            return Credential("api_key", api_key, "--api-key")
        if kept := self._store.get(provider.name, run=run):
            return kept
        for variable, kind in provider.key_variables:
            if value := self._environ.get(variable):
                return Credential(kind, value, variable)
        if provider.config.api_key is None:
            return None
        place = f"{self._place(provider)}: providers.{provider.name}.apiKey"
        secret = self._store.evaluate(provider.name, provider.config.api_key, place, run=run)
        return Credential("api_key", secret, "models.json")

    def variables(self, provider: ConfiguredProvider) -> Mapping[str, str]:
        """The environment variables, and before them those that auth.json has for this provider.

        Raises:
            CredentialError: auth.json cannot be read.
        """
        own = self._store.variables(provider.name)
        return {**self._environ, **own} if own else self._environ

    def network_variables(self, provider: ConfiguredProvider) -> dict[str, str]:
        """The variables of auth.json that name proxies and a client certificate for this provider.

        Raises:
            CredentialError: they cannot be evaluated. An auth.json that cannot be read has none: who needs a key of
                it is told before.
        """
        has = self._store.has_variables(provider.name, is_network_variable)
        return self._store.variables(provider.name, is_network_variable) if has else {}

    def address(self, provider: ConfiguredProvider, known: KnownModel, *, keyed: bool) -> str:
        """Where a model is, the placeholders replaced.

        Raises:
            CredentialError: it depends on a variable that is not set.
        """
        template = provider.url_for(known, keyed=keyed)
        if not missing(template, {}):
            return template
        variables = self.variables(provider)
        if names := missing(template, variables):
            raise CredentialError(
                f"the address of {provider.name} depends on {' and '.join(names)}: set it in the environment, or in "
                f"auth.json under {provider.name}.env"
            )
        return filled(template, variables)

    def ambient_authorizer(self, provider: ConfiguredProvider, base_url: str) -> Authorizer | None:
        """What lets requests in with credentials of the machine, where the provider takes those."""
        if provider.ambient is None:
            return None
        from kaa.llm.auth.ambient import ambient_authorizer  # lazy: most users have keys

        return ambient_authorizer(provider.ambient, base_url, self.variables(provider))

    def headers(self, provider: ConfiguredProvider, known: KnownModel | None) -> tuple[tuple[str, str], ...]:
        """The further headers of a request, their variables and commands evaluated.

        Raises:
            CredentialError: one of them cannot be.
        """
        headers = provider.config.headers | (known.headers if known else {})
        place = f"{self._place(provider)}: providers.{provider.name}.headers"
        return tuple(
            (name, self._store.evaluate(provider.name, value, f"{place}.{name}")) for name, value in headers.items()
        )

    def _place(self, provider: ConfiguredProvider) -> Path | str:
        return self._models_file if provider.provided is None else provider.provided.owner


# In addresses that depend on the user's account: `https://{AZURE_OPENAI_RESOURCE_NAME}.openai.azure.com`.
_PLACEHOLDER = re.compile(r"\{([A-Z][A-Z0-9_]*)\}")
# Where the vendors' own programs look if the first name is not set.
_OTHER_NAMES = {
    "AWS_REGION": ("AWS_DEFAULT_REGION",),
    "GOOGLE_CLOUD_PROJECT": ("GCLOUD_PROJECT", "ANTHROPIC_VERTEX_PROJECT_ID"),
    "GOOGLE_CLOUD_LOCATION": ("GOOGLE_CLOUD_REGION", "CLOUD_ML_REGION"),
}


def filled(url: str, variables: Mapping[str, str]) -> str:
    """`url` with its placeholders replaced. A value is quoted: it can never become another host or path.

    Raises:
        KeyError: a variable is not set; the argument is its name.
    """

    def value(match: re.Match[str]) -> str:
        return quote(_value(match[1], variables), safe="")

    return _PLACEHOLDER.sub(value, url)


def missing(url: str, variables: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that `url` needs and that are not set."""
    names: dict[str, None] = {}
    for name in _PLACEHOLDER.findall(url):
        try:
            _value(name, variables)
        except KeyError as error:
            names[error.args[0]] = None
    return tuple(names)


def _value(name: str, variables: Mapping[str, str]) -> str:
    if name in _DERIVED:
        return _DERIVED[name](variables)
    for candidate in (name, *_OTHER_NAMES.get(name, ())):
        if found := variables.get(candidate, "").strip():
            return found
    raise KeyError(name)


def _vertex_host(variables: Mapping[str, str]) -> str:
    """The host of a location, as the vendors' SDKs build it."""
    match _value("GOOGLE_CLOUD_LOCATION", variables):
        case "global":
            return "aiplatform.googleapis.com"
        case ("us" | "eu") as region:
            return f"aiplatform.{region}.rep.googleapis.com"
        case location:
            return f"{location}-aiplatform.googleapis.com"


_DERIVED: dict[str, Callable[[Mapping[str, str]], str]] = {"GOOGLE_VERTEX_HOST": _vertex_host}
