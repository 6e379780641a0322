"""What servers say when they refuse a request."""

from hypothesis import given
from hypothesis import strategies as st

from kaa.llm.http.transport import Headers
from kaa.mcp.oauth.challenge import Challenge, challenge_header, parse_challenge
from tests.support.tables import each


@each(
    ("header", "challenge"),
    [
        ("", Challenge()),
        ("Bearer", Challenge(schemes=("bearer",))),
        (
            'Bearer resource_metadata="https://a.example/x", scope="a b"',
            Challenge("https://a.example/x", "a b", "", ("bearer",)),
        ),
        (
            'bearer error="insufficient_scope",scope=files:read',
            Challenge("", "files:read", "insufficient_scope", ("bearer",)),
        ),
        ('Basic realm="x", scope="no", Bearer scope="yes"', Challenge(scope="yes", schemes=("bearer",))),
        ('Bearer scope="yes", Basic scope="no"', Challenge(scope="yes", schemes=("bearer",))),
        ('Bearer scope="first", scope="second"', Challenge(scope="first", schemes=("bearer",))),
        ('Bearer realm="a, scope=\\"no\\"", scope="yes"', Challenge(scope="yes", schemes=("bearer",))),
        ('Bearer scope="never closed', Challenge(schemes=("bearer",))),
        ('DPoP algs="ES256", error="invalid_token"', Challenge(error="invalid_token", schemes=("dpop",))),
        ('DPoP scope="no", Bearer scope="yes"', Challenge(scope="yes", schemes=("bearer", "dpop"))),
        ('Bearer scope="yes", DPoP', Challenge(scope="yes", schemes=("bearer", "dpop"))),
        ('Basic realm="a, DPoP", bearer=x', Challenge()),
    ],
)
def test_the_challenge_of_a_header(header: str, challenge: Challenge) -> None:
    assert parse_challenge(header) == challenge


@given(st.text(alphabet='Bearer scope="\\, =error\n\x00é', max_size=200))
def test_no_header_stops_the_parser(header: str) -> None:
    assert isinstance(parse_challenge(f"Bearer {header}"), Challenge)


def test_servers_may_send_a_header_for_each_scheme() -> None:
    headers = Headers((("WWW-Authenticate", "DPoP"), ("x", "Bearer"), ("www-authenticate", "Bearer scope=a")))

    assert parse_challenge(challenge_header(headers)) == Challenge(scope="a", schemes=("bearer", "dpop"))


def test_a_huge_header_is_read_in_part() -> None:
    assert parse_challenge('Bearer scope="yes", ' + "a" * 10_000_000) == Challenge(scope="yes", schemes=("bearer",))


def test_only_a_lack_of_scopes_wants_more() -> None:
    assert parse_challenge("Bearer error=insufficient_scope").wants_more
    assert not parse_challenge("Bearer error=invalid_token").wants_more
