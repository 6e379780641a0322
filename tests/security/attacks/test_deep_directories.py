"""A command makes directories deeper than a program may recurse: kaa must end as always, now and the next time.

The canary is the user's next run: it works, and nothing of the first one is left in kaa's cache.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_server import ModelServer, call, say
from tests.support.removal import removed_afterwards

_DEEP = """
import os
for place in ("/tmp", "."):
    os.chdir(place)
    for _ in range(2100)  # more than Python may recurse, and a longer path than the kernel takes:
        os.mkdir("d")
        os.chdir("d")
    os.chdir({project!r})
"""


@pytest.fixture
def kaa() -> Iterator[Kaa]:
    with folder_elsewhere() as folder, removed_afterwards(folder / "project"):
        yield Kaa(folder)


@pytest.mark.usefixtures("confined")
def test_a_deep_directory_ends_neither_this_run_nor_the_next(kaa: Kaa) -> None:
    (kaa.project / "deep.py").write_text(_DEEP.format(project=str(kaa.project)))
    with ModelServer(
        [call("bash", command="python3 -I -S deep.py && echo made"), say("Done."), say("Again.")]
    ) as server:
        kaa.use(server, "openai-completions")
        first = kaa.run("-p", "work")
        second = kaa.run("-p", "and now")
        told = str(server.requests[1].json)

    assert "made" in told
    assert (first.code, first.out) == (0, "Done.\n")
    assert (second.code, second.out) == (0, "Again.\n")
    assert "Traceback" not in first.err + second.err
    assert list(Path(kaa.environ["HOME"]).glob(".cache/kaa/tmp/*")) == []
