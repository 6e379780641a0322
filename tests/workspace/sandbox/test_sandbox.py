"""The sandbox of a workspace as the shell uses it: what holds, what is switched, what happens when parts die."""

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

import kaa
from kaa.hands.confinement.layout import resolve
from kaa.hands.policy import Policy, Tier
from kaa.workspace.blocked import Blocked, BlockedError
from kaa.workspace.hands import Wrapper
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.network.allow_list import NetworkState
from kaa.workspace.protocol import CommandRequest, CommandResult, Links, Start
from kaa.workspace.sandbox import sandbox as sandbox_module
from kaa.workspace.sandbox.options import SandboxChange, SandboxOptions
from tests.support.elsewhere import folder_elsewhere
from tests.support.patience import HANG_SECONDS
from tests.support.processes import Processes

Scenario = Callable[[LocalWorkspace], Awaitable[None]]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A home that is not below /tmp, of which nothing is to be seen inside."""
    with folder_elsewhere() as folder:
        (folder / "project").mkdir()
        yield folder


@contextlib.asynccontextmanager
async def opened(
    folder: Path, options: SandboxOptions | None = None, **variables: str
) -> AsyncIterator[LocalWorkspace]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **variables}
    workspace = LocalWorkspace.start(str(folder / "project"), env=environment, sandbox=options)
    try:
        if options is None and not (await workspace.sandbox.status()).confined:
            pytest.skip("this machine cannot confine anything")
        yield workspace
    finally:
        await workspace.close()


def play(folder: Path, scenario: Scenario, options: SandboxOptions | None = None, **variables: str) -> None:
    async def whole() -> None:
        async with opened(folder, options, **variables) as workspace:
            await scenario(workspace)

    asyncio.run(whole())


async def sh(workspace: LocalWorkspace, script: str) -> CommandResult:
    return await workspace.run(CommandRequest(["sh", "-c", script], timeout=HANG_SECONDS))


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.com"]
    subprocess.run(["git", *identity, *arguments], cwd=folder / "project", check=True, capture_output=True)


def test_what_was_tried_on_the_way_down_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def tiers() -> tuple[Tier, ...]:
        return ("seatbelt", "landlock", "none")

    monkeypatch.setattr(sandbox_module, "tiers_to_try", tiers)
    monkeypatch.setattr(sandbox_module, "wrapper", lambda _policy, _home: Wrapper())

    async def scenario(workspace: LocalWorkspace) -> None:
        status = await workspace.sandbox.status()

        assert status.tier in ("landlock", "none")
        assert status.refused["seatbelt"]

    play(folder, scenario, SandboxOptions())


@pytest.mark.parametrize(
    ("ends", "told"),
    [("echo 'sh: No permissions' >&2; exit 1", "No permissions"), ("kill -9 $$", "it ended by signal 9")],
)
@pytest.mark.parametrize("asked_first", ["status", "file"])
def test_a_wrapper_that_may_not_do_its_work_is_a_tier_that_does_not_hold(
    folder: Path, monkeypatch: pytest.MonkeyPatch, ends: str, told: str, asked_first: str
) -> None:
    def tiers() -> tuple[Tier, ...]:
        return ("bwrap", "none")

    def wrapper(policy: Policy, _home: str) -> Wrapper:
        return Wrapper(("/bin/sh", "-c", ends, "sh") if policy.tier == "bwrap" else ())

    monkeypatch.setattr(sandbox_module, "tiers_to_try", tiers)
    monkeypatch.setattr(sandbox_module, "wrapper", wrapper)
    (folder / "project" / "a").write_text("x")

    async def scenario(workspace: LocalWorkspace) -> None:
        if asked_first == "file":
            assert (await workspace.read("a")).data == b"x"
        status = await workspace.sandbox.status()

        assert status.tier == "none"
        assert status.refused == {"bwrap": told}

    play(folder, scenario, SandboxOptions())


def test_where_nothing_holds_nothing_is_run_or_written_without_a_yes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tiers() -> tuple[Tier, ...]:
        return ("none",)

    monkeypatch.setattr(sandbox_module, "tiers_to_try", tiers)
    (folder / "project" / "a").write_text("x")

    async def scenario(workspace: LocalWorkspace) -> None:
        assert not (await workspace.sandbox.status()).confined
        assert (await workspace.read("a")).data == b"x"
        with pytest.raises(BlockedError) as run:
            await sh(workspace, "touch b")
        with pytest.raises(BlockedError):
            await workspace.write("b", b"")
        assert run.value.blocked.kind == "outside"
        assert not (folder / "project" / "b").exists()

        assert (await sh(workspace.unconfined(), "touch b")).exit_code == 0
        assert (folder / "project" / "b").exists()

    play(folder, scenario, SandboxOptions())


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.usefixtures("mounts")
def test_git_writes_are_allowed_for_the_rest_of_the_session_but_not_what_executes(folder: Path) -> None:
    git(folder, "init")
    (folder / "project" / "a").write_text("x")
    commit = "git add a && git -c user.name=x -c user.email=x@example.com commit -qm x"

    async def scenario(workspace: LocalWorkspace) -> None:
        before = await sh(workspace, commit)
        assert before.exit_code != 0
        assert {one.kind for one in before.blocked} == {"git"}
        server = asyncio.create_task(sh(workspace, "sleep 1000"))

        await workspace.change(SandboxChange(git_writable=True))

        assert (await sh(workspace, commit)).exit_code == 0
        assert (await sh(workspace, "git log --format=%s")).tail == b"x\n"
        for attempt in ("echo x > .git/hooks/pre-commit", "git config core.pager evil", "mv .git .got"):
            assert (await sh(workspace, attempt)).exit_code != 0
        assert (await workspace.sandbox.status()).git_writable
        assert not server.done()  # what ran before goes on
        server.cancel()
        await asyncio.wait({server})

    play(folder, scenario, SandboxOptions(git_writable=False))
    assert not (folder / "project" / ".git" / "hooks" / "pre-commit").exists()


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.usefixtures("mounts")
@pytest.mark.parametrize("later", [False, True], ids=["allowed from the start", "allowed later"])
def test_git_beside_kaa_replaces_the_configuration_and_commands_still_cannot(folder: Path, later: bool) -> None:
    git(folder, "init")

    async def scenario(workspace: LocalWorkspace) -> None:
        server = asyncio.create_task(sh(workspace, "sleep 1000"))
        await sh(workspace, "true")
        if later:
            await workspace.change(SandboxChange(git_writable=True))
        for name in ("one", "two"):
            git(folder, "remote", "add", name, "https://git.example/x")
            await sh(workspace, "git config core.fsmonitor evil; git config alias.status '!evil'")
        server.cancel()
        await asyncio.wait({server})

    play(folder, scenario, SandboxOptions(git_writable=not later))
    configuration = (folder / "project" / ".git" / "config").read_text()
    assert "evil" not in configuration
    assert "one" in configuration
    assert "two" in configuration


@pytest.mark.usefixtures("confined")
def test_files_that_the_user_makes_and_replaces_beside_kaa_stay_and_are_guarded(folder: Path) -> None:
    project = folder / "project"
    (project / ".mcp.json").write_text("old")

    async def scenario(workspace: LocalWorkspace) -> None:
        await sh(workspace, "true")
        await asyncio.sleep(1.3)  # now nothing of kaa's runs
        for name in (".mcp.json", ".envrc", "new"):
            (project / "new").write_text(f"the user's {name}")
            (project / "new").rename(project / name)
        (project / ".vscode").mkdir(exist_ok=True)
        (project / ".vscode" / "settings.json").write_text("the user's")

        await sh(workspace, "echo evil > .mcp.json; echo evil > .envrc; echo evil > .vscode/settings.json; sleep 0.1")
        await sh(workspace, "true")

    play(folder, scenario)
    assert (project / ".mcp.json").read_text() == "the user's .mcp.json"
    assert (project / ".envrc").read_text() == "the user's .envrc"
    assert (project / ".vscode" / "settings.json").read_text() == "the user's"


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.usefixtures("mounts")
def test_what_was_opened_before_it_could_be_held_is_put_back(folder: Path) -> None:
    project = folder / "project"
    git(folder, "init")
    evil = "printf '[core]\\n\\tfsmonitor = evil\\n'"
    # Whenever another process is started for commands, what was replaced is held: then it is replaced once more.
    opening = "until rm replaced; do sleep 0.01; done 2>&-; command exec 3>> .git/config 2>&-"
    script = f"until {{{{ {opening}; }}}}; do touch refused; done; touch opened; read _ < go; {{}} >&3"

    async def scenario(workspace: LocalWorkspace) -> None:
        if (await workspace.sandbox.status()).tier != "full":
            pytest.skip("only tier full holds again what was replaced")
        os.mkfifo(project / "go")
        writer = asyncio.create_task(sh(workspace, script.format(evil)))
        await sh(workspace, "true")
        while not (project / "opened").exists():
            (project / "refused").unlink(missing_ok=True)
            git(folder, "config", "remote.one.url", "https://git.example/x")
            (project / "replaced").touch()
            while not (project / "opened").exists() and not (project / "refused").exists():
                await asyncio.sleep(0.01)
        assert (await sh(workspace, f"{evil} >> .git/config")).exit_code != 0  # it is held again

        await asyncio.to_thread((project / "go").write_text, "\n")

        assert [one.what for one in (await writer).blocked] == [str(project / ".git" / "config")]

    play(folder, scenario, SandboxOptions(git_writable=True))
    assert "evil" not in (project / ".git" / "config").read_text()


def test_loopback_is_shared_by_commands_and_by_new_hands_and_reaches_nothing_outside(folder: Path) -> None:
    serve = "exec python3 -m http.server 8765 --bind 127.0.0.1"
    fetch = "python3 -c 'import urllib.request as r; print(r.urlopen(\"http://127.0.0.1:{}\").status)'"
    outside = socket.create_server(("127.0.0.1", 0))

    async def scenario(workspace: LocalWorkspace) -> None:
        if (await workspace.sandbox.status()).tier == "landlock":
            pytest.skip("tier landlock has no loopback")
        server = asyncio.create_task(sh(workspace, serve))
        for _ in range(100):
            if (await sh(workspace, fetch.format(8765))).tail == b"200\n":
                break
        else:
            pytest.fail("the server of one command cannot be reached by another")

        await workspace.change(SandboxChange(git_writable=False))
        assert (await sh(workspace, fetch.format(8765))).tail == b"200\n"
        assert b"refused" in (await sh(workspace, fetch.format(outside.getsockname()[1]))).tail

        forward = await workspace.sandbox.ports.forwards.open(8765, 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", forward.host_port)
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.0 200")
        writer.close()
        await writer.wait_closed()
        server.cancel()
        await asyncio.wait({server})

    with outside:
        play(folder, scenario)


def test_the_network_is_switched_while_commands_run(folder: Path) -> None:
    fetch = "python3 -c 'import urllib.request as r; r.urlopen(\"http://name.invalid/\")' 2>&1"

    async def scenario(workspace: LocalWorkspace) -> None:
        if (await workspace.sandbox.status()).tier == "landlock":
            pytest.skip("tier landlock has no proxy")
        before = await sh(workspace, fetch)
        assert before.blocked == (Blocked("network", "name.invalid:80"),)

        workspace.sandbox.network.set_state(NetworkState.parse("name.invalid"))

        allowed = await sh(workspace, fetch)
        assert allowed.blocked == ()
        assert b"502" in allowed.tail  # let through, and not to be found

    play(folder, scenario)


def test_what_the_user_permits_is_done_beside_commands_under_guard(folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        running = asyncio.create_task(sh(workspace, "sleep 1; echo evil > .exrc"))
        await asyncio.sleep(0.3)

        await workspace.unconfined().write(".envrc", b"use nix\n")

        result = await running
        assert [one.what for one in result.blocked] == [str(folder / "project" / ".exrc")]

    play(folder, scenario)
    assert (folder / "project" / ".envrc").read_text() == "use nix\n"
    assert not (folder / "project" / ".exrc").exists()


def test_what_the_user_permits_before_anything_ran_stays_when_a_guard_was_made_ready(folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        await workspace.sandbox.status()
        workspace.sandbox.warm_up()
        await workspace.list(".")
        beginning = asyncio.create_task(sh(workspace, "sleep 0.2"))
        await workspace.unconfined().write(".husky/pre-commit", b"#!/bin/sh\n")

        assert (await beginning).blocked == ()
        assert (await sh(workspace, "true")).blocked == ()

    play(folder, scenario)
    assert (folder / "project" / ".husky" / "pre-commit").exists()


def test_a_command_that_makes_a_protected_directory_and_fills_it_ends_well(folder: Path) -> None:
    project = folder / "project"

    async def scenario(workspace: LocalWorkspace) -> None:
        empty = await sh(workspace, "mkdir .idea .zed; sleep 0.1; rmdir .zed")
        filled = await sh(
            workspace,
            "mkdir .vscode && sleep 0.1 && echo 1 > .vscode/settings.json && sleep 0.1 && echo 2 > .vscode/tasks.json",
        )

        assert (empty.exit_code, empty.blocked) == (0, ())
        assert filled.exit_code == 0
        assert [(one.what, one.kept_as) for one in filled.blocked] == [
            (str(project / ".vscode"), str(project / ".vscode.kaa-blocked"))
        ]

    play(folder, scenario)
    assert sorted(os.listdir(project)) == [".idea", ".vscode.kaa-blocked"]
    assert sorted(os.listdir(project / ".vscode.kaa-blocked")) == ["settings.json", "tasks.json"]


def test_the_way_back_of_a_directory_brings_only_the_files_that_are_named(folder: Path) -> None:
    project = folder / "project"
    options = SandboxOptions(private=(str(folder / "kaa"),))
    found: list[Blocked] = []

    async def moved(workspace: LocalWorkspace, name: str) -> None:
        """Have a file moved away, of which the user clears away what the guard kept beside."""
        done = await sh(workspace, f"mkdir .vscode; echo {name} > new; mv new .vscode/{name}")
        found.extend(done.blocked)
        shutil.rmtree(project / ".vscode.kaa-blocked")

    async def earlier_run(workspace: LocalWorkspace) -> None:
        await moved(workspace, "tasks.json")

    async def run(workspace: LocalWorkspace) -> None:
        await moved(workspace, "extensions.json")
        await moved(workspace, "settings.json")

    play(folder, earlier_run, options)
    play(folder, run, options)
    last = found[-1]
    subprocess.run(["sh", "-c", last.way_back], check=True)

    assert [one.files for one in found] == [("tasks.json",), ("extensions.json",), ("settings.json",)]
    assert "What comes back is settings.json;" in last.text
    assert os.listdir(project / ".vscode") == ["settings.json"]


def test_only_commands_of_the_model_find_what_they_installed(folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        program = "$XDG_CACHE_HOME/prefix/bin/planted"
        await sh(workspace, f"mkdir -p ${{XDG_CACHE_HOME}}/prefix/bin; echo 'echo ran' >{program}; chmod +x {program}")

        by_model = await sh(workspace, "planted")
        by_kaa = await workspace.run(CommandRequest(["sh", "-c", "planted; echo $GOBIN"], finds_installed=False))

        assert by_model.tail == b"ran\n"
        assert b"not found" in by_kaa.tail
        assert by_kaa.tail.endswith(b"\n\n")

    play(folder, scenario)


def test_what_a_permitted_command_of_the_model_brings_is_moved_away(folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        await sh(workspace, "true")
        await asyncio.sleep(0.2)  # until the guard lets the user's programs alone

        result = await sh(workspace.watched(), "echo 1 > .envrc; sleep 0.2")

        envrc = str(folder / "project" / ".envrc")
        assert [(one.what, one.kept_as) for one in result.blocked] == [(envrc, f"{envrc}.kaa-blocked")]
        # A command that the user typed is none of the model's.
        await sh(workspace.unconfined(), "mkdir .idea; echo 1 > .idea/x; sleep 0.2")

    play(folder, scenario)
    assert (folder / "project" / ".idea" / "x").read_text() == "1\n"


def test_a_permitted_command_finds_no_program_that_commands_can_write(folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        await sh(workspace, "mkdir bin; printf '#!/bin/sh\\necho planted' >bin/ssh; chmod +x bin/ssh")

        inside = await sh(workspace, "ssh; echo $PYTHONPATH")
        outside = await sh(workspace.watched(), "command -v ssh; echo $PYTHONPATH")

        assert inside.tail == f"planted\n{folder}/project/src\n".encode()
        assert b"/project/" not in outside.tail

    variables = {"PATH": f"{folder}/project/bin:{os.environ['PATH']}", "PYTHONPATH": f"{folder}/project/src"}
    play(folder, scenario, None, **variables)


def test_a_permitted_command_loads_no_python_of_the_project(folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        await sh(workspace, "mkdir -p planted; echo 'print(1)' >planted/__init__.py; cp -r planted json")
        load = f"{sys.executable} -c 'import planted, json'; pwd"

        starts: tuple[Start, ...] = ("trusting", "project", "home")
        trusting, project, home = [await sh(workspace.watched("followed", start), load) for start in starts]

        assert trusting.tail.startswith(b"1\n1\n")
        assert not project.tail.startswith(b"1\n") or sys.version_info < (3, 11)
        assert project.tail.endswith(b"/project\n")
        assert b"No module named" in home.tail
        assert not home.tail.endswith(b"/project\n")

    play(folder, scenario)


@pytest.mark.parametrize("links", ["refused", *(["avoided"] if os.geteuid() == 0 else [])])
def test_a_permitted_command_follows_no_link_in_the_project(folder: Path, links: Links) -> None:
    (folder / "canary").write_text("canary\n")
    (folder / "project" / "deep").mkdir()
    (folder / "project" / "up").symlink_to("..")
    (folder / "project" / "plain").write_text("plain\n")

    async def scenario(workspace: LocalWorkspace) -> None:
        if (await workspace.sandbox.status()).tier != "full":
            pytest.skip("this kernel has no user namespaces")
        permitted = workspace.watched(links)
        exchanged = "cat plain; ln -sf ../canary plain; cat plain; cat up/canary; echo 1 > up/made; readlink up"
        result = await sh(permitted, exchanged)
        followed = await sh(workspace.watched(), "cat up/canary")

        assert b"canary" not in result.tail.replace(b"up/canary", b"")
        assert result.tail.startswith(b"plain\n")
        assert result.tail.endswith(b"..\n")
        assert followed.tail == b"canary\n"

    play(folder, scenario)
    assert not (folder / "made").exists()


def test_what_a_permitted_command_changes_in_protected_directories_is_moved_away(folder: Path) -> None:
    """Mounts hold these for commands in the sandbox, so there the guard takes every change for the user's."""
    tasks = folder / "project" / ".vscode" / "tasks.json"
    tasks.parent.mkdir()
    tasks.write_text("mine\n")

    async def scenario(workspace: LocalWorkspace) -> None:
        await sh(workspace, "true")
        replace = "echo theirs > .vscode/tasks.json; mkdir .vscode/new; echo 1 > .vscode/new/x; sleep 0.2"
        result = await sh(workspace.watched(), replace)
        moved = {one.what: one.kept_as for one in result.blocked}
        assert moved[str(tasks)] == f"{tasks}.kaa-blocked"

        # Beside a command in the sandbox alone, it is the user's again.
        running = asyncio.create_task(sh(workspace, "sleep 0.5"))
        await asyncio.sleep(0.1)
        (tasks.parent / "settings.json").write_text("{}")
        assert (await running).blocked == ()

    play(folder, scenario)
    assert tasks.read_text() == "mine\n"
    assert not (tasks.parent / "new" / "x").exists()
    assert (tasks.parent / "settings.json").exists()


