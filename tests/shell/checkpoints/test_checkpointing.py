"""Which checkpoints a conversation takes of a real project, and what going elsewhere in it does to files."""

import asyncio
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeVar

import pytest

from kaa.core.events import CheckpointTaken, Event, ToolExecutionStart
from kaa.core.messages import Json, ToolResultMessage
from kaa.ext.asking import NOBODY, Asker
from kaa.ext.errors import CommandError
from kaa.ext.questions import AllowOnce, ApprovalAnswer, Deny, PutBack
from kaa.session.entries import MessageEntry
from kaa.shell.conversation import CommandReply, Conversation
from kaa.shell.home import Home
from kaa.shell.host import Host
from kaa.shell.options import ContinueSession, ConversationOptions, HostOptions, NewSession, SessionChoice
from kaa.shell.settings import ApprovalPolicy
from kaa.workspace.checkpoints.plans import RestorePlan
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.sandbox.options import SandboxOptions
from tests.support.agents import run
from tests.support.hosts import conversing
from tests.support.model_script import Answer, Call, say
from tests.support.model_server import ModelServer
from tests.support.person import Person, yes_or_no

T = TypeVar("T")
_REPOSITORY = Path(__file__).parents[3]
_FULL_ACCESS = SandboxOptions(mode="full-access")


def bash(command: str, *, background: bool = False) -> Answer:
    """The model runs a command."""
    return Answer(
        calls=(Call("bash", json.dumps({"command": command} | ({"background": True} if background else {}))),)
    )


class Scene:
    """A real project, without a sandbox, and a model that follows a script."""

    def __init__(self, folder: Path, server: ModelServer) -> None:
        self.project, self.home = folder / "project", folder / "home"
        self.events: list[Event] = []
        self.notices: list[str] = []
        self._folder, self._server = folder, server
        self.project.mkdir()
        self.home.mkdir()
        (self.project / "a.txt").write_text("one\n")

    def play(
        self,
        script: Sequence[Answer],
        act: Callable[[Conversation], Awaitable[T]],
        session: SessionChoice | None = None,
        sandbox: SandboxOptions = _FULL_ACCESS,
        asker: Asker = NOBODY,
        approvals: ApprovalPolicy = "never",
    ) -> T:
        """Open a conversation, do something with it, close it."""
        self._server.begin(script)

        async def whole() -> T:
            environ = {
                "PATH": os.environ["PATH"],
                "HOME": str(self._folder),
                "OPENAI_BASE_URL": f"{self._server.url}/v1",
            }
            workspace = LocalWorkspace.start(str(self.project), env=environ, sandbox=sandbox)
            host = Host(
                HostOptions(),
                Home(self.home),
                environ,
                lambda notification: self.notices.append(notification.text),
                asker,
            )
            options = ConversationOptions(model="m", session=session or NewSession(), approvals=approvals)
            try:
                async with conversing(host, options, workspace) as conversation:
                    conversation.subscribe(self.events.append)
                    return await act(conversation)
            finally:
                await workspace.close()

        return run(whole())

    @property
    def url(self) -> str:
        """Of the model server."""
        return self._server.url

    @property
    def checkpoints(self) -> list[int]:
        """How many files each checkpoint that was told of has."""
        return [event.files for event in self.events if isinstance(event, CheckpointTaken)]

    @property
    def entries(self) -> list[Json]:
        """The lines of the session."""
        (session,) = self.home.glob("sessions/*/*.jsonl")
        return [json.loads(line) for line in session.read_text().splitlines()]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with ModelServer() as server:
        yield Scene(tmp_path, server)


async def undone(conversation: Conversation, uncertain: Literal["keep", "restore"] = "keep") -> list[str]:
    """What `/undo` says of files, without what it says of all of them."""
    return _files(await conversation.navigation.undo(uncertain=uncertain))


def _files(said: str) -> list[str]:
    usual = ("note: ", "not covered by checkpoints: what is in .git")
    return [line for line in said.splitlines()[1:] if not line.startswith(usual)]


def test_each_turn_that_changes_something_is_named_behind_its_last_message(scene: Scene) -> None:
    async def act(conversation: Conversation) -> tuple[list[str], list[str]]:
        await conversation.submit("work")
        first, second = (entry["id"] for entry in scene.entries if entry.get("message", {}).get("role") == "toolResult")
        changes = conversation.checkpoints.changes
        return [change.path for change in await changes(first)], [change.path for change in await changes(second)]

    script = [bash("echo two > a.txt; echo x > b.txt"), bash("true"), say("Done.")]

    assert scene.play(script, act) == (["a.txt", "b.txt"], [])
    (named,) = [entry for entry in scene.entries if entry.get("customType") == "kaa.checkpoint"]
    assert named["data"]["files"] == 2
    assert scene.checkpoints == [2]


