"""What the bash tool tells the model of commands that end well, badly, or not at all."""

import pytest

from kaa.core.messages import Json
from kaa.core.tool import ToolResult
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.protocol import CommandRequest, CommandResult
from tests.support.agents import run
from tests.support.toolbox import RecordedRun, Toolbox, text_of


def ended(output: bytes = b"", **fields: Json) -> CommandResult:
    lines = output.count(b"\n") + (bool(output) and not output.endswith(b"\n"))
    return CommandResult(
        **{"exit_code": 0, "signal": None, "tail": output, "output_bytes": len(output), "output_lines": lines, **fields}
    )


def result_of(result: CommandResult, **arguments: Json) -> ToolResult:
    workspace = MemoryWorkspace(commands=lambda _command: result)
    return run(Toolbox(workspace).call("bash", command="command", **arguments))


def given_command(files: dict[str, bytes], **arguments: Json) -> CommandRequest:
    commands: list[CommandRequest] = []

    def handler(command: CommandRequest) -> CommandResult:
        commands.append(command)
        return ended()

    run(Toolbox(MemoryWorkspace(files, commands=handler)).call("bash", **arguments))
    return commands[0]


def test_the_command_goes_to_bash_with_a_default_timeout() -> None:
    command = given_command({"/bin/bash": b""}, command="echo $HOME | wc")

    assert command.argv == ("/bin/bash", "-c", "echo $HOME | wc")
    assert command.timeout == 120


def test_without_bash_it_goes_to_sh() -> None:
    assert given_command({}, command="true").argv[0] == "/bin/sh"


@pytest.mark.parametrize(("given", "used"), [(5, 5), ("2.5", 2.5), (0, 120), (None, 120)])
def test_the_timeout_can_be_set(given: Json, used: float) -> None:
    assert given_command({}, command="true", timeout=given).timeout == used


@pytest.mark.parametrize("timeout", [-1, 100_000, float("inf"), float("nan")])
def test_timeouts_out_of_range_are_refused(timeout: float) -> None:
    message = run(Toolbox(MemoryWorkspace()).failure("bash", command="true", timeout=timeout))

    assert message == "timeout must be between 1 and 3600 seconds."


def test_output_is_given_as_it_is() -> None:
    result = result_of(ended(b"one\n\n  two\n"))

    assert text_of(result) == "one\n\n  two"
    assert not result.is_error
    assert result.details == {"exitCode": 0}


@pytest.mark.parametrize("output", [b"", b"\n", b"\x1b[0m"])
def test_silence_is_said(output: bytes) -> None:
    assert text_of(result_of(ended(output))).strip() == "exit code 0, no output"
    assert text_of(result_of(ended(output, exit_code=1))).startswith("(no output)")


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"exit_code": 3}, "Command exited with code 3"),
        ({"exit_code": None, "signal": 9}, "Command was ended by signal 9 (SIGKILL)"),
        ({"exit_code": None, "signal": 120}, "Command was ended by signal 120"),
        (
            {"exit_code": None, "signal": 15, "timed_out": True},
            "Command timed out after 7 seconds. Set a larger timeout, or run something quicker.",
        ),
    ],
)
def test_a_failure_is_an_error_with_output_and_status(fields: dict[str, Json], status: str) -> None:
    result = result_of(ended(b"partial\n", **fields), timeout=7)

    assert result.is_error
    assert text_of(result) == f"partial\n\n{status}"


_KEEPING = "To keep a process running, use background: true."


@pytest.mark.parametrize(("count", "note"), [(1, "1 background process was"), (2, "2 background processes were")])
def test_stopped_background_processes_are_said(count: int, note: str) -> None:
    text = text_of(result_of(ended(b"started\n", leftovers=count)))

    assert text == f"started\n\n[{note} stopped when the command ended. {_KEEPING}]"


def test_terminal_control_is_for_the_screen_and_not_for_the_model() -> None:
    workspace = MemoryWorkspace(commands=lambda _command: ended(b"\x1b[31m10%\r20%\x1b[0m\r\nok\n"))
    recorded = RecordedRun()

    result = run(Toolbox(workspace).call("bash", recorded, command="x"))

    assert text_of(result) == "20%\nok"
    assert recorded.updates == [("\x1b[31m10%\r20%\x1b[0m\r\nok\n", 0)]