def test_git_works_in_a_permitted_command_under_the_eyes_of_the_guard(folder: Path) -> None:
    git = "git -c user.name=a -c user.email=a@example.com -c protocol.file.allow=always"
    origin = folder / "origin"
    subprocess.run(
        ["sh", "-c", f"git init -q {origin} && cd {origin} && {git} commit -q --allow-empty -m x"], check=True
    )

    async def scenario(workspace: LocalWorkspace) -> None:
        add = f"{git} submodule add -q {origin} sub && {git} commit -qam x && {git} submodule deinit -qf sub"
        await sh(workspace.unconfined(), f"{git} init -q . && {add} && rm -r .git/modules")
        bring = f"{git} clone -q {origin} copy && {git} submodule update -q --init && {git} fetch -q up"
        result = await sh(workspace.watched(), f"{git} remote add up {origin} && {bring} && test -e sub/.git")
        assert (result.exit_code, result.blocked) == (0, ())

        # Links that git tracks or ignores are in its way nowhere, although none is followed.
        link = "ln -s ../x/y node_modules/.bin/x; ln -s a link"
        await sh(workspace, f"mkdir -p node_modules/.bin a; {link}; echo 1 > a/b")
        change = f"{git} add link a && {git} commit -qm x && {git} push -q up HEAD:refs/heads/z"
        again = f"ln -sfn a/b link && {git} commit -qam y && {git} reset -q --hard HEAD~ && {git} pull -q up z"
        linkless = await sh(workspace.watched("avoided"), f"{change} && {again} && {git} status -s && readlink link")
        assert (linkless.exit_code, linkless.tail, linkless.blocked) == (0, b"?? copy/\n?? node_modules/\na\n", ())

    play(folder, scenario)