def test_the_session_tells_what_it_changed_without_what_was_undone(scene: Scene) -> None:
    async def act(conversation: Conversation) -> list[object]:
        found: list[object] = [await conversation.submit("/diff")]
        await conversation.submit("work")
        await conversation.submit("more")
        found.append(await conversation.submit("/diff"))
        await conversation.navigation.undo()
        found.append(await conversation.submit("/diff"))
        found.append(await conversation.submit("/diff c.txt"))
        return found

    script = [bash("echo two >> a.txt"), say("Done."), bash("echo x > c.txt"), say("Done.")]

    nothing, both, one, absent = scene.play(script, act)
    assert nothing == CommandReply("this session has changed no files")
    assert isinstance(both, CommandReply)
    assert both.text.splitlines()[:3] == ["a.txt  changed +1 -0", "c.txt  created +1 -0", "2 files"]
    assert isinstance(one, CommandReply)
    assert one.text.startswith("a.txt  changed +1 -0\n1 file\n\ndiff --git a/a.txt b/a.txt\nindex ")
    assert one.text.endswith("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n one\n+two")
    assert isinstance(absent, CommandReply)
    assert absent.refused
    assert "has not changed c.txt" in absent.text


def test_what_commands_did_is_undone_and_done_again_also_after_a_restart(scene: Scene) -> None:
    async def work(conversation: Conversation) -> None:
        await conversation.submit("work")

    async def back(conversation: Conversation) -> list[str]:
        return await undone(conversation)

    async def forth(conversation: Conversation) -> None:
        await conversation.navigation.redo()

    scene.play([bash("echo two > a.txt"), bash("echo three > a.txt; mkdir d; echo x > d/x"), say("Done.")], work)
    said = scene.play([], back, ContinueSession())

    assert sorted(said) == ["deleted d/x", "restored a.txt"]
    assert sorted(path.name for path in scene.project.iterdir()) == ["a.txt"]
    assert (scene.project / "a.txt").read_text() == "one\n"

    scene.play([], forth, ContinueSession())

    assert (scene.project / "a.txt").read_text() == "three\n"
    assert (scene.project / "d" / "x").read_text() == "x\n"


def test_commands_of_the_users_own_are_taken_back_with_what_was_said_before_them(scene: Scene) -> None:
    async def act(conversation: Conversation) -> list[str]:
        await conversation.submit("hello")
        await conversation.run_command("echo mine > a.txt", in_context=True)
        return await undone(conversation)

    assert scene.play([say("Hi.")], act) == ["restored a.txt"]
    assert (scene.project / "a.txt").read_text() == "one\n"


@pytest.mark.parametrize("uncertain", ["keep", "restore"])
def test_what_changed_while_only_a_background_process_ran_is_restored_only_when_it_is_asked_for(
    scene: Scene, uncertain: Literal["keep", "restore"]
) -> None:
    async def act(conversation: Conversation) -> list[str]:
        await conversation.submit("serve")
        await conversation.checkpoints.preview(None)  # the call is over, and kaa knows it
        (scene.project / "a.txt").write_text("mine")  # as in an editor, while the server runs
        (scene.project / "go").touch()
        while not (scene.project / "late").exists():
            await asyncio.sleep(0.01)
        plan = await conversation.checkpoints.preview(None)
        assert plan.uncertain == ("a.txt", "go", "late")
        return await undone(conversation, uncertain)

    waiting = "while [ ! -e go ]; do sleep 0.02; done; echo x > soon; mv soon late"

    said = scene.play([bash(waiting, background=True), say("It runs.")], act)

    reason = "changed while only a background process ran, maybe by someone else (/undo --all would restore it)"
    if uncertain == "keep":
        assert said == [f"kept a.txt, go, late: {reason}"]
        assert (scene.project / "a.txt").read_text() == "mine"
    else:
        assert said == ["restored a.txt", "deleted go", "deleted late"]
        assert (scene.project / "a.txt").read_text() == "one\n"


