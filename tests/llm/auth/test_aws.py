"""Requests signed with AWS credentials, checked on the wire by another implementation of AWS's algorithm."""

import asyncio
import hashlib
import hmac
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from kaa.core.errors import AuthError
from kaa.core.messages import UserMessage
from kaa.core.provider import Model, Request
from kaa.llm.anthropic.provider import AnthropicMessages
from kaa.llm.auth.aws import SigV4Authorizer, has_aws_credentials
from kaa.llm.http.authorized import authorized
from kaa.llm.http.live import LiveTransport
from kaa.llm.http.transport import HttpRequest
from kaa.llm.wire import Endpoint
from kaa.workspace.places import Places
from tests.support.model_server import ModelServer, Received, say

_SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
_KEYS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": _SECRET}
_REQUEST = HttpRequest("POST", "https://bedrock-runtime.eu-west-1.amazonaws.com/anthropic/v1/messages", (), b"{}")
_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/(?P<scope>\S+), SignedHeaders=(?P<signed>\S+), Signature=(?P<mac>\w+)"
)


def _signature(
    method: str, path: str, headers: Mapping[str, str], signed: Iterable[str], body: bytes, scope: str, secret: str
) -> str:
    """AWS Signature Version 4 as docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html."""
    names = list(signed)
    canonical = "\n".join(
        [
            method,
            path,
            "",
            *(f"{name}:{headers[name].strip()}" for name in names),
            "",
            ";".join(names),
            hashlib.sha256(body).hexdigest(),
        ]
    )
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    text = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, digest])
    return hmac.digest(key, text.encode(), "sha256").hex()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with nothing of AWS in it; botocore looks at the real environment. Returns its `config`."""
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN", *_KEYS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    return tmp_path / "config"


def _authorized(environ: Mapping[str, str], request: HttpRequest = _REQUEST, url: str | None = None) -> dict[str, str]:
    return dict(asyncio.run(SigV4Authorizer(url or request.url, environ).authorize(request)).headers)


def _parts(headers: Mapping[str, str]) -> dict[str, str]:
    found = _AUTHORIZATION.fullmatch(headers["authorization"])
    assert found
    return found.groupdict()


def test_the_judge_agrees_with_a_published_example() -> None:
    """`get-vanilla` of AWS's Signature Version 4 test suite."""
    headers = {"host": "example.amazonaws.com", "x-amz-date": "20150830T123600Z"}

    mac = _signature("GET", "/", headers, headers, b"", "20150830/us-east-1/service/aws4_request", _SECRET)

    assert mac == "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"


def test_a_program_of_the_project_gives_no_credentials(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, key in (("project", "PLANTED"), ("bin", "HONEST")):
        program = tmp_path / name / "give"
        program.parent.mkdir()
        answer = f'{{"Version":1,"AccessKeyId":"{key}","SecretAccessKey":"s"}}'
        program.write_text(f"#!/bin/sh\necho '{answer}'\n")
        program.chmod(0o700)
    machine.write_text("[profile work]\ncredential_process = give\n")
    monkeypatch.chdir(tmp_path / "project")
    path = f"{tmp_path}/project:{tmp_path}/bin"

    monkeypatch.setenv("PATH", path)
    headers = _authorized({"AWS_PROFILE": "work", "PATH": path})

    assert _parts(headers)["key"] == "HONEST"


@pytest.mark.usefixtures("machine")
def test_what_arrives_at_the_server_is_signed() -> None:
    environ = {**_KEYS, "AWS_SESSION_TOKEN": "session-token", "AWS_REGION": "eu-west-1"}

    async def ask(url: str) -> None:
        transport = LiveTransport()
        try:
            provider = AnthropicMessages(Endpoint(url), authorized(transport, SigV4Authorizer(url, environ)))
            request = Request(Model("m", "amazon-bedrock", "anthropic-messages"), "", [UserMessage("hé")])
            async for _ in provider.stream(request):
                pass
        finally:
            await transport.close()

    with ModelServer([say("hi")]) as server:
        asyncio.run(ask(server.url))
        received: Received = server.requests[0]

    headers = {name.lower(): value for name, value in received.headers}
    parts = _parts(headers)
    signed = parts["signed"].split(";")
    assert parts["key"] == "AKIDEXAMPLE"
    assert parts["scope"].endswith("/eu-west-1/bedrock/aws4_request")
    assert {"host", "x-amz-date", "x-amz-security-token", "content-type"} <= set(signed)
    assert headers["x-amz-security-token"] == "session-token"
    assert parts["mac"] == _signature("POST", received.path, headers, signed, received.body, parts["scope"], _SECRET)
    assert _SECRET not in repr(received)


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    ("url", "scope"),
    [
        ("https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1", "us-west-2/bedrock"),
        ("https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com/anthropic", "us-gov-west-1/bedrock"),
        ("https://bedrock-mantle.eu-central-1.api.aws/anthropic", "eu-central-1/bedrock-mantle"),
        ("https://vpce-1.bedrock-runtime.internal.example/anthropic", "ap-south-1/bedrock"),
    ],
)
def test_region_and_service_are_those_of_the_address(url: str, scope: str) -> None:
    headers = _authorized({**_KEYS, "AWS_REGION": "ap-south-1"}, url=url)

    assert _parts(headers)["scope"].split("/", 1)[1] == f"{scope}/aws4_request"