def test_many_lines_are_cut_to_the_last_2000_with_the_path_of_the_log() -> None:
    output = b"".join(b"%d\n" % number for number in range(1, 3001))

    result = result_of(ended(output, log_path="/tmp/log"))

    text = text_of(result)
    assert text.startswith("1001\n1002\n")
    assert text.endswith("3000\n\n[Lines 1001-3000 of 3000. Full output: /tmp/log]")
    assert result.details == {
        "exitCode": 0,
        "truncation": {
            "truncated": True,
            "truncatedBy": "lines",
            "outputLines": 2000,
            "outputBytes": 9999,
            "totalLines": 3000,
            "totalBytes": len(output),
            "maxLines": 2000,
            "maxBytes": 51200,
        },
        "fullOutputPath": "/tmp/log",
    }


def test_output_that_is_in_no_log_is_not_cut() -> None:
    output = b"".join(b"%d\n" % number for number in range(1, 3001))

    text = text_of(result_of(ended(output)))

    assert text.startswith("1\n2\n")
    assert text.endswith("\n2999\n3000")


def test_the_first_line_of_a_tail_is_shown_only_if_it_is_whole() -> None:
    tail = b"alf a line\nlast but one\nlast\n"

    text = text_of(result_of(ended(tail, output_bytes=100_000, output_lines=900, log_path="/tmp/log")))

    assert text == "last but one\nlast\n\n[Lines 899-900 of 900. Full output: /tmp/log]"


def test_a_log_that_has_only_the_beginning_says_so() -> None:
    tail = b"alf a line\nlast\n"

    text = text_of(result_of(ended(tail, output_bytes=2**31, output_lines=900, log_path="/tmp/log", log_cut=True)))

    assert text == "last\n\n[Lines 900-900 of 900. Beginning of the output: /tmp/log]"


def test_the_end_of_one_endless_line_is_shown() -> None:
    tail = "é".encode()[1:] + b"x" * 100

    text = text_of(result_of(ended(tail, output_bytes=100_000, output_lines=3, log_path="/tmp/log")))

    assert text == "x" * 100 + "\n\n[The last 100 B of line 3 of 3. Full output: /tmp/log]"


def test_a_log_that_could_not_be_kept_is_said() -> None:
    text = text_of(result_of(ended(b"a\nb\n", output_bytes=100_000, output_lines=900)))

    assert text == "b\n\n[Lines 900-900 of 900. The rest was not kept]"


def test_binary_output_does_not_flood_the_model() -> None:
    assert text_of(result_of(ended(b"a" + b"\xff\xfe" * 1000 + b"b\n"))) == "a\ufffdb"


def test_the_whole_limit_of_bytes_is_shown_when_it_suffices() -> None:
    output = b"x" * 51_199 + b"\n"

    assert text_of(result_of(ended(output))) == "x" * 51_199


def test_a_nul_in_the_command_is_refused() -> None:
    assert "NUL" in run(Toolbox(MemoryWorkspace()).failure("bash", command="printf 'a\0b'"))


@pytest.mark.parametrize(
    ("given", "run_by_shell"),
    [
        ({"cmd": "ls"}, "ls"),
        ({"command": ["bash", "-lc", "ls | wc"]}, "ls | wc"),
        ({"command": ["echo", "a b"]}, "echo 'a b'"),
        ({"command": ["python3", "-c", "import os"]}, "python3 -c 'import os'"),
        ({"command": "ls", "workdir": ""}, "ls"),
        ({"command": "ls", "workdir": "-a"}, "cd ./-a || exit\nls"),
        ({"command": "ls", "workdir": "my src"}, "cd 'my src' || exit\nls"),
    ],
)
def test_the_arguments_of_other_agents_shells_are_understood(given: dict[str, Json], run_by_shell: str) -> None:
    assert given_command({}, **given).argv[-1] == run_by_shell
