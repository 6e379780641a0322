"""Many files put back by the real program, which may be killed at any moment."""

import json
import re
import signal
import time

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.model_script import Answer, Call, say
from tests.support.model_server import ModelServer
from tests.support.patience import HANG_SECONDS

pytestmark = pytest.mark.usefixtures("full_access")

_FILES = 1_100
_DIRECTORIES = 40
_SCRIPT = """
find . -name 'f*' -print0 | xargs -0 sed -i '1i # changed'
rm -r d03; mv d04 moved; rm -r d05; echo a file > d05; mkdir new; touch new/one
"""


def _content(number: int) -> str:
    return f"{number}\n" + "a line of the file\n" * 20


def _path(number: int) -> str:
    return f"d{number % _DIRECTORIES:02}/f{number:05}"


@pytest.fixture
def changed(kaa: Kaa) -> Kaa:
    """A project in which the agent changed, moved, deleted and created many files."""
    for number in range(_FILES):
        path = kaa.project / _path(number)
        path.parent.mkdir(exist_ok=True)
        path.write_text(_content(number))
    (kaa.project / "change.sh").write_text(_SCRIPT)
    with ModelServer(
        [Answer(calls=(Call("bash", json.dumps({"command": "bash change.sh"})),)), say("Done.")]
    ) as server:
        kaa.use(server, "openai-completions")
        assert kaa.run("--approvals", "never", "-p", "change everything").code == 0
    assert not _is_as_before(kaa)
    return kaa


def _is_as_before(kaa: Kaa) -> bool:
    files = {str(path.relative_to(kaa.project)): path for path in kaa.project.rglob("*") if not path.is_dir()}
    wanted = {"change.sh": _SCRIPT} | {_path(number): _content(number) for number in range(_FILES)}
    return files.keys() == wanted.keys() and all(path.read_text() == wanted[name] for name, path in files.items())


def test_progress_is_told_in_json_mode(changed: Kaa) -> None:
    done = changed.run("--mode", "json", "-c", "/undo")

    told = [(event["done"], event["total"]) for event in done.events if event["type"] == "restore_progress"]
    assert len(told) > 2
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1]
    assert _is_as_before(changed)


def _is_killed_in_time(kaa: Kaa, number: int) -> bool:
    """Kill a restore that has put back the file of this number. Whether the conversation had not yet gone back."""
    watched, before = kaa.project / _path(number), kaa.session_text
    with kaa.running("-p", "-c", "/undo") as process:
        deadline = time.monotonic() + HANG_SECONDS
        while not (watched.exists() and watched.read_text() == _content(number)):
            assert time.monotonic() < deadline
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
    return kaa.session_text == before


def test_a_restore_that_was_killed_is_finished_by_the_next_one_and_leaves_nothing(changed: Kaa) -> None:
    for number in (77, 1_099):  # the second one while it finishes the first
        while not _is_killed_in_time(changed, number):
            assert changed.run("-p", "-c", "/redo").code == 0

    again = changed.run("-p", "-c", "/undo")

    assert again.code == 0
    assert not re.search("^(kept|failed) ", again.out, re.MULTILINE)
    assert _is_as_before(changed)

    changed.run("-p", "-c", "/redo")
    assert (changed.project / "d05").read_text() == "a file\n"
    assert (changed.project / "moved").is_dir()
    assert not list(changed.project.rglob(".kaa-*"))
