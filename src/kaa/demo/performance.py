"""The demo itself: set the stage, let kaa work, see whether the tests pass."""

import asyncio
import os
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from kaa.frontends.exit_codes import ExitCode, of_reason
from kaa.frontends.interruption import until_signalled
from kaa.frontends.text_output import TextOutput
from kaa.shell.conversation import CommandReply
from kaa.shell.home import Home
from kaa.shell.opening import open_conversation
from kaa.shell.options import ConversationOptions, Replay, UnkeptSession
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import Command

_PROMPT = (
    "The test in test_stats.py fails. First read stats.py. Then edit stats.py to fix the bug. "
    "Then run the command: python3 -m unittest"
)
_TOOLS = ("read", "edit", "bash")
_TESTS = Command(("python3", "-m", "unittest", "--quiet"))

# Slow enough to be read, fast enough not to bore; a pipe gets no delay.
_SECONDS_PER_CHUNK = 0.02


def perform() -> int:
    """Perform the demo in a temporary directory. Returns the exit code."""
    # The interpreter that runs kaa is the one machine dependency of the project's tests.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    stage = Path(tempfile.mkdtemp(prefix="kaa-demo-"))
    for source in files("kaa.demo").joinpath("project").iterdir():
        if source.name.endswith(".py"):
            (stage / source.name).write_bytes(source.read_bytes())
    workspace = LocalWorkspace.start(str(stage), env={**os.environ, "PATH": path})
    return asyncio.run(until_signalled(_play(workspace, stage)))


async def _play(workspace: LocalWorkspace, stage: Path) -> int:
    try:
        with tempfile.TemporaryDirectory(prefix="kaa-demo-home-") as home:
            return await _act(workspace, stage, Home(Path(home)))
    finally:
        await workspace.close()


async def _act(workspace: LocalWorkspace, stage: Path, home: Home) -> int:
    """Show the failing tests, let kaa mend the project, run the tests again."""
    output = TextOutput(sys.stdout, sys.stderr)
    _narrate(f"A small Python project with a bug is in {stage}. Its tests:")
    await _run_tests(workspace)
    _narrate(
        "Now kaa works on it. The model's replies are a recording of a real model\n"
        "(Qwen2.5-Coder-1.5B, docs/demo.md); the tools and everything else run for real.\n"
        f"\n> kaa -p {_PROMPT!r}\n"
    )
    cassette = files("kaa.demo").joinpath("cassette.jsonl")
    conversation = await open_conversation(
        ConversationOptions(
            tools=_TOOLS,
            context_files=False,
            discover_extensions=False,
            session=UnkeptSession(),
            wire=Replay(Path(str(cassette)), _SECONDS_PER_CHUNK if sys.stdout.isatty() else 0.0),
        ),
        workspace=workspace,
        home=home,
        environ={},
        notify=output.progress,
    )
    try:
        conversation.subscribe(output.event)
        outcome = await conversation.submit(_PROMPT)
    finally:
        await conversation.close()
    if not isinstance(outcome, CommandReply) and outcome.reason != "done":
        return of_reason(outcome.reason)
    _narrate("The tests again:")
    passed = await _run_tests(workspace)
    _narrate(f"{'The bug is fixed' if passed else 'The bug is still there'}. The project stays in {stage}.")
    return ExitCode.DONE if passed else ExitCode.FAILED


async def _run_tests(workspace: LocalWorkspace) -> bool:
    result = await workspace.run(_TESTS)
    sys.stdout.write("".join(f"  | {line}\n" for line in result.tail.decode(errors="replace").strip().splitlines()))
    sys.stdout.flush()
    return result.exit_code == 0


def _narrate(text: str) -> None:
    sys.stdout.write(f"\n{text}\n")
    sys.stdout.flush()