@pytest.mark.parametrize("uncertain", ["keep", "restore"])
def test_what_i_changed_beside_a_background_process_comes_back_after_a_command_reverted_it(
    scene: Scene, uncertain: Literal["keep", "restore"]
) -> None:
    async def act(conversation: Conversation) -> list[str]:
        await conversation.submit("serve")
        await conversation.checkpoints.preview(None)  # the call is over, and kaa knows it
        (scene.project / "a.txt").write_text("mine")  # between two messages
        await conversation.submit("revert")
        assert (scene.project / "a.txt").read_text() == "one\n"
        said = await undone(conversation, uncertain)
        assert (scene.project / "a.txt").read_text() == "mine"
        (scene.project / "go").touch()
        return said

    waiting = bash("while [ ! -e go ]; do sleep 0.02; done", background=True)

    said = scene.play([waiting, say("It runs."), bash("echo one > a.txt"), say("Done.")], act)

    assert said == ["restored a.txt"]


def test_beside_a_write_only_its_own_file_is_taken_back(scene: Scene) -> None:
    async def act(conversation: Conversation) -> list[str]:
        def change(event: Event) -> None:
            if isinstance(event, ToolExecutionStart):
                (scene.project / "mine").write_text("mine")

        conversation.subscribe(change)
        await conversation.submit("work")
        return (await conversation.navigation.undo()).splitlines()

    script = [Answer(calls=(Call("write", json.dumps({"path": "d/new", "content": "x"})),)), say("Done.")]

    assert scene.play(script, act) == [
        "took back: work",
        "deleted d/new",
        "not covered by checkpoints: what is in .git",
    ]
    assert (scene.project / "mine").exists()
    assert not (scene.project / "d").exists()


def _write(path: str, content: str) -> Answer:
    return Answer(calls=(Call("write", json.dumps({"path": path, "content": content})),))


@pytest.mark.usefixtures("mounts")
@pytest.mark.parametrize("when", ["at once", "beside a background process", "after a restart"])
def test_protected_files_that_a_yes_allowed_go_back_to_what_i_had_and_forth_only_with_a_yes(
    scene: Scene, when: str
) -> None:
    (scene.project / ".envrc").write_text("mine\n")
    script = [
        *([bash("while [ ! -e go ]; do sleep 0.02; done", background=True)] if "beside" in when else []),
        Answer(calls=(Call("read", json.dumps({"path": ".envrc"})),)),
        _write(".envrc", "one\n"),
        _write(".envrc", "two\n"),
        _write(".vscode/settings.json", "{}\n"),
        _write("b.txt", "two\n"),
        say("Done."),
    ]

    async def write(conversation: Conversation) -> None:
        await conversation.submit("write")

    async def go(conversation: Conversation) -> tuple[list[str], list[str]]:
        if when != "after a restart":
            await write(conversation)
        assert (scene.project / ".envrc").read_text() == "two\n"
        assert (scene.project / ".vscode" / "settings.json").exists()
        back = await undone(conversation)
        assert (scene.project / ".envrc").read_text() == "mine\n"
        assert not (scene.project / ".vscode").exists()
        forth = _files(await conversation.navigation.redo())
        assert await undone(conversation) == ["deleted b.txt"]
        (scene.project / "go").touch()
        return back, forth

    person = Person(*[AllowOnce()] * 3)
    if when == "after a restart":
        scene.play(script, write, sandbox=SandboxOptions(), asker=person, approvals="auto")
    session = ContinueSession() if when == "after a restart" else None
    back, forth = scene.play(script, go, session, SandboxOptions(), person, "auto")

    assert back == ["restored .envrc", "deleted .vscode/settings.json", "deleted b.txt"]
    again = "kaa wrote it with your permission, and does not write it again without a question: ask the model"
    assert forth == ["created b.txt", f"kept .envrc, .vscode/settings.json: {again}"]
    assert (scene.project / ".envrc").read_text() == "mine\n"


@pytest.mark.usefixtures("mounts")
def test_a_protected_file_that_i_changed_while_a_command_ran_is_announced_as_kept(scene: Scene) -> None:
    file = scene.project / ".envrc"
    file.write_text("before\n")

    async def go(conversation: Conversation) -> tuple[RestorePlan, list[str]]:
        work = asyncio.ensure_future(conversation.submit("work"))
        while not (scene.project / "running").exists():
            await asyncio.sleep(0.01)
        file.write_text("mine\n")
        (scene.project / "over").touch()
        await work
        destination = await conversation.navigation.back()
        assert destination is not None
        return destination.files, await undone(conversation)

    script = [bash("touch running; until test -e over; do sleep 0.02; done; echo x > b.txt"), say("Done.")]
    plan, said = scene.play(script, go, sandbox=SandboxOptions(), asker=Person(), approvals="auto")

    kept = "the sandbox protects it, and kaa does not know whether its earlier content was yours"
    assert [step.path for step in plan.steps] == ["b.txt", "over", "running"]
    assert [(one.path, one.reason) for one in plan.conflicts] == [(".envrc", kept)]
    assert said[-1] == f"kept .envrc: {kept}"
    assert file.read_text() == "mine\n"


