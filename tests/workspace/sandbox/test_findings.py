"""To whom a finding of the guard belongs, with a real guard, commands, and a user who changes files beside them."""

import asyncio
import contextlib
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kaa.workspace.blocked import Blocked
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest, CommandResult
from kaa.workspace.sandbox import findings
from kaa.workspace.sandbox.findings import Carrier, Findings, Listener
from kaa.workspace.sandbox.options import SandboxOptions
from tests.support.elsewhere import folder_elsewhere

_SECONDS = 60.0  # longer than anything here takes, on a busy machine too


def test_of_calls_at_the_same_time_those_that_name_it_get_a_finding() -> None:
    listener, found = Listener(), Findings()
    maker, other = Carrier(listener, words="sh -c touch .envrc"), Carrier(listener, words="sh -c make")
    envrc, unnamed = Blocked("protected", "/project/.envrc"), Blocked("protected", "/project/.vscode")

    with found.carried(maker), found.carried(other):
        found.deliver([envrc, unnamed])

    assert maker.found == [envrc, unnamed]
    assert other.found == [unnamed]


def test_a_host_is_told_by_the_call_that_names_it_and_by_all_if_none_does() -> None:
    hosts: list[Blocked] = []
    listener, found = Listener(), Findings()
    asking, other, late = (
        Carrier(listener, words=words, hosts=lambda: hosts) for words in ("curl a.example", "make", "curl b.example")
    )
    named, unnamed = Blocked("network", "a.example:443"), Blocked("network", "c.example:443")

    with found.carried(other):
        with found.carried(asking):
            hosts += [named, unnamed]
        assert asking.take_hosts(b"") == (named, unnamed)
    assert other.take_hosts(b"") == (unnamed,)

    with found.carried(late):
        pass
    assert late.take_hosts(b"cannot reach a.example") == (named, unnamed)  # nobody was beside it


def test_a_directory_of_which_not_all_can_be_checked_is_told_once_and_blames_no_call() -> None:
    found = Findings()
    listener, told = found.join(), list[str]()
    listener.tell(told.append)
    call = Carrier(listener)

    with found.carried(call):
        for _ in range(2):  # by the guards of two policies
            found.deliver([Blocked("unread", "/project/.git/lfs")])

    assert call.found == []
    assert [one.startswith("/project/.git/lfs holds more") for one in told] == [True]


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_elsewhere() as folder:
        (folder / "project" / "sub").mkdir(parents=True)
        yield folder


class Scene(NamedTuple):
    """A workspace, and what its user is told."""

    workspace: LocalWorkspace
    project: Path
    told: "asyncio.Queue[str]"

    async def sh(self, script: str) -> CommandResult:
        return await self.workspace.run(CommandRequest(["sh", "-c", script], timeout=_SECONDS))

    async def serve(self) -> None:
        """Start a command in the background that does nothing, and wait until it runs."""
        await self.workspace.run_in_background(CommandRequest(["sh", "-c", "touch runs; exec sleep 1000"]))
        while not (self.project / "runs").exists():
            await asyncio.sleep(0.01)

    async def next_told(self) -> str:
        return await asyncio.wait_for(self.told.get(), _SECONDS)


def play(folder: Path, scene: Callable[[Scene], Awaitable[None]], options: SandboxOptions | None = None) -> list[str]:
    """Play a scene; what was told that it did not take."""

    async def whole() -> list[str]:
        told: asyncio.Queue[str] = asyncio.Queue()
        async with _opened(folder, options or SandboxOptions()) as workspace:
            workspace.tell(told.put_nowait)
            await scene(Scene(workspace, folder / "project", told))
        return [told.get_nowait() for _ in range(told.qsize())]

    return asyncio.run(whole())


@contextlib.asynccontextmanager
async def _opened(folder: Path, options: SandboxOptions) -> AsyncIterator[LocalWorkspace]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    workspace = LocalWorkspace.start(str(folder / "project"), env=environment, sandbox=options)
    try:
        if not (await workspace.sandbox.status()).confined:
            pytest.skip("this machine cannot confine anything")
        yield workspace
    finally:
        await workspace.close()


