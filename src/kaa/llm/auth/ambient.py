"""Credentials that nobody gave to kaa because they are on the machine: of AWS and of Google."""

from collections.abc import Mapping

from kaa.llm.http.authorized import Authorizer
from kaa.llm.wire import Ambient


def has_ambient(kind: Ambient, environ: Mapping[str, str]) -> bool:
    """Whether there seem to be credentials, and the library that uses them. Takes no time: nothing is asked."""
    # Lazy, here and below: most users have keys.
    match kind:
        case "aws":
            from kaa.llm.auth.aws import has_aws_credentials

            return has_aws_credentials(environ)
        case "google":
            from kaa.llm.auth.google import has_google_credentials

            return has_google_credentials(environ)


def ambient_authorizer(kind: Ambient, base_url: str, environ: Mapping[str, str]) -> Authorizer:
    """Lets requests to `base_url` in with them; a library that is missing is said with the first request."""
    match kind:
        case "aws":
            from kaa.llm.auth.aws import SigV4Authorizer

            return SigV4Authorizer(base_url, environ)
        case "google":
            from kaa.llm.auth.google import GoogleAuthorizer

            return GoogleAuthorizer(environ)
