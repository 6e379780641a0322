"""The life of an extension: loading that fails or hangs, failures that disable it, switching it off."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from kaa.core.events import AgentEnd
from kaa.ext.errors import ExtensionError
from kaa.shell.conversation import CommandReply, Conversation
from kaa.shell.host import Host
from kaa.shell.options import ConversationOptions, HostOptions
from kaa.workspace.memory import MemoryWorkspace
from tests.support.agents import run
from tests.support.extension_ids import named
from tests.support.model_script import call, say
from tests.support.stage import Stage

_OPTIONS = ConversationOptions(model="m", approvals="never")

_GREETING = """
from kaa.ext.api import Reply

def extend(kaa):
    async def greet(arguments, context):
        return Reply("hello")
    kaa.register_command("NAME", f"Say hello from {__file__}.", greet)
"""

# Waits until the test ends: nothing but kaa's own patience ends it.
_HANGING = """
import threading
from pathlib import Path

Path(__file__).with_suffix(".begun").touch()
threading.Event().wait()

def extend(kaa): pass
"""

_CRASHING = """
from kaa.ext.api import Block, Reply

def extend(kaa):
    async def crash(arguments, context):
        raise ValueError("bug")
    kaa.register_command("crash", "Crash.", crash)
"""

_GUARDING = (
    _CRASHING
    + """
    async def guard(call, context):
        return Block("not here")
    kaa.before_tool(guard)
"""
)


def install(stage: Stage, name: str, source: str) -> Path:
    path = stage.home / "extensions" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    return path


def greeting(name: str) -> str:
    return _GREETING.replace("NAME", name)


def names(conversation: Conversation) -> set[str]:
    return {command.name for command in conversation.commands}


def play(stage: Stage, scene: Callable[[Host], Awaitable[None]]) -> None:
    async def whole() -> None:
        host = stage.host()
        try:
            await scene(host)
        finally:
            await host.close()

    run(whole())


async def opened(host: Host) -> Conversation:
    return (await host.open(_OPTIONS, MemoryWorkspace())).conversation


class TestLoading:
    @pytest.mark.parametrize(
        ("source", "problem"),
        [
            ("def extend(kaa:", "SyntaxError"),
            ("\n1 / 0", r"failed to load (line 2): ZeroDivisionError"),
            ("def extend(kaa):\n    kaa.before_toll(None)", "failed to load (line 2): AttributeError"),
            ("raise SystemExit", "SystemExit"),
            (greeting("help"), "a command named 'help' is already registered"),
        ],
    )
    def test_that_fails_leaves_the_extension_out(self, stage: Stage, source: str, problem: str) -> None:
        path = install(stage, "broken.py", source)
        install(stage, "fine.py", greeting("hi"))

        async def scene(host: Host) -> None:
            assert "hi" in names(await opened(host))
            await opened(host)

        play(stage, scene)

        told = [notice for notice in stage.notices if str(path) in notice]
        assert len(told) == 1
        assert problem in told[0]
        assert "kaa continues without it: correct it and enter /reload" in told[0]

    def test_that_fails_is_tried_again_by_a_reload(self, stage: Stage) -> None:
        path = install(stage, "broken.py", "1 / 0")

        async def scene(host: Host) -> None:
            conversation = await opened(host)
            path.write_text(greeting("hi"))
            reply = await conversation.submit("/reload")
            assert isinstance(reply, CommandReply)
            assert f"extension {path} was loaded" in reply.text
            assert "hi" in names(conversation)

        play(stage, scene)

    @pytest.mark.parametrize("how", ["-e", "by name", "by path"])
    def test_that_fails_for_a_required_extension_is_an_error(self, stage: Stage, tmp_path: Path, how: str) -> None:
        if how == "-e":
            path = tmp_path / "broken.py"
            path.write_text("1 / 0")
            stage.host_options = HostOptions(extensions=(path,))
        else:
            path = install(stage, "broken.py", "1 / 0")
            required = ["broken" if how == "by name" else str(path)]
            (stage.home / "settings.json").write_text(json.dumps({"requiredExtensions": required}))

        async def scene(host: Host) -> None:
            for _ in range(2):
                with pytest.raises(ExtensionError, match=r"broken.*ZeroDivisionError"):
                    await opened(host)

        play(stage, scene)

    def test_that_hangs_holds_up_neither_kaa_nor_the_others(self, stage: Stage) -> None:
        hanging = install(stage, "a.py", _HANGING)
        install(stage, "b.py", greeting("hi"))

        async def scene(host: Host) -> None:
            opening = asyncio.ensure_future(opened(host))
            while not any("still being loaded" in notice for notice in stage.notices):
                await asyncio.sleep(0.01)  # the loop is free
            assert not opening.done()
            assert host.stop_loading()
            assert "hi" in names(await opening)

        play(stage, scene)

        assert hanging.with_suffix(".begun").exists()
        assert any(f"Extension {hanging} failed to load: you stopped it" in notice for notice in stage.notices)

    @pytest.mark.parametrize(("key", "end"), [("", "for at most 20 seconds"), ("Esc", "Esc stops it")])
    def test_that_hangs_is_announced_with_the_key_of_the_frontend(self, stage: Stage, key: str, end: str) -> None:
        install(stage, "a.py", _HANGING)
        stage.host_options = HostOptions(stop_key=key)

        async def scene(host: Host) -> None:
            opening = asyncio.ensure_future(opened(host))
            while not stage.notices:
                await asyncio.sleep(0.01)  # the loop is free
            assert host.stop_loading()
            await opening

        play(stage, scene)

        assert stage.notices[0].endswith(f"your first message waits for it, {end}")

    def test_that_hangs_does_not_keep_kaa_from_ending(self, stage: Stage) -> None:
        hanging = install(stage, "a.py", _HANGING)

        async def scene(host: Host) -> None:
            opening = asyncio.ensure_future(opened(host))
            while not hanging.with_suffix(".begun").exists():
                await asyncio.sleep(0.01)
            opening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await opening

        play(stage, scene)

    def test_that_was_given_up_registers_nothing_more(self, stage: Stage, tmp_path: Path) -> None:
        gate, end = tmp_path / "gate", tmp_path / "end"
        install(
            stage,
            "a.py",
            f"""