def test_what_runs_on_is_guarded_when_the_policy_changes_and_when_something_is_permitted(folder: Path) -> None:
    plant = "sleep {}; mkdir .vscode; echo evil > .vscode/tasks.json; sleep 0.5"

    async def scenario(workspace: LocalWorkspace) -> None:
        running = asyncio.create_task(sh(workspace, plant.format(0.5)))
        await asyncio.sleep(0.1)
        await workspace.change(SandboxChange(git_writable=False))
        await sh(workspace, "true")
        assert [one.kind for one in (await running).blocked] == ["protected"]

        running = asyncio.create_task(sh(workspace, plant.format(0.3)))
        await asyncio.sleep(0.1)
        await workspace.unconfined().run(CommandRequest(["sleep", "1"]))
        await running

    play(folder, scenario)
    assert not (folder / "project" / ".vscode").exists()


def test_cancelling_at_any_moment_leaves_the_guard_neither_blind_nor_in_the_user_s_way(folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        for steps in range(40):
            task = asyncio.create_task(sh(workspace, "sleep 5"))
            for _ in range(steps):
                await asyncio.sleep(0)
            if steps % 4 == 0:
                await asyncio.sleep(0.002 * steps)
            task.cancel()
            await asyncio.wait({task})

        planted = await sh(workspace, "echo evil > .envrc; sleep 0.2")
        assert [one.kind for one in planted.blocked] == ["protected"]
        await asyncio.sleep(1.3)  # now nothing of kaa's runs
        (folder / "project" / ".idea").mkdir()
        await asyncio.sleep(0.2)
        assert (await sh(workspace, "true")).blocked == ()
        assert (folder / "project" / ".idea").is_dir()

    play(folder, scenario)


def test_planting_is_found_whoever_does_it(folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        with pytest.raises(BlockedError, match="execute or obey"):
            await workspace.write(".vscode/tasks.json", b"{}")
        assert (await sh(workspace, "ln -s .vscode innocent")).exit_code == 0
        with pytest.raises(BlockedError, match="kaa moved"):
            await workspace.write("innocent/tasks.json", b"{}")

    play(folder, scenario)
    assert not (folder / "project" / ".vscode").exists()


def test_a_killed_guard_is_replaced_and_keeps_nobody_from_working(folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        assert (await sh(workspace, "true")).exit_code == 0
        guard = workspace.sandbox._watch
        assert guard is not None
        os.kill(guard._slot.pid, signal.SIGKILL)
        Processes().wait_until_gone(guard._slot.pid)
        async with asyncio.timeout(HANG_SECONDS):
            while guard.is_alive:  # a process that is being forked has its end of the socket for a moment
                await asyncio.sleep(0.01)

        assert (await sh(workspace, "true")).exit_code == 0
        planted = await sh(workspace, "echo evil > .envrc; sleep 0.2")
        assert [one.kind for one in planted.blocked] == ["protected"]

    play(folder, scenario)


@pytest.mark.usefixtures("confined")
def test_a_guard_that_dies_while_a_command_runs_stops_it_and_leaves_its_successor_what_it_knew(folder: Path) -> None:
    project = folder / "project"
    (project / ".idea").mkdir()
    (project / ".idea" / "own.xml").write_text("the user's")

    async def scenario(workspace: LocalWorkspace) -> None:
        assert (await sh(workspace, "true")).exit_code == 0
        (project / "ready").unlink(missing_ok=True)
        running = asyncio.create_task(sh(workspace, "touch ready; sleep 1000"))
        while not (project / "ready").exists():
            await asyncio.sleep(0.01)
        guard = workspace.sandbox._watch
        assert guard is not None
        os.kill(guard._slot.pid, signal.SIGKILL)
        Processes().wait_until_gone(guard._slot.pid)
        # What a command can do before it is stopped: names deep in a directory that is older than the guard's death.
        (project / ".husky").mkdir()
        (project / ".husky" / "pre-commit").write_text("{}")
        tool.rename(project / "tool")

        ended = await running
        assert ended.signal is not None
        assert {str(project / ".husky"), str(project / "tool" / ".git" / "config")} <= {
            one.what for one in ended.blocked
        }
        assert (await sh(workspace, "true")).blocked == ()

    tool = project / "node_modules" / "a" / "hidden"
    (tool / ".git").mkdir(parents=True)
    (tool / ".git" / "config").write_text("[core]\n\tfsmonitor = ./evil\n")
    play(folder, scenario)
    assert not (project / ".husky").exists()
    assert not (project / "tool" / ".git" / "config").exists()
    assert (project / ".idea" / "own.xml").read_text() == "the user's"


@pytest.mark.usefixtures("confined")
def test_secrets_and_kaa_s_own_folder_are_hidden_and_exceptions_shown(folder: Path) -> None:
    for name in (".ssh/id", ".ssh/known_hosts", ".own/auth.json", "mine/x"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("canary")
    options = SandboxOptions(
        hidden=(f"{folder}/mine", f"!{folder}/.ssh/known_hosts"), private=(f"{folder}/.own",), network=NetworkState()
    )

    async def scenario(workspace: LocalWorkspace) -> None:
        if not workspace.sandbox.confined:
            pytest.skip("this machine cannot confine anything")
        for name in (".ssh/id", ".own/auth.json", "mine/x"):
            assert b"canary" not in (await sh(workspace, f"cat ~/{name}; cp ~/{name} stolen; cat stolen")).tail
            with pytest.raises(BlockedError, match="may hold secrets"):
                await workspace.read(f"~/{name}")
        assert (await sh(workspace, "cat ~/.ssh/known_hosts")).tail == b"canary"

    play(folder, scenario, options)


@pytest.mark.parametrize("kind", ["file", "link"])
@pytest.mark.usefixtures("mounts")
def test_what_a_repository_names_as_its_git_directory_is_not_uncovered(folder: Path, kind: str) -> None:
    secret = folder / ".aws" / "sso"
    secret.mkdir(parents=True)
    (secret / "token").write_text("canary")
    nested = folder / "project" / "nested"
    nested.mkdir()
    if kind == "file":
        (nested / ".git").write_text(f"gitdir: {secret}\n")
    else:
        (nested / ".git").symlink_to(secret)

    async def scenario(workspace: LocalWorkspace) -> None:
        assert (await workspace.sandbox.status()).refused == {}
        assert b"canary" not in (await sh(workspace, f"cat {secret}/token nested/.git/token")).tail

    play(folder, scenario)


def test_kaa_s_own_code_cannot_be_changed_when_it_is_the_project() -> None:
    root = Path(kaa.__file__).parents[2]

    layout = resolve(Policy(tier="full", mode="workspace-write", writable=(str(root),)))

    assert str(Path(kaa.__file__).parent) in layout.protected


def test_a_slot_that_is_used_again_carries_nothing_over(folder: Path) -> None:
    # In a pipe, `ps` would or would not see the program behind it.
    look = 'env | grep -c PLANTED; pwd; ls /proc/self/fd; ulimit -n; all=$(ps -e -o pid=); echo "$all" | wc -l; umask'
    (folder / "project" / "sub").mkdir()

    async def scenario(workspace: LocalWorkspace) -> None:
        if (tier := (await workspace.sandbox.status()).tier) != "full":
            pytest.skip(f"this machine holds tier {tier} only, in which slots are not used again")
        before = await sh(workspace, look)
        used = {slot.pid for slot in workspace.sandbox._current._ready["command"]}
        dirty = "export PLANTED=1; ulimit -n 50; umask 0; trap '' TERM; (sleep 1000 & setsid sleep 1000 &) ; exit 3"
        left = await workspace.run(CommandRequest(["sh", "-c", dirty], cwd="sub", env={"PLANTED": "1"}))
        shutil.rmtree(folder / "project" / "sub")
        assert (left.exit_code, left.leftovers) == (3, 2)

        after = await sh(workspace, look)

        assert used & {slot.pid for slot in workspace.sandbox._current._ready["command"]}
        assert after.tail == before.tail

    play(folder, scenario)


def test_nothing_is_left_behind(folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        await sh(workspace, "cd /tmp; mkdir -p a/b; echo x > a/b/c; setsid sleep 1000 &")

    play(folder, scenario)
    assert list((folder / ".cache" / "kaa" / "tmp").iterdir()) == []
    assert sorted(entry.name for entry in (folder / "project").iterdir()) == []


def test_a_file_that_fits_a_hidden_pattern_is_hidden_from_the_next_command(folder: Path) -> None:
    docs = folder / "project/docs"
    docs.mkdir()

    async def scenario(workspace: LocalWorkspace) -> None:
        if (await workspace.sandbox.status()).tier != "full":
            pytest.skip("only tier full hides what comes later")
        assert (await sh(workspace, "ls docs")).exit_code == 0
        for name in ("new.key", "notes", "public.key"):
            (docs / name).write_text(f"content of {name}\n")

        seen = (await sh(workspace, "cat docs/* 2>/dev/null")).tail
        assert seen == b"content of notes\ncontent of public.key\n"

    play(folder, scenario, SandboxOptions(hidden=(str(docs / "*.key"), f"!{docs}/public.key")))


@pytest.mark.parametrize("chosen", ["off", "on"])
def test_where_hosts_cannot_be_told_apart_the_network_is_as_chosen_last(
    folder: Path, monkeypatch: pytest.MonkeyPatch, chosen: str
) -> None:
    tiers: tuple[Tier, ...] = ("landlock", "none")
    monkeypatch.setattr(sandbox_module, "tiers_to_try", lambda: tiers)
    connects = f"{sys.executable} -c 'import socket; socket.socket(socket.AF_INET)'"

    async def scenario(workspace: LocalWorkspace) -> None:
        if (await workspace.sandbox.status()).tier != "landlock":
            pytest.skip("this machine has no Landlock")
        assert not workspace.sandbox.tells_hosts_apart
        for state in ("pypi.org", "on", "off", "on"):
            workspace.sandbox.network.choose(state)
            works = (await sh(workspace, connects)).exit_code == 0
            network = (await workspace.sandbox.status()).network

            assert (state, works, network) == (state, state == "on", "on" if state == "on" else "off")

    play(folder, scenario, SandboxOptions(network=NetworkState.parse(chosen)))


def test_tools_of_java_find_the_proxy_and_a_repository_that_they_can_write(folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        result = await sh(workspace, 'printf "%s\\n" "$MAVEN_OPTS" "$GRADLE_OPTS" "$HTTPS_PROXY"')
        maven, gradle, proxy, *_ = result.tail.decode().splitlines()
        if not proxy:
            pytest.skip("this machine's sandbox has no proxy")
        port = proxy.rpartition(":")[2]

        assert maven.startswith("-Xmx1g -Dmaven.repo.local=/")
        assert gradle == (
            f"-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort={port} -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort={port}"
        )
        assert gradle in maven
        repository = maven.split()[1].partition("=")[2]
        assert (await sh(workspace, f"mkdir -p {repository} && touch {repository}/a")).exit_code == 0

    play(folder, scenario, MAVEN_OPTS="-Xmx1g")