def test_what_the_user_makes_beside_a_background_process_is_told_at_once_and_blames_no_command(folder: Path) -> None:
    async def scene(scene: Scene) -> None:
        await scene.serve()

        (scene.project / "sub" / ".envrc").write_text("mine")
        told = await scene.next_told()

        kept = scene.project / "sub" / ".envrc.kaa-blocked"
        assert f"mv -T {kept} {scene.project}/sub/.envrc" in told
        assert kept.read_text() == "mine"
        result = await scene.sh("true")
        assert result.blocked == ()
        assert [one.kept_as for one in result.told_user] == [str(kept)]
        assert (await scene.sh("true")).told_user == ()

    assert play(folder, scene) == []


def test_what_appears_while_only_kaa_s_own_question_runs_is_told_and_not_swallowed(folder: Path) -> None:
    async def scene(scene: Scene) -> None:
        question = CommandRequest(
            ["sh", "-c", "touch asks; until test -e go; do sleep 0.01; done"], carries_findings=False
        )
        asking = asyncio.create_task(scene.workspace.run(question))
        while not (scene.project / "asks").exists():
            await asyncio.sleep(0.01)

        (scene.project / "sub" / ".envrc").touch()
        (scene.project / "go").touch()
        result = await asking

        assert result.blocked == ()
        assert "sub/.envrc" in await scene.next_told()

    assert play(folder, scene) == []


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside a background process"])
def test_what_a_command_makes_is_in_its_result_and_nowhere_else(folder: Path, beside: bool) -> None:
    async def scene(scene: Scene) -> None:
        if beside:
            await scene.serve()

        result = await scene.sh("touch sub/.envrc")

        assert [os.path.basename(one.what) for one in result.blocked] == [".envrc"]
        assert result.told_user == ()
        assert (await scene.sh("true")).blocked == ()

    assert play(folder, scene) == []


def test_the_write_of_another_file_is_not_blamed(folder: Path) -> None:
    async def scene(scene: Scene) -> None:
        await scene.serve()
        ready = asyncio.create_task(scene.next_told())

        (scene.project / "sub" / ".envrc").touch()
        for number in range(20):
            await scene.workspace.write(f"file{number}", b"x")

        assert "sub/.envrc" in await ready

    assert play(folder, scene) == []


def test_after_the_last_command_the_user_may_do_anything_at_once(folder: Path) -> None:
    async def scene(scene: Scene) -> None:
        for number in range(20):
            await scene.sh("touch sub/file")
            while scene.workspace.sandbox.minds:
                await asyncio.sleep(0)
            (scene.project / "sub" / ".envrc").write_text(str(number))
            assert (await scene.sh("true")).blocked == ()
            assert (scene.project / "sub" / ".envrc").read_text() == str(number)

    assert play(folder, scene) == []