def test_lines_that_i_wrote_while_a_command_ran_come_back_with_redo(scene: Scene) -> None:
    file = scene.project / "a.txt"

    async def go(conversation: Conversation) -> tuple[str, str]:
        work = asyncio.ensure_future(conversation.submit("work"))
        while not (scene.project / "running").exists():
            await asyncio.sleep(0.01)
        file.write_text(f"{file.read_text()}mine\n")
        (scene.project / "over").touch()
        await work
        await conversation.navigation.undo()
        back = file.read_text()
        await conversation.navigation.redo()
        return back, file.read_text()

    script = [bash("touch running; until test -e over; do sleep 0.02; done; echo model >> a.txt"), say("Done.")]

    assert scene.play(script, go) == ("one\n", "one\nmine\nmodel\n")


def test_lines_that_i_wrote_while_a_command_ran_come_back_from_the_entry_after_it(scene: Scene) -> None:
    file = scene.project / "a.txt"

    async def go(conversation: Conversation) -> str:
        work = asyncio.ensure_future(conversation.submit("work"))
        while not (scene.project / "running").exists():
            await asyncio.sleep(0.01)
        file.write_text(f"{file.read_text()}mine\n")
        (scene.project / "over").touch()
        await work
        assert file.read_text() == "written\n"
        results = [
            entry
            for entry in conversation.transcript()
            if isinstance(entry, MessageEntry) and isinstance(entry.message, ToolResultMessage)
        ]
        navigation = conversation.navigation
        await navigation.go(await navigation.to(results[0].id), restore="files")
        return file.read_text()

    waiting = bash("touch running; until test -e over; do sleep 0.02; done; echo model >> a.txt")

    assert scene.play([waiting, _write("a.txt", "written\n"), say("Done.")], go) == "one\nmine\nmodel\n"


@pytest.mark.usefixtures("mounts")
@pytest.mark.parametrize(
    ("answer", "undone_files", "left"),
    [
        (AllowOnce(), ["deleted .vscode/tasks.json", "deleted c.txt"], []),
        (PutBack(), ["deleted c.txt"], [".vscode/tasks.json"]),
        (Deny(), ["deleted c.txt"], [".vscode.kaa-blocked/tasks.json"]),
    ],
)
def test_files_that_the_guard_moved_away_are_undone_only_as_the_model_s(
    scene: Scene, answer: ApprovalAnswer, undone_files: list[str], left: list[str]
) -> None:
    async def go(conversation: Conversation) -> list[str]:
        await conversation.submit("work")
        assert (scene.project / ".vscode" / "tasks.json").exists() is not isinstance(answer, Deny)
        return await undone(conversation)

    script = [bash("mkdir .vscode && echo '{}' > .vscode/tasks.json; sleep 0.2; echo x > c.txt"), say("Done.")]
    back = scene.play(script, go, sandbox=SandboxOptions(), asker=Person(answer), approvals="auto")

    assert back == undone_files
    assert [str(path.relative_to(scene.project)) for path in scene.project.rglob("tasks.json")] == left
    assert bool(list(scene.project.glob("*.kaa-blocked"))) is isinstance(answer, Deny)


@pytest.mark.usefixtures("mounts")
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_what_a_yes_changed_in_the_settings_of_git_is_named(scene: Scene) -> None:
    subprocess.run(["git", "init", "-q"], cwd=scene.project, check=True)

    async def go(conversation: Conversation) -> tuple[list[str], list[str]]:
        for text in ("add it", "look"):
            await conversation.submit(text)
        return await undone(conversation), await undone(conversation)

    script = [bash("git remote add o https://example.com/o.git"), say("Done."), bash("git remote"), say("It is there.")]
    looked, added = scene.play(script, go, sandbox=SandboxOptions(), asker=Person(AllowOnce()), approvals="auto")

    assert "example.com/o.git" in (scene.project / ".git" / "config").read_text()
    assert looked == []
    assert [line.partition(",")[0] for line in added] == ["not restored: 1 turn changed git's configuration or hooks"]


