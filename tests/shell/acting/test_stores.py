"""Data that extensions keep for the user, the project and the session."""

import asyncio
import stat
from pathlib import Path
from typing import cast

import pytest

from kaa.ext.api import CommandContext
from kaa.ext.conversation_session import ConversationSession
from kaa.ext.stores import Store, StoreError, StoreScope
from kaa.shell.acting.stores import UserFileStore, open_store
from kaa.shell.home import Home
from kaa.shell.options import ContinueSession, ConversationOptions
from tests.support.agents import run
from tests.support.extended import in_a_command
from tests.support.stage import Stage

SCOPES: tuple[StoreScope, ...] = ("user", "project", "session")


@pytest.mark.parametrize("scope", SCOPES)
def test_values_are_there_in_the_next_process(stage: Stage, scope: StoreScope) -> None:
    found: list[object] = []

    async def keep(context: CommandContext) -> None:
        store = context.store(scope)
        await store.set("a", {"x": [1, None, "é"]})
        await store.set("b", 2)
        await store.delete("b")
        await store.delete("never")

    async def read(context: CommandContext) -> None:
        store = context.store(scope)
        found.extend([await store.get("a"), await store.get("b", "none"), await store.keys()])

    in_a_command(stage, keep)
    in_a_command(stage, read, options=ConversationOptions(model="m", session=ContinueSession()))

    assert found == [{"x": [1, None, "é"]}, "none", ("a",)]


def test_files_are_the_users_alone_and_never_in_the_project(stage: Stage) -> None:
    async def keep(context: CommandContext) -> None:
        await context.store("user").set("a", 1)
        await context.store("project").set("a", 1)

    in_a_command(stage, keep)

    files = sorted(path for path in (stage.home / "extension-data").rglob("*") if path.is_file())
    assert [path.parent.relative_to(stage.home).as_posix() for path in files] == [
        "extension-data/ci/projects",
        "extension-data/ci",
    ]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert list(stage.workspace.files) == ["/project/notes.txt"]


def test_each_project_has_data_of_its_own(tmp_path: Path) -> None:
    home = Home(tmp_path)

    async def scene() -> list[object]:
        one, other = store(home, "/a/b"), store(home, "/a-b")
        await one.set("x", 1)
        return [await one.get("x"), await other.get("x")]

    assert run(scene()) == [1, None]


def store(home: Home, project: str) -> Store:
    return open_store("ci", "project", cast("ConversationSession", None), home, project)


def test_a_damaged_file_is_reported_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "user.json"
    path.write_text('{"a": 1')
    path.chmod(0o600)
    file = UserFileStore(path)

    async def scene() -> None:
        with pytest.raises(StoreError, match=r"user\.json is damaged and stays as it is"):
            await file.get("a")
        with pytest.raises(StoreError, match=r"user\.json is damaged"):
            await file.set("a", 2)

    run(scene())
    assert path.read_text() == '{"a": 1'


def test_changes_of_several_processes_are_all_kept(tmp_path: Path) -> None:
    stores = [UserFileStore(tmp_path / "user.json") for _ in range(20)]

    async def scene() -> int:
        await asyncio.gather(*(one.set(f"key {number}", number) for number, one in enumerate(stores)))
        return len(await stores[0].keys())

    assert run(scene()) == 20


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("", 1, "invalid key"),
        ("k" * 257, 1, "use a text of 1 to 256 characters"),
        ("k", object(), "the value of 'k' is not JSON"),
        ("k", "x" * 300_000, "the limit is 262,144"),
    ],
)
def test_what_cannot_be_kept_is_refused(tmp_path: Path, key: str, value: object, problem: str) -> None:
    file = UserFileStore(tmp_path / "user.json")

    async def scene() -> None:
        with pytest.raises(StoreError, match=problem):
            await file.set(key, value)

    run(scene())
    assert not list(tmp_path.iterdir())


def test_the_size_of_a_file_is_limited(tmp_path: Path) -> None:
    file = UserFileStore(tmp_path / "user.json")

    async def scene() -> None:
        for number in range(16):
            await file.set(str(number), "x" * 250_000)
        with pytest.raises(StoreError, match="the limit of a store is 4,194,304"):
            await file.set("16", "x" * 250_000)
        assert len(await file.keys()) == 16

    run(scene())


def test_an_unknown_scope_is_refused(stage: Stage) -> None:
    async def work(context: CommandContext) -> None:
        with pytest.raises(StoreError, match="there is no store 'world': use user, project, session"):
            context.store("world")  # type: ignore[arg-type]  # as an extension may do it

    in_a_command(stage, work)
