"""Components through the API: what they register, what their calls do, and what happens if they misbehave."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.core.hooks import Block, ReplaceArguments
from kaa.core.messages import Json, TextContent, ToolCall, user_message
from kaa.core.tool import ToolError, ToolResult, ToolRun, text_result
from kaa.ext.api import PromptContext, Reply, Submit, events
from kaa.ext.commands import CommandAction
from kaa.ext.errors import CommandError, ExtensionError, MessageBlockedError
from kaa.ext.permissions import Applicant, Permissions
from kaa.ext.places import ExtensionId
from kaa.ext.wasm.extension import component_extension
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.protocol import CommandRequest, CommandResult
from tests.support import components
from tests.support.agents import run
from tests.support.components import Host, conversation_component, rab_component, tools_component
from tests.support.extension_ids import named
from tests.support.patience import HANG_SECONDS
from tests.support.registries import LoadedRegistry

_FOLDER = """component = "it.wasm"
"""


_PROMPT = PromptContext("/project", "2026-01-01", (), None, (), (), "full")


def _all_that_it_asks_for(extension: Applicant) -> Permissions | None:
    return extension.requested


class _Run:
    call_id = "call-1"
    permit = None

    def update(self, delta: str, skipped_bytes: int = 0) -> None: ...


class _Loaded:
    """A component in a registry."""

    def __init__(
        self, folder: Path, component: bytes, description: str | None = None, files: Mapping[str, bytes] | None = None
    ) -> None:
        self.reports: list[str] = []
        self.workspace = MemoryWorkspace(files)
        self.registry = LoadedRegistry(self.reports.append, self.workspace)
        self.cache = folder / "cache"
        if description is None:
            self.path = folder / "it.wasm"
            self.path.write_bytes(component)
        else:
            self.path = folder / "it"
            self.path.mkdir(exist_ok=True)
            (self.path / "it.wasm").write_bytes(component)
            (self.path / "extension.toml").write_text(_FOLDER + description)

    async def begin(self) -> "_Loaded":
        extend = await asyncio.to_thread(component_extension, named(self.path), self.cache, _all_that_it_asks_for)
        self.registry.load(str(self.path), extend)
        return self

    async def call(self, arguments: dict[str, Json] | None = None, name: str = "say") -> str:
        tool = self.registry.bound(name)
        assert tool is not None, self.reports
        running: ToolRun = _Run()
        result = await tool.run(arguments or {}, running)
        (content,) = result.content
        assert isinstance(content, TextContent)
        return content.text

    async def command(self, name: str, arguments: str) -> CommandAction | str | None:
        context = self.registry.context
        return await self.registry.commands[name].handler(arguments, context)  # type: ignore[arg-type] # has what handlers of components use


async def _calls(folder: Path, component: bytes, description: str | None = None) -> str:
    """What a call of the tool returns."""
    return await (await _Loaded(folder, component, description).begin()).call({"text": "hello"})


def _fails(folder: Path, component: bytes, description: str | None = None) -> str:
    """How a call of the tool fails."""

    async def fails() -> str:
        loaded = await _Loaded(folder, component, description).begin()
        with pytest.raises(ToolError) as caught:
            await loaded.call({"text": "hello"})
        return str(caught.value)

    return run(fails())


def _problem(folder: Path, component: bytes, description: str | None = None) -> str:
    """Why a component cannot be used."""
    loaded = _Loaded(folder, component, description)
    with pytest.raises(ExtensionError) as caught:
        run(loaded.begin())
    assert loaded.registry.tools == ()
    assert loaded.registry.commands == {}
    assert str(loaded.path) in str(caught.value)
    return str(caught.value)


def test_a_tool_of_a_component_gets_the_arguments_and_returns_a_text(tmp_path: Path) -> None:
    assert json.loads(run(_calls(tmp_path, tools_component()))) == {"text": "hello"}


def test_a_component_of_rabs_world_has_tools_and_commands(tmp_path: Path) -> None:
    async def use() -> None:
        loaded = await _Loaded(tmp_path, rab_component()).begin()

        assert json.loads(await loaded.call({"text": "hello"})) == {"text": "hello"}
        assert await loaded.command("shout", "loud") == Reply('{"arguments":"loud"}')

    run(use())


def test_commands_hooks_and_a_prompt_section(tmp_path: Path) -> None:
    async def use() -> None:
        component = conversation_component(
            action=(2, "Do it"), before=(2, '{"path":"b"}'), after="changed", message=(2, "other words")
        )
        loaded = await _Loaded(tmp_path, component, '[permissions]\nsession = "write"').begin()
        registry = loaded.registry
        (before,), (after,) = registry.run.before, registry.run.after
        call = ToolCall("1", "read", {"path": "a"})

        assert loaded.reports == []
        assert await loaded.command("act", "now") == Submit("Do it")
        assert registry.commands["act"].argument_hint == "[HOW]"
        assert await before(call) == ReplaceArguments({"path": "b"}, "it")
        assert await after(call, text_result("old", details={"kept": 1})) == ToolResult(
            (TextContent("changed"),), {"kept": 1}
        )
        assert (await registry.run.user_message(user_message("my words"))).text == "other words"
        assert [text for _, text in registry.prompt_sections(_PROMPT)] == ["Be brief."]

    run(use())


def test_hooks_block_with_their_reason(tmp_path: Path) -> None:
    async def use() -> None:
        component = conversation_component(before=(1, "not this tool"), message=(1, "not this message"))
        registry = (await _Loaded(tmp_path, component, '[permissions]\nsession = "write"').begin()).registry
        (before,) = registry.run.before

        blocked = await before(ToolCall("1", "read", {}))
        assert isinstance(blocked, Block)
        assert "not this tool" in blocked.reason
        with pytest.raises(MessageBlockedError, match="not this message"):
            await registry.run.user_message(user_message("my words"))

    run(use())


def test_a_component_gets_the_events_that_it_wants(tmp_path: Path) -> None:
    async def use() -> None:
        component = conversation_component(events=["agent_start"], event_body="unreachable")
        loaded = await _Loaded(tmp_path, component, '[permissions]\nsession = "write"').begin()

        loaded.registry.notify(events.TurnStart(turn=1))
        loaded.registry.notify(events.AgentStart())
        while not loaded.reports:
            await asyncio.sleep(0.01)
            loaded.registry.notify(events.TurnStart(turn=2))  # the next event reports the failure at the one before

        (report,) = loaded.reports
        assert "on-event failed: wasm `unreachable` instruction executed" in report
        assert "kaa does not call it again" in report

    run(use())


def test_hooks_need_the_permission_to_change_the_session(tmp_path: Path) -> None:
    problem = _problem(tmp_path, conversation_component(), '[permissions]\nsession = "read"')

    assert 'needs the permission session = "write": add it to [permissions] of extension.toml' in problem


@pytest.mark.parametrize(
    ("body", "description", "expected"),
    [
        (components.FAIL, "", '{"text":"hello"}'),
        (components.TRAP, "", "execute-tool failed: wasm `unreachable` instruction executed"),
        (components.DEEP, "", "call stack exhausted"),
        (components.OUTSIDE_OF_MEMORY, "", "execute-tool failed: "),
        (components.NOT_UTF8, "", "execute-tool failed: "),
        (components.HUGE, "", "the result has 33,554,432 characters: return at most 1,048,576"),
        (components.GROW, "[limits]\nmemory = 16", "wasm `unreachable` instruction executed"),
        (
            components.LOOP,
            "[limits]\nfuel = 1000000",
            "used up its 1,000,000 units of fuel: do less in a call, or raise",
        ),
        (
            components.LOOP,
            "[limits]\nseconds = 2",
            "took over 2 seconds: do less in a call, or raise limits.seconds",
        ),
    ],
)
def test_a_call_that_fails_is_an_error_of_the_tool_that_names_the_extension(
    tmp_path: Path, body: str, description: str, expected: str
) -> None:
    problem = _fails(tmp_path, tools_component(body), description)

    assert expected in problem
    assert body == components.FAIL or "say of the extension it failed: " in problem


def test_a_failed_call_leaves_the_extension_working(tmp_path: Path) -> None:
    async def use() -> None:
        loaded = await _Loaded(tmp_path, rab_component(components.TRAP), None).begin()
        for _ in range(3):
            with pytest.raises(ToolError):
                await loaded.call()
        with pytest.raises(CommandError, match="/shout failed: execute-tool failed"):
            await loaded.command("shout", "")

    run(use())


def test_each_call_has_a_fresh_instance(tmp_path: Path) -> None:
    async def use() -> None:
        loaded = await _Loaded(tmp_path, tools_component(components.COUNTING)).begin()

        assert [await loaded.call() for _ in range(3)] == ["1", "1", "1"]
        assert await asyncio.gather(*(loaded.call() for _ in range(8))) == ["1"] * 8

    run(use())


async def _looping(folder: Path) -> "tuple[_Loaded, asyncio.Task[str]]":
    """A call whose code got an answer of kaa and now runs without an end."""
    begun = asyncio.Event()

    def answer(_: CommandRequest) -> CommandResult:
        begun.set()
        return CommandResult(0, None, b"\nbody", 5, 1)

    component = tools_component(asks=Host("http", "get", "url", then=components.LOOP))
    loaded = _Loaded(folder, component, f'[permissions]\nhosts = ["a.example"]\n{_ENDLESS}')
    loaded.registry = LoadedRegistry(loaded.reports.append, MemoryWorkspace(commands=answer))
    await loaded.begin()
    others = asyncio.all_tasks()
    call = asyncio.create_task(loaded.call({"u": 1}))
    await begun.wait()
    while len(asyncio.all_tasks() - others) > _TASKS_OF_A_CALL:  # the function of kaa still runs
        await asyncio.sleep(0)
    await asyncio.sleep(0)  # in this round of the loop its thread gets the answer
    return loaded, call


# `seconds` is the highest limit; the fuel lasts longer than HANG_SECONDS, and ends.
_ENDLESS = "[limits]\nfuel = 1_000_000_000_000\nseconds = 600"
_TASKS_OF_A_CALL = 2  # the call, and the wait for its thread; a function of kaa is a third one


def test_cancelling_a_call_ends_its_code(tmp_path: Path) -> None:
    async def use() -> None:
        _, call = await _looping(tmp_path)

        call.cancel()

        assert await asyncio.wait([call], timeout=HANG_SECONDS) == ({call}, set())  # its thread has ended
        assert call.cancelled()

    run(use())


def test_unloading_ends_the_calls(tmp_path: Path) -> None:
    async def use() -> None:
        loaded, call = await _looping(tmp_path)

        loaded.registry.extensions.unload(named(str(loaded.path)))

        assert await asyncio.wait([call], timeout=HANG_SECONDS) == ({call}, set())
        with pytest.raises(ToolError, match=r"interrupt|it was stopped"):  # in its code, or in a call of kaa
            await call
        assert loaded.registry.tools == ()

    run(use())


@pytest.mark.parametrize("what", ["environment", "directories"])
def test_a_component_has_no_variables_and_no_directories(tmp_path: Path, what: str) -> None:
    assert run(_calls(tmp_path, tools_component(asks=components.Wasi(what)))) == "0"


def test_a_component_cannot_sleep(tmp_path: Path) -> None:
    problem = _fails(tmp_path, tools_component(asks=components.Sleep()))

    assert "it tried to sleep or to wait for a time, which an extension cannot do" in problem


_READS = Host("files", "read", "path")


def _reading(folder: Path, files: Mapping[str, bytes], path: str) -> str:
    """What `files.read` returns for a path; the path is the JSON of the arguments, so files are named by it."""

    async def read() -> str:
        loaded = _Loaded(folder, tools_component(asks=_READS), '[permissions]\nproject = "read"', files)
        return await (await loaded.begin()).call({path: 1})

    return run(read())


def test_a_component_reads_files_of_the_project(tmp_path: Path) -> None:
    assert _reading(tmp_path, {'{"a":1}': b"content"}, "a") == "content"


@pytest.mark.parametrize(
    ("files", "path", "expected"),
    [
        ({}, "a", "No such file"),
        ({'{"a":1}': b"\xff"}, "a", "is not UTF-8 text"),
        ({"/secret": b"x"}, "/../../../../secret", "is outside the project"),
    ],
)
def test_what_cannot_be_read_is_an_error_for_the_component(
    tmp_path: Path, files: dict[str, bytes], path: str, expected: str
) -> None:
    with pytest.raises(ToolError, match=expected):
        _reading(tmp_path, files, path)


@pytest.mark.parametrize(
    ("output", "expected"),
    [(b"\nthe body", "the body"), (b"a.example is not among the hosts\n", "was not fetched: a.example is not among")],
)
def test_requests_are_commands_of_the_sandbox(tmp_path: Path, output: bytes, expected: str) -> None:
    seen: list[Sequence[str]] = []

    def answer(command: CommandRequest) -> CommandResult:
        seen.append(command.argv)
        return CommandResult(0, None, output, len(output), 1)

    async def get() -> str:
        hosts = '[permissions]\nhosts = ["b.example", "*.c.example"]'
        loaded = _Loaded(tmp_path, tools_component(asks=Host("http", "get", "url")), hosts)
        loaded.registry = LoadedRegistry(loaded.reports.append, MemoryWorkspace(commands=answer))
        try:
            return await (await loaded.begin()).call({"u": 1})
        except ToolError as error:
            return str(error)

    assert expected in run(get())
    (argv,) = seen
    assert argv[-3:] == ('{"u":1}', "b.example", "*.c.example")


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        (_READS, 'permission project = "read" is missing: ask for it in [permissions] of extension.toml'),
        (Host("http", "get", "url"), "permission hosts is missing"),
        (Host("models", "ask", "prompt"), "permission models is missing"),
    ],
)
def test_without_permissions_host_functions_refuse(tmp_path: Path, host: Host, expected: str) -> None:
    assert expected in _fails(tmp_path, tools_component(asks=host))


@pytest.mark.parametrize(
    ("permissions", "risk"),
    [
        ("", "read"),
        ('project = "read"', "read"),
        ('hosts = ["a.example"]', "granted"),
        ('project = "write"', "granted"),
    ],
)
def test_the_risk_of_tools_follows_from_the_permissions(tmp_path: Path, permissions: str, risk: str) -> None:
    async def use() -> None:
        loaded = await _Loaded(tmp_path, tools_component(), f"[permissions]\n{permissions}").begin()

        assert loaded.registry.risk_of("say") == risk

    run(use())


def test_extension_toml_titles_the_calls_of_tools(tmp_path: Path) -> None:
    async def use() -> None:
        loaded = await _Loaded(tmp_path, tools_component(), '[titles]\nsay = "says something"').begin()

        (tool,) = [tool for tool in loaded.registry.tools if tool.name == "say"]
        assert tool.title == "says something"

    run(use())


@pytest.mark.parametrize(
    ("component", "expected"),
    [
        (components.NO_WORLD, "it exports f: export an interface of kaa:extension"),
        (tools_component()[:200], "it is not a valid component: "),
        (tools_component(version="0.2.0"), "it exports kaa:extension 0.2.0, this kaa has 0.1"),
        (tools_component(parameter="json"), "expected func(name: string, call-id: string, arguments-json: string)"),
        (tools_component(self_test="no luck"), "its self-test failed: no luck"),
        (rab_component(self_test="no luck"), "its self-test failed: no luck"),
        (tools_component(tools=[("a", "", "{", "")]), "the schema of tool 'a' is not a JSON object"),
        (tools_component(tools=[("a", "", "[1]", "")]), "the schema of tool 'a' is not a JSON object"),
        (tools_component(tools=[("a", "", '{"type":"string"}', "")]), "the schema of tool 'a' is not of type object"),
        (tools_component(tools=[("a b", "", components.SCHEMA, "")]), "invalid tool name 'a b'"),
        (tools_component(tools=[("a", "", components.SCHEMA, "")] * 2), "it offers 'a' twice: use different names"),
        (tools_component(tools=[("a", "", components.SCHEMA, "")] * 201), "returned 201 items: return at most 200"),
        (rab_component(commands=[("a b", "")]), "invalid command name 'a b'"),
        (
            tools_component(asks=Host("secrets", "read", "name")),
            "it imports read of kaa:extension/secrets@0.1.0, which this kaa does not offer",
        ),
        (
            tools_component(asks=Host("files", "read", "file")),
            "as func(file: string) -> result<string, string>: expected func(path: string) -> result<string, string>",
        ),
        (tools_component(asks=Host("settings", "get", "name")), "expected func(name: string) -> option<string>"),
    ],
)
def test_what_is_no_usable_component_is_named_with_the_reason(tmp_path: Path, component: bytes, expected: str) -> None:
    assert expected in _problem(tmp_path, component)


def test_a_name_of_another_extension_is_refused(tmp_path: Path) -> None:
    async def use() -> None:
        first, second = tmp_path / "first", tmp_path / "second"
        first.mkdir()
        second.mkdir()
        one, two = await _Loaded(first, tools_component()).begin(), _Loaded(second, tools_component())
        two.registry = one.registry

        with pytest.raises(ExtensionError, match=f"a tool named 'say' is already registered by {one.path}"):
            await two.begin()

    run(use())


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (components.CORE_MODULE, "is a core module, not a component: build it for wasm32-wasip2"),
        (b"hello world", "is not a WebAssembly component: it begins with 68 65 6c 6c 6f 20 77 6f. Build it again"),
        (b"", "it begins with nothing"),
    ],
)
def test_other_files_are_refused_at_once(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "it.wasm"
    path.write_bytes(content)

    with pytest.raises(ExtensionError) as caught:
        component_extension(named(path), tmp_path, _all_that_it_asks_for)

    assert expected in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("component = ", "extension.toml is invalid: Invalid value"),
        ("", "extension.toml is invalid: Object missing required field `component`"),
        ('component = "it.wasm"\n[permissions]\ntools = ["read"]', "components cannot run tools of kaa"),
        ('component = "../it.wasm"', "name a .wasm file in the same folder"),
        ('component = "it.txt"', "component is 'it.txt': name a .wasm file in the same folder"),
        ('component = "no.wasm"', "cannot read no.wasm: No such file"),
        ('component = "it.wasm"\nname = "x"', "unknown field `name`"),
        ('component = "it.wasm"\nrights = 1', "unknown field `rights`"),
        (
            'component = "it.wasm"\n[permissions]\nproject = "all"',
            "Invalid enum value 'all' - at `$.permissions.project`",
        ),
        ('component = "it.wasm"\n[settings.a-b]\ndefault = 1', "invalid setting 'a-b'"),
        ('component = "it.wasm"\n[limits]\nfuel = 0', "`int` >= 1 - at `$.limits.fuel`"),
    ],
)
def test_an_invalid_description_is_named_with_the_reason(tmp_path: Path, description: str, expected: str) -> None:
    (tmp_path / "extension.toml").write_text(description)
    (tmp_path / "it.wasm").write_bytes(tools_component())

    with pytest.raises(ExtensionError) as caught:
        component_extension(named(tmp_path), tmp_path, _all_that_it_asks_for)

    assert expected in str(caught.value)


def test_without_the_consent_of_the_user_a_component_does_not_run(tmp_path: Path) -> None:
    (tmp_path / "extension.toml").write_text(_FOLDER + '[permissions]\nproject = "read"')
    (tmp_path / "it.wasm").write_bytes(tools_component())

    with pytest.raises(ExtensionError) as caught:
        component_extension(ExtensionId.at(tmp_path), tmp_path, lambda _: None)

    assert "you have not permitted what it asks for (read the files of the project" in str(caught.value)
    assert f"`kaa ext permit {tmp_path}` permits it" in str(caught.value)


def test_without_wasmtime_the_message_says_how_to_install_it(tmp_path: Path) -> None:
    path = tmp_path / "it.wasm"
    path.write_bytes(tools_component())
    program = """