_COMMIT = "git add . && git -c user.name=x -c user.email=x@example.com commit -qm first"


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize(
    ("command", "stays"), [(_COMMIT, True), ("git status", False), ("git commit -m x; false", False)]
)
def test_taking_back_a_message_that_made_a_commit_says_that_it_stays(scene: Scene, command: str, stays: bool) -> None:
    subprocess.run(["git", "init", "-q"], cwd=scene.project, check=True)

    async def go(conversation: Conversation) -> tuple[str, str]:
        await conversation.submit("commit it")
        return await conversation.navigation.undo(), await conversation.navigation.redo()

    back, forth = scene.play([bash(command), say("Done.")], go)

    assert ("the commits that git made there stay: kaa does not change what is in .git" in back.splitlines()) is stays
    assert "commits" not in forth


def test_files_in_other_writable_directories_are_covered(scene: Scene, tier: str, tmp_path: Path) -> None:
    if tier == "none":
        pytest.skip("nothing confines commands on this machine: kaa doctor says why")
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "n").write_text("one\n")

    async def act(conversation: Conversation) -> list[str]:
        await conversation.submit("note it")
        return await undone(conversation)

    script = [bash(f"echo two > {notes}/n; echo x > {notes}/m"), say("Done.")]

    said = scene.play(script, act, sandbox=SandboxOptions(writable=(str(notes),)))

    assert sorted(said) == [f"deleted {notes}/m", f"restored {notes}/n"]
    assert [(path.name, path.read_text()) for path in notes.iterdir()] == [("n", "one\n")]


def test_files_in_a_directory_that_is_not_added_any_more_are_kept_and_named(
    scene: Scene, tier: str, tmp_path: Path
) -> None:
    if tier == "none":
        pytest.skip("nothing confines commands on this machine: kaa doctor says why")
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "n").write_text("one\n")

    async def note(conversation: Conversation) -> None:
        await conversation.submit("note it")

    script = [bash(f"echo two > {notes}/n; echo x > {notes}/m"), say("Done.")]
    scene.play(script, note, sandbox=SandboxOptions(writable=(str(notes),)))
    said = scene.play([], undone, session=ContinueSession())

    assert said == [
        f"kept {notes}/m, {notes}/n: kaa cannot use its folder: "
        "add it with --add-dir, unless another user has closed it"
    ]
    assert (notes / "n").read_text() == "two\n"


def test_a_file_that_the_user_deleted_is_not_created_again(scene: Scene) -> None:
    async def act(conversation: Conversation) -> list[str]:
        await conversation.submit("make it")
        (scene.project / "made").unlink()
        await undone(conversation)
        said = (await conversation.navigation.redo()).splitlines()
        assert not (scene.project / "made").exists()
        return said

    said = scene.play([bash("echo x > made; echo y > other"), say("Done.")], act)

    assert "created other" in said
    assert any("made" in line and "deleted by someone else" in line for line in said)


def test_a_file_that_the_user_deleted_is_not_created_again_by_the_next_kaa(scene: Scene) -> None:
    async def undo(conversation: Conversation) -> None:
        await conversation.submit("make it")
        (scene.project / "made").unlink()
        await undone(conversation)

    async def redo(conversation: Conversation) -> list[str]:
        return (await conversation.navigation.redo()).splitlines()

    scene.play([bash("echo x > made; echo y > other"), say("Done.")], undo)
    said = scene.play([], redo, session=ContinueSession())

    assert not (scene.project / "made").exists()
    assert (scene.project / "other").exists()
    assert any("made" in line and "deleted by someone else" in line for line in said)


def test_going_back_without_the_files_is_known_when_they_follow(scene: Scene) -> None:
    async def act(conversation: Conversation) -> list[str]:
        await conversation.submit("one")
        await conversation.submit("two")
        navigation = conversation.navigation
        there = await navigation.to(navigation.points()[1].entry_id)
        await navigation.go(there, restore="conversation")
        assert (scene.project / "a.txt").read_text() == "three\n"
        return await undone(conversation)

    said = scene.play([bash("echo two > a.txt"), say("1"), bash("echo three > a.txt"), say("2")], act)

    assert said == ["restored a.txt"]
    assert (scene.project / "a.txt").read_text() == "one\n"


def test_a_looker_on_starts_nothing(scene: Scene) -> None:
    async def act(conversation: Conversation) -> bool:
        await conversation.submit("hello")
        destination = await conversation.navigation.back()
        assert destination is not None
        return destination.files.is_empty and destination.files_problem is None

    assert scene.play([say("Hi.")], act)
    assert not [*scene.home.glob("checkpoints/*/manifests/*")]


