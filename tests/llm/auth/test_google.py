"""Tokens of Google's Application Default Credentials, given by a server on loopback."""

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from kaa.core.errors import AuthError, NetworkError
from kaa.llm.auth.google import GoogleAuthorizer, has_google_credentials
from kaa.llm.http.transport import HttpRequest
from tests.support.oauth_server import OAuthServer, Reply, json_reply, refusal

_REQUEST = HttpRequest("POST", "https://aiplatform.googleapis.com/v1/x", (("Authorization", "Bearer old"), ("a", "b")))


@pytest.fixture(autouse=True)
def _no_credentials_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    monkeypatch.setenv("NO_GCE_CHECK", "true")  # google-auth would ask a metadata server


@pytest.fixture(scope="module")
def private_key() -> str:
    """A service account's."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    encoding = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(*encoding).decode()


@pytest.fixture
def login(tmp_path: Path, private_key: str) -> Callable[[str], dict[str, str]]:
    """Gives the variables of somebody with a service account whose tokens come from an address."""

    def variables(token_uri: str) -> dict[str, str]:
        account = "kaa@project.iam.gserviceaccount.com"
        entry = {"type": "service_account", "client_email": account, "private_key": private_key, "token_uri": token_uri}
        file = tmp_path / "adc.json"
        file.write_text(json.dumps(entry))
        return {"GOOGLE_APPLICATION_CREDENTIALS": str(file)}

    return variables


def _token(number: int) -> Reply:
    return json_reply({"access_token": f"token-{number}", "expires_in": 3600, "token_type": "Bearer"})


def test_requests_get_a_token_that_is_kept_until_it_is_refused(login: Callable[[str], dict[str, str]]) -> None:
    async def ask(authorizer: GoogleAuthorizer) -> list[dict[str, str]]:
        both = await asyncio.gather(authorizer.authorize(_REQUEST), authorizer.authorize(_REQUEST))
        assert await authorizer.renew(both[0])
        assert await authorizer.renew(both[0])
        return [dict(request.headers) for request in (*both, await authorizer.authorize(_REQUEST))]

    with OAuthServer() as server:
        server.instead["/token"] = [_token(1), _token(2)]
        sent = asyncio.run(ask(GoogleAuthorizer(login(f"{server.url}/token"))))
        asked = server.asked("/token")

    assert [headers["authorization"] for headers in sent] == ["Bearer token-1", "Bearer token-1", "Bearer token-2"]
    assert all(set(headers) == {"a", "authorization"} for headers in sent)
    assert [fields["grant_type"] for fields in asked] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"] * 2


def test_a_refused_login_says_how_to_log_in_again(login: Callable[[str], dict[str, str]], private_key: str) -> None:
    with OAuthServer() as server:
        server.instead["/token"] = [refusal("invalid_grant", "Token has been revoked")]
        authorizer = GoogleAuthorizer(login(f"{server.url}/token"))

        with pytest.raises(AuthError) as error:
            asyncio.run(authorizer.authorize(_REQUEST))

    assert "Token has been revoked" in str(error.value)
    assert "gcloud auth application-default login" in str(error.value)
    assert not any(line in str(error.value) for line in private_key.splitlines())


def test_a_server_that_cannot_be_reached_is_worth_another_try(login: Callable[[str], dict[str, str]]) -> None:
    with OAuthServer() as server:
        url = server.url
    with pytest.raises(NetworkError):
        asyncio.run(GoogleAuthorizer(login(f"{url}/token")).authorize(_REQUEST))


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "adc.json"
    file.write_text("{")

    with pytest.raises(AuthError, match=r"adc\.json"):
        asyncio.run(GoogleAuthorizer({"GOOGLE_APPLICATION_CREDENTIALS": str(file)}).authorize(_REQUEST))


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.auth.exceptions", None)

    with pytest.raises(AuthError, match=r"pip install 'kaa\[vertex\]'"):
        asyncio.run(GoogleAuthorizer({}).authorize(_REQUEST))


def test_credentials_are_seen_where_google_keeps_them(tmp_path: Path) -> None:
    folder = tmp_path / ".config" / "gcloud"
    assert not has_google_credentials({"HOME": str(tmp_path)})

    folder.mkdir(parents=True)
    (folder / "application_default_credentials.json").write_text("{}")

    assert has_google_credentials({"HOME": str(tmp_path)})
    assert has_google_credentials({"CLOUDSDK_CONFIG": str(folder)})
    assert not has_google_credentials({"HOME": str(tmp_path), "GOOGLE_APPLICATION_CREDENTIALS": "/nowhere"})
