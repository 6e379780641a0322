"""Keys and tokens that the user keeps in auth.json. Secrets never reach a log or a repr.

The file has pi's format: `{"<provider>": {"type": "api_key", "key": …} | {"type": "oauth", "access": …}}`.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from kaa.host.private_file import PrivateFileError
from kaa.llm.auth.auth_file import AuthFile, Entries
from kaa.llm.auth.config_values import ConfigValues, variables_in
from kaa.llm.auth.errors import CredentialError
from kaa.llm.former_names import former_names


class Credential(msgspec.Struct, frozen=True):
    """A secret that opens a provider.

    Attributes:
        kind: `api_key` is sent as the provider wants its keys, `bearer` as an `Authorization: Bearer` header;
            `oauth` is such a token too, but one that ends: `kaa.llm.auth.oauth.renewal` renews it.
        source: where it came from, to be shown to people, such as `auth.json` or `OPENAI_API_KEY`.
    """

    kind: Literal["api_key", "bearer", "oauth"]
    secret: str
    source: str

    def __repr__(self) -> str:
        return f"Credential(kind={self.kind!r}, source={self.source!r})"

    def __rich_repr__(self) -> list[tuple[str, str]]:
        return [("kind", self.kind), ("source", self.source)]


class CredentialStore:
    """The credentials the user keeps in auth.json.

    The file is read when first asked for. It must be the user's, not readable by others and no symbolic link: for
    a secret manager's file, `"key": "!cat FILE"` does the same in the open.

    Args:
        path: the file; it need not exist.
        environ: the variables that `$VAR` values may use.
    """

    def __init__(self, path: Path, environ: Mapping[str, str]) -> None:
        self._path = path
        self._file = AuthFile(path)
        self._entries: Entries | None = None
        self._values = ConfigValues(environ)

    def __repr__(self) -> str:
        return f"CredentialStore({str(self._path)!r})"

    def get(self, provider: str, *, run: bool = True) -> Credential | None:
        """The credential of `provider`, or None if the file has none. May run a command (10 s at most).

        Raises:
            CredentialError: the file or the entry cannot be used.
        """
        match self._entry(provider):
            case None:
                return None
            case _ApiKeyEntry(key=""):
                raise CredentialError(
                    f"{self._place(provider, 'key')} is empty: write the key there, or remove the entry"
                )
            case _ApiKeyEntry(key=key):
                if key is None:
                    return None
                secret = self.evaluate(provider, key, self._place(provider, "key"), run=run)
                return Credential("api_key", secret, self._path.name)
            case _OAuthEntry(access=access, refresh=refresh, expires=expires):
                if expires and expires / 1000 <= time.time() and not refresh:
                    raise CredentialError(
                        f"{self._place(provider)}: the login has expired, and it has no refresh token: "
                        f"log in again with  kaa login {provider}"
                    )
                return Credential("oauth", access, self._path.name)

    def has(self, provider: str) -> bool:
        """Whether `get` would find something; runs no command and raises nothing."""
        try:
            match self._entry(provider):
                case _ApiKeyEntry(key=key):
                    return key is not None and self.can_evaluate(provider, key)
                case entry:
                    return entry is not None
        except CredentialError:
            return False

    def evaluate(self, provider: str, value: str, where: str, *, run: bool = True) -> str:
        """What a value of a provider's configuration stands for, with the `env` of its entry before the environment.

        Args:
            value: as it is written in a file.
            where: the place in that file, for the error message.

        Raises:
            CredentialError: the value, or a variable of `env` that it uses, cannot be evaluated.
        """
        used = variables_in(value).__contains__
        if not self.has_variables(provider, used):
            return self._values.evaluate(value, where, run=run)
        own = self.variables(provider, used) if run else self.likely_variables(provider)
        return self._values.evaluate(value, where, own, run=run)

    def can_evaluate(self, provider: str, value: str) -> bool:
        """Whether `evaluate` has every variable that it needs; runs no command and raises nothing."""
        return self._values.can_evaluate(value, self.likely_variables(provider))

    def variables(self, provider: str, wanted: Callable[[str], bool] | None = None) -> dict[str, str]:
        """The `env` of the provider's entry: variables for this provider alone, such as the id of an account.

        Args:
            wanted: chooses them by name; no command runs for others.

        Raises:
            CredentialError: the file or the entry cannot be used.
        """
        return {
            name: self._values.evaluate(value, self._place(provider, "env", name))
            for name, value in self._env(provider).items()
            if wanted is None or wanted(name)
        }

    def has_variables(self, provider: str, wanted: Callable[[str], bool]) -> bool:
        """Whether `variables` would find something; runs no command and raises nothing."""
        try:
            return any(map(wanted, self._env(provider)))
        except CredentialError:
            return False

    def likely_variables(self, provider: str) -> dict[str, str]:
        """The same to look at: runs no command, raises nothing. What a command would print is its own line here."""
        try:
            env = self._env(provider)
        except CredentialError:
            return {}
        return {
            name: value if value.startswith("!") else self._values.evaluate(value, "")
            for name, value in env.items()
            if self._values.can_evaluate(value)
        }

    def _env(self, provider: str) -> dict[str, str]:
        match self._entry(provider):
            case _ApiKeyEntry(env=env):
                return env
            case _:
                return {}

    def set(self, provider: str, key: str) -> None:
        """Keep `key` for `provider`, as it is: `$` and `!` in it have no meaning.

        Raises:
            CredentialError: the file cannot be read or written.
        """
        literal = key.replace("$", "$$")
        if literal.startswith("!"):
            literal = "$" + literal
        with self._rewriting() as entries:
            entries[provider] = msgspec.Raw(msgspec.json.encode(_ApiKeyEntry(literal, _env_of(entries.get(provider)))))

    def remove(self, provider: str) -> bool:
        """Forget the credential of `provider`. False if there was none.

        Raises:
            CredentialError: the file cannot be read or written.
        """
        names = (provider, *former_names(provider))
        if not self._read().keys() & set(names):
            return False
        with self._rewriting() as entries:
            found = [entries.pop(name) for name in names if name in entries]
        return bool(found)

    def _place(self, *path: str) -> str:
        return f"{self._path}: " + ".".join(path)

    def _entry(self, provider: str) -> "_ApiKeyEntry | _OAuthEntry | None":
        if self._entries is None:
            self._entries = self._read()
        raw = self._entries.get(provider)
        if raw is None:
            return None
        try:
            return msgspec.json.decode(raw, type=_ApiKeyEntry | _OAuthEntry)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise CredentialError(
                f"{self._place(provider)}: {error}. Expected "
                '{"type": "api_key", "key": "…"} or {"type": "oauth", "access": "…"}'
            ) from error

    def _read(self) -> Entries:
        try:
            return self._file.read()
        except PrivateFileError as error:
            raise CredentialError(str(error)) from error

    @contextmanager
    def _rewriting(self) -> Iterator[Entries]:
        """The entries as they are on disk now; what the block leaves in them replaces the file."""
        try:
            with self._file.rewriting() as entries:
                yield entries
        except PrivateFileError as error:
            raise CredentialError(str(error)) from error
        self._entries = entries


class _ApiKeyEntry(msgspec.Struct, tag_field="type", tag="api_key", frozen=True, omit_defaults=True):
    """Without a key there are only variables, as of an AWS profile."""

    key: str | None = None
    env: dict[str, str] = {}

    def __repr__(self) -> str:
        return "_ApiKeyEntry(…)"


class _OAuthEntry(msgspec.Struct, tag_field="type", tag="oauth", frozen=True):
    """`expires` is Unix time in milliseconds; 0 means never."""

    access: str
    refresh: str = ""
    expires: float = 0

    def __repr__(self) -> str:
        return "_OAuthEntry(…)"


def _env_of(raw: msgspec.Raw | None) -> dict[str, str]:
    """The variables beside a key, which stay when the key is replaced."""
    try:
        return msgspec.json.decode(raw, type=_ApiKeyEntry).env if raw is not None else {}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
