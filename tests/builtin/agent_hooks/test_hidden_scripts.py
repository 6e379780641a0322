"""Scripts of the user's in hidden folders that hooks execute in the sandbox."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest import mock

import msgspec
import pytest

from kaa.builtin.agent_hooks.hidden_scripts import with_scripts
from kaa.builtin.agent_hooks.running import run_command
from kaa.components.hooks import HookDefinition
from kaa.components.hooks.outputs import Ended
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.protocol import CommandRequest, Workspace
from kaa.workspace.sandbox.options import SandboxOptions
from tests.support.elsewhere import folder_elsewhere


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with folder_elsewhere() as folder:
        (folder / "project").mkdir()
        monkeypatch.setenv("HOME", str(folder))
        yield folder


@pytest.fixture(params=["strongest", "landlock"])
def tier(request: pytest.FixtureRequest) -> Iterator[str]:
    """Landlock hides what files hold, and not that they are there."""
    if request.param == "strongest":
        yield request.param
        return
    with mock.patch("kaa.workspace.sandbox.sandbox.tiers_to_try", return_value=(request.param, "none")):
        yield request.param


def guard(command: str, *arguments: str) -> HookDefinition:
    return HookDefinition(
        "PreToolUse",
        "PreToolUse",
        "claude",
        "command",
        "mine",
        of_project=False,
        command=command,
        args=arguments or None,
    )


def ended(
    home: Path, hook: HookDefinition, hidden: str = "~/.claude/*", options: SandboxOptions | None = None
) -> Ended:
    """How a hook ends in its sandbox, whose files commands of the model do not see."""

    async def whole() -> Ended:
        environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
        workspace = LocalWorkspace.start(str(home / "project"), env=environment, sandbox=options)
        try:
            if not (await workspace.sandbox.status()).confined:
                pytest.skip("this machine cannot confine anything")
            seen, place = await with_scripts(hook, workspace, lambda _, paths: workspace.with_shown(paths))
            done = await run_command(seen, "{}", place, {}, 60)
            command = await workspace.run(CommandRequest(["sh", "-c", f"cat {hidden}"]))
            assert command.exit_code != 0
            return done
        finally:
            await workspace.close()

    return asyncio.run(whole())


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("in_shell", [False, True])
def test_a_guard_of_a_hidden_folder_reads_what_it_is_made_of_and_nothing_else(home: Path, in_shell: bool) -> None:
    own = home / ".claude" / "hooks"
    (own / "lib").mkdir(parents=True)
    (own / "guard.sh").write_text(
        'cd "$(dirname "$0")"\n. lib/rules.sh\n. "$PWD/lib/more.sh"\ncat ../*.json key.txt x* 2>/dev/null\nrefuse\n'
    )
    (own / "lib" / "rules.sh").write_text("refuse() { echo 'by the rules' >&2; exit 2; }\n")
    (own / "lib" / "more.sh").touch()
    for secret in (own.parent / "settings.json", own / "key.txt", own / "xyz"):
        secret.write_text("secret")
    path = f"{own}/guard.sh"

    done = ended(home, guard("sh ~/.claude/hooks/guard.sh") if in_shell else guard("sh", path))

    assert (done.exit_code, done.errors.strip()) == (2, "by the rules")
    assert "secret" not in done.output


@pytest.mark.usefixtures("tier")
def test_a_guard_in_python_imports_what_lies_beside_it(home: Path) -> None:
    own = home / ".claude"
    (own / "rules").mkdir(parents=True)
    (own / "guard.py").write_text("import sys\nfrom rules.names import CODE\nsys.exit(CODE)\n")
    (own / "rules" / "__init__.py").write_text("BASE = 3\n")
    (own / "rules" / "names.py").write_text("from rules import BASE\nCODE = BASE + 4\n")

    assert ended(home, guard("python3 ~/.claude/guard.py")).exit_code == 7


@pytest.mark.usefixtures("tier")
def test_a_guard_behind_a_link_of_the_home_is_found(home: Path) -> None:
    own = home / "dotfiles" / "claude"
    own.mkdir(parents=True)
    (own / "guard.sh").write_text("echo found >&2; exit 2\n")
    (home / ".claude").symlink_to(own)

    done = ended(home, guard("sh ~/.claude/guard.sh"), hidden="~/.claude.json")

    assert (done.exit_code, done.errors) == (2, "found\n")


@pytest.mark.usefixtures("tier")
def test_a_guard_behind_a_link_into_another_hidden_folder_is_found(home: Path) -> None:
    own = home / ".dotfiles" / "claude"
    own.mkdir(parents=True)
    (own / "guard.sh").write_text("echo found >&2; exit 2\n")
    (home / ".claude").symlink_to(own)

    done = ended(home, guard("sh ~/.claude/guard.sh"))

    assert (done.exit_code, done.errors) == (2, "found\n")


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("line", ["sh {0}", "python3 {0}", "{0}"])
def test_what_stays_hidden_is_no_refusal_and_told(home: Path, line: str) -> None:
    (home / ".claude").mkdir()
    script = home / ".claude" / "guard"  # nothing says that this is code
    script.write_text("exit 2\n")
    script.chmod(0o755)

    done = ended(home, guard(line.format("~/.claude/guard")))

    assert done.exit_code is None
    assert f"the sandbox hides {script} from it" in done.problem


@pytest.mark.usefixtures("tier")
def test_what_commands_made_of_a_script_shows_no_secret(home: Path) -> None:
    (home / ".netrc").write_text("secret")
    (home / "project" / "guard.sh").symlink_to(home / ".netrc")
    (home / "project" / ".netrc").symlink_to(home / ".netrc")
    (home / ".claude").mkdir()
    (home / ".claude" / "guard.sh").symlink_to(home / "project" / "guard.sh")

    for line in ("cat ~/.claude/guard.sh", f"cat {home}/project/guard.sh", f"cat {home}/project/.netrc"):
        done = ended(home, guard(line))

        assert done.exit_code not in (0, 2)
        assert "secret" not in done.output


def test_what_a_script_of_the_project_names_beside_it_stays_hidden(home: Path) -> None:
    own = home / "project" / "dotfiles"
    own.mkdir()
    (own / "guard.sh").write_text('cat "$(dirname "$0")/secrets.sh"\n')
    (own / "secrets.sh").write_text("secret")
    (home / ".claude").mkdir()
    (home / ".claude" / "guard.sh").symlink_to(own / "guard.sh")

    done = ended(home, guard("sh ~/.claude/guard.sh"), options=SandboxOptions(hidden=(str(own / "secrets.sh"),)))

    assert "secrets.sh" in done.errors + done.problem
    assert "secret" not in done.output


def test_a_file_that_is_there_and_cannot_be_read_is_hidden(home: Path) -> None:
    class Unreadable(MemoryWorkspace):
        """As with Landlock, which hides contents and no names."""

        async def read_existing(self, paths: Sequence[str], max_bytes: int) -> dict[str, bytes]:
            return {}

    script = home / ".claude" / "guard.sh"
    script.parent.mkdir()
    script.write_text("exit 2\n")
    workspace, shown = Unreadable({str(script): b"exit 2\n"}), list[str]()

    def show(_: Workspace, paths: Sequence[str]) -> Workspace:
        shown.extend(paths)
        return workspace

    asyncio.run(with_scripts(guard("sh ~/.claude/guard.sh"), workspace, show))

    assert shown == [str(script)]


def test_what_commands_wrote_into_a_script_shows_nothing_beside_it(home: Path, tier: str) -> None:
    """The script lies in the project, behind a link of the user's, or has another name there."""
    reads = 'here="$(dirname "$0")"\n(echo ran; cat "$here/key.sh" "$here"/lib/key.sh) > leak\n'
    for folder in (home / "project" / "dotfiles", home / ".claude" / "hard"):
        (folder / "lib").mkdir(parents=True)
        (folder / "key.sh").write_text("secret")
        (folder / "lib" / "key.sh").write_text("secret")
    (home / "project" / "dotfiles" / "guard.sh").write_text(reads)
    (home / ".claude" / "guard.sh").symlink_to(home / "project" / "dotfiles" / "guard.sh")
    (home / "project" / "other-name.sh").write_text(reads)
    (home / ".claude" / "hard" / "guard.sh").hardlink_to(home / "project" / "other-name.sh")
    options = SandboxOptions(hidden=(f"{home}/project/dotfiles/*key.sh", f"{home}/project/dotfiles/lib"))

    # Nothing in a writable directory can be hidden by Landlock.
    for script in ("~/.claude/hard/guard.sh", *(["~/.claude/guard.sh"] if tier == "strongest" else ())):
        ended(home, guard(f"sh {script}"), hidden="~/.claude/hard/*", options=options)

        assert (home / "project" / "leak").read_text() == "ran\n", script


