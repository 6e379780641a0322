"""A server's program is the one that its entry means, and no shim that obeys files of the project."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from kaa.mcp.errors import ServerGoneError
from kaa.shell.home import Home
from kaa.shell.mcp import outside_folders
from kaa.shell.mcp.code import UnknownCodeError
from kaa.shell.mcp.config.entry import ConfiguredServer, ServerEntry, Source
from kaa.shell.mcp.describing import described
from kaa.shell.mcp.place import ServerPlace
from kaa.shell.mcp.starting import code_to_admit, start_program
from kaa.workspace.sandbox.options import SandboxOptions
from tests.support.loops import in_loop


def _install(program: Path, says: str) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\necho {says} >&2\nexit 3\n")
    program.chmod(0o755)


async def _said(home: Path, command: str) -> str:
    (home / "project").mkdir(exist_ok=True)
    environ = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    place = ServerPlace(Home(home / "kaa"), environ, str(home / "project"), SandboxOptions)
    server = ConfiguredServer("one", ServerEntry(command=command, sandbox=False), Source("/file", "user"), "digest")
    process = await start_program(server, place, print, {})
    return await process.wait()


@pytest.mark.parametrize("command", ["~/.asdf/shims/acme", "~/bin/acme", "HOME/.asdf/shims/acme"])
@in_loop
async def test_a_shim_is_replaced_by_the_version_of_the_home(tmp_path: Path, command: str) -> None:
    _install(tmp_path / ".asdf/shims/acme", "shim")
    _install(tmp_path / ".asdf/installs/acme/1.0/bin/acme", "chosen")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/acme").symlink_to("../.asdf/shims/acme")
    (tmp_path / ".tool-versions").write_text("acme 1.0\n")
    path = command.replace("HOME", str(tmp_path)).replace("~", str(tmp_path))

    assert await _said(tmp_path, path) == "it exited with code 3: chosen"


@in_loop
async def test_a_shim_without_a_version_in_the_home_is_not_started(tmp_path: Path) -> None:
    _install(tmp_path / ".asdf/shims/acme", "shim")

    with pytest.raises(ServerGoneError, match="obeys files of the project"):
        await _said(tmp_path, str(tmp_path / ".asdf/shims/acme"))


@pytest.mark.parametrize("sandbox", [True, False])
def test_what_is_refused_whatever_the_user_says_is_not_asked_about(tmp_path: Path, sandbox: bool) -> None:
    script = tmp_path / "project" / "server.mjs"
    script.parent.mkdir()
    script.write_text("process.exit()\n")
    place = ServerPlace(Home(tmp_path / "kaa"), {"HOME": str(tmp_path)}, str(script.parent), SandboxOptions)
    entry = ServerEntry(command="node", args=(str(script),), sandbox=sandbox)
    server = ConfiguredServer("one", entry, Source("/file", "user"), "digest")

    with nullcontext() if sandbox else pytest.raises(UnknownCodeError, match="it runs without a sandbox, and commands"):
        assert str(script) in code_to_admit(server, place)

    told = described(server, place)
    assert ("It runs without a sandbox, with your rights." in told) is not sandbox
    assert ("In its own sandbox" in told) is sandbox


@in_loop
async def test_a_server_starts_where_its_folder_has_too_many_files_and_kaa_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside_folders, "_MAX_OF_FOLDER", 3)
    _install(tmp_path / "own/start.sh", "started")
    (tmp_path / "project").mkdir()
    for number in range(5):
        (tmp_path / f"own/{number}.txt").write_text("")
    environ, told, log = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, list[str](), list[str]()
    place = ServerPlace(Home(tmp_path / "kaa"), environ, str(tmp_path / "project"), SandboxOptions, told.append)
    entry = ServerEntry(command=f"{tmp_path}/own/start.sh", sandbox=False)

    process = await start_program(ConfiguredServer("one", entry, Source("/file", "user"), "d"), place, log.append, {})

    assert await process.wait() == "it exited with code 3: started"
    assert f"MCP server one: kaa did not look at all of {tmp_path}/own" in told[0]
    assert log[0] in told[0]
