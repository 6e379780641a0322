"""The demo itself: set the stage, let kaa work, see whether the tests pass."""

import os
import sys
import tempfile
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from kaa.core.events import AgentEnd
from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode, of_reason
from kaa.frontends.interruption import run_to_exit_code
from kaa.frontends.text_output import TextOutput
from kaa.shell.home import Home
from kaa.shell.host import Host
from kaa.shell.options import ConversationOptions, HostOptions, Replay, UnkeptSession
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest

# What was asked when the cassette was recorded; another question would not fit its answers.
_PROMPT = (
    "Read basket.py and fix the typo in it with edit. Then run python3 test_basket.py. "
    "If it says OK, stop and say what was wrong."
)
_TOOLS = ("read", "edit", "bash")
_TESTS = CommandRequest(("python3", "test_basket.py"))

_SOURCES = ("basket.py", "test_basket.py")

# Slow enough to be read, fast enough not to bore; a pipe gets no delay.
_SECONDS_PER_CHUNK = 0.02


def perform() -> int:
    """Perform the demo in a temporary directory. Returns the exit code."""
    # The interpreter that runs kaa is the one machine dependency of the project's tests.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    stage = Path(tempfile.mkdtemp(prefix="kaa-demo-"))
    for name in _SOURCES:
        (stage / name).write_bytes(_original(name))
    # The edit keeps the file's length and may come within the second in which the file was made. By these two Python
    # tells whether compiled code is out of date, so the old code would be tested again.
    environment = {**os.environ, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    workspace = LocalWorkspace.start(str(stage), env=environment)
    return run_to_exit_code(_play(workspace, stage))


async def _play(workspace: LocalWorkspace, stage: Path) -> int:
    try:
        with tempfile.TemporaryDirectory(prefix="kaa-demo-home-") as home:
            confined = (await workspace.sandbox.status()).confined
            # Where nothing can be confined, what runs is still only what was recorded, in a project made for it.
            return await _act(workspace if confined else workspace.unconfined(), stage, Home(Path(home)))
    finally:
        await workspace.close()


async def _act(workspace: LocalWorkspace, stage: Path, home: Home) -> int:
    """Show the failing tests, let kaa repair the project, run the tests again."""
    output = TextOutput(sys.stdout, sys.stdout)  # one stream, so that the order is right in a pipe too
    _narrate(f"A small Python project with a bug is in {stage}. Its test:")
    await _run_tests(workspace)
    _narrate(
        "Now kaa works on it. The model's replies were recorded from a real model, Qwen2.5-Coder-1.5B;\n"
        "everything else happens for real: reading, editing, running the test.\n"
        f"\n  $ kaa -p {_PROMPT!r}\n"
    )
    cassette = files("kaa.demo").joinpath("cassette.jsonl")
    host = Host(
        HostOptions(discover_extensions=False),
        home,
        environ={},
        # A newer kaa may say more in its system prompt than the one that recorded; that is no news to who watches.
        notify=lambda _: None,
    )
    options = ConversationOptions(
        tools=_TOOLS,
        context_files=False,
        session=UnkeptSession(),
        wire=Replay(Path(str(cassette)), _SECONDS_PER_CHUNK if sys.stdout.isatty() else 0.0),
    )
    try:
        conversation = (await host.open(options, workspace)).conversation
        conversation.subscribe(output.event)
        outcome = await conversation.submit(_PROMPT)
    finally:
        await host.close()
    if isinstance(outcome, AgentEnd) and outcome.reason != "done":
        return of_reason(outcome.reason)
    _narrate("What it changed:")
    await _show_changes(workspace)
    _narrate("The test again:")
    passed = await _run_tests(workspace)
    _narrate(f"{'The bug is fixed' if passed else 'The bug is still there'}. The project stays in {stage}.")
    return ExitCode.DONE if passed else ExitCode.FAILED


async def _show_changes(workspace: LocalWorkspace) -> None:
    """The difference between the project as it came and as it is now."""
    from difflib import unified_diff  # lazy: the conversation should begin first

    for name in _SOURCES:
        before = _original(name).decode().splitlines()
        after = (await workspace.read(name)).data.decode().splitlines()
        _quote(unified_diff(before, after, name, name, lineterm="", n=1))


async def _run_tests(workspace: LocalWorkspace) -> bool:
    result = await workspace.run(_TESTS)
    _quote(result.tail.decode(errors="replace").strip().splitlines())
    return result.exit_code == 0


def _original(name: str) -> bytes:
    return files("kaa.demo").joinpath("project", name).read_bytes()


def _quote(lines: Iterable[str]) -> None:
    deliver(sys.stdout, "".join(f"  | {line}\n" for line in lines))


def _narrate(text: str) -> None:
    deliver(sys.stdout, f"\n{text}\n")