@pytest.mark.usefixtures("tier")
def test_a_line_that_commands_could_have_written_sees_no_script_outside_of_projects(home: Path) -> None:
    (home / ".secrets.sh").write_text("secret")
    (home / "project" / "guard.sh").write_text("echo ran\n")

    hook = guard("sh ~/project/guard.sh > leak; cat ~/.secrets.sh >> leak")
    ended(home, msgspec.structs.replace(hook, may_be_of_commands=True), hidden="~/.secrets.sh")

    assert (home / "project" / "leak").read_text() == "ran\n"


@pytest.mark.usefixtures("tier")
def test_a_script_that_the_user_hides_or_that_leads_to_a_secret_stays_hidden(home: Path) -> None:
    own, kept, leak = home / ".claude", home / ".dotfiles", home / "project" / "leak"
    own.mkdir()
    (kept / "ssh").mkdir(parents=True)
    (own / "guard.sh").write_text("(echo ran; cat ~/.claude/chosen.sh) > leak; . ./chosen.sh\n")
    (kept / "guard.sh").write_text('(echo ran; cat "$(dirname "$0")/ssh/key.sh") > leak\n')
    for hidden in (own / "chosen.sh", kept / "ssh" / "key.sh"):
        hidden.write_text("echo secret > leak\n")
    (home / ".ssh").symlink_to(kept / "ssh")
    options = SandboxOptions(hidden=(f"{own}/chosen.sh",))

    for script, made in (
        (own / "guard.sh", "ran\n"),
        (own / "chosen.sh", ""),
        (kept / "guard.sh", "ran\n"),
        (kept / "ssh" / "key.sh", ""),
    ):
        leak.write_text("")
        ended(home, guard(f"sh {script}"), options=options)

        assert leak.read_text() == made, script


@pytest.mark.usefixtures("tier")
def test_a_guard_in_the_folder_of_kaa_is_found_and_its_keys_are_not(home: Path) -> None:
    own = home / ".kaa" / "agent"
    own.mkdir(parents=True)
    (own / "auth.json").write_text("secret")
    (own / "lib.sh").write_text("echo found >&2; exit 2\n")
    (own / "guard.sh").write_text('cat ~/.kaa/agent/auth.json > leak 2>/dev/null\n. "$(dirname "$0")/lib.sh"\n')

    done = ended(home, guard(f"sh {own}/guard.sh"), hidden=f"{own}/*", options=SandboxOptions(private=(str(own),)))

    assert (done.exit_code, done.errors) == (2, "found\n")
    assert (home / "project" / "leak").read_text() == ""
