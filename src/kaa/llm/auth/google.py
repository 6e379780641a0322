"""Requests with a token of Google's Application Default Credentials, for Vertex AI.

google-auth finds them as every program of Google does: a service account's file, `gcloud auth application-default
login`, workload identity, a machine's own account. It comes with the extra `kaa[vertex]`.
"""

import asyncio
import os
import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from kaa.core.errors import AuthError, NetworkError
from kaa.llm.http.transport import HttpRequest

if TYPE_CHECKING:
    from google.auth.credentials import Credentials

_SCOPES: Final = ("https://www.googleapis.com/auth/cloud-platform",)


def has_google_credentials(environ: Mapping[str, str]) -> bool:
    """Whether there is a file with credentials, and kaa can use it. Asks no metadata server: that takes seconds."""
    return _file(environ).is_file() and _installed()


class GoogleAuthorizer:
    """Gives each request a token that is valid; see `kaa.llm.http.authorized.Authorizer`.

    Args:
        environ: the variables, of which `GOOGLE_APPLICATION_CREDENTIALS` names a file.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._credentials: Credentials | None = None
        self._lock = asyncio.Lock()

    async def authorize(self, request: HttpRequest) -> HttpRequest:
        """`request` with its token."""
        async with self._lock:  # one new token at a time
            added = await asyncio.to_thread(self._headers)
        kept = tuple((name, value) for name, value in request.headers if name.lower() not in added)
        return msgspec.structs.replace(request, headers=(*kept, *added.items()))

    async def renew(self, refused: HttpRequest) -> bool:
        """Get another token, unless there is another one already."""
        sent = next((value for name, value in refused.headers if name.lower() == "authorization"), "")
        if self._credentials is not None and sent == f"Bearer {self._credentials.token}":
            self._credentials = None
        return True

    def _headers(self) -> dict[str, str]:
        try:
            from google.auth.exceptions import GoogleAuthError, TransportError  # lazy: an extra, 150 ms of imports
            from google.auth.transport.requests import Request
        except ImportError as error:
            raise AuthError(
                "Google's credentials need a library that is not installed: pip install 'kaa[vertex]', "
                "or set GOOGLE_CLOUD_API_KEY to an API key"
            ) from error
        headers: dict[str, str] = {}
        try:
            credentials = self._credentials or self._found()
            if not credentials.valid:  # within minutes of its end, too
                credentials.refresh(Request())  # type: ignore[no-untyped-call] # google-auth is partly typed
            credentials.apply(headers)  # type: ignore[no-untyped-call] # the same
        except TransportError as error:
            raise NetworkError(f"Google gave no token: {error.args[0]}") from error
        except GoogleAuthError as error:
            raise AuthError(
                f"Google's credentials cannot be used: {error.args[0]}. Try  gcloud auth application-default login"
            ) from error
        self._credentials = credentials
        return {name.lower(): value for name, value in headers.items()}

    def _found(self) -> "Credentials":
        import google.auth  # lazy: see above

        named = self._environ.get("GOOGLE_APPLICATION_CREDENTIALS")
        with warnings.catch_warnings():
            # That the file may be hostile (it is the user's own), that a login is not a service account: no news here,
            # and standard error belongs to the terminal's screen.
            warnings.simplefilter("ignore")
            if named and named != os.environ.get("GOOGLE_APPLICATION_CREDENTIALS"):  # from auth.json
                found = google.auth.load_credentials_from_file(named, scopes=_SCOPES)  # type: ignore[no-untyped-call] # same
            else:
                found = google.auth.default(scopes=_SCOPES)
        credentials: Credentials = found[0]
        return credentials


def _file(environ: Mapping[str, str]) -> Path:
    """Where google-auth looks on Linux and macOS."""
    if named := environ.get("GOOGLE_APPLICATION_CREDENTIALS"):
        return Path(named)
    if folder := environ.get("CLOUDSDK_CONFIG"):
        return Path(folder) / "application_default_credentials.json"
    home = environ.get("HOME") or "~"
    return Path(home).expanduser() / ".config" / "gcloud" / "application_default_credentials.json"


def _installed() -> bool:
    try:
        return find_spec("google.auth") is not None and find_spec("requests") is not None
    except ModuleNotFoundError:  # no `google` at all
        return False
