"""`kaa sandbox`: runs any command exactly as the hands would, with its exit code. For people and for tests."""

import argparse
import contextlib
import os
import stat
import sys
import threading
from collections.abc import Iterator, Sequence

from kaa.frontends.command_parser import CommandParser
from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.interruption import run_to_exit_code
from kaa.shell.home import Home
from kaa.shell.safety import SandboxFlags, start_workspace
from kaa.shell.settings import SettingsError
from kaa.tui.sanitize import sanitize
from kaa.workspace.blocked import BlockedError, note
from kaa.workspace.commands import OwnStreams
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest

_PIECE_BYTES = 64 * 1024  # as much as a pipe holds
_DESCRIPTION = """\
Run a command in the sandbox that kaa's own commands get. The current directory is the project.

Exit codes: that of the command, 128+N if signal N ended it, 2 if it could not be tried."""


def main(arguments: Sequence[str], directory: str) -> int:
    """Run `kaa sandbox`. Returns the exit code."""
    parsed = _parser().parse_args(arguments)
    command = parsed.command[1:] if parsed.command[:1] == ["--"] else parsed.command
    if not command:
        return _refuse("give a command: kaa sandbox -- COMMAND")
    try:
        home = Home.of(os.environ)
        flags = SandboxFlags(parsed.mode, parsed.net, tuple(parsed.add_dir), not parsed.no_git)
        workspace = start_workspace(directory, flags, home, os.environ)
    except (SettingsError, OSError) as error:
        return _refuse(str(error))
    return run_to_exit_code(_run(workspace, command))


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        "kaa sandbox",
        _DESCRIPTION,
        ("kaa sandbox -- make test", "kaa sandbox --net registries -- npm ci"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--mode", choices=["read-only", "workspace-write", "full-access"], help="what may be written")
    parser.add_argument("--net", metavar="NET", help="off, on, registries, or hosts such as github.com,*.npmjs.org")
    parser.add_argument("--add-dir", metavar="DIR", action="append", default=[], help="another writable directory")
    parser.add_argument("--no-git", action="store_true", help="let nothing in .git be written")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="program and arguments")
    return parser


def _refuse(message: str) -> int:
    sys.stderr.write(f"kaa: {sanitize(message)}\n")
    return ExitCode.USAGE


async def _run(workspace: LocalWorkspace, command: Sequence[str]) -> int:
    workspace.tell(lambda notice: deliver(sys.stderr, sanitize(f"kaa: {notice}\n")))
    with contextlib.ExitStack() as files:  # ends when nothing is left that could hold what it closes
        try:
            stdin = files.enter_context(_content_only(sys.stdin.fileno()))
            stdout, stderr = files.enter_context(_written_by_kaa(sys.stdout.fileno(), sys.stderr.fileno()))
            result = await workspace.attach(CommandRequest(command), OwnStreams(stdin, stdout, stderr))
        except BlockedError:
            return _refuse(
                "no sandbox works on this system: see kaa doctor; with --mode full-access nothing is confined"
            )
        except OSError as error:
            return _refuse(error.strerror or str(error))
        finally:
            await workspace.close()
    if result.blocked:
        deliver(sys.stderr, sanitize(note(result.blocked)) + "\n")
    if result.signal is not None:
        return 128 + result.signal
    return ExitCode.FAILED if result.exit_code is None else result.exit_code


@contextlib.contextmanager
def _content_only(stdin: int) -> Iterator[int]:
    """A descriptor for the command's standard input, by which no file outside the sandbox can be changed.

    With a file's own descriptor a command could change its permissions, times and attributes: it gets the content,
    through a pipe. (Python itself refuses to start with a directory.)
    """
    if stat.S_ISREG(os.fstat(stdin).st_mode):
        read_end, write_end = os.pipe()
        try:
            threading.Thread(target=_feed, args=(stdin, write_end), name="kaa-stdin", daemon=True).start()
            yield read_end
        finally:
            os.close(read_end)  # which ends the thread if the command did not read to the end
    else:
        yield stdin


def _feed(source: int, target: int) -> None:
    with contextlib.suppress(OSError), open(target, "wb", buffering=0) as pipe:
        while data := os.read(source, _PIECE_BYTES):
            rest = memoryview(data)
            while rest:
                rest = rest[pipe.write(rest) :]


@contextlib.contextmanager
def _written_by_kaa(stdout: int, stderr: int) -> Iterator[tuple[int, int]]:
    """Descriptors for the command's output, by which nothing but the content of a file can be changed.

    As for standard input. What goes to the same file (`2>&1`) takes the same pipe, so that it stays in order.
    """
    pipes: dict[int, tuple[int, threading.Thread]] = {}
    same = os.path.sameopenfile(stdout, stderr)
    try:
        for target in (stdout,) if same else (stdout, stderr):
            if stat.S_ISREG(os.fstat(target).st_mode):
                read_end, write_end = os.pipe()
                writer = threading.Thread(target=_write, args=(read_end, target), name="kaa-output", daemon=True)
                pipes[target] = (write_end, writer)
                writer.start()
        own = pipes[stdout][0] if stdout in pipes else stdout
        yield own, own if same else (pipes[stderr][0] if stderr in pipes else stderr)
    finally:
        for write_end, writer in pipes.values():
            os.close(write_end)
            writer.join()


def _write(source: int, target: int) -> None:
    """Copy to the end. If the disk is full, the command learns it: nobody reads its pipe any more."""
    with open(source, "rb", buffering=0) as pipe:
        while data := pipe.read(_PIECE_BYTES):
            rest = memoryview(data)
            while rest:
                try:
                    rest = rest[os.write(target, rest) :]
                except OSError as error:
                    deliver(sys.stderr, f"kaa: the output cannot be written: {error.strerror}\n")
                    return
