import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.workspace.network.destinations import Destination, HostError, canonical_host, parse_authority

LABEL = st.from_regex(r"[a-zA-Z_]([a-zA-Z0-9_-]{0,20}[a-zA-Z0-9])?", fullmatch=True)
NAMES = st.lists(LABEL, min_size=1, max_size=5).map(".".join)
HOSTS = st.one_of(NAMES, st.ip_addresses().map(str)).map(canonical_host)
DESTINATIONS = st.builds(Destination, HOSTS, st.integers(1, 65535))


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("PyPI.org", "pypi.org"),
        ("pypi.org.", "pypi.org"),
        ("XN--BCHER-KVA.example", "xn--bcher-kva.example"),
        ("my_bucket.s3.example", "my_bucket.s3.example"),
        ("1.2.3.4", "1.2.3.4"),
        ("1.2.3.4.", "1.2.3.4"),
        ("FD00:0:0::1", "fd00::1"),
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("3com.example", "3com.example"),
    ],
)
def test_hosts_have_one_form(text: str, host: str) -> None:
    assert canonical_host(text) == host


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "a..b",
        "-a.example",
        "a-.example",
        "a b",
        "a\nb",
        "a\x00b",
        "a/b",
        "a@b",
        "a%2eb",
        "*.a",
        "a" * 64,
        ".".join(["a" * 60] * 5),
        "bücher.example",
        "pypi.org..",
        "fe80::1%eth0",
        ":::",
        "1.2.3.4:80",
        # what the system's resolver would take for an address
        "127.1",
        "2130706433",
        "0x7f.1",
        "0x7f000001",
        "0177.0.0.1",
        "1.2.3",
        "256.1.1.1",
        "foo.0x",
    ],
)
def test_what_is_no_host_is_an_error(text: str) -> None:
    with pytest.raises(HostError):
        canonical_host(text)


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "a:",
        "a:0",
        "a:65536",
        "a:1:2",
        "a:+1",
        "a:1 ",
        "a:\u0661",
        "::1:80",
        "[::1]",
        "[::1]80",
        "[::1:80",
        "[a]:80",
        ":80",
        "user@a:80",
        "[1.2.3.4]:80",
    ],
)
def test_what_is_no_host_and_port_is_an_error(text: str) -> None:
    with pytest.raises(HostError):
        parse_authority(text)


def test_a_default_port_is_only_taken_where_none_is_written() -> None:
    assert parse_authority("a", default_port=80) == Destination("a", 80)
    assert parse_authority("[::1]", default_port=80) == Destination("::1", 80)
    with pytest.raises(HostError):
        parse_authority("a:", default_port=80)


@given(DESTINATIONS)
def test_a_destination_survives_being_written(destination: Destination) -> None:
    assert parse_authority(str(destination)) == destination


@given(st.text())
def test_the_canonical_form_is_its_own(text: str) -> None:
    try:
        host = canonical_host(text)
    except HostError:
        return
    assert canonical_host(host) == host
    assert host.isascii()
    assert host.isprintable()
