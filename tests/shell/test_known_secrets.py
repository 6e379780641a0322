"""Which secrets are known, so that they are found in what leaves this machine."""

import json
from pathlib import Path

import msgspec

from kaa.components.plugins.manifest import Plugin, UserOption
from kaa.core.messages import Json
from kaa.shell.home import Home
from kaa.shell.known_secrets import known_secrets
from kaa.shell.plugins.records import InstalledPlugin, Records


def _known(path: Path, environ: dict[str, str]) -> set[str]:
    return set(known_secrets(environ, Home(path))) - {""}


def test_what_users_keep_is_known(tmp_path: Path) -> None:
    auth = {
        "a": {"type": "api_key", "key": "plain-key"},
        "b": {"type": "api_key", "key": "$$has$$dollars"},
        "c": {"type": "api_key", "key": "$!has-a-mark"},
        "d": {"type": "oauth", "access": "access-token", "refresh": "refresh-token", "expires": 1},
        "e": {"type": "api_key", "key": "$VARIABLE"},
        "f": {"type": "api_key", "key": "!pass show f", "env": {"AWS_SECRET_ACCESS_KEY": "aws-secret"}},
    }
    provider = {
        "baseUrl": "http://lab/v1",
        "apiKey": "key-of-models-json",
        "headers": {"Authorization": "Bearer header-token"},
        "models": [{"id": "m", "headers": {"x-key": "header-of-a-model"}}],
    }
    (tmp_path / "auth.json").write_text(json.dumps(auth))
    (tmp_path / "models.json").write_text(f"// mine\n{json.dumps({'providers': {'lab': provider}})}")

    assert _known(tmp_path, {}) == {
        "plain-key",
        "$has$dollars",
        "!has-a-mark",
        "access-token",
        "refresh-token",
        "aws-secret",
        "key-of-models-json",
        "header-token",
        "header-of-a-model",
    }


def test_what_servers_and_their_logins_need_is_known(tmp_path: Path) -> None:
    login = {
        "type": "oauth",
        "access": "access-token",
        "refresh": "refresh-token",
        "expires": 1,
        "issuer": "https://login.example",
        "client": {"id": "known-to-all", "secret": "client-secret"},
    }
    server = {
        "url": "https://mcp.example",
        "headers": {"Authorization": "Bearer header-token", "X-Key": "${FROM_A_VARIABLE}"},
        "oauth": {"clientId": "known-to-all", "clientSecret": "configured-secret"},
        "env": {"API_KEY": "key-of-a-program", "MODE": "fast"},
    }
    (tmp_path / "mcp-auth.json").write_text(json.dumps({"https://mcp.example": login}))
    (tmp_path / "mcp.json").write_text(f"// mine\n{json.dumps({'mcpServers': {'lab': server}})}")

    assert _known(tmp_path, {}) == {
        "access-token",
        "refresh-token",
        "client-secret",
        "header-token",
        "configured-secret",
        "key-of-a-program",
    }


def test_secret_options_of_plugins_are_known(tmp_path: Path) -> None:
    options = (
        UserOption("token", "TOKEN", secret=True),
        UserOption("keys", "KEYS", secret=True, multiple=True),
        UserOption("team", "TEAM"),
    )
    values: dict[str, Json] = {"token": "hush", "keys": ["one", "two"], "team": "kaa"}
    plugin = InstalledPlugin(Plugin("tools", "claude", options=options), "tools-1", "/plug", values=values)
    (tmp_path / "plugins.json").write_bytes(msgspec.json.encode(Records(plugins={"tools": plugin})))

    assert _known(tmp_path, {}) == {"hush", "one", "two"}


def test_variables_that_are_named_like_secrets_are_known(tmp_path: Path) -> None:
    environ = {
        "HF_TOKEN": "hf",
        "AWS_SECRET_ACCESS_KEY": "aws",
        "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Basic%20abcdef,x-team=blue",
        "HOME": "/home/me",
    }

    assert _known(tmp_path, environ) == {"hf", "aws", "abcdef", "blue"}


def test_files_that_cannot_be_read_keep_nothing(tmp_path: Path) -> None:
    for content in (b"\xff", b"[" * 100_000, b"[1]", b'{"providers": [{"apiKey": 3}], "mcpServers": [1]}'):
        (tmp_path / "auth.json").write_bytes(content)
        (tmp_path / "models.json").write_bytes(content)
        (tmp_path / "mcp-auth.json").write_bytes(content)
        (tmp_path / "mcp.json").write_bytes(content)
        (tmp_path / "plugins.json").write_bytes(content)

        assert _known(tmp_path, {}) == set()
