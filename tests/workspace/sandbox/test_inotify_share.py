"""Commands cannot take all instances of inotify that the user has: other programs would notice nothing any more."""

import asyncio
import os
import sys

import pytest

from kaa.hands.inotify import Inotify
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest
from tests.support.elsewhere import folder_elsewhere
from tests.support.patience import HANG_SECONDS

_TAKES_ALL = """
import ctypes
libc, count = ctypes.CDLL(None), 0
while count < 1000 and libc.inotify_init1(0) >= 0:
    count += 1
print(count)
"""


def test_a_command_leaves_most_instances_of_inotify_to_others() -> None:
    with open("/proc/sys/fs/inotify/max_user_instances", "rb") as file:
        most = int(file.read())

    async def taken(folder: str) -> int:
        environment = {"PATH": os.environ["PATH"], "HOME": folder}
        workspace = LocalWorkspace.start(folder, env=environment)
        try:
            if (await workspace.sandbox.status()).tier != "full":
                pytest.skip("needs tier full")
            done = await workspace.run(CommandRequest([sys.executable, "-c", _TAKES_ALL], timeout=HANG_SECONDS))
            Inotify().close()
            return int(done.tail)
        finally:
            await workspace.close()

    with folder_elsewhere() as folder:
        (folder / "project").mkdir()
        count = asyncio.run(taken(str(folder / "project")))

    assert 0 < count <= most // 4
