"""The write tool."""

import asyncio

from kaa.workspace.memory import MemoryWorkspace
from tests.support.agents import run
from tests.support.toolbox import Toolbox


def test_a_new_file_is_created_with_its_directories_and_reported_in_bytes() -> None:
    workspace = MemoryWorkspace()

    text = run(Toolbox(workspace).text("write", path="a/b/c.txt", content="é\r\n"))

    assert text == "Created a/b/c.txt (4 bytes)."
    assert workspace.files == {"/project/a/b/c.txt": "é\r\n".encode()}


def test_an_existing_file_is_overwritten() -> None:
    workspace = MemoryWorkspace({"a": b"old"})

    assert run(Toolbox(workspace).text("write", path="a", content="")) == "Overwrote a (0 bytes)."
    assert workspace.files == {"/project/a": b""}


def test_a_mention_of_an_existing_file_overwrites_it() -> None:
    workspace = MemoryWorkspace({"a": b"old"})

    run(Toolbox(workspace).text("write", path="@a", content="new"))

    assert workspace.files == {"/project/a": b"new"}


def test_a_new_name_is_taken_literally() -> None:
    workspace = MemoryWorkspace()

    run(Toolbox(workspace).text("write", path="@types/x.d.ts", content="new"))

    assert workspace.files == {"/project/@types/x.d.ts": b"new"}


def test_another_name_of_the_path_argument_is_understood() -> None:
    workspace = MemoryWorkspace()

    run(Toolbox(workspace).text("write", file_path="a", content="x"))

    assert run(Toolbox(workspace).text("read", file_path="a")) == "x"


def test_a_directory_is_not_overwritten() -> None:
    workspace = MemoryWorkspace({"src/a": b""})

    assert "is a directory" in run(Toolbox(workspace).failure("write", path="src", content="x"))


def test_a_file_in_place_of_a_directory_is_said() -> None:
    assert "not a directory" in run(Toolbox(MemoryWorkspace({"a": b""})).failure("write", path="a/b", content="x"))


def test_half_a_surrogate_pair_is_refused() -> None:
    assert "surrogate" in run(Toolbox(MemoryWorkspace()).failure("write", path="a", content="x\ud83d"))


def test_writes_and_edits_of_one_file_at_the_same_time_are_all_done() -> None:
    workspace = MemoryWorkspace({"a": b"1 2 3 4 5 6 7 8 9\n"})
    tools = Toolbox(workspace)

    async def scenario() -> None:
        await asyncio.gather(
            *(tools.text("edit", path="a", edits=[{"oldText": str(n), "newText": f"<{n}>"}]) for n in range(1, 10))
        )

    run(scenario())

    assert workspace.files == {"/project/a": b"<1> <2> <3> <4> <5> <6> <7> <8> <9>\n"}
