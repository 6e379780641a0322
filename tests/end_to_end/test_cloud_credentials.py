"""Whole runs with credentials of the machine: AWS's, to an address of the user's own network; and without them."""

import json
from pathlib import Path

import pytest

from kaa.frontends.exit_codes import ExitCode
from tests.end_to_end.kaa_process import Kaa
from tests.support.model_server import ModelServer, say

pytestmark = pytest.mark.usefixtures("full_access")

_MODEL = "amazon-bedrock/us.anthropic.claude-opus-5-5"


@pytest.fixture
def kaa(tmp_path: Path) -> Kaa:
    """On a machine that is none of AWS's."""
    kaa = Kaa(tmp_path)
    kaa.setenv(AWS_EC2_METADATA_DISABLED="true", AWS_REGION="eu-west-1")
    return kaa


def _private_endpoint(kaa: Kaa, server: ModelServer) -> None:
    bedrock = {"baseUrl": server.url, "api": "anthropic-messages"}
    (kaa.home / "models.json").write_text(json.dumps({"providers": {"amazon-bedrock": bedrock}}))


def test_requests_are_signed_with_the_profile_of_auth_json(kaa: Kaa) -> None:
    folder = kaa.home.parent / ".aws"
    folder.mkdir()
    (folder / "credentials").write_text("[work]\naws_access_key_id = AKIDWORK\naws_secret_access_key = very-secret\n")
    auth = kaa.home / "auth.json"
    auth.write_text(json.dumps({"amazon-bedrock": {"type": "api_key", "env": {"AWS_PROFILE": "work"}}}))
    auth.chmod(0o600)
    with ModelServer([say("hello")]) as server:
        _private_endpoint(kaa, server)

        done = kaa.run("-p", "--model", _MODEL, "hi")

        assert (done.code, done.out.strip()) == (0, "hello"), done.err
        authorization = server.requests[0].header("authorization") or ""
        assert authorization.startswith("AWS4-HMAC-SHA256 Credential=AKIDWORK/")
        assert "/eu-west-1/bedrock/aws4_request" in authorization
        assert server.requests[0].json["model"] == "us.anthropic.claude-opus-5-5"


def test_without_credentials_the_run_says_what_to_do(kaa: Kaa) -> None:
    with ModelServer([]) as server:
        _private_endpoint(kaa, server)

        done = kaa.run("-p", "--model", _MODEL, "hi")

    assert done.code == ExitCode.FAILED
    assert "there are no AWS credentials: run  aws configure  or set AWS_PROFILE" in done.err
    assert "Traceback" not in done.err


def test_an_address_that_is_not_complete_says_what_to_set(kaa: Kaa) -> None:
    kaa.setenv(CLOUDFLARE_API_KEY="k")

    done = kaa.run("-p", "--model", "cloudflare-workers-ai/@cf/moonshotai/kimi-k2.7-code", "hi")

    assert done.code == ExitCode.USAGE
    assert "depends on CLOUDFLARE_ACCOUNT_ID: set it in the environment, or in auth.json" in done.err
    assert "Traceback" not in done.err
