"""A restore that the system refuses in part: the conversation stays, and the same command does the rest."""

from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.model_server import ModelServer, call, say

pytestmark = pytest.mark.usefixtures("full_access")

_LARGE = 300 * 1024
# Nobody, not even root, writes a file larger than this; kaa's own are smaller here. In units of 1,024 bytes.
_LIMIT = "ulimit -f 200"


def _change(number: int) -> str:
    """Change a small file and a large one: the first turn makes a large file of it, which is then emptied."""
    large = f"head -c {_LARGE} /dev/zero > sub/b" if number == 1 else "echo small > sub/b"
    return f"echo {number} > a; {large}"


@pytest.fixture
def two_turns(kaa: Kaa) -> Kaa:
    (kaa.project / "sub").mkdir()
    (kaa.project / "a").write_text("0\n")
    (kaa.project / "sub" / "b").write_text("b\n")
    turns = [call("bash", command=_change(1)), say("1"), call("bash", command=_change(2)), say("2")]
    with ModelServer(turns) as server:
        kaa.use(server, "openai-completions")
        assert kaa.run("--approvals", "never", "-p", "first").code == 0
        assert kaa.run("--approvals", "never", "-c", "-p", "second").code == 0
    return kaa


def _files(project: Path) -> tuple[str, int]:
    """What the small one says, and how large the other one is."""
    return (project / "a").read_text(), (project / "sub" / "b").stat().st_size


def test_undo_that_the_system_refused_in_part_is_finished_by_the_same_command(two_turns: Kaa) -> None:
    refused = two_turns.run_in_shell(f'{_LIMIT}; exec "$KAA" -c -p /undo')

    assert (refused.code, refused.out) == (1, "")
    assert "kaa: 1 file could not be changed, so the conversation stays where it is. Repeat the command" in refused.err
    assert "restored a\n" in refused.err
    assert "failed sub/b: File too large\n" in refused.err
    assert _files(two_turns.project) == ("1\n", len("small\n"))

    finished = two_turns.run("-c", "-p", "/undo")

    assert (finished.code, finished.out.splitlines()[0]) == (0, "took back: second")
    assert _files(two_turns.project) == ("1\n", _LARGE)

    again = two_turns.run("-c", "-p", "/redo")

    assert again.code == 0
    assert _files(two_turns.project) == ("2\n", len("small\n"))


def test_redo_that_the_system_refused_is_finished_by_the_same_command(two_turns: Kaa) -> None:
    assert two_turns.run("-c", "-p", "/undo").code == 0
    assert two_turns.run("-c", "-p", "/undo").code == 0
    assert _files(two_turns.project) == ("0\n", len("b\n"))

    refused = two_turns.run_in_shell(f'{_LIMIT}; exec "$KAA" -c -p /redo')
    assert refused.code == 1
    assert _files(two_turns.project) == ("1\n", len("b\n"))
    finished = two_turns.run("-c", "-p", "/redo")

    assert finished.code == 0
    assert _files(two_turns.project) == ("1\n", _LARGE)


def test_a_sandbox_that_is_read_only_keeps_the_conversation_where_it_is(two_turns: Kaa) -> None:
    refused = two_turns.run("--sandbox", "read-only", "-c", "-p", "/undo")
    finished = two_turns.run("-c", "-p", "/undo")

    assert (refused.code, finished.code) == (1, 0)
    assert finished.out.splitlines()[0] == "took back: second"
    assert _files(two_turns.project) == ("1\n", _LARGE)
