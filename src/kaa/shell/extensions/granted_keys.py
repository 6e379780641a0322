"""The keys that the user permits an extension process, by the names of providers or of environment variables."""

import asyncio
from collections.abc import Mapping

from kaa.ext.permissions import Permissions
from kaa.host.log import LOG
from kaa.llm.auth.credentials import Credential, CredentialStore
from kaa.llm.auth.errors import CredentialError
from kaa.llm.models.provider_table import BUILTINS
from kaa.shell.home import Home


class GrantedKeys:
    """Reads keys when they are needed. The token of a login is no key: it is kaa's alone.

    Args:
        home: has auth.json.
        environ: the user's environment variables.
    """

    def __init__(self, home: Home, environ: Mapping[str, str]) -> None:
        self._auth_file = home.path / "auth.json"
        self._environ = environ

    async def variables(self, permissions: Permissions) -> dict[str, str]:
        """The environment variables for the keys of the permissions; none for a key that the user has not."""
        found: dict[str, str] = {}
        for name in permissions.keys:
            key = await self.key(name)
            if key is not None:
                builtin = BUILTINS.get(name)
                found[builtin.key_variables[0][0] if builtin and builtin.key_variables else name] = key
        return found

    async def key(self, name: str) -> str | None:
        """The key of a provider, or the value of an environment variable; None if the user has none."""
        try:
            credential = await asyncio.to_thread(self._stored, name)  # it may run a command of the user's
        except CredentialError as error:
            LOG.warning("the key of %s for an extension cannot be read: %s", name, error)
            return None
        if credential is not None:
            return None if credential.kind == "oauth" else credential.secret
        builtin = BUILTINS.get(name)
        variables = [variable for variable, _ in builtin.key_variables] if builtin else [name]
        return next((self._environ[variable] for variable in variables if self._environ.get(variable)), None)

    def _stored(self, name: str) -> Credential | None:
        return CredentialStore(self._auth_file, self._environ).get(name)