def test_a_profile_is_used_and_renewed(machine: Path) -> None:
    script = machine.with_name("give.sh")
    script.write_text(
        f"""#!/bin/sh
echo x >> {machine}.count
printf '{{"Version":1,"AccessKeyId":"KEY%s","SecretAccessKey":"s","SessionToken":"t",' $(wc -l < {machine}.count)
printf '"Expiration":"2099-01-01T00:00:00Z"}}'
"""
    )
    script.chmod(0o700)
    machine.write_text(f"[profile work]\ncredential_process = {script}\n")
    authorizer = SigV4Authorizer(_REQUEST.url, {"AWS_PROFILE": "work"})

    async def keys() -> list[str]:
        first = await authorizer.authorize(_REQUEST)
        again = await authorizer.authorize(_REQUEST)
        renewed = await authorizer.renew(again)
        last = await authorizer.authorize(_REQUEST)
        assert renewed
        return [_parts(dict(request.headers))["key"] for request in (first, again, last)]

    assert asyncio.run(keys()) == ["KEY1", "KEY1", "KEY2"]


@pytest.mark.parametrize("written", ["in an added directory", "by another name"])
def test_a_program_that_commands_could_write_gives_no_credentials(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    program = tmp_path / "lib" / "give"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/canary\n")
    program.chmod(0o700)
    machine.write_text(f"[profile work]\ncredential_process = {program}\n")
    environ = {"AWS_PROFILE": "work", "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    places = Places.of(environ, str(tmp_path), str(tmp_path / "app"))
    assert places.caches
    if written == "by another name":
        (tmp_path / "other").hardlink_to(program)
    else:
        places.note_added([str(program.parent)])

    with pytest.raises(AuthError, match=r"`credential_process`.* names .*/lib/give"):
        _authorized(environ)

    assert not (tmp_path / "canary").exists()


@pytest.mark.usefixtures("machine")
def test_keys_that_were_given_are_not_worth_another_try() -> None:
    assert asyncio.run(SigV4Authorizer(_REQUEST.url, _KEYS).renew(_REQUEST)) is False


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    ("environ", "url", "said"),
    [
        ({}, None, "there are no AWS credentials: run  aws configure"),
        ({"AWS_PROFILE": "nobody"}, None, "The config profile (nobody) could not be found"),
        (_KEYS, "https://proxy.example/anthropic", "set AWS_REGION"),
    ],
)
def test_what_is_missing_is_said(environ: Mapping[str, str], url: str | None, said: str) -> None:
    with pytest.raises(AuthError) as error:
        _authorized(environ, url=url)

    assert said in str(error.value)
    assert _SECRET not in str(error.value)


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.auth", None)

    with pytest.raises(AuthError, match=r"pip install 'kaa\[bedrock\]'"):
        _authorized(_KEYS)


@pytest.mark.parametrize(
    ("environ", "there"),
    [
        ({}, False),
        (_KEYS, True),
        ({"AWS_ACCESS_KEY_ID": "a"}, False),
        ({"AWS_PROFILE": "work"}, True),
        ({"AWS_WEB_IDENTITY_TOKEN_FILE": "/token"}, True),
    ],
)
def test_credentials_are_seen_in_the_environment(environ: Mapping[str, str], there: bool) -> None:
    assert has_aws_credentials(environ) is there
