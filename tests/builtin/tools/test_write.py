"""The write tool."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from kaa.core.messages import Json
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.memory import MemoryWorkspace
from tests.support.agents import run
from tests.support.toolbox import Toolbox


def with_tools(root: Path, work: Callable[[Toolbox], Awaitable[None]]) -> None:
    """Use the tools on real files."""

    async def scenario() -> None:
        workspace = LocalWorkspace.start(str(root))
        try:
            await work(Toolbox(workspace))
        finally:
            await workspace.close()

    run(scenario())


def test_a_new_file_is_created_with_its_directories_and_reported_in_bytes() -> None:
    workspace = MemoryWorkspace()

    text = run(Toolbox(workspace).text("write", path="a/b/c.txt", content="é\r\n"))

    assert text == "Created a/b/c.txt (4 bytes)."
    assert workspace.files == {"/project/a/b/c.txt": "é\r\n".encode()}


def test_a_file_that_was_read_is_overwritten() -> None:
    workspace = MemoryWorkspace({"a": b"old"})
    tools = Toolbox(workspace)

    run(tools.text("read", path="a"))

    assert run(tools.text("write", path="a", content="")) == "Overwrote a (0 bytes)."
    assert workspace.files == {"/project/a": b""}


def test_a_mention_of_an_existing_file_overwrites_it() -> None:
    workspace = MemoryWorkspace({"a": b""})

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


def test_a_file_that_was_not_read_is_refused_once_with_its_beginning() -> None:
    workspace = MemoryWorkspace({"a": b"mine\n"})
    tools = Toolbox(workspace)

    refusal = run(tools.failure("write", path="a", content="new"))

    assert "a was not written" in refusal
    assert "\nmine\n" in refusal
    assert workspace.files == {"/project/a": b"mine\n"}
    assert run(tools.text("write", path="a", content="new")) == "Overwrote a (3 bytes)."


@pytest.mark.parametrize("before", ["read", "write", "edit"])
def test_what_the_user_saved_is_not_replaced_but_shown(before: str, tmp_path: Path) -> None:
    file = tmp_path / "a"
    changes: dict[str, dict[str, Json]] = {
        "edit": {"edits": [{"oldText": "one", "newText": "1"}]},
        "write": {"content": "1\n"},
    }

    async def scenario(tools: Toolbox) -> None:
        if before != "write":
            file.write_text("one\ntwo\n")
            await tools.text("read", path="a")
        if before != "read":
            await tools.text(before, path="a", **changes[before])
        file.write_text(file.read_text() + "of the user\n")

        assert "+of the user" in await tools.failure("write", path="a", content="x\n")
        assert file.read_text().endswith("of the user\n")
        assert await tools.text("write", path="a", content="x\nof the user\n") == "Overwrote a (14 bytes)."

    with_tools(tmp_path, scenario)


def test_an_edit_does_not_hide_what_the_user_saved_elsewhere_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a"

    async def scenario(tools: Toolbox) -> None:
        await tools.text("write", path="a", content="one\ntwo\n")
        file.write_text("one\ntwo\nof the user\n")
        await tools.text("edit", path="a", edits=[{"oldText": "one", "newText": "1"}])

        assert "+of the user" in await tools.failure("write", path="a", content="1\n2\n")

    with_tools(tmp_path, scenario)


def test_files_that_commands_made_or_changed_are_overwritten(tmp_path: Path) -> None:
    async def scenario(tools: Toolbox) -> None:
        await tools.text("write", path="a", content="one\n")
        await tools.text("bash", command="echo two > a; echo new > b")

        assert await tools.text("write", path="a", content="") == "Overwrote a (0 bytes)."
        assert await tools.text("write", path="b", content="") == "Overwrote b (0 bytes)."

    with_tools(tmp_path, scenario)


@pytest.mark.parametrize(
    "command",
    ["sed -i s/one/two/ a.py", "echo two > ./a.py", 'python3 -c \'open("a.py", "w").write("two")\'', "cp b.py a.py"],
)
def test_a_known_file_that_a_command_names_and_changes_is_overwritten(command: str, tmp_path: Path) -> None:
    async def scenario(tools: Toolbox) -> None:
        (tmp_path / "b.py").write_text("two\n")
        await tools.text("write", path="a.py", content="one\n")
        await tools.text("bash", command=command)

        assert await tools.text("write", path="a.py", content="three") == "Overwrote a.py (5 bytes)."

    with_tools(tmp_path, scenario)


@pytest.mark.parametrize("command", ["{}", "cat a.py; {}", "git status; {}"])
def test_what_the_user_saves_while_a_command_runs_is_not_replaced_but_shown(command: str, tmp_path: Path) -> None:
    file = tmp_path / "a.py"

    async def scenario(tools: Toolbox) -> None:
        await tools.text("write", path="a.py", content="one\n")
        waiting = command.format("touch runs; until test -e over; do sleep 0.01; done")
        running = asyncio.create_task(tools.call("bash", command=waiting))
        while not (tmp_path / "runs").exists():
            await asyncio.sleep(0.01)
        file.write_text("one\nof the user\n")
        (tmp_path / "over").touch()
        await running

        assert "+of the user" in await tools.failure("write", path="a.py", content="x\n")
        assert file.read_text() == "one\nof the user\n"
        assert await tools.text("write", path="a.py", content="x\nof the user\n") == "Overwrote a.py (14 bytes)."

    with_tools(tmp_path, scenario)


def test_what_a_command_makes_that_names_no_file_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "init").write_text("echo made > new.toml")

    async def scenario(tools: Toolbox) -> None:
        await tools.text("bash", command="sh init")

        assert await tools.text("write", path="new.toml", content="a") == "Overwrote new.toml (1 bytes)."

    with_tools(tmp_path, scenario)


def test_a_patch_does_not_add_a_file_over_one_that_the_model_never_saw(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("mine\n")
    patch = "*** Begin Patch\n*** Add File: a\n+new\n*** End Patch"

    async def scenario(tools: Toolbox) -> None:
        assert "mine" in await tools.failure("apply_patch", input=patch)

    with_tools(tmp_path, scenario)

    assert file.read_text() == "mine\n"