def test_looking_at_what_a_running_command_did_so_far_does_not_end_its_turn(scene: Scene) -> None:
    async def act(conversation: Conversation) -> list[str]:
        command = asyncio.ensure_future(
            conversation.run_command(
                "echo x > early; touch seen; while [ ! -e go ]; do sleep 0.02; done; echo x > late", in_context=False
            )
        )
        while not (scene.project / "seen").exists():
            await asyncio.sleep(0.01)
        plan = await conversation.checkpoints.preview(None)
        assert "early" in [step.path for step in plan.steps]
        (scene.project / "go").touch()
        await command
        return [step.path for step in (await conversation.checkpoints.preview(None)).steps]

    assert scene.play([], act) == ["early", "go", "late", "seen"]


def test_switched_off_nothing_is_kept_and_going_back_says_so(scene: Scene) -> None:
    (scene.home / "settings.json").write_text('{"checkpoints": {"enabled": false}}')

    async def act(conversation: Conversation) -> list[str]:
        await conversation.submit("work")
        assert "checkpoints.enabled is false" in str((await conversation.status()).checkpoints_problem)
        return await undone(conversation)

    said = scene.play([bash("echo two > a.txt"), say("Done.")], act)

    assert said == ["not restored: 1 turn has no checkpoint: checkpoints.enabled is false in settings.json"]
    assert (scene.project / "a.txt").read_text() == "two\n"
    assert not (scene.home / "checkpoints").exists()


@pytest.mark.parametrize("problem", ["switched off", "removed", "in the way"])
def test_files_that_cannot_be_looked_at_keep_the_conversation_where_it_is(scene: Scene, problem: str) -> None:
    async def work(conversation: Conversation) -> None:
        await conversation.submit("work")

    scene.play([bash("echo two > a.txt"), say("Done.")], work)
    checkpoints = scene.home / "checkpoints"
    match problem:
        case "switched off":
            (scene.home / "settings.json").write_text('{"checkpoints": {"enabled": false}}')
            reason = r"checkpoints\.enabled is false"
        case "removed":
            for file in checkpoints.rglob("sets/*"):
                file.unlink()
            reason = "no longer kept"
        case _:
            checkpoints.rename(scene.home / "elsewhere")
            checkpoints.write_text("in the way")
            reason = "File exists"

    async def refused(conversation: Conversation) -> str:
        with pytest.raises(CommandError, match=f"^nothing was changed, because files cannot be restored: .*{reason}"):
            await conversation.navigation.undo()
        return await conversation.navigation.undo(restore="conversation")

    said = scene.play([], refused, ContinueSession())

    assert said.splitlines() == ["took back: work", "files stay as they are"]
    assert (scene.project / "a.txt").read_text() == "two\n"


def test_that_nothing_can_be_kept_stops_nobody_and_is_said_once(scene: Scene) -> None:
    (scene.home / "checkpoints").write_text("in the way")

    async def act(conversation: Conversation) -> None:
        await conversation.submit("work")

    scene.play([bash("echo two > a.txt"), bash("echo three > a.txt"), say("Done.")], act)

    assert (scene.project / "a.txt").read_text() == "three\n"
    (notice,) = scene.notices
    assert "cannot undo" in notice


def test_that_something_can_be_kept_again_is_said(scene: Scene) -> None:
    (scene.home / "checkpoints").write_text("in the way")

    async def act(conversation: Conversation) -> None:
        await conversation.submit("work")
        (scene.home / "checkpoints").unlink()
        await conversation.submit("more")
        await conversation.submit("and more")

    script = [bash("echo two > a.txt"), say("Done."), bash("echo three > a.txt"), say("Done.")]
    scene.play([*script, bash("echo four > a.txt"), say("Done.")], act)

    assert [notice.partition(":")[0] for notice in scene.notices] == [
        "checkpoints are off",
        "checkpoints are on again",
    ]


