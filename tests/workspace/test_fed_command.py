"""A command with an input: what it reads and prints goes through pipes, bounded and apart."""

from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest, FedResult, FedStreams
from tests.workspace.conftest import RunLocal


def fed(local: RunLocal, script: str, given: bytes = b"", most: int = 1000, seconds: float | None = None) -> FedResult:
    async def scenario(workspace: LocalWorkspace) -> FedResult:
        return await workspace.run_fed(
            CommandRequest(["sh", "-c", script], timeout=seconds), FedStreams(given, most, most)
        )

    return local(scenario)


def test_output_and_errors_stay_apart(local: RunLocal) -> None:
    assert fed(local, "cat; echo no >&2; exit 3", b"input") == FedResult(3, b"input", b"no\n")


def test_no_stream_has_a_name_that_another_command_could_open(local: RunLocal) -> None:
    done = fed(local, "readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2")

    assert [line.partition(b":")[0] for line in done.output.splitlines()] == [b"pipe"] * 3


def test_a_long_input_arrives_whole(local: RunLocal) -> None:
    assert fed(local, "wc -c", b"x" * 3_000_000).output.strip() == b"3000000"


def test_a_command_that_reads_nothing_ends_as_it_wants(local: RunLocal) -> None:
    assert fed(local, "exit 2", b"x" * 3_000_000).exit_code == 2


def test_a_command_that_prints_too_much_is_ended_and_its_exit_code_counts(local: RunLocal) -> None:
    done = fed(local, "yes; exit 2", most=1000)

    assert (done.exit_code, len(done.output)) == (2, 1000)


def test_a_command_whose_output_is_not_kept_ends_as_it_wants(local: RunLocal) -> None:
    done = fed(local, "cat >&2; exit 2", b"x" * 3_000_000, most=1000)

    assert (done.exit_code, len(done.errors)) == (2, 1000)


def test_what_it_leaves_in_the_background_holds_nothing_up(local: RunLocal) -> None:
    assert fed(local, "sleep 600 & echo now").output == b"now\n"


def test_a_command_that_takes_too_long_is_ended(local: RunLocal) -> None:
    assert fed(local, "sleep 600", seconds=0.1).timed_out
