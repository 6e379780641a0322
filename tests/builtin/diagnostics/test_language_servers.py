"""What language servers say of an edit, and what those cost that behave badly: their silence."""

import asyncio
import itertools
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from kaa.components.plugins.lsp import LanguageServer
from kaa.core.messages import ToolCall
from kaa.core.tool import text_result
from tests.support.patience import HANG_SECONDS
from tests.support.toolbox import text_of

if TYPE_CHECKING:
    from tests.builtin.diagnostics.conftest import AtDesk, Desk


async def eventually(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        while not reached():
            await asyncio.sleep(0.01)


_RUFF = Path(__file__).parents[3] / ".venv" / "bin" / "ruff"


def test_only_errors_that_are_new_are_named(at_desk: "AtDesk") -> None:
    modes = ("", "unversioned", "pull", "stale", "steps")

    async def scene(desk: "Desk") -> None:
        edits = ["a line\nERROR old\nWARNING w\n", "ERROR new\nERROR old\n", "ERROR new\nERROR old\n\n", "ERROR old\n"]
        for mode in modes:
            await desk.checks.configure(())
            desk.serve(mode)
            said = [await desk.edit(f"a{mode}.fake", text, is_full=True) for text in edits]

            assert said == [[], [f"a{mode}.fake:1:1: new (fake 7)"], [], []]
            created = await desk.edit(f"new{mode}.fake", "ERROR created\n", is_full=True)
            assert created == [f"new{mode}.fake:1:1: created (fake 7)"]
            assert desk.notices == []

    at_desk(scene, {f"a{mode}.fake": "ERROR old\n" for mode in modes})


def test_errors_that_an_edit_makes_in_other_files_are_named(at_desk: "AtDesk") -> None:
    async def scene(desk: "Desk") -> None:
        desk.serve()
        breaking = "BREAKS b.fake old\nBREAKS b.fake new\n"
        assert await desk.edit("a.fake", breaking, is_full=True) == ["b.fake:1:1: new (fake 7)"]
        assert await desk.edit("a.fake", "BREAKS b.fake old\n", is_full=True) == []

    at_desk(scene, {"a.fake": "BREAKS b.fake old\n", "b.fake": ""})


def test_what_a_command_changed_is_not_the_fault_of_the_edit(at_desk: "AtDesk") -> None:
    async def scene(desk: "Desk") -> None:
        desk.serve()
        assert await desk.edit("a.fake", "one\n", is_full=True) == []
        (desk.root / "a.fake").write_text("ERROR by a command\n")
        assert await desk.edit("a.fake", "two\nERROR by a command\n", is_full=True) == []

    at_desk(scene, {"a.fake": ""})


def test_what_comes_too_late_is_named_with_the_next_edit(at_desk: "AtDesk") -> None:
    async def scene(desk: "Desk") -> None:
        server = desk.serve()
        patience, desk.seconds = desk.seconds, 0.0
        assert await desk.edit("a.fake", "ERROR late\n", is_full=True) == []
        await eventually(lambda: not desk.checks._at_work)
        desk.seconds = patience
        assert await desk.edit("a.fake", "\nERROR late\n", is_full=True) == ["a.fake:2:1: late (fake 7)"]
        assert await desk.edit("a.fake", "\n\nERROR late\n", is_full=True) == []
        assert server.state == "running"

    at_desk(scene, {"a.fake": ""})


_FAILING = [
    ("crash-at-start", "crashed at start"),
    ("crash-at-initialize", "crashed at initialize"),
    ("crash-at-open", "crashed at open"),
    ("crash-at-change", "crashed at change"),
    ("flood-at-initialize", "it sent far too many messages"),
    ("flood-at-open", "it sent far too many messages"),
    ("garbage-at-initialize", "it sent something that is no message"),
    ("garbage-at-change", "it sent something that is no message"),
    ("endless-at-open", "it sent something that is no message"),
    ("huge-at-open", "it sent a message of more than 8 MiB"),
]


def test_a_server_that_fails_costs_its_silence_and_one_notice(at_desk: "AtDesk") -> None:
    numbers = itertools.count()

    async def scene(desk: "Desk") -> None:
        for mode, why in _FAILING:
            await desk.checks.configure(())
            desk.notices.clear()
            server = desk.serve(mode, max_restarts=1)
            async with asyncio.timeout(HANG_SECONDS):
                while server.state != "given up":
                    assert await desk.edit("a.fake", f"ERROR {next(numbers)}\n", is_full=True) == []
                    await asyncio.sleep(0.02)  # an edit need not wait for the end of a server
            [notice] = desk.notices
            assert notice.startswith("language server fake: ")
            assert why in notice

    at_desk(scene, {"a.fake": ""})


def test_a_server_that_hangs_at_its_start_is_given_up(at_desk: "AtDesk") -> None:
    async def scene(desk: "Desk") -> None:
        server = desk.serve("hang-at-initialize", startup_seconds=0.1)
        assert await desk.edit("a.fake", "ERROR a\n", is_full=True) == []
        assert server.state == "given up"
        assert desk.notices == ["language server fake: it did not start within 0.1 seconds"]

    at_desk(scene, {"a.fake": ""})


def test_a_server_that_hangs_later_does_not_hold_up_the_edit(at_desk: "AtDesk") -> None:
    async def scene(desk: "Desk") -> None:
        desk.serve("hang-at-change")
        desk.seconds = 0.2
        assert await desk.edit("a.fake", "ERROR a\n", is_full=True) == []

    at_desk(scene, {"a.fake": ""})


def test_a_server_that_is_not_installed_is_silent(at_desk: "AtDesk") -> None:
    async def scene(desk: "Desk") -> None:
        desk.checks.configured = (LanguageServer("none", ("no-such-server",), {".fake": "fake"}),)
        assert await desk.edit("a.fake", "ERROR a\n", is_full=True) == []
        assert [server.state for server in desk.checks.servers] == ["not installed"]
        assert desk.notices == []

    at_desk(scene)


def test_a_server_can_neither_write_the_project_nor_use_the_network(at_desk: "AtDesk") -> None:
    with socket.create_server(("127.0.0.1", 0)) as canary:
        canary.setblocking(False)

        async def scene(desk: "Desk") -> None:
            port = canary.getsockname()[1]
            desk.serve("attack-at-open", environment={"CANARY": str(port)})
            assert await desk.edit("a.fake", "ERROR a\n", is_full=True) == ["a.fake:1:1: a (fake 7)"]
            assert not (desk.root / "written").exists()

        at_desk(scene, {"a.fake": ""})
        with pytest.raises(BlockingIOError):
            canary.accept()


def test_it_is_stopped_when_it_is_idle_and_started_again(at_desk: "AtDesk") -> None:
    async def scene(desk: "Desk") -> None:
        server = desk.serve()
        server._idle_seconds = 0.1
        assert await desk.edit("a.fake", "ERROR a\n", is_full=True) == ["a.fake:1:1: a (fake 7)"]
        await eventually(lambda: server.state == "not started")
        assert await desk.edit("a.fake", "ERROR a\nERROR b\n", is_full=True) == ["a.fake:2:1: b (fake 7)"]
        assert desk.notices == []

    at_desk(scene, {"a.fake": ""})


def test_the_end_of_the_conversation_ends_it_even_if_it_does_not_listen(at_desk: "AtDesk") -> None:
    async def scene(desk: "Desk") -> None:
        server = desk.serve("stays", shutdown_seconds=0.1)
        await desk.edit("a.fake", "ERROR a\n", is_full=True)
        await desk.checks.close()
        assert server.state == "not started"
        assert not desk.workspace._narrowed

    at_desk(scene, {"a.fake": ""})


def test_of_a_file_that_cannot_be_parsed_nothing_else_is_named(at_desk: "AtDesk") -> None:
    async def scene(desk: "Desk") -> None:
        desk.serve()
        [definition] = desk.checks.configured
        await desk.checks.configure([msgspec.structs.replace(definition, languages={".py": "python"})])
        [line] = await desk.edit("a.py", "(\nERROR follows\n", is_full=True)
        assert line.startswith("a.py:1:1: SyntaxError")

    at_desk(scene)


def test_edits_of_agents_start_no_server(at_desk: "AtDesk") -> None:
    async def scene(desk: "Desk") -> None:
        desk.serve()
        assert await desk.edit("a.fake", "ERROR a\n", is_full=True, caller="agent-1") == []
        assert [server.state for server in desk.checks.servers] == ["not started"]
        assert len(await desk.edit("a.py", "(\n", is_full=True, caller="agent-1")) == 1

    at_desk(scene)


def test_the_parts_of_a_patch_are_checked_together(at_desk: "AtDesk") -> None:
    async def scene(desk: "Desk") -> None:
        patch = "*** Begin Patch\n*** Add File: a.py\n+(\n*** End Patch\n"
        call = ToolCall("outer", "apply_patch", {"patch": patch})
        await desk.checks.before(call, desk.workspace, is_full=False)
        assert await desk.edit("a.py", "(\n", caller="kaa") == []
        result = await desk.checks.after(
            call, text_result("Done."), desk.workspace, is_full=False, seconds=desk.seconds
        )
        assert result is not None
        assert "[new error] a.py:1:1: SyntaxError" in text_of(result)

    at_desk(scene)


def test_a_definition_can_keep_its_diagnostics_from_the_model(at_desk: "AtDesk") -> None:
    async def scene(desk: "Desk") -> None:
        desk.checks.configured = (LanguageServer("fake", ("cat",), {".fake": "fake"}, diagnostics=False),)
        assert await desk.edit("a.fake", "ERROR a\n", is_full=True) == []
        assert desk.checks.servers == []

    at_desk(scene)


def test_the_user_turns_a_known_server_off(at_desk: "AtDesk", monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(desk: "Desk") -> None:
        desk.checks.configured = (LanguageServer("gopls", (), enabled=False),)
        assert await desk.edit("a.go", "package a\n", is_full=True) == []
        assert desk.checks.servers == []

    at_desk(scene)


def test_a_known_server_that_cannot_be_started_is_silent(at_desk: "AtDesk") -> None:
    async def scene(desk: "Desk") -> None:
        for text in ("# 1\n", "# 2\n", "# 3\n", "# 4\n", "# 5\n"):
            assert await desk.edit("a.py", text, is_full=True) == []
        [server] = desk.checks.servers
        assert (server.state, server.reason) == ("given up", "error: no such toolchain")
        assert desk.notices == []

    stub = "#!/bin/sh\nprintf 'error: no such toolchain\\n\\nStack:\\n 0: main\\n' >&2\nexit 1\n"
    at_desk(scene, {".venv/bin/pylsp": stub, "a.py": ""})


def test_a_known_server_of_the_project_is_used(at_desk: "AtDesk") -> None:
    async def scene(desk: "Desk") -> None:
        (desk.root.parent / "language_server.py").write_bytes(
            (Path(__file__).parents[2] / "support" / "language_server.py").read_bytes()
        )
        assert await desk.edit("a.py", "# fine\n", is_full=True) == []
        assert [(server.name, server.state) for server in desk.checks.servers] == [("pylsp", "running")]

    start = f'#!/bin/sh\nexec {sys.executable} -I -S ../language_server.py "$@"\n'
    at_desk(scene, {".venv/bin/pylsp": start, "a.py": ""})


@pytest.mark.skipif(not _RUFF.exists(), reason="there is no ruff")
def test_a_real_server_names_new_errors_only(at_desk: "AtDesk") -> None:
    async def scene(desk: "Desk") -> None:
        desk.checks.configured = (LanguageServer("ruff", (str(_RUFF), "server"), {".py": "python"}),)
        old, new = "def f():\n    return old_name\n", "def f(x):\n    new_name\n    return old_name\n"
        assert await desk.edit("a.py", old + "\n", is_full=True) == []
        assert await desk.edit("a.py", new, is_full=True) == ["a.py:2:5: Undefined name `new_name` (Ruff F821)"]
        assert await desk.edit("a.py", f"# moved\n{new}", is_full=True) == []
        assert await desk.edit("b.py", "other\n", is_full=True) == ["b.py:1:1: Undefined name `other` (Ruff F821)"]

    at_desk(scene, {"a.py": "def f():\n    return old_name\n"})
