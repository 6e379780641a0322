"""A background process exchanges a directory for a link while approved writes below it happen.

The user allowed one place outside the sandbox. Whatever the link leads to, the write happens there or fails. The canary
is the directory that the link leads to: it stays empty.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.end_to_end.kaa_process import Kaa, conversation
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_server import Answer, Call, ModelServer, call, say

pytestmark = pytest.mark.usefixtures("confined")

_ROUNDS = 3
_WRITES = 30  # in each round
_EXCHANGER = """
import ctypes, os, sys, time
os.makedirs("deep/.git")  # not before: what exists when kaa starts is a mount, which nobody can rename
os.symlink(sys.argv[1], "link")
libc = ctypes.CDLL(None)
open("begun", "w").close()  # a pipe: the first write waits until there is something to race with
while True:
    libc.renameat2(-100, b"deep", -100, b"link", 2)
    time.sleep(0.0003)  # about as long as a write takes between the look at its path and the writing
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_elsewhere() as folder:
        yield folder


def _writes(round_: int) -> Answer:
    """Writes that only a rule lets out of the sandbox, because git works with what they write."""
    names = (f"deep/.git/{round_}-{number}" for number in range(_WRITES))
    return Answer(
        calls=tuple(
            Call("write", msgspec.json.encode({"path": name, "content": "approved"}).decode(), f"call_{round_}_{at}")
            for at, name in enumerate(names)
        )
    )


def test_no_approved_write_lands_where_the_path_did_not_lead(folder: Path) -> None:
    kaa = Kaa(folder)
    elsewhere = folder / "elsewhere"
    (elsewhere / ".git").mkdir(parents=True)
    (kaa.project / "exchange.py").write_text(_EXCHANGER)
    os.mkfifo(kaa.project / "begun")
    kaa.settings(approvals={"policy": "auto", "allow": ["outside write: deep/.git/**"]})

    start = call("bash", command=f"exec python3 -I -S exchange.py {elsewhere}", background=True)
    wait = call("bash", command="read _ < begun")
    with ModelServer([start, wait, *map(_writes, range(_ROUNDS)), say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        kaa.run("-p", "work")
        told = [text for who, text in conversation(server.requests[-1]) if who == "tool"]

    written = [*(kaa.project / "deep/.git").iterdir(), *(kaa.project / "link/.git").iterdir()]
    assert list((elsewhere / ".git").iterdir()) == []
    assert len(told) == 2 + _ROUNDS * _WRITES
    assert written, told[-3:]