import sys
from pathlib import Path
from kaa.ext.errors import ExtensionError
from kaa.ext.places import ExtensionId
from kaa.ext.wasm.extension import component_extension

assert "wasmtime" not in sys.modules
sys.modules["wasmtime"] = None
try:
    component_extension(ExtensionId.at(Path(sys.argv[1])), Path("cache"), lambda one: None)
except ExtensionError as error:
    print(error)
"""

    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)

    assert done.stdout == (
        f"Extension {path} is a WebAssembly component, and wasmtime is not installed: run pip install 'kaa[wasm]'\n"
    )


_TEXTS = st.text(st.characters(codec=None))
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _TEXTS, lambda one: st.lists(one, max_size=4)
)


def _mended(value: Json) -> Json:
    """What a component gets: lone surrogates cannot be represented."""
    return json.loads(
        json.dumps(value, ensure_ascii=False).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    )


def test_arguments_of_all_kinds_reach_the_component(tmp_path: Path) -> None:
    @given(st.dictionaries(_TEXTS, _JSON, max_size=4))
    def arrive(arguments: dict[str, Json]) -> None:
        assert json.loads(loop.run_until_complete(loaded.call(arguments))) == _mended(arguments)

    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        loaded = _Loaded(tmp_path, tools_component())
        runner.run(loaded.begin())
        arrive()