import time
from pathlib import Path

def extend(kaa):
    while not Path({str(gate)!r}).exists():
        time.sleep(0.01)
    try:
        kaa.add_prompt_section("late", lambda _: "late")
    except Exception as error:
        Path({str(end)!r}).with_suffix(".new").write_text(str(error))
        Path({str(end)!r}).with_suffix(".new").rename({str(end)!r})
""",
        )

        async def scene(host: Host) -> None:
            opening = asyncio.ensure_future(opened(host))
            while not host.stop_loading():
                await asyncio.sleep(0.01)
            await opening
            gate.touch()
            while not end.exists():
                await asyncio.sleep(0.01)

        play(stage, scene)

        assert "is unloaded and can register nothing more" in end.read_text()

    def test_follows_the_folder_when_it_is_reloaded(self, stage: Stage) -> None:
        removed = install(stage, "a.py", greeting("old"))

        async def scene(host: Host) -> None:
            conversation = await opened(host)
            removed.unlink()
            added = install(stage, "b.py", greeting("latest"))
            reply = await conversation.submit("/reload")
            assert isinstance(reply, CommandReply)
            assert f"extension {removed} was unloaded: its file was removed" in reply.text
            assert f"extension {added} was loaded" in reply.text
            assert {"latest"} == names(conversation) & {"old", "latest"}

        play(stage, scene)

    def test_leaves_out_what_is_disabled_in_the_records(self, stage: Stage) -> None:
        install(stage, "a.py", greeting("hi"))
        (stage.home / "extensions.json").write_text('{"extensions": {"a": {"enabled": false}}}')
        (stage.home / "extensions.json").chmod(0o600)

        async def scene(host: Host) -> None:
            assert "hi" not in names(await opened(host))

        play(stage, scene)

        assert not stage.notices


async def crash(conversation: Conversation, times: int) -> None:
    for _ in range(times):
        with pytest.raises(ExtensionError, match="ValueError: bug"):
            await conversation.submit("/crash")


class TestConflicts:
    """Two extensions with a command of the same name: the first one loaded has it."""

    def test_end_when_the_other_one_is_disabled(self, stage: Stage) -> None:
        first, second = install(stage, "a.py", greeting("hi")), install(stage, "b.py", greeting("hi"))

        async def scene(host: Host) -> None:
            conversation = await opened(host)
            assert author(conversation) == str(first)
            await conversation.submit("/extensions disable a")
            assert author(conversation) == str(second)
            refused = await conversation.submit("/extensions enable a")
            assert isinstance(refused, CommandReply)
            assert f"'hi' is already registered by {second}" in refused.text
            assert "or disable b" in refused.text
            await conversation.submit("/extensions disable b")
            await conversation.submit("/extensions enable a")
            assert author(conversation) == str(first)

        play(stage, scene)

    def test_end_when_the_other_one_is_removed_or_has_other_names(self, stage: Stage) -> None:
        first, second = install(stage, "a.py", greeting("hi")), install(stage, "b.py", greeting("hi"))

        async def scene(host: Host) -> None:
            conversation = await opened(host)
            first.write_text(greeting("hello"))
            await conversation.submit("/reload")
            assert author(conversation) == str(second)
            assert "hello" in names(conversation)

            third = install(stage, "c.py", greeting("hello"))
            await conversation.submit("/reload")
            first.unlink()
            await conversation.submit("/reload")
            assert author(conversation, "hello") == str(third)

        play(stage, scene)

    def test_are_told_once(self, stage: Stage) -> None:
        install(stage, "a.py", greeting("hi"))
        second = install(stage, "b.py", greeting("hi"))
        install(stage, "c.py", greeting("other"))

        async def scene(host: Host) -> None:
            conversation = await opened(host)
            await conversation.submit("/extensions disable c")
            await conversation.submit("/extensions enable c")

        play(stage, scene)

        assert len([notice for notice in stage.notices if str(second) in notice]) == 1


def author(conversation: Conversation, command: str = "hi") -> str:
    described = next(one.description for one in conversation.commands if one.name == command)
    return described.removeprefix("Say hello from ").removesuffix(".")


class TestFailures:
    def test_three_disable_an_extension(self, stage: Stage) -> None:
        path = install(stage, "mine.py", _CRASHING)

        async def scene(host: Host) -> None:
            conversation = await opened(host)
            await crash(conversation, 2)
            assert "crash" in names(conversation)
            await crash(conversation, 1)
            assert "crash" not in names(conversation)
            host.extensions.enable(named(path))
            await crash(conversation, 2)
            assert "crash" in names(conversation)

        play(stage, scene)

        (told,) = [notice for notice in stage.notices if "is disabled" in notice]
        assert f"extension {path} failed 3 times and is disabled until kaa ends" in told
        assert "/extensions enable mine" in told
        assert "hooks" not in told

    def test_do_not_turn_off_hooks_that_protect(self, stage: Stage) -> None:
        install(stage, "mine.py", _GUARDING)

        async def scene(host: Host) -> None:
            conversation = await opened(host)
            await crash(conversation, 3)
            assert "crash" not in names(conversation)
            stage.server.begin([call("read", path="notes.txt"), say("done")])
            assert isinstance(await conversation.submit("go"), AgentEnd)
            assert "not here" in str(stage.server.requests[-1].body)

        play(stage, scene)

        (told,) = [notice for notice in stage.notices if "is disabled" in notice]
        assert "Its hooks for messages, requests and tool calls stay" in told

    def test_a_new_version_is_counted_anew(self, stage: Stage) -> None:
        path = install(stage, "mine.py", _CRASHING)

        async def scene(host: Host) -> None:
            conversation = await opened(host)
            await crash(conversation, 3)
            path.write_text(_CRASHING + "\n")
            await conversation.submit("/reload")
            await crash(conversation, 2)
            assert "crash" in names(conversation)

        play(stage, scene)


_COSTLY = """
import msgspec

