"""Extensions that change while a conversation waits for the user: without a message, a command or a key."""

import asyncio
import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from kaa.shell.conversation import Conversation
from kaa.shell.extensions import folder_watch
from kaa.shell.host import Host
from kaa.shell.options import ConversationOptions, HostOptions
from kaa.workspace.memory import MemoryWorkspace
from tests.shell.test_extension_life import greeting, install, names, play
from tests.support.model_script import call, say
from tests.support.stage import Stage


async def _watched(host: Host) -> Conversation:
    hosted = await host.open(ConversationOptions(model="m", approvals="never"), MemoryWorkspace())
    await hosted.begin()
    host.watch_extensions()
    return hosted.conversation


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


def _replace(path: Path, text: str) -> None:
    """As editors do: a new file takes the name of the old one."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text)
    os.replace(beside, path)


class TestAChange:
    def test_is_in_force_without_a_message(self, stage: Stage) -> None:
        path = install(stage, "mine.py", greeting("greet"))

        async def scene(host: Host) -> None:
            conversation = await _watched(host)
            for name, write in (("wave", path.write_text), ("nod", lambda text: _replace(path, text))):
                write(greeting(name))
                await _until(lambda name=name: name in names(conversation))  # type: ignore[misc]  # a default

        play(stage, scene)

        assert stage.notices == [f"extension {path} was loaded again"] * 2

    def test_is_found_where_the_system_tells_of_none(self, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse() -> None:
            raise OSError(errno.EMFILE, "no instance of inotify is left")

        monkeypatch.setattr(folder_watch, "Inotify", refuse)
        monkeypatch.setattr(folder_watch, "_UNTOLD_SECONDS", 0.01)
        path = install(stage, "mine.py", greeting("greet"))

        async def scene(host: Host) -> None:
            conversation = await _watched(host)
            path.write_text(greeting("wave"))
            await _until(lambda: "wave" in names(conversation))

        play(stage, scene)

    def test_in_a_new_folder_of_an_extension_is_followed(self, stage: Stage) -> None:
        entry = install(stage, "mine/__init__.py", greeting("greet"))

        async def scene(host: Host) -> None:
            conversation = await _watched(host)
            (entry.parent / "words").mkdir()
            (entry.parent / "words/__init__.py").write_text("NAME = 'wave'\n")
            entry.write_text("from .words import NAME\n" + greeting("NAME").replace('"NAME"', "NAME"))
            await _until(lambda: "wave" in names(conversation))
            (entry.parent / "words/__init__.py").write_text("NAME = 'nods'\n")
            await _until(lambda: "nods" in names(conversation))

        play(stage, scene)

    def test_that_fails_is_reported_once_and_keeps_the_working_version(self, stage: Stage) -> None:
        path = install(stage, "mine.py", greeting("greet"))
        other = install(stage, "other.py", greeting("other"))

        async def scene(host: Host) -> None:
            conversation = await _watched(host)
            path.write_text(greeting("wave")[:-20])  # half written
            await _until(lambda: len(stage.notices) == 1)
            assert "greet" in names(conversation)
            other.write_text(greeting("nod"))
            await _until(lambda: "nod" in names(conversation))
            assert "greet" in names(conversation)
            path.write_text(greeting("wave"))
            await _until(lambda: "wave" in names(conversation))

        play(stage, scene)

        failed, *later = stage.notices
        assert f"Extension {path} failed to load" in failed
        assert "Its previous version stays loaded" in failed
        assert later == [f"extension {other} was loaded again", f"extension {path} was loaded again"]

    def test_waits_until_the_run_has_ended(self, stage: Stage) -> None:
        source = """
def extend(kaa):
    @kaa.tool(risk="read")
    async def look(context) -> str:
        "Look."
        from pathlib import Path
        if "FIRST":
            Path(__file__).write_text(Path(__file__).read_text().replace('"FIRST"', "0"))
            import asyncio
            await asyncio.sleep(SECONDS)
        return "seen"
"""
        # Longer than kaa waits for the end of a burst: the change is known during the run.
        path = install(stage, "mine.py", source.replace("SECONDS", "0.5"))

        async def scene(host: Host) -> None:
            conversation = await _watched(host)
            stage.server.begin([call("look"), say("done")])
            run = asyncio.ensure_future(host.conversations[0].work.command("go"))
            await _until(lambda: '"FIRST"' not in path.read_text() and conversation.is_running)
            await run
            assert stage.notices == []
            await _until(lambda: bool(stage.notices))

        play(stage, scene)

        assert stage.notices == [f"extension {path} was loaded again"]

    def test_of_an_extension_that_writes_its_own_file_ends(self, stage: Stage) -> None:
        source = """
from pathlib import Path

def extend(kaa):
    own = Path(__file__)
    own.write_text(own.read_text() + "#")
"""
        path = install(stage, "mine.py", source)

        async def scene(host: Host) -> None:
            await _watched(host)
            await _until(lambda: len(stage.notices) > 5)

        play(stage, scene)

        *again, end = stage.notices
        assert again == [f"extension {path} was loaded again"] * 5
        assert end.startswith(f"extension {path} changed each of the last 5 times when it was loaded")


class TestTheFolder:
    def test_that_gets_extensions_has_them_loaded(self, stage: Stage) -> None:
        async def scene(host: Host) -> None:
            conversation = await _watched(host)
            install(stage, "mine.py", greeting("greet"))  # makes the folder, too
            await _until(lambda: "greet" in names(conversation))
            install(stage, "more/__init__.py", greeting("wave"))
            await _until(lambda: "wave" in names(conversation))

        play(stage, scene)

        folder = stage.home / "extensions"
        assert stage.notices == [f"extension {folder / name} was loaded" for name in ("mine.py", "more")]

    def test_that_is_removed_and_made_again_is_followed(self, stage: Stage) -> None:
        path = install(stage, "mine.py", greeting("greet"))

        async def scene(host: Host) -> None:
            conversation = await _watched(host)
            shutil.rmtree(path.parent)
            await _until(lambda: "greet" not in names(conversation))
            install(stage, "mine.py", greeting("wave"))
            await _until(lambda: "wave" in names(conversation))

        play(stage, scene)

    def test_with_a_corrected_extension_has_it_loaded(self, stage: Stage) -> None:
        path = install(stage, "mine.py", "def extend(kaa:")

        async def scene(host: Host) -> None:
            conversation = await _watched(host)
            assert len(stage.notices) == 1
            path.write_text(greeting("greet"))
            await _until(lambda: "greet" in names(conversation))

        play(stage, scene)

    def test_that_loses_a_required_extension_does_not_unload_it(self, stage: Stage) -> None:
        stage.home.mkdir(parents=True)
        (stage.home / "settings.json").write_text('{"requiredExtensions": ["policy"]}')
        path = install(stage, "policy.py", greeting("policy"))
        other = install(stage, "other.py", greeting("other"))

        async def scene(host: Host) -> None:
            conversation = await _watched(host)
            path.unlink()
            other.unlink()
            await _until(lambda: "other" not in names(conversation))
            assert "policy" in names(conversation)
            await conversation.submit("/reload")
            assert "policy" in names(conversation)

        play(stage, scene)


def test_an_extension_of_the_command_line_is_followed_outside_the_folder(stage: Stage, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(greeting("greet"))
    stage.host_options = msgspec.structs.replace(HostOptions(), extensions=(path,))

    async def scene(host: Host) -> None:
        conversation = await _watched(host)
        _replace(path, greeting("wave"))
        await _until(lambda: "wave" in names(conversation))

    play(stage, scene)