def test_turns_without_a_checkpoint_are_named_with_the_reason_when_they_are_taken_back(scene: Scene) -> None:
    (scene.home / "checkpoints").write_text("in the way")

    async def work(conversation: Conversation) -> str | None:
        await conversation.submit("work")
        return (await conversation.status()).checkpoints_problem

    problem = scene.play([bash("echo two > a.txt"), bash("echo three > a.txt"), say("Done.")], work)
    (scene.home / "checkpoints").unlink()

    async def back(conversation: Conversation) -> tuple[list[str], str | None]:
        await conversation.submit("more")
        more = await undone(conversation)
        assert more == ["deleted b.txt"]
        return await undone(conversation), (await conversation.status()).checkpoints_problem

    said = scene.play([bash("echo b > b.txt"), say("Done.")], back, ContinueSession())

    assert problem == f"{scene.home}/checkpoints: File exists"
    assert said == ([f"not restored: 2 turns have no checkpoint: {problem}"], None)
    assert (scene.project / "a.txt").read_text() == "three\n"


def test_what_is_kept_and_what_is_not_covered_ends_what_undo_says(scene: Scene) -> None:
    (scene.project / "venv").mkdir()

    async def act(conversation: Conversation) -> list[str]:
        await conversation.submit("work")
        while not scene.checkpoints:
            await asyncio.sleep(0.01)
        (scene.project / "a.txt").write_text("mine")
        return (await conversation.navigation.undo()).splitlines()

    assert scene.play([bash("echo two > a.txt; echo x > b"), say("Done.")], act) == [
        "took back: work",
        "deleted b",
        "note: 1 file changed while a command ran; if another program changed them too, /redo brings that back",
        "kept a.txt: changed since by someone else",
        "not covered by checkpoints: what is in .git; 1 folder that programs generate "
        "(node_modules, virtual environments, caches)",
    ]


def test_files_that_went_back_alone_are_returned_by_redo_also_after_a_restart(scene: Scene) -> None:
    async def back(conversation: Conversation) -> None:
        await conversation.submit("one")
        await conversation.submit("two")
        navigation = conversation.navigation
        for point in reversed(navigation.points()):
            arrival = await navigation.go(await navigation.to(point.entry_id), restore="files")
            assert arrival.files is not None
            assert arrival.files.done
        assert (scene.project / "a.txt").read_text() == "one\n"

    async def forth(conversation: Conversation) -> list[list[str]]:
        said = []
        for text in ("two\n", "three\n"):
            said.append(_files(await conversation.navigation.redo()))
            assert (scene.project / "a.txt").read_text() == text
        with pytest.raises(CommandError, match="nothing to redo"):
            await conversation.navigation.redo()
        assert [point.text for point in conversation.navigation.points()] == ["one", "two"]
        assert await undone(conversation) == ["restored a.txt"]
        assert (scene.project / "a.txt").read_text() == "two\n"
        await conversation.navigation.redo()
        assert (scene.project / "a.txt").read_text() == "three\n"
        return said

    scene.play([bash("echo two > a.txt"), say("1"), bash("echo three > a.txt"), say("2")], back)

    assert scene.play([], forth, ContinueSession()) == [["restored a.txt"], ["restored a.txt"]]


