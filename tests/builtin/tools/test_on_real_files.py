"""The tools on real files and processes: what only a real system can show."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from kaa.workspace.local import LocalWorkspace
from tests.support.agents import run
from tests.support.elsewhere import folder_elsewhere
from tests.support.toolbox import RecordedRun, Toolbox, text_of

T = TypeVar("T")


@pytest.fixture(autouse=True)
def _logs_in_the_test_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that tools see as it is, and logs with it: they have temporary directories of their own."""
    with folder_elsewhere() as folder:
        (folder / "project").mkdir()
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        yield folder / "project"


def with_tools(root: Path, work: Callable[[Toolbox], Awaitable[T]]) -> T:
    async def scenario() -> T:
        workspace = LocalWorkspace.start(str(root))
        try:
            return await work(Toolbox(workspace))
        finally:
            await workspace.close()

    return run(scenario())


def test_an_edit_keeps_mode_symlink_encoding_and_line_endings(tmp_path: Path) -> None:
    target, link = tmp_path / "real.sh", tmp_path / "link.sh"
    target.write_bytes("# café\r\nrun  \r\n".encode("latin-1"))
    target.chmod(0o750)
    link.symlink_to("real.sh")

    with_tools(
        tmp_path, lambda tools: tools.text("edit", path="link.sh", edits=[{"oldText": "run", "newText": "go\nnow"}])
    )

    assert target.read_bytes() == "# café\r\ngo\r\nnow  \r\n".encode("latin-1")
    assert target.stat().st_mode & 0o777 == 0o750
    assert link.is_symlink()


def test_edits_through_different_names_of_one_file_are_all_done(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("1 2 3 4 5 6\n")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dir").mkdir()

    async def work(tools: Toolbox) -> None:
        names = ["real", "link", "./real", "dir/../link", str(tmp_path / "real"), "link"]
        await asyncio.gather(
            *(
                tools.text("edit", path=name, edits=[{"oldText": str(n), "newText": f"<{n}>"}])
                for n, name in enumerate(names, 1)
            )
        )

    with_tools(tmp_path, work)

    assert (tmp_path / "real").read_text() == "<1> <2> <3> <4> <5> <6>\n"


def test_an_edit_meets_a_file_as_commands_left_it(tmp_path: Path) -> None:
    async def work(tools: Toolbox) -> str:
        await tools.text("write", path="src/a.txt", content="one\n")
        await tools.text("bash", command="printf 'two\\n' >> src/a.txt")
        await tools.text("edit", path="src/a.txt", edits=[{"oldText": "one\ntwo\n", "newText": "both\n"}])
        return await tools.text("read", path="src/a.txt")

    assert with_tools(tmp_path, work) == "both"


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux's /proc")
def test_a_file_that_claims_to_have_no_bytes_is_read(tmp_path: Path) -> None:
    text = with_tools(tmp_path, lambda tools: tools.text("read", path="/proc/self/status", limit=1))

    assert text.startswith("Name:")


def test_a_fifo_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")

    assert "fifo" in with_tools(tmp_path, lambda tools: tools.failure("read", path="fifo"))


def test_a_command_reports_its_output_live_and_its_exit_code(tmp_path: Path) -> None:
    recorded = RecordedRun()

    result = with_tools(tmp_path, lambda tools: tools.call("bash", recorded, command="echo out; echo err >&2; exit 3"))

    assert text_of(result) == "out\nerr\n\nCommand exited with code 3"
    assert "".join(text for text, _ in recorded.updates) == "out\nerr\n"


def test_a_command_that_takes_too_long_is_stopped_and_said(tmp_path: Path) -> None:
    text = with_tools(tmp_path, lambda tools: tools.failure("bash", command="echo begun; sleep 1000", timeout=0.3))

    assert text.startswith("begun\n\nCommand timed out after 0.3 seconds.")


def test_a_command_ended_by_a_signal_is_said(tmp_path: Path) -> None:
    text = with_tools(tmp_path, lambda tools: tools.failure("bash", command="kill -KILL $$"))

    assert f"signal {signal.SIGKILL.value} (SIGKILL)" in text


def test_background_processes_are_stopped_and_said(tmp_path: Path) -> None:
    text = with_tools(tmp_path, lambda tools: tools.text("bash", command="sleep 1000 & echo started"))

    assert text.startswith("started\n\n[1 background process was stopped when the command ended.")


def test_what_is_cut_of_the_output_is_in_the_log(elsewhere: Path) -> None:
    recorded = RecordedRun()

    result = with_tools(elsewhere, lambda tools: tools.call("bash", recorded, command="seq 1 3000"))

    assert text_of(result).startswith("1\n2\n")
    assert "\n800\n[…]\n1801\n" in text_of(result)
    assert "3000\n\n[The first 800 lines; lines 1801-3000 of 3000. Full output: " in text_of(result)
    log = Path(result.details["fullOutputPath"])
    assert log.read_text().split() == [str(number) for number in range(1, 3001)]


def test_a_long_output_takes_20_kilobytes(elsewhere: Path) -> None:
    result = with_tools(elsewhere, lambda tools: tools.call("bash", command="seq -f 'the line with number %g' 1 3000"))

    assert 18_000 < len(text_of(result)) < 21_000
    assert text_of(result).startswith("the line with number 1\n")
    assert "the line with number 3000\n\n[The first " in text_of(result)


def test_a_long_output_that_is_short_without_its_colours_is_given_once(elsewhere: Path) -> None:
    colours = "\\033[1;31;44m\\033[2m\\033[3m\\033[4m"
    command = f"for i in $(seq 700); do printf '{colours}line %s\\033[0m\\n' $i; done"

    text = text_of(with_tools(elsewhere, lambda tools: tools.call("bash", command=command)))

    shown = [line for line in text.splitlines() if line.startswith("line ")]
    assert len(shown) == len(set(shown)) > 400
    assert shown[-1] == "line 700"
    assert "The first" not in text


def test_a_flood_of_output_reaches_the_screen_in_bounded_pieces(tmp_path: Path) -> None:
    recorded = RecordedRun()

    result = with_tools(tmp_path, lambda tools: tools.call("bash", recorded, command="yes 123456789 | head -c 3000000"))

    assert sum(len(text) + skipped for text, skipped in recorded.updates) == 3_000_000
    assert all(len(text) <= 8 * 1024 for text, _ in recorded.updates)
    assert "of 300000. Full output: " in text_of(result)


def test_a_cancelled_command_is_stopped_before_the_call_ends(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "held")
    reader = os.open(tmp_path / "held", os.O_RDONLY | os.O_NONBLOCK)

    async def work(tools: Toolbox) -> bytes:
        recorded = RecordedRun()
        call = asyncio.create_task(tools.call("bash", recorded, command="exec 9> held; echo begun; sleep 1000; true"))
        while not recorded.updates:
            await asyncio.sleep(0.01)
        call.cancel()
        await asyncio.wait([call])
        assert call.cancelled()
        return os.read(reader, 1)  # would raise BlockingIOError if any process still held the other end

    assert with_tools(tmp_path, work) == b""
    os.close(reader)


def test_searches_respect_gitignore(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("build/\n")
    for name in ("src", "build"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text("needle\n")

    async def work(tools: Toolbox) -> list[str]:
        return [await tools.text("grep", pattern="needle"), await tools.text("find", pattern="*.py")]

    assert with_tools(tmp_path, work) == ["src/a.py:1: needle", "src/a.py"]


def test_a_broken_pattern_is_explained(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n")

    assert "set literal" in with_tools(tmp_path, lambda tools: tools.failure("grep", pattern="(x"))
