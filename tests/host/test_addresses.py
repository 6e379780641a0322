import subprocess
import sys
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.host.addresses import AddressKind, is_own, kind_of
from tests.support.tables import each


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:4700:4700::1111"])
def test_the_internet_is_public(address: str) -> None:
    assert kind_of(address) is AddressKind.PUBLIC


@each(
    "address",
    [
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "100.64.0.1",
        "198.18.0.1",
        "fc00::1",
        "fd12::1",
        "fec0::1",
        "2001:db8::1",
        "203.0.113.9",
        "64:ff9b::10.0.0.1",
        "2002:c0a8:0101::1",
        "::ffff:192.168.1.1",
    ],
)
def test_the_users_own_networks_are_private(address: str) -> None:
    assert kind_of(address) is AddressKind.PRIVATE


@each(
    "address",
    # this machine
    [
        "127.0.0.1",
        "127.8.8.8",
        "0.0.0.0",
        "0.1.2.3",
        "::1",
        "::",
        "::127.0.0.1",
        # the link, groups, nothing
        "169.254.1.1",
        "fe80::1",
        "fe80::1%eth0",
        "224.0.0.1",
        "ff02::1",
        "255.255.255.255",
        "240.0.0.1",
        "4000::1",
        # metadata
        "169.254.169.254",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "fd00:ec2::254",
        # an IPv4 address in disguise
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::a9fe:a9fe",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::1",
        "2001:0:53aa:64c:0:fbff:80ff:fffe",
        "::ffff:0:127.0.0.1",
    ],
)
def test_this_machine_and_metadata_are_forbidden_in_every_form(address: str) -> None:
    assert kind_of(address) is AddressKind.FORBIDDEN


@given(st.ip_addresses(v=4))
def test_a_form_that_carries_an_address_is_of_its_kind(address: IPv4Address) -> None:
    number = int(address)

    kinds = {
        kind_of(str(IPv6Address((0xFFFF << 32) | number))),
        kind_of(str(IPv6Address((0x64FF9B << 96) | number))),
        kind_of(str(IPv6Address((0x2002 << 112) | (number << 80) | 1))),
    }

    assert kinds == {kind_of(str(address))}


@given(st.ip_addresses())
def test_nothing_is_public_that_python_knows_to_be_special(address: IPv4Address | IPv6Address) -> None:
    if kind_of(str(address)) is AddressKind.PUBLIC:
        assert not address.is_loopback
        assert not address.is_link_local
        assert not address.is_multicast
        assert not address.is_unspecified
        assert address.version == 6 or not address.is_reserved  # which is also said of NAT64 and IPv4-mapped ones


@pytest.mark.parametrize("text", ["", "example.com", "127.1", "1.2.3.4.5", "[::1]"])
def test_what_is_no_address_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="address"):
        kind_of(text)


def test_addresses_of_this_machine_are_known() -> None:
    assert is_own("127.0.0.1")
    assert not is_own("192.0.2.1")
    assert not is_own("nothing")


def test_public_addresses_of_this_machine_are_forbidden() -> None:
    found = "from kaa.host.addresses import kind_of; print(*(kind_of(one).name for one in (%r, %r, %r, %r)))"
    code = found % ("5.9.1.2", "2a01:4f8::2", "::ffff:5.9.1.2", "5.9.1.3")
    add = "ip link set lo up && ip addr add 5.9.1.2/32 dev lo && ip -6 addr add 2a01:4f8::2/128 dev lo"
    words = ["unshare", "--map-root-user", "--net", "sh", "-c", f'{add} || exit 99; exec "$@"', "sh"]
    done = subprocess.run([*words, sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode in (1, 99, 127):
        pytest.skip(f"there is no network of its own here: {done.stderr}")

    assert done.stdout.split() == ["FORBIDDEN", "FORBIDDEN", "FORBIDDEN", "PUBLIC"], done.stderr