from kaa.ext.api import TypedTool, text_result

__version__ = "1.2"

class Nothing(msgspec.Struct): pass

async def look(arguments, context):
    return text_result("seen")

async def check(call, context):
    return None

def extend(kaa):
    kaa.register_tool(TypedTool("look", "Look around.", Nothing, look), risk="read")
    kaa.add_prompt_section("mine", lambda _: "Be kind to others." * 10)
    kaa.before_tool(check)
"""


class TestCommand:
    async def told(self, conversation: Conversation, text: str) -> str:
        reply = await conversation.submit(text)
        assert isinstance(reply, CommandReply), reply
        return reply.text

    def test_lists_what_extensions_add_and_cost(self, stage: Stage) -> None:
        path = install(stage, "mine.py", _COSTLY)
        install(stage, "broken.py", "1 / 0")

        async def scene(host: Host) -> None:
            conversation = await opened(host)
            stage.server.begin([call("look"), say("done")])
            await conversation.submit("go")
            text = await self.told(conversation, "/extensions")
            broken, mine = text.split("\nmine")
            assert broken.startswith("broken: not loaded, python, extensions folder\n")
            assert "ZeroDivisionError" in broken
            lines = f"mine{mine}".splitlines()
            assert lines[:3] == [
                "mine 1.2: loaded, python, API 1, extensions folder",
                f"  {path}",
                "  adds tool look, prompt section mine, before_tool hook",
            ]
            assert " to start, " in lines[3]
            assert " in 1 hook call (slowest: before_tool hook, " in lines[3]
            assert lines[3].endswith(" tokens in each request")

        play(stage, scene)

    def test_says_that_there_are_none(self, stage: Stage) -> None:
        async def scene(host: Host) -> None:
            assert await self.told(await opened(host), "/extensions") == "no extensions are installed"

        play(stage, scene)

    def test_switches_an_extension_for_this_run(self, stage: Stage) -> None:
        install(stage, "mine.py", _GUARDING)

        async def scene(host: Host) -> None:
            conversation = await opened(host)
            assert "is disabled until kaa ends" in await self.told(conversation, "/extensions disable mine")
            assert "crash" not in names(conversation)
            assert "mine: disabled" in await self.told(conversation, "/extensions")
            stage.server.begin([call("read", path="notes.txt"), say("done")])
            await conversation.submit("go")
            assert "not here" not in str(stage.server.requests[-1].body)
            assert "crash" not in names(await opened(host))

            assert "is enabled until kaa ends" in await self.told(conversation, "/extensions enable mine")
            assert "crash" in names(conversation)

        play(stage, scene)

    def test_tries_an_extension_again_that_could_not_be_loaded(self, stage: Stage) -> None:
        path = install(stage, "mine.py", "1 / 0")

        async def scene(host: Host) -> None:
            conversation = await opened(host)
            assert "ZeroDivisionError" in await self.told(conversation, "/extensions enable mine")
            path.write_text(greeting("hi"))
            await self.told(conversation, "/extensions enable mine")
            assert "hi" in names(conversation)

        play(stage, scene)

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("/extensions enable other", "no extension named 'other': your extensions are mine"),
            ("/extensions reload", "use /extensions, /extensions enable NAME"),
        ],
    )
    def test_refuses_what_it_cannot_do(self, stage: Stage, text: str, problem: str) -> None:
        install(stage, "mine.py", greeting("hi"))

        async def scene(host: Host) -> None:
            assert problem in await self.told(await opened(host), text)

        play(stage, scene)

    def test_completes_the_names(self, stage: Stage) -> None:
        install(stage, "mine.py", greeting("hi"))

        async def scene(host: Host) -> None:
            found = await (await opened(host)).complete_command("extensions", "dis")
            assert [one.text for one in found] == ["disable mine"]

        play(stage, scene)


_SERVICE = """
import asyncio
from pathlib import Path

