"""Which session a conversation is opened with: forks, clones, ids and names of the user's."""

import json
import os
from pathlib import Path
from typing import get_args

import pytest

from kaa.core.messages import AssistantMessage, UserMessage
from kaa.llm.models.registry import NoModelError
from kaa.session.entries import MessageEntry
from kaa.session.errors import SessionError, SessionReadOnlyError, SessionViewedError, SessionWriteError
from kaa.session.naming import folder_name
from kaa.shell.conversation import Conversation
from kaa.shell.home import Home
from kaa.shell.navigating import NavigationTarget, Restore
from kaa.shell.options import (
    CloneSession,
    ContinueSession,
    ConversationOptions,
    ForkSession,
    NewSession,
    ResumeSession,
    SessionChoice,
    UnkeptSession,
    ViewSession,
)
from kaa.shell.session_choice import open_session
from kaa.workspace.checkpoints.plans import RestorePlan
from kaa.workspace.protocol import CommandRequest, CommandResult
from tests.support.model_server import say
from tests.support.sessions import HEADER, JsonObject, opened, user_entry, write_session
from tests.support.stage import Stage


def play(stage: Stage, session: SessionChoice, said: str | None = None) -> tuple[str, list[str], str | None]:
    """The session's id, what was said in it before, and what it is called; then something is said."""
    if said is not None:
        stage.server.begin([say("fine")])

    async def scene(conversation: Conversation) -> tuple[str, list[str], str | None]:
        before = [
            entry.message.text
            for entry in conversation.transcript()
            if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage | AssistantMessage)
        ]
        if said is not None:
            await conversation.submit(said)
        return conversation.session_id, before, (await conversation.status()).session_name

    return stage.play(scene, ConversationOptions(model="m", session=session))


def files(stage: Stage) -> list[Path]:
    return sorted(stage.home.glob("sessions/*/*.jsonl"))


def lines(path: Path) -> list[JsonObject]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def source(stage: Stage) -> Path:
    folder = stage.home / "sessions" / folder_name("/elsewhere")
    folder.mkdir(parents=True)
    return write_session(
        folder / "2026-11-20T07-49-44-305Z_source.jsonl",
        user_entry("a", None, "one"),
        user_entry("b", "a", "two"),
        user_entry("x", "a", "aside"),
        user_entry("c", "b", "three"),
        header={**HEADER, "id": "source", "cwd": "/elsewhere"},
    )


def test_an_id_of_the_users_begins_a_session_and_goes_on_with_it_the_next_time(stage: Stage) -> None:
    first = play(stage, NewSession("my-task"), "hello")
    second = play(stage, NewSession("my-task"))

    assert first == ("my-task", [], None)
    assert second == ("my-task", ["hello", "fine"], None)
    assert len(files(stage)) == 1


def test_a_fork_goes_on_in_a_copy_of_everything_in_this_project(stage: Stage) -> None:
    path = source(stage)
    before = path.read_bytes()

    forked, said, _ = play(stage, ForkSession("sour"))

    assert forked != "source"
    assert said == ["one", "two", "three"]
    assert path.read_bytes() == before
    (copy,) = [file for file in files(stage) if file != path]
    assert lines(copy)[0]["parentSession"] == str(path)
    assert lines(copy)[0]["cwd"] == "/project"
    assert [line["id"] for line in lines(copy)[1:5]] == ["a", "b", "x", "c"]


def test_a_fork_can_end_before_a_message_and_a_clone_is_the_current_branch(stage: Stage) -> None:
    path = str(source(stage))

    assert play(stage, ForkSession(path, "c"))[1] == ["one", "two"]
    assert play(stage, CloneSession(path))[1] == ["one", "two", "three"]


def test_a_copy_for_a_conversation_that_cannot_be_opened_is_not_kept(stage: Stage) -> None:
    path = source(stage)
    stage.environ = {}

    for choice in (ForkSession("sour"), CloneSession("sour"), ResumeSession("sour")):
        with pytest.raises(NoModelError):
            play(stage, choice)

    assert files(stage) == [path]


def test_a_name_is_given_with_the_first_message_and_leaves_no_file_without_one(stage: Stage) -> None:
    play(stage, NewSession(name="my work"))
    assert files(stage) == []

    play(stage, NewSession(name="my\nwork"), "hello")

    assert play(stage, ContinueSession())[2] == "my work"
    (path,) = files(stage)
    assert [line["type"] for line in lines(path)][1] == "session_info"