@pytest.mark.parametrize("forth", [True, False], ids=["redo", "the same again"])
def test_a_restore_of_files_alone_that_was_killed_can_be_redone_and_finished(scene: Scene, *, forth: bool) -> None:
    files = [scene.project / f"f{number:04}" for number in range(1_000)]
    for file in files:
        file.write_text("one\n")

    async def work(conversation: Conversation) -> None:
        await conversation.submit("work")

    async def back(conversation: Conversation) -> None:
        destination = await conversation.navigation.back()
        assert destination is not None
        await conversation.navigation.go(destination, restore="files")

    async def redo(conversation: Conversation) -> None:
        await conversation.navigation.redo()

    scene.play([bash("sed -i s/one/two/ f*"), say("Done.")], work)
    program = [sys.executable, "-m", "tests.shell.checkpoints.rewind_until_killed"]
    killed = subprocess.run([*program, scene.project, scene.home, scene.url], cwd=_REPOSITORY, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert {file.read_text() for file in files} == {"one\n", "two\n"}

    scene.play([], redo if forth else back, ContinueSession())

    assert {file.read_text() for file in files} == {"two\n" if forth else "one\n"}
    if not forth:
        scene.play([], redo, ContinueSession())  # the second part
        scene.play([], redo, ContinueSession())  # the first one
        assert {file.read_text() for file in files} == {"two\n"}


def test_a_file_of_mine_is_kept_when_files_that_went_back_alone_are_returned(scene: Scene) -> None:
    async def act(conversation: Conversation) -> list[str]:
        await conversation.submit("one")
        navigation = conversation.navigation
        await navigation.go(await navigation.to(navigation.points()[0].entry_id), restore="files")
        (scene.project / "a.txt").write_text("mine")
        return _files(await navigation.redo())

    assert scene.play([bash("echo two > a.txt; echo x > b"), say("1")], act) == [
        "created b",
        "kept a.txt: changed since by someone else",
    ]


@pytest.fixture
def large(scene: Scene) -> Scene:
    """A project whose first checkpoint copies more than the user lets pass unasked."""
    (scene.home / "settings.json").write_text('{"checkpoints": {"announceMegabytes": 1}}')
    for number in range(5):
        (scene.project / f"large{number}").write_bytes(bytes([number]) * 500_000)
    return scene


def test_who_declines_a_large_first_checkpoint_goes_on_without(large: Scene) -> None:
    person = yes_or_no(False)

    async def act(conversation: Conversation) -> tuple[list[str], str | None]:
        await conversation.submit("work")
        return await undone(conversation), (await conversation.status()).checkpoints_problem

    script = [bash("echo two > a.txt"), bash("echo x > b.txt"), say("Done.")]

    said, problem = large.play(script, act, asker=person)

    assert [asked.title for asked in person.questions] == [
        "Copy 2 MB (6 files) of this project, so that /undo can restore files?"
    ]
    assert problem == "declined for this session, as the first one would copy 2 MB"
    assert said == [f"not restored: 2 turns have no checkpoint: {problem}"]
    assert (large.project / "b.txt").exists()


def test_where_nobody_can_be_asked_a_large_first_checkpoint_is_taken_and_told(large: Scene) -> None:
    async def act(conversation: Conversation) -> list[str]:
        await conversation.submit("work")
        return await undone(conversation)

    assert large.play([bash("echo two > a.txt"), say("Done.")], act) == ["restored a.txt"]
    (notice,) = large.notices
    assert "copies 2 MB (6 files)" in notice


def test_a_large_project_is_told_of_and_asked_about_once(large: Scene) -> None:
    async def act(conversation: Conversation) -> None:
        await conversation.submit("work")
        await undone(conversation)

    def session(asker: Asker = NOBODY) -> None:
        for number in range(5):  # each copies as much as the first one, as it does while a part is unread
            file = large.project / f"large{number}"
            file.write_bytes(bytes([*file.read_bytes()[:1], 1]) * 250_000 + os.urandom(8))
        large.play([bash("echo more >> a.txt"), say("Done.")], act, asker=asker)

    session()
    session()
    assert len(large.notices) == 1

    person = yes_or_no(True, True)
    session(person)
    session(person)
    assert len(person.questions) == 1


def test_no_room_for_a_note_of_the_restore_names_the_file_and_moves_nothing(scene: Scene) -> None:
    async def act(conversation: Conversation) -> list[str]:
        await conversation.submit("work")
        await conversation.navigation.back()  # what the turn did has been kept
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))  # as on a full disk
        try:
            with pytest.raises(CommandError, match=r"stays where it is: /.*/restores/\w+: File too large\. Repeat"):
                await conversation.navigation.undo()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert (scene.project / "a.txt").read_text() == "two\n"
        return await undone(conversation)

    assert scene.play([bash("echo two > a.txt"), say("Done.")], act) == ["restored a.txt"]
    assert (scene.project / "a.txt").read_text() == "one\n"


def test_a_file_whose_special_bits_are_refused_comes_back_without_them(scene: Scene) -> None:
    helper, renamed = scene.project / "helper", scene.project / "helper2"
    helper.write_text("mine\n")
    helper.chmod(0o4755)

    async def whole(conversation: Conversation) -> tuple[bool, list[list[str]]]:
        await conversation.submit("work")
        assert isinstance(conversation.workspace, LocalWorkspace)
        confined = conversation.workspace.sandbox.confined
        first = await undone(conversation)
        again = _files(await conversation.navigation.redo())
        return confined, [first, again, await undone(conversation)]

    script = [bash("mv helper helper2"), say("Done.")]
    confined, (first, again, last) = scene.play(script, whole, sandbox=SandboxOptions())
    if not confined:
        pytest.skip("this machine has no sandbox")

    reduced = "helper: restored without its set-user-ID bit"
    assert first == ["created helper", "deleted helper2", reduced]
    assert again[:2] == ["deleted helper", "created helper2"]
    assert last[:2] == ["created helper", "deleted helper2"]
    assert helper.read_text() == "mine\n"
    assert helper.stat().st_mode & 0o7777 == 0o755
    assert not renamed.exists()
