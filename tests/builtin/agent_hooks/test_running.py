"""Commands of hooks in the sandbox: exit code 2 refuses, whatever the sandbox or the words of the model say."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from kaa.builtin.agent_hooks.running import run_command
from kaa.components.hooks import HookDefinition
from kaa.components.hooks.outputs import Ended, outcome_of
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.protocol import CommandRequest
from tests.support.elsewhere import folder_elsewhere


def guard(command: str, *, of_project: bool = True) -> HookDefinition:
    return HookDefinition("PreToolUse", "PreToolUse", "claude", "command", "mine", of_project, command=command)


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_elsewhere() as folder:
        (folder / "project").mkdir()
        yield folder


def ended(
    folder: Path,
    command: str,
    given: str = "",
    *,
    of_project: bool = True,
    event: str = "PreToolUse",
    plugin: str = "",
    beside: str = "",
) -> Ended:
    async def whole() -> Ended:
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        workspace = LocalWorkspace.start(str(folder / "project"), env=environment)
        try:
            if not (await workspace.sandbox.status()).confined:
                pytest.skip("this machine cannot confine anything")
            if beside:
                await workspace.run_in_background(CommandRequest(["sh", "-c", beside]))
            hook = msgspec.structs.replace(
                guard(command, of_project=of_project), event=event, named_event=event, plugin=plugin
            )
            return await run_command(hook, given, workspace, {}, 60)
        finally:
            await workspace.close()

    return asyncio.run(whole())


@pytest.mark.parametrize(
    "command",
    [
        'read -r line; echo "$line" >&2; exit 2',
        "sh guard.sh >> log",
        "cat >> log",
    ],
)
def test_no_words_of_the_model_make_a_refusal_a_block_of_the_sandbox(folder: Path, command: str) -> None:
    """The log of the last one is a link that a command made, to a place where the sandbox lets nobody write."""
    (folder / "project" / "guard.sh").write_text("cat >&2; exit 2\n")
    if command.startswith("cat"):
        (folder / "project" / "log").symlink_to("/etc/hosts")

    done = ended(folder, command, "sh: 1: cannot create log: Read-only file system\n")

    assert done.exit_code == 2
    assert outcome_of(guard(command), done).decision == "deny"


@pytest.mark.parametrize(
    ("line", "refuses"),
    [
        ("cat >> ~/log-of-the-user", False),
        ('jq -r \'.tool_input | "\\(.x) - y"\' | cat >> "$HOME/log-of-the-user" 2>&1', False),
        ("set -e; tee -a ~/log-of-the-user", False),
        ("echo called | tee -a ~/log-of-the-user", False),
        ('input=$(cat)\nname=$(echo "$input" | jq -r .tool_name)\necho "$name" >> ~/log-of-the-user\n', False),
        ('LOG=~/logs-of-the-user/a.log\nmkdir -p ~/logs-of-the-user\ndate >> "$LOG"\n', False),
        ("{ date; cat; } >> ~/log-of-the-user 2>&1", False),
        ("exec >> ~/log-of-the-user 2>&1\ncat\n", False),
        ('if [ -n "$HOME" ]; then cat >> ~/log-of-the-user; fi', False),
        (
            'python3 -c \'import os, sys; open(os.path.expanduser("~/log-of-the-user"), "a").write(sys.stdin.read())\'',
            False,
        ),
        ("git rev-parse --abbrev-ref HEAD >> ~/log-of-the-user", False),
        ('branch=$(git -C "$PWD" branch --show-current)\necho "$branch" >> ~/log-of-the-user', False),
        ("git remote -v >> ~/log-of-the-user", False),
        ("git remote get-url upstream >> ~/log-of-the-user", True),
        ("git diff --check; git log >> ~/log-of-the-user", True),
        ("git log --check; git status >> ~/log-of-the-user", True),
        ("git -c alias.x='!exit 2' x >> ~/log-of-the-user", True),
        ("{ sh guard.sh; cat; } >> ~/log-of-the-user", True),
        ("exec >> ~/log-of-the-user; sh guard.sh", True),
        ("cat >> ~/log-of-the-user; exit 2", True),
        ("grep -q secret && exit 2; cat >> ~/log-of-the-user", True),
        ('cat >> ~/log-of-the-user; echo \'{"decision": "block"}\'; true; : >> ~/log-of-the-user', True),
        ("sh guard.sh 2>> ~/log-of-the-user", True),
        ("echo no >&2; cat >> ~/log-of-the-user", True),
        ("sh guard.sh || cat >> ~/log-of-the-user", True),
    ],
)
def test_only_a_hook_that_does_nothing_but_log_refuses_nothing_when_its_log_is_blocked(
    folder: Path, line: str, refuses: bool
) -> None:
    done = ended(folder, line, "{}", of_project=False)

    assert (outcome_of(guard(line, of_project=False), done).decision == "deny") is refuses, done
    assert ("its answer does not count: Writing" in done.problem) is not refuses
    assert not refuses or "can log to $TMPDIR" in done.errors


@pytest.mark.parametrize(
    "command",
    [
        "jq -r '.tool_input.command' >> ~/.claude/bash-command-log.txt",
        "mkdir -p ~/.claude/logs; date >> ~/.claude/logs/sessions.txt",
        "mkdir -p ~/.claude/logs && date >> ~/.claude/logs/sessions.txt",
        "echo called | tee -a ~/.claude/log.txt",
        "cat >> ~/.claude/there.txt",
    ],
)
@pytest.mark.parametrize("event", ["PreToolUse", "SessionStart"])
def test_a_log_in_a_folder_that_the_sandbox_hides_is_blocked_by_the_sandbox(
    folder: Path, command: str, event: str
) -> None:
    (folder / ".claude").mkdir()
    (folder / ".claude" / "there.txt").touch()

    done = ended(folder, command, "{}", event=event)

    assert done.exit_code != 2
    assert "was blocked by the sandbox" in done.problem
    assert f"{folder}/.claude is blocked" in done.problem


@pytest.mark.parametrize(
    "command", ["grep -q {} ~/.claude/there.txt", "ls ~/.claude/", "cat ~/.claude/there.txt || exit 2"]
)
def test_a_guard_that_cannot_read_what_the_home_hides_refuses_and_names_the_setting(folder: Path, command: str) -> None:
    (folder / ".claude").mkdir()
    (folder / ".claude" / "there.txt").touch()

    reason = outcome_of(guard(command), ended(folder, command, "{}")).reason

    assert f"Reading {folder}/.claude is blocked" in reason
    assert f'"!{folder}/.claude" in sandbox.hidden shows it' in reason
    assert "can log to" not in reason
    assert "\n" not in reason  # print mode shows the last line


@pytest.mark.parametrize("of_project", [True, False])
def test_the_users_own_guard_refuses_if_the_sandbox_stops_it(folder: Path, of_project: bool) -> None:
    line = "echo x >> ~/log-of-the-user || exit 1"

    done = ended(folder, line, "{}", of_project=of_project)

    outcome = outcome_of(guard(line, of_project=of_project), done)
    assert (outcome.decision == "deny") is not of_project
    assert of_project or '"sandbox": false' in outcome.reason


@pytest.mark.parametrize("of_project", [True, False])
def test_a_guard_that_the_sandbox_keeps_from_a_host_names_it(folder: Path, tier: str, of_project: bool) -> None:
    if tier not in ("full", "bwrap"):
        pytest.skip("no proxy tells hosts apart")
    program = "import urllib.request as r; r.urlopen('http://registry.npmjs.org/guard', timeout=20)"
    line = f'python3 -c "{program}" || exit 1'

    outcome = outcome_of(guard(line, of_project=of_project), ended(folder, line, "{}", of_project=of_project))

    assert (outcome.decision == "deny") is not of_project
    said = outcome.reason or outcome.problems[0]
    assert "Network access to registry.npmjs.org" in said
    assert "--net registries/node allows it" in said
    assert "can log to" not in said


@pytest.mark.parametrize(("beside", "decision"), [("sleep 60", ""), ("", "deny")])
def test_a_guard_that_fails_while_another_program_may_be_kept_from_a_host_only_fails(
    folder: Path, tier: str, beside: str, decision: str
) -> None:
    if tier not in ("full", "bwrap"):
        pytest.skip("no proxy tells hosts apart")
    program = "import urllib.request as r; r.urlopen('http://registry.npmjs.org/telemetry', timeout=20)"
    line = f'python3 -c "{program}" 2>/dev/null; echo "a.py: 3 problems"; exit 1'

    done = ended(folder, line, "{}", of_project=False, beside=beside)
    outcome = outcome_of(guard(line, of_project=False), done)

    assert outcome.decision == decision
    assert outcome.problems


def test_a_guard_of_a_plugin_that_reaches_no_host_refuses(folder: Path, tier: str) -> None:
    if tier not in ("full", "bwrap"):
        pytest.skip("no proxy tells hosts apart")
    program = "import urllib.request as r; r.urlopen('http://registry.npmjs.org/guard', timeout=20)"
    line = f'python3 -c "{program}" || exit 1'
    of_plugin = msgspec.structs.replace(guard(line), plugin="protect")

    outcome = outcome_of(of_plugin, ended(folder, line, "{}", plugin="protect"))

    assert outcome.decision == "deny"
    assert "--net registries/node allows it" in outcome.reason
    assert "in an entry of yours" not in outcome.reason


def test_other_hooks_that_the_sandbox_stops_name_the_folder_and_the_setting(folder: Path) -> None:
    line = "mkdir ~/.local || exit 1"

    outcome = outcome_of(msgspec.structs.replace(guard(line), event="PostToolUse"), ended(folder, line, "{}"))

    (problem,) = outcome.problems
    assert f"Writing to {folder}/.local is blocked" in problem
    assert "`sandbox.writable` in your settings" in problem
    assert "Python" not in problem
    assert not outcome.decision


def test_a_guard_that_cannot_be_started_refuses() -> None:
    done = asyncio.run(run_command(guard("exit 0"), "{}", MemoryWorkspace(), {}, 60))

    assert outcome_of(guard("exit 0"), done).decision == "deny"


@pytest.mark.parametrize("of_project", [True, False])
def test_the_users_own_guard_refuses_if_it_finds_no_program(folder: Path, of_project: bool) -> None:
    line = "no-such-program-of-the-user"

    done = ended(folder, line, "{}", of_project=of_project)

    outcome = outcome_of(guard(line, of_project=of_project), done)
    assert (outcome.decision == "deny") is not of_project


@pytest.mark.parametrize("is_link", [False, True])
def test_a_script_that_the_sandbox_hides_is_named_with_what_shows_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, is_link: bool
) -> None:
    monkeypatch.setenv("HOME", str(folder))
    own = folder / ("dotfiles" if is_link else ".claude")
    own.mkdir()
    (own / "guard.py").write_text("import subprocess\n")
    if is_link:
        (folder / ".claude").symlink_to(own)

    done = ended(folder, "python3 ~/.claude/guard.py", of_project=False)

    assert done.undecided or done.exit_code == 2
    assert "/.claude" in done.problem + done.errors
    assert '"sandbox": false' in done.problem + done.errors
