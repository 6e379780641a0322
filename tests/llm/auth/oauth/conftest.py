"""An authorization server for each test."""

from collections.abc import Iterator

import pytest

from tests.support.oauth_server import OAuthServer


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OAuthServer]:
    for name in ("http_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with OAuthServer() as running:
        yield running
