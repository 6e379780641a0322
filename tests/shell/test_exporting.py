"""What `/export` and `/import` write, refuse and say, in a conversation."""

import os
import re
from pathlib import Path

import pytest

from kaa.host.programs import note_writable
from kaa.llm.redaction import Redactor
from kaa.session.export.request import ExportError, ExportRequest
from kaa.session.export.source import SnapshotFile
from kaa.shell.conversation import CommandReply, Conversation, SessionToOpen
from kaa.shell.exporting import export_session
from kaa.shell.options import ConversationOptions, ResumeSession, UnkeptSession
from tests.support.model_script import say
from tests.support.sessions import HEADER, user_entry, write_session
from tests.support.stage import Stage

GITHUB_TOKEN = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"


async def told(conversation: Conversation, command: str) -> str:
    outcome = await conversation.submit(command)
    assert isinstance(outcome, CommandReply)
    return outcome.text


def told_after(stage: Stage, said: str, *commands: str, options: ConversationOptions | None = None) -> list[str]:
    """What commands tell after one exchange with the model."""
    stage.server.begin([say("Good.")])

    async def scene(conversation: Conversation) -> list[str]:
        await conversation.submit(said)
        return [await told(conversation, command) for command in commands]

    return stage.play(scene, options)


def told_at_once(stage: Stage, command: str) -> str:
    """What a command tells in a session in which nothing was said."""
    return stage.play(lambda conversation: told(conversation, command))


def test_the_name_says_the_format(stage: Stage, tmp_path: Path) -> None:
    names = ("a.html", "a.md", "a.jsonl", "without")

    told_after(stage, "hello", *(f"/export {tmp_path / name}" for name in names))

    beginnings = {path.name: path.read_bytes()[:9] for path in tmp_path.iterdir() if path.is_file()}
    assert beginnings == {
        "a.html": b"<!doctype",
        "without.html": b"<!doctype",
        "a.md": b"# hello\n\n",
        "a.jsonl": b'{"type":"',
    }


def test_in_a_folder_it_is_called_after_the_session_and_numbered(stage: Stage, tmp_path: Path) -> None:
    folder = tmp_path / "with blanks"
    folder.mkdir()

    told_after(stage, "Why? / how: *now*", *[f'/export "{folder}"'] * 2)

    names = sorted(path.name for path in folder.iterdir())
    assert re.fullmatch(r"Why-how-now-[\w-]{8}\.html", names[1])
    assert names[0] == names[1].replace(".html", "-2.html")


def exported(project: Path, target: str, *, force: bool = False) -> str:
    """Why a session is not exported from a project; empty if it is."""
    session = write_session(project.parent / "session.jsonl", user_entry("1", None, "hello"))
    with SnapshotFile.open(session) as source:
        try:
            export_session(source, ExportRequest(target=target, force=force), project, lambda: Redactor([]))
        except ExportError as error:
            return str(error)
    return ""


@pytest.mark.parametrize("target", ["docs/a.md", "docs/a.jsonl", "docs/deeper/a.md", "docs", "sub/../docs/a.md"])
@pytest.mark.parametrize("force", [False, True])
def test_no_link_in_the_project_leads_an_export_out_of_it(tmp_path: Path, target: str, force: bool) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    (elsewhere / "deeper").mkdir(parents=True)
    (project / "sub").mkdir(parents=True)
    (project / "docs").symlink_to(elsewhere)

    assert f"{project / 'docs'} is a link" in exported(project, target, force=force)
    assert [path.name for path in elsewhere.rglob("*")] == ["deeper"]


def test_no_link_in_an_added_directory_leads_an_export_out_of_it(tmp_path: Path) -> None:
    project, added, elsewhere = tmp_path / "project", tmp_path / "added", tmp_path / "elsewhere"
    for folder in (project, added / "own", elsewhere):
        folder.mkdir(parents=True)
    (added / "out").symlink_to(elsewhere)
    note_writable([str(added)])

    assert f"{added / 'out'} is a link" in exported(project, str(added / "out" / "a.md"))
    assert exported(project, str(added / "own" / "a.md")) == ""
    assert list(elsewhere.iterdir()) == []


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    project, canary = tmp_path / "project", tmp_path / "canary.md"
    project.mkdir()
    link = project / "one.md"
    link.symlink_to(canary)

    assert "exists already" in exported(project, "one.md")
    assert exported(project, "one.md", force=True) == ""

    assert not canary.exists()
    assert not link.is_symlink()


