import struct

import pytest

from kaa.hands.confinement import landlock


@pytest.mark.parametrize(
    ("version", "added"),
    [
        (2, landlock.REFER),
        (3, landlock.TRUNCATE),
        (4, 0),
        (5, landlock.IOCTL_DEV),
        (6, 0),
        (7, 0),
        (8, 0),
        (9, landlock.RESOLVE_UNIX),
        (10, 0),
    ],
)
def test_each_version_handles_what_it_knows(version: int, added: int) -> None:
    before, after = landlock.handled_access(version - 1), landlock.handled_access(version)

    assert after & ~before == added
    assert before & ~after == 0


def test_first_version_handles_thirteen_rights() -> None:
    assert landlock.handled_access(1) == 0x1FFF


@pytest.mark.parametrize(("version", "length"), [(1, 8), (3, 8), (4, 16), (5, 16), (6, 24), (10, 24)])
def test_attributes_are_as_long_as_the_kernel_knows_them(version: int, length: int) -> None:
    assert len(landlock.attributes(version, network=False, scopes=landlock.SCOPE_SIGNAL)) == length


@pytest.mark.parametrize(("version", "network", "ports"), [(4, False, 3), (10, False, 15), (4, True, 0), (10, True, 0)])
def test_ports_are_handled_unless_the_network_is_left_alone(version: int, network: bool, ports: int) -> None:
    attributes = landlock.attributes(version, network, scopes=0)

    assert struct.unpack_from("=Q", attributes, 8) == (ports,)


def test_writing_includes_no_device_nodes() -> None:
    assert not landlock.WRITE & (landlock.MAKE_CHAR | landlock.MAKE_BLOCK | landlock.IOCTL_DEV)