def test_what_is_found_when_everything_ends_is_told_before_the_workspace_is_closed(folder: Path) -> None:
    async def scene(scene: Scene) -> None:
        script = "trap 'touch sub/.envrc' TERM; touch runs; while true; do sleep 0.01; done"
        await scene.workspace.run_in_background(CommandRequest(["sh", "-c", script]))
        while not (scene.project / "runs").exists():
            await asyncio.sleep(0.01)

    (told,) = play(folder, scene)

    assert "sub/.envrc" in told


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.usefixtures("mounts")
def test_a_rebase_that_executes_goes_on_beside_a_background_process_while_git_writes_are_not_allowed(
    folder: Path,
) -> None:
    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=x", "-c", "user.email=x@example.com")
        subprocess.run(["git", *identity, *arguments], cwd=folder / "project", check=True, capture_output=True)

    git("init", "-q")
    for number in range(3):
        git("commit", "-q", "--allow-empty", "-m", str(number))

    async def scene(scene: Scene) -> None:
        if (await scene.workspace.sandbox.status()).tier != "full":
            pytest.skip("only tier full holds .git as a whole")
        await scene.serve()
        await asyncio.to_thread(git, "rebase", "-x", "touch executed", "HEAD~2")
        assert (await scene.sh("true")).blocked == ()

    assert play(folder, scene, SandboxOptions(git_writable=False)) == []
    assert (folder / "project" / "executed").exists()


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.usefixtures("mounts")
def test_the_user_s_git_works_beside_a_background_process(folder: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=x", "-c", "user.email=x@example.com")
        subprocess.run(["git", *identity, *arguments], cwd=folder / "project", check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "base")

    def work() -> None:
        (folder / "project" / "file").write_text("x")
        git("add", "file")
        git("commit", "-q", "-m", "one")
        git("switch", "-q", "-c", "side/branch")
        git("commit", "-q", "--allow-empty", "-m", "two")
        git("-c", "sequence.editor=sed -i 1s/pick/reword/", "-c", "core.editor=true", "rebase", "-i", "HEAD~2")
        git("switch", "-q", "main")
        git("merge", "-q", "--no-ff", "-m", "merge", "side/branch")
        git("remote", "add", "origin", "https://git.example/x")
        git("config", "branch.main.remote", "origin")
        git("branch", "-D", "side/branch")
        git("worktree", "add", "-q", "--detach", "elsewhere")
        git("stash", "list")
        git("gc", "-q")

    async def scene(scene: Scene) -> None:
        await scene.serve()
        await asyncio.to_thread(work)
        assert (await scene.sh("true")).blocked == ()

    assert play(folder, scene) == []


def test_that_there_were_more_than_a_result_lists_is_in_it(folder: Path) -> None:
    async def scene(scene: Scene) -> None:
        result = await scene.sh("for n in $(seq 60); do mkdir sub/$n; touch sub/$n/.envrc; done")

        assert [one for one in result.blocked if not one.kept_as] == [Blocked("more")]
        assert len(list(scene.project.glob("sub/*/.envrc.kaa-blocked"))) == 60

    assert play(folder, scene) == []


@pytest.mark.usefixtures("mounts")
@pytest.mark.parametrize("name", [".vscode/settings.json", ".git/config"])
@pytest.mark.parametrize("before", ["true", "rm sub/notes"], ids=["there", "removed"])
def test_a_mounted_file_that_commands_can_write_by_another_name_is_not_held(
    folder: Path, name: str, before: str
) -> None:
    file = folder / "project" / name
    file.parent.mkdir(exist_ok=True)
    (folder / "project" / ".git").mkdir(exist_ok=True)
    (folder / "project" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    file.write_text("")
    os.link(file, folder / "project" / "sub" / "notes")

    async def scene(scene: Scene) -> None:
        script = "exec 3>>sub/notes; touch runs; until test -e go; do sleep 0.01; done; {write} >&3; touch written"
        write = r"printf '[core]\n\tfsmonitor = x\n'"
        await scene.workspace.run_in_background(CommandRequest(["sh", "-c", script.format(write=write)]))
        await scene.sh("until test -e runs; do sleep 0.01; done")
        for script in (before, "true", "true"):  # in between, the guard takes in what is there now
            await scene.sh(script)

        result = await scene.sh("touch go; until test -e written; do sleep 0.01; done")

        assert [(one.kind, one.what) for one in result.blocked] == [("unmoved", str(file))]
        assert (await scene.sh("true")).blocked == ()

    assert play(folder, scene) == []


@pytest.mark.usefixtures("mounts")
def test_a_mounted_file_that_the_user_changes_in_place_is_let_alone(folder: Path) -> None:
    (folder / "project" / ".git").mkdir()
    file = folder / "project" / ".git" / "config"
    file.touch()

    async def scene(scene: Scene) -> None:
        await scene.serve()
        file.write_text("[core]\n\tfsmonitor = mine\n")
        assert (await scene.sh("true")).blocked == ()

    assert play(folder, scene) == []


def test_a_finding_goes_to_every_call_that_may_have_caused_it_and_once_to_each() -> None:
    found_here, told = Findings(), list[str]()
    conversation = found_here.join()
    conversation.tell(told.append)
    command, write, other = (Carrier(conversation, path) for path in (None, "/p/sub/.vscode/a", "/p/sub/x"))
    found = Blocked("protected", "/p/sub/.vscode", "/p/sub/.vscode.kaa-blocked")

    async def deliver() -> None:
        with found_here.carried(command), found_here.carried(write), found_here.carried(other):
            found_here.deliver([found])
            found_here.deliver([found])

    asyncio.run(deliver())

    assert (command.found, write.found, other.found, told) == ([found], [found], [], [])


def test_what_nobody_could_be_told_is_told_to_the_first_who_listens() -> None:
    found, told = Findings(), list[str]()

    found.deliver([Blocked("flood")])
    conversation = found.join()
    conversation.tell(told.append)

    assert len(told) == 1
    assert conversation.take_for_model() == (Blocked("flood"),)


class TestSeveralConversations:
    """Each hears of what its own commands may have caused, and all of what nobody's did."""

    def join(self, findings: Findings) -> tuple[Listener, list[str]]:
        told = list[str]()
        listener = findings.join()
        listener.tell(told.append)
        return listener, told

    def test_hear_of_what_belongs_to_none(self) -> None:
        findings = Findings()
        (one, first), (two, second) = self.join(findings), self.join(findings)

        findings.deliver([Blocked("flood")])

        assert len(first) == len(second) == 1
        assert one.take_for_model() == two.take_for_model() == (Blocked("flood"),)

    def test_hear_of_their_own_background_processes_only(self) -> None:
        findings = Findings()
        (one, first), (two, second) = self.join(findings), self.join(findings)

        with findings.in_background(one):
            findings.deliver([Blocked("flood")])

        assert (len(first), second) == (1, [])
        assert (one.take_for_model(), two.take_for_model()) == ((Blocked("flood"),), ())

    def test_hear_of_a_background_process_beside_the_command_of_another(self) -> None:
        findings = Findings()
        (one, first), (two, second) = self.join(findings), self.join(findings)
        command = Carrier(two)

        with findings.in_background(one), findings.in_background(two), findings.carried(command):
            findings.deliver([Blocked("flood")])

        assert (len(first), second, command.found) == (1, [], [Blocked("flood")])

    def test_hear_nothing_any_more_when_they_are_closed_and_others_are_open(self) -> None:
        findings = Findings()
        (one, first), (_two, second) = self.join(findings), self.join(findings)
        findings.leave(one)

        with findings.in_background(one):
            findings.deliver([Blocked("flood")])

        assert (first, len(second)) == ([], 1)

    def test_hear_of_what_is_found_after_all_are_closed_if_they_were_the_last(self) -> None:
        findings = Findings()
        one, told = self.join(findings)
        findings.leave(one)

        findings.deliver([Blocked("flood")])

        assert len(told) == 1


@pytest.mark.parametrize("name", [".envrc", "sub/.envrc"])
def test_what_the_user_saved_is_kept_where_commands_cannot_overwrite_it(folder: Path, name: str) -> None:
    async def scene(scene: Scene) -> None:
        overwrites = f"touch runs; while :; do for f in {name}.kaa-blocked*; do [ -e $f ] && echo evil >$f; done; done"
        await scene.workspace.run_in_background(CommandRequest(["sh", "-c", overwrites]))
        while not (scene.project / "runs").exists():
            await asyncio.sleep(0.01)

        (scene.project / "new").write_text("the work of the user")
        (scene.project / "new").rename(scene.project / name)
        told = await scene.next_told()

        [copy] = (folder / "kaa" / "moved-files").glob("*.envrc")
        assert copy.read_text() == "the work of the user"
        assert f"cp -rT --remove-destination {copy} {scene.project}/{name}" in told

    (folder / "kaa").mkdir()
    play(folder, scene, SandboxOptions(private=(str(folder / "kaa"),)))


@pytest.mark.parametrize("ends", ["later", "before"])
def test_a_file_that_the_user_saves_in_two_parts_is_kept_as_a_whole(folder: Path, ends: str) -> None:
    async def scene(scene: Scene) -> None:
        waiting = asyncio.create_task(scene.sh("touch runs; until test -e go; do sleep 0.01; done"))
        while not (scene.project / "runs").exists():
            await asyncio.sleep(0.01)

        with (scene.project / ".envrc").open("w") as file:
            file.write("the first half")
            file.flush()
            while (scene.project / ".envrc").exists():
                await asyncio.sleep(0.01)
            if ends == "before":
                (scene.project / "go").touch()
                await waiting
            file.write(" and the second half")
        (scene.project / "go").touch()
        [found] = (await waiting).blocked
        told = found.text if ends == "later" else await scene.next_told()

        [path] = [copy for copy in folder.glob("kaa/moved-files/*envrc*") if "second" in copy.read_text()]
        assert path.read_text() == "the first half and the second half"
        assert str(path) in told

    (folder / "kaa").mkdir()
    play(folder, scene, SandboxOptions(private=(str(folder / "kaa"),)))


def test_what_is_kept_later_is_told_with_the_rest_or_to_those_who_were_told() -> None:
    found, told, asked = Findings(), list[str](), list[Blocked]()
    first, second = found.join(), found.join()
    first.tell(told.append)
    second.ask(lambda blocked, _: asked.append(blocked))
    second.tell(told.append)
    moved = Blocked("protected", "/p/.envrc", "/p/.envrc.kaa-blocked")
    saved, later = (
        Blocked("protected", moved.what, moved.kept_as, *copies) for copies in (("/kaa/1",), ("", "/kaa/2"))
    )
    carrier = Carrier(first)

    async def scenario() -> None:
        with found.carried(carrier):
            found.deliver([moved])
            found.deliver_later(saved)
            found.deliver_later(later)
        assert (carrier.found, told) == ([Blocked("protected", moved.what, moved.kept_as, "/kaa/1", "/kaa/2")], [])

        found.deliver([moved])
        found.deliver_later(saved)
        found.deliver_later(later)

    asyncio.run(scenario())
    assert asked == [moved]
    assert sum("/kaa/1" in one for one in told) == 1  # the question of the other shows it
    assert sum("/kaa/2" in one for one in told) == 2
    assert {one.later for one in (*first.take_for_model(), *second.take_for_model())} == {"/kaa/2"}


def test_what_a_call_found_that_was_stopped_is_told_once(folder: Path) -> None:
    async def scene(scene: Scene) -> None:
        waiting = "touch {}; exec sleep 1000"
        calls = [asyncio.create_task(scene.sh(waiting.format(name))) for name in ("runs", "runs-too")]
        while not all((scene.project / name).exists() for name in ("runs", "runs-too")):
            await asyncio.sleep(0.01)
        (scene.project / "sub" / ".envrc").write_text("mine")
        while (scene.project / "sub" / ".envrc").exists():
            await asyncio.sleep(0.01)

        for call in calls:
            call.cancel()
        await asyncio.wait(calls)

        assert "sub/.envrc" in await scene.next_told()
        assert [os.path.basename(one.what) for one in (await scene.sh("true")).told_user] == [".envrc"]

    assert play(folder, scene) == []


def test_during_a_long_call_it_is_said_once_that_something_was_moved_away(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings, "_LONG_SECONDS", 0.01)

    async def scene(scene: Scene) -> None:
        call = asyncio.create_task(scene.sh("touch runs; until test -e over; do sleep 0.01; done"))
        while not (scene.project / "runs").exists():
            await asyncio.sleep(0.01)
        (scene.project / "sub" / ".envrc").write_text("mine")

        said = await scene.next_told()
        (scene.project / "over").touch()
        result = await call

        assert said.startswith("While a command runs")
        assert "sub/.envrc. When the command ends" in said
        assert [os.path.basename(one.what) for one in result.blocked] == [".envrc"]

    assert play(folder, scene) == []