class Noted(list): pass

def extend(kaa):
    @kaa.service
    async def first(context):
        noted = context.state(Noted, Noted)
        noted.append("first begins")
        try:
            await asyncio.Event().wait()
        finally:
            noted.append("first ends")
            Path(__file__).with_name("noted.txt").write_text(", ".join(noted))

    @kaa.service
    async def second(context):
        noted = context.state(Noted, Noted)
        noted.append("second begins")
        try:
            await asyncio.Event().wait()
        finally:
            noted.append("second ends")
"""

_FAILING_SERVICE = """
from pathlib import Path

def extend(kaa):
    @kaa.service
    async def watch(context):
        with Path(__file__).with_name("noted.txt").open("a") as file:
            file.write("began ")
        raise ValueError("bug")

    async def hi(arguments, context):
        kaa.add_prompt_section("more", lambda _: "more")
    kaa.register_command("hi", "Say hello.", hi)
"""


class TestServices:
    async def begun(self, host: Host) -> Conversation:
        hosted = await host.open(_OPTIONS, MemoryWorkspace())
        await hosted.begin()
        await asyncio.sleep(0)  # they are tasks
        return hosted.conversation

    def test_run_with_their_conversation_and_end_in_reverse_order(self, stage: Stage) -> None:
        path = install(stage, "mine.py", _SERVICE)

        async def scene(host: Host) -> None:
            await self.begun(host)

        play(stage, scene)

        noted = path.with_name("noted.txt").read_text()
        assert noted == "first begins, second begins, second ends, first ends"

    def test_end_when_their_extension_is_disabled(self, stage: Stage) -> None:
        path = install(stage, "mine.py", _SERVICE)

        async def scene(host: Host) -> None:
            conversation = await self.begun(host)
            await conversation.submit("/extensions disable mine")
            while not path.with_name("noted.txt").exists():
                await asyncio.sleep(0)

        play(stage, scene)

    def test_that_fail_are_reported_and_not_started_again(self, stage: Stage) -> None:
        path = install(stage, "mine.py", _FAILING_SERVICE)

        async def scene(host: Host) -> None:
            conversation = await self.begun(host)
            while not stage.notices:
                await asyncio.sleep(0)
            await conversation.submit("/hi")  # registrations changed
            await asyncio.sleep(0)

        play(stage, scene)

        (told,) = stage.notices
        assert f"Extension {path}: service watch failed: ValueError: bug" in told
        assert "kaa does not start it again" in told
        assert path.with_name("noted.txt").read_text() == "began "


_TOOL = """
import msgspec

