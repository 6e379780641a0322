"""A view that bubblewrap built in another way than it was planned is noticed."""

import pytest

from kaa.hands.confinement.contract import ViewChangedError
from kaa.hands.confinement.expected_mounts import check, expected
from kaa.hands.confinement.view import ViewStep
from kaa.hands.mount_table import Mount

DISK = "8:1"
HOST = [
    Mount("/", "ext4", DISK, "/"),
    Mount("/dev", "devtmpfs", "0:6", "/"),
    Mount("/proc", "proc", "0:4", "/"),
    Mount("/home", "btrfs", "0:30", "/@home"),
    Mount("/home/me/p/volume", "xfs", "8:2", "/"),
]
STEPS = (
    ViewStep("/home/me", "carved", "/home/me", has_more=True),
    ViewStep("/home/me/p", "writable", "/home/me/p", has_more=True),
    ViewStep("/home/me/p/code", "readable", "/home/me/p/code"),
    ViewStep("/home/me/p/.env", "hidden file"),
    ViewStep("/home/me/.ssh", "hidden directory"),
)
# As bubblewrap makes them.
MADE = [
    *HOST,
    Mount("/home/me", "tmpfs", "0:50", "/"),
    Mount("/home/me/p", "btrfs", "0:30", "/@home/me/p"),
    Mount("/home/me/p/volume", "xfs", "8:2", "/"),
    Mount("/home/me/p/code", "btrfs", "0:30", "/@home/me/p/code"),
    Mount("/home/me/p/.env", "devtmpfs", "0:6", "/null"),
    Mount("/home/me/.ssh", "tmpfs", "0:51", "/"),
    Mount("/dev", "tmpfs", "0:52", "/"),
    Mount("/dev/null", "devtmpfs", "0:6", "/null"),
    Mount("/dev/pts", "devpts", "0:53", "/"),
    Mount("/proc", "proc", "0:54", "/"),
    Mount("/proc/irq", "proc", "0:54", "/irq"),
]


def test_the_view_as_it_was_planned_is_right() -> None:
    check(expected(STEPS, (), HOST), MADE)


@pytest.mark.parametrize(
    ("point", "made"),
    [
        ("/home/me/p/code", Mount("/home/me/p/code", "btrfs", "0:30", "/@home/me/.ssh")),
        ("/home/me/p/code", Mount("/home/me/.ssh", "btrfs", "0:30", "/@home/me/.ssh")),
        ("/home/me/p/code", Mount("/home/me/p/volume", "xfs", "8:2", "/keys")),
        ("/home/me/p/code", Mount("/dev/key", "btrfs", "0:30", "/@home/me/.ssh")),
        ("/home/me/p/.env", Mount("/home/me/p/elsewhere", "devtmpfs", "0:6", "/null")),
        ("/home/me/.ssh", Mount("/home/me/elsewhere", "tmpfs", "0:51", "/")),
    ],
)
def test_a_mount_that_a_link_led_elsewhere_is_noticed(point: str, made: Mount) -> None:
    mounts = [made if mount.point == point else mount for mount in MADE]

    with pytest.raises(ViewChangedError, match="replaced by a symlink"):
        check(expected(STEPS, (), HOST), mounts)
