"""What may stand in `oauth` of models.json."""

import msgspec
import pytest

from kaa.llm.auth.oauth.config import OAuthConfig, is_confidential
from tests.support.tables import each

_FINE = {"clientId": "mine", "tokenUrl": "https://login.example/token", "deviceUrl": "https://login.example/device"}


@each(
    ("change", "told"),
    [
        ({"tokenUrl": "http://login.example/token"}, "https://"),
        ({"deviceUrl": None}, "issuer"),
        ({"clientId": " "}, "clientId"),
        ({"redirectPort": 65536}, "redirectPort"),
        ({"redirectPath": "callback"}, "redirectPath"),
        ({"redirectPath": "/a?b"}, "redirectPath"),
        ({"redirectHost": "0.0.0.0"}, "redirectHost"),
    ],
)
def test_mistakes_are_told(change: dict[str, object], told: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=told):
        msgspec.convert(_FINE | change, OAuthConfig)


def test_it_knows_which_logins_there_are() -> None:
    device = msgspec.convert(_FINE, OAuthConfig)
    both = msgspec.convert({"clientId": "mine", "issuer": "https://login.example"}, OAuthConfig)

    assert (device.has_browser_login, device.has_device_login) == (False, True)
    assert (both.has_browser_login, both.has_device_login) == (True, True)


@each(
    ("url", "is_fine"),
    [
        ("https://login.example/", True),
        ("http://127.0.0.1:80/", True),
        ("http://localhost/", True),
        ("http://[::1]:1/", True),
        ("http://login.example/", False),
        ("http://127.0.0.1.evil.example/", False),
        ("https://", False),
        ("https://[", False),
        ("https://login.example:port/", False),
        ("https://login.example/ x", False),
        ("file:///etc/passwd", False),
    ],
)
def test_where_tokens_may_go(url: str, is_fine: bool) -> None:
    assert is_confidential(url) == is_fine