from kaa.ext.api import TypedTool, text_result

class Nothing(msgspec.Struct): pass

async def look(arguments, context):
    return text_result("seen")

def extend(kaa):
    for name in NAMES:
        kaa.register_tool(TypedTool(name, "Look.", Nothing, look), risk="read")
"""

_REWRITING = """
from pathlib import Path

def extend(kaa):
    own = Path(__file__)
    own.write_text(own.read_text() + "#")
"""


class TestChanges:
    def test_are_in_force_with_the_next_message_and_new_tools_come_last(self, stage: Stage) -> None:
        path = install(stage, "mine.py", _TOOL.replace("NAMES", "['one', 'two']"))
        install(stage, "other.py", _TOOL.replace("NAMES", "['three']"))

        async def scene(host: Host) -> None:
            conversation = await opened(host)
            before = conversation.active_tools
            assert before[-3:] == ("one", "two", "three")
            path.write_text(_TOOL.replace("NAMES", "['zero', 'one', 'two', 'four']"))
            stage.server.begin([say("done"), say("done")])
            await conversation.submit("go")
            assert conversation.active_tools == (*before, "zero", "four")
            path.write_text("def extend(kaa:")
            await conversation.submit("go")
            assert conversation.active_tools == (*before, "zero", "four")

        play(stage, scene)

        assert stage.notices[0] == f"extension {path} was loaded again"
        assert "Its previous version stays loaded" in stage.notices[1]

    def test_must_pass_the_checks_of_the_extension(self, stage: Stage) -> None:
        source = """
def extend(kaa):
    @kaa.command
    async def greet(arguments, context):
        "Greet."
        return "ANSWER"

    @kaa.before_replacing
    async def check():
        CHECK
"""
        path = install(stage, "mine.py", source.replace("CHECK", "raise ValueError('not at the first start')"))
        answers: list[object] = []

        async def scene(host: Host) -> None:
            conversation = await opened(host)
            for check in ("raise ValueError('no server')", "pass"):
                path.write_text(source.replace("ANSWER", check).replace("CHECK", check))
                answers.append(await conversation.submit("/greet"))

        play(stage, scene)

        assert answers == [CommandReply("ANSWER"), CommandReply("pass")]
        assert "ValueError: no server. Its previous version stays loaded" in stage.notices[0]

    def test_that_fail_are_tried_again_by_reload(self, stage: Stage) -> None:
        path = install(stage, "mine.py", "def extend(kaa): pass\n")
        lines: list[str] = []

        async def scene(host: Host) -> None:
            conversation = await opened(host)
            path.write_text("import missing_module\ndef extend(kaa): pass\n")
            for command in ("/reload", "/extensions", "/reload"):
                reply = await conversation.submit(command)
                assert isinstance(reply, CommandReply)
                lines.append(reply.text)
            path.write_text("def extend(kaa): pass\n")
            await conversation.submit("/reload")
            reply = await conversation.submit("/extensions")
            assert isinstance(reply, CommandReply)
            lines.append(reply.text)

        play(stage, scene)

        assert ["No module named 'missing_module'" in text for text in lines] == [True, True, True, False]
        assert stage.notices == []

    def test_are_in_force_with_the_next_slash_command(self, stage: Stage) -> None:
        source = """
def extend(kaa):
    @kaa.command
    async def greet(arguments, context):
        "Greet."
        return "ANSWER"
"""
        path = install(stage, "mine.py", source)

        async def scene(host: Host) -> None:
            conversation = await opened(host)
            path.write_text(source.replace("ANSWER", "hello") + "\n    kaa.command(name='wave')(greet)\n")
            assert await conversation.submit("/greet") == CommandReply("hello")
            assert await conversation.submit("/wave") == CommandReply("hello")

        play(stage, scene)

    def test_by_an_extension_that_rewrites_itself_are_bounded(self, stage: Stage) -> None:
        path = install(stage, "mine.py", _REWRITING)

        async def scene(host: Host) -> None:
            conversation = await opened(host)
            stage.server.begin([say("done")] * 8)
            for _ in range(8):
                await conversation.submit("go")

        play(stage, scene)

        assert stage.notices.count(f"extension {path} was loaded again") == 5
        assert len(stage.notices) == 6
        assert (
            "changed each of the last 5 times when it was loaded: it is loaded again by /reload only"
            in stage.notices[-1]
        )