def test_a_file_that_is_there_is_replaced_only_on_request(stage: Stage, tmp_path: Path) -> None:
    target = tmp_path / "notes.md"
    target.write_text("mine")

    assert f"{target} exists already" in told_at_once(stage, f"/export {target}")
    assert target.read_text() == "mine"

    told_after(stage, "hello", f"/export {target} --force")

    assert target.read_text().startswith("# hello")
    assert os.listdir(tmp_path / "home" / "sessions")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "notes.md"]


def test_what_cannot_be_written_is_said_and_leaves_nothing(stage: Stage, tmp_path: Path) -> None:
    missing = tmp_path / "no" / "folder.html"

    assert f"cannot write {missing}" in told_at_once(stage, f"/export {missing}")
    for name in (r"a\0b.html", r"a\ud800.html"):
        target = name.encode().decode("unicode_escape")
        assert f"invalid file name '{tmp_path}/{name[0]}" in told_at_once(stage, f"/export {tmp_path}/{target}")
    assert "unknown export format .pdf" in told_at_once(stage, f"/export {tmp_path}/a.pdf")
    assert "/export has no --everything" in told_at_once(stage, "/export --everything")
    assert "exclude each other" in told_at_once(stage, "/export --all-branches --one-branch")


def test_only_the_user_can_read_it(stage: Stage, tmp_path: Path) -> None:
    told_after(stage, "hello", f"/export {tmp_path}/a.html")

    assert (tmp_path / "a.html").stat().st_mode & 0o777 == 0o600


def test_a_warning_counts_what_looks_like_secrets_and_redaction_takes_it_out(stage: Stage, tmp_path: Path) -> None:
    stage.environ["SERVICE_PASSWORD"] = "correct horse battery"
    said = f"use {GITHUB_TOKEN} and {GITHUB_TOKEN} or correct horse battery"

    plain, redacted = told_after(stage, said, f"/export {tmp_path}/a.html", f"/export {tmp_path}/b.html --redact")

    assert "warning:" in plain
    assert "GitHub token (2), value of a key or variable in use" in plain
    assert GITHUB_TOKEN in (tmp_path / "a.html").read_text()
    assert "secrets removed: GitHub token (2), value of a key or variable in use" in redacted
    page = (tmp_path / "b.html").read_text()
    assert GITHUB_TOKEN not in page
    assert "horse" not in page


def test_without_secrets_nothing_is_said_of_them(stage: Stage, tmp_path: Path) -> None:
    [plain] = told_after(stage, "hello", f"/export {tmp_path}/a.html")

    assert re.fullmatch(rf"wrote {tmp_path}/a\.html \(\d+ kB, 2 messages\)", plain)


def test_a_session_that_is_not_kept_can_be_exported(stage: Stage, tmp_path: Path) -> None:
    unkept = ConversationOptions(model="m", session=UnkeptSession())

    told_after(stage, "hello", f"/export {tmp_path}/a.md", options=unkept)

    assert "Good." in (tmp_path / "a.md").read_text()


def test_lines_are_the_session_byte_for_byte(stage: Stage, tmp_path: Path) -> None:
    told_after(stage, "hello", f"/export {tmp_path}/a.jsonl --all-branches")

    [original] = (tmp_path / "home" / "sessions").rglob("*.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == original.read_bytes()


def test_an_imported_session_is_asked_to_be_opened(stage: Stage, tmp_path: Path) -> None:
    source = write_session(tmp_path / "from here.jsonl", user_entry("a", None, "once"))

    async def scene(conversation: Conversation) -> object:
        return await conversation.submit(f"/import '{source}'")

    outcome = stage.play(scene)

    assert isinstance(outcome, SessionToOpen)
    assert isinstance(outcome.choice, ResumeSession)
    path = Path(outcome.choice.query)
    with SnapshotFile.open(path) as imported:
        assert imported.header.id == HEADER["id"]
    assert path.is_relative_to(tmp_path / "home" / "sessions")
    assert "/home/u/p is not on this machine" in outcome.text


def test_what_is_no_session_is_not_imported(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no session")

    assert "notes.txt" in told_at_once(stage, f"/import {tmp_path}/notes.txt")
    assert "/import PATH" in told_at_once(stage, "/import")