def test_sessions_that_are_there_are_named_at_once(stage: Stage) -> None:
    path = str(source(stage))

    assert play(stage, ResumeSession(path, name="renamed"))[2] == "renamed"
    assert play(stage, ResumeSession(path))[2] == "renamed"
    assert play(stage, CloneSession(path, name="a copy"))[2] == "a copy"
    assert play(stage, ResumeSession(path))[2] == "renamed"


def test_what_is_not_kept_has_no_name(stage: Stage) -> None:
    assert play(stage, UnkeptSession(), "hello")[2] is None
    assert files(stage) == []


def test_a_session_of_pis_is_continued_where_it_is(stage: Stage, tmp_path: Path) -> None:
    stage.environ["PI_CODING_AGENT_DIR"] = str(tmp_path / "pi")
    folder = tmp_path / "pi" / "sessions" / folder_name("/project")
    folder.mkdir(parents=True)
    path = write_session(folder / "2026-11-20T07-49-44-305Z_pis.jsonl", user_entry("a", None, "with pi"))

    said = play(stage, ResumeSession("pis"), "and with kaa")[1]

    assert said == ["with pi"]
    assert [line["message"]["role"] for line in lines(path) if line["type"] == "message"] == [
        "user",
        "user",
        "assistant",
    ]
    assert files(stage) == []


def test_a_session_in_use_can_be_looked_at_and_stays_as_it_is(stage: Stage) -> None:
    path = source(stage)
    before = path.read_bytes()

    with opened(path):
        session_id, said, _ = play(stage, ViewSession("sour"))

    assert (session_id, said) == ("source", ["one", "two", "three"])
    assert path.read_bytes() == before


def test_nothing_can_be_said_in_a_session_that_is_looked_at(stage: Stage) -> None:
    path = source(stage)
    before = path.read_bytes()
    stage.server.begin([say("never asked for")])

    async def scene(conversation: Conversation) -> None:
        with pytest.raises(SessionWriteError, match="open read-only"):
            await conversation.submit("hello")

    stage.play(scene, ConversationOptions(model="m", session=ViewSession("sour")))

    assert path.read_bytes() == before
    assert stage.server.requests == []


def test_a_session_that_is_looked_at_runs_no_command_and_goes_nowhere(stage: Stage) -> None:
    path = source(stage)
    before = path.read_bytes()
    ran: list[CommandRequest] = []

    def note(command: CommandRequest) -> CommandResult:
        ran.append(command)
        return CommandResult(0, None, b"", 0, 0)

    stage.commands = note

    async def scene(conversation: Conversation) -> str | None:
        navigation = conversation.navigation
        point = navigation.points()[-1]
        with pytest.raises(SessionViewedError):
            await conversation.run_command("echo hi > b", in_context=False)
        with pytest.raises(SessionViewedError):
            await navigation.to(point.entry_id)
        with pytest.raises(SessionViewedError):
            await navigation.back()
        for restore in get_args(Restore):
            with pytest.raises(SessionViewedError):
                await navigation.go(NavigationTarget(None, None, 1, RestorePlan()), restore=restore)
        with pytest.raises(SessionViewedError):
            navigation.label(point.entry_id, "here")
        said = navigation.message_at(point.entry_id)  # what a fork begins with
        return said.text if said is not None else None

    assert stage.play(scene, ConversationOptions(model="m", session=ViewSession("sour"))) == "three"

    assert path.read_bytes() == before
    assert ran == []


def test_a_session_that_cannot_be_written_says_how_to_look_at_it(stage: Stage) -> None:
    path = source(stage)
    path.chmod(0o400)
    if os.access(path, os.W_OK):
        pytest.skip("root may write everything")

    with pytest.raises(SessionReadOnlyError, match="kaa --view ID"):
        play(stage, ResumeSession("sour"))


@pytest.mark.parametrize("folder", ["sessions", "sessions/mine", "./a/../sessions"])
def test_no_link_of_the_project_leads_to_the_folder_of_sessions(tmp_path: Path, folder: str) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    project.mkdir()
    (outside / "mine").mkdir(parents=True)
    (project / "sessions").symlink_to(outside)

    with pytest.raises(SessionError, match="sessions on the way to the sessions is a link"):
        open_session(NewSession(), str(project), Home(tmp_path / "home"), project / folder, {})

    assert [*outside.rglob("*")] == [outside / "mine"]


def test_a_link_outside_the_project_may_lead_to_the_folder_of_sessions(tmp_path: Path) -> None:
    project, linked = tmp_path / "project", tmp_path / "linked"
    (project / "sessions").mkdir(parents=True)
    linked.symlink_to(project / "sessions")

    for folder in (project / "sessions", linked):
        assert open_session(NewSession(), str(project), Home(tmp_path / "home"), folder, {}).path is not None
