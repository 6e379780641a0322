"""Requests signed with AWS credentials (Signature Version 4), for Amazon Bedrock.

botocore finds the credentials as every program of AWS does: variables, profiles, SSO, roles of containers and
machines. It comes with the extra `kaa[bedrock]`; who has a Bedrock API key needs neither.
"""

import asyncio
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kaa.core.errors import AuthError
from kaa.host.programs import home_of, host_programs
from kaa.llm.auth.errors import CredentialError
from kaa.llm.auth.key_commands import wrapped
from kaa.llm.http.transport import HttpRequest, host_of

if TYPE_CHECKING:
    from botocore.credentials import Credentials, ReadOnlyCredentials

# Each says that its owner has credentials, without telling that they work (those pi looks for).
_SIGNS: Final = (
    ("AWS_PROFILE",),
    ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
    ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",),
    ("AWS_CONTAINER_CREDENTIALS_FULL_URI",),
    ("AWS_WEB_IDENTITY_TOKEN_FILE",),
)
# What is signed besides the host and the body. Proxies may change other headers.
_SIGNED_HEADERS: Final = ("content-type",)
_BEDROCK_HOST: Final = re.compile(r"bedrock-(?P<kind>runtime|mantle)(?:-fips)?\.(?P<region>[a-z0-9-]+)\.")


def has_aws_credentials(environ: Mapping[str, str]) -> bool:
    """Whether the environment says that there are AWS credentials, and kaa can sign with them."""
    said = any(all(environ.get(name) for name in names) for names in _SIGNS)
    return said and find_spec("botocore") is not None


class SigV4Authorizer:
    """Signs each request; see `kaa.llm.http.authorized.Authorizer`.

    Args:
        base_url: where the requests go. Region and service are read from Bedrock's own addresses.
        environ: the variables, `AWS_REGION` among them for other addresses.
    """

    def __init__(self, base_url: str, environ: Mapping[str, str]) -> None:
        self._environ = environ
        known = _BEDROCK_HOST.match(host_of(base_url))
        self._service = "bedrock-mantle" if known and known["kind"] == "mantle" else "bedrock"
        self._region = known["region"] if known else environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION")
        self._credentials: Credentials | None = None

    async def authorize(self, request: HttpRequest) -> HttpRequest:
        """`request` with its signature."""
        # Credentials may be read from files, from a metadata server, or asked of a program.
        return await asyncio.to_thread(self._signed, request)

    async def renew(self, refused: HttpRequest) -> bool:
        """Look for credentials anew, unless they are ones that do not change by themselves."""
        self._credentials = None
        return not self._given_keys

    @property
    def _given_keys(self) -> bool:
        return bool(self._environ.get("AWS_ACCESS_KEY_ID") and self._environ.get("AWS_SECRET_ACCESS_KEY"))

    def _signed(self, request: HttpRequest) -> HttpRequest:
        try:
            from botocore.auth import SigV4Auth  # lazy: an extra, and 100 ms of imports
            from botocore.awsrequest import AWSRequest
            from botocore.exceptions import BotoCoreError
        except ImportError as error:
            raise AuthError(
                "AWS credentials need a library that is not installed: pip install 'kaa[bedrock]', "
                "or set AWS_BEARER_TOKEN_BEDROCK to an API key of Bedrock"
            ) from error
        if not self._region:
            raise AuthError(f"it is not known in which AWS region {request.host} is: set AWS_REGION")
        headers = {name: value for name, value in request.headers if name.lower() in _SIGNED_HEADERS}
        signed = AWSRequest(request.method, request.url, headers, request.body)
        try:
            SigV4Auth(self._frozen(), self._service, self._region).add_auth(signed)
        except BotoCoreError as error:
            raise AuthError(
                f"the AWS credentials cannot be used: {error} Try  aws sts get-caller-identity  "
                "(for SSO, first  aws sso login)"
            ) from error
        added = {name.lower(): value for name, value in signed.headers.items()}
        kept = tuple((name, value) for name, value in request.headers if name.lower() not in added)
        return msgspec.structs.replace(request, headers=(*kept, *added.items()))

    def _frozen(self) -> "ReadOnlyCredentials":
        """The credentials of this moment: botocore renews the ones that end."""
        from botocore.credentials import ReadOnlyCredentials  # lazy: see above

        if self._given_keys:
            environ = self._environ
            key, secret = environ["AWS_ACCESS_KEY_ID"], environ["AWS_SECRET_ACCESS_KEY"]
            return ReadOnlyCredentials(key, secret, environ.get("AWS_SESSION_TOKEN"))
        if self._credentials is None:
            self._credentials = _found(self._environ)
        if self._credentials is None:
            raise AuthError("there are no AWS credentials: run  aws configure  or set AWS_PROFILE")
        return self._credentials.get_frozen_credentials()


def _found(environ: Mapping[str, str]) -> "Credentials | None":
    """What botocore finds. A `credential_process` runs as every program of kaa's: outside what commands can write."""
    from botocore.credentials import ProcessProvider  # lazy: see above
    from botocore.session import Session

    session = Session(profile=environ.get("AWS_PROFILE"))
    variables, home = host_programs(environ).environment(), home_of(environ)

    def popen(argv: Sequence[str], **options: Any) -> "subprocess.Popen[bytes]":
        try:
            wrap = wrapped(shlex.join(argv), "`credential_process` of the AWS profile", environ)
        except CredentialError as error:
            raise AuthError(str(error)) from error
        return subprocess.Popen([*wrap, *argv], env=variables, cwd=home, **options)

    process = ProcessProvider(
        session.get_config_variable("profile") or "default", lambda: session.full_config, popen=popen
    )
    resolver = session.get_component("credential_provider")
    resolver.providers = [process if provider.METHOD == process.METHOD else provider for provider in resolver.providers]
    return session.get_credentials()
