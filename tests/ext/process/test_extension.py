"""Extension processes: real processes that speak the protocol, well and badly, and what kaa makes of it."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec
import pytest

from kaa.core.errors import MalformedStreamError, NetworkError, ProviderError
from kaa.core.events import AgentEnd, MessageEnd, ToolExecutionStart
from kaa.core.hooks import Block, ReplaceArguments, ReplaceMessages
from kaa.core.messages import AssistantMessage, ImageContent, TextContent, ToolCall, Usage, UserMessage, user_message
from kaa.core.provider import (
    ArgumentsChunk,
    CallChunkStart,
    ReplyInfo,
    Request,
    StreamDone,
    StreamEvent,
    TextChunk,
    ThinkingChunk,
)
from kaa.core.tool import ToolError, text_result
from kaa.ext.api import CommandContext, CompactionRequest, ExtensionAPI, Reply
from kaa.ext.display import EditorText, NoticeShown, StatusSection
from kaa.ext.errors import CommandError, ExtensionError
from kaa.ext.hooks import SessionEnd
from kaa.ext.process.extension import process_extension
from kaa.ext.process.process_run import Timing
from kaa.ext.providers import ProviderAccess
from kaa.ext.scope import Scope
from tests.support.agents import MODEL
from tests.support.extension_ids import named
from tests.support.process_host import UnconfinedHost, write_extension
from tests.support.process_stage import START, Stage, play
from tests.support.toolbox import text_of

_CONVERSATION = "permissions: {session: write}"


def test_tools_commands_and_prompt_sections(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin("""
            peer = Peer()
            peer.serve(
                [
                    tool("greet", promptHint="Greet\\npeople", title="to {name}", parameters={
                        "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}),
                    tool("rare", deferred=True),
                    ("register/command", {"name": "wave", "description": "Waves", "immediate": True}),
                    ("register/promptSection", {"title": "Second", "content": "two", "order": 2}),
                    ("register/promptSection", {"title": "First", "content": "one", "order": 1}),
                ],
                {
                    "tool/execute": lambda params: text(
                        f"{params['name']} {params['callId']} {params['args']} {params['conversation']['cwd']}"),
                    "command/execute": lambda params: peer.notify("showMessage", text=f"waves at {params['args']}"),
                },
            )
        """)

        greet = stage.registry.tool("greet")
        assert greet is not None
        assert (greet.snippet, greet.title) == ("Greet people", "to {name}")
        assert greet.tool.schema.parameters["required"] == ["name"]
        assert [one.name for one in stage.registry.select_tools()] == ["greet"]
        root = stage.registry.context.workspace.root
        assert text_of(await stage.call("greet", name="Ann")) == f"greet call-1 {{'name': 'Ann'}} {root}"
        assert stage.registry.commands["wave"].while_running
        assert await stage.command("wave", "Bob") == Reply("waves at Bob")
        assert stage.prompt() == ["# First\n\none\n\n# Second\n\ntwo"]
        assert stage.host.reports == []

    play(tmp_path, scene)


def test_the_handshake_has_version_directory_and_settings(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin("""
            peer = Peer()
            peer.serve([], {"initialize": lambda params: peer.notify("notify", message=" ".join(params.values()))})
        """)

        assert stage.host.reports == [f"info: 4 {tmp_path} {tmp_path}/probe-data"]

    play(tmp_path, scene)


def test_content_as_go_encodes_it_images_and_errors(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin("""
            answers = {
                "go": {"content": [{"Type": "text", "Text": "upper", "Data": "", "Mime": ""}], "isError": False},
                "image": {"content": [{"type": "image", "data": "aGk=", "mime": "image/png"}]},
                "coded": {"content": [{"type": "text", "text": "gone"}], "isError": True,
                          "errorCode": "FILE_NOT_FOUND", "errorHint": "look"},
                "nothing": {"content": None},
                "svg": {"content": [{"type": "image", "data": "aGk=", "mime": "image/svg+xml"}]},
                "torn": {"content": [{"type": "image", "data": "a", "mime": "image/png"}]},
                "shapeless": "hello",
            }
            Peer().serve([tool(name) for name in answers], {"tool/execute": lambda params: answers[params["name"]]})
        """)

        assert (await stage.call("go")).content == (TextContent("upper"),)
        assert (await stage.call("image")).content == (ImageContent("aGk=", "image/png"),)
        coded = await stage.call("coded")
        assert coded.is_error
        assert text_of(coded) == "[error:FILE_NOT_FOUND] gone\nhint: look"
        assert text_of(await stage.call("nothing")) == "(no output)"
        for name, problem in (("svg", "image/svg"), ("torn", "not base64"), ("shapeless", "expected an object")):
            with pytest.raises(ToolError, match=problem):
                await stage.call(name)

    play(tmp_path, scene)


def test_an_error_of_a_tool_or_a_command_is_told(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin("""
            def fail(params):
                raise FailureError("no such city")
            Peer().serve([tool("weather"), ("register/command", {"name": "fail"})],
                         {"tool/execute": fail, "command/execute": fail})
        """)

        with pytest.raises(ToolError, match="weather failed: no such city"):
            await stage.call("weather")
        with pytest.raises(CommandError, match="/fail failed: no such city"):
            await stage.command("fail")

    play(tmp_path, scene)


def test_invalid_registrations_are_refused_and_the_rest_works(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin("""
            Peer().serve([
                tool("good"), tool("good"), tool("bad name"), tool(""),
                tool("schema", parameters={"type": "string"}),
                tool("required", parameters={"type": "object", "required": ["a"]}),
                tool("deep", parameters={"type": "object", "properties": {"a": 1}}),
                ("register/command", {"name": "a b"}),
                ("register/command", {}),
                ("register/provider", {"api": "openai"}),
                ("register/provider", {"api": "a b", "models": [{"id": "m"}]}),
                ("register/theme", {"name": "x"}),
                ("register/promptSection", {"title": "x"}),
            ], {"tool/execute": lambda params: text("fine")})
        """)

        assert [one.name for one in stage.registry.tools] == ["good"]
        assert text_of(await stage.call("good")) == "fine"
        problems = "\n".join(stage.host.reports)
        assert all(one.startswith("Extension probe: ") for one in stage.host.reports)
        for problem in (
            "register/tool: 'good' is already registered by this extension",
            "invalid tool name 'bad name'",
            "`parameters.type` is 'string': it must be \"object\"",
            "`parameters.required` must be a list of names in `parameters.properties`",
            "`parameters.properties` must be an object of schemas",
            "invalid command name 'a b'",
            "register/command is invalid: object missing required field `name`",
            "register/provider needs the permission `session: write` in the manifest",
            "register/theme: kaa does not know this kind of registration",
            "register/promptSection is invalid: object missing required field `content`",
        ):
            assert problem in problems
        assert len(stage.host.reports) == 12

    play(tmp_path, scene)


def test_a_tool_of_another_extension_keeps_its_name(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        stage.registry.load("first", lambda kaa: None)
        other = Stage(stage.folder.parent / "other")
        other.registry = stage.registry
        await other.begin('Peer().serve([tool("greet")], {"tool/execute": lambda params: text("first")})')
        await stage.begin(
            'Peer().serve([tool("greet"), tool("more")], {"tool/execute": lambda params: text("second")})'
        )

        assert text_of(await stage.call("greet")) == "first"
        assert text_of(await stage.call("more")) == "second"
        assert "a tool named 'greet' is already registered by" in stage.host.reports[0]
        stage.registry.extensions.close()
        await other.host.close()

    play(tmp_path, scene)


def test_a_command_whose_name_is_taken_has_the_name_of_its_extension_before_it(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        def other(kaa: ExtensionAPI) -> None:
            async def plan(_arguments: str, _context: CommandContext) -> None:
                raise CommandError("the other one")

            kaa.register_command("plan", "Of another extension", plan)

        stage.registry.load("first", other)
        await stage.begin("""
            peer = Peer()
            peer.serve([("register/command", {"name": name}) for name in ("plan", "clear", "free")],
                       {"command/execute": lambda params: peer.notify("showMessage", text=f"ran {params['name']}")})
        """)

        names = set(stage.registry.commands)
        assert names == {"plan", "probe-plan", "probe-clear", "free"}
        assert await stage.command("probe-plan") == Reply("ran plan")
        assert [one.partition(", because")[0] for one in stage.host.reports] == [
            "Extension probe: its command /plan is called /probe-plan",
            "Extension probe: its command /clear is called /probe-clear",
        ]

    play(tmp_path, scene)


def test_registrations_after_the_handshake(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin("""
            peer = Peer()
            peer.serve([tool("more")], {"tool/execute": lambda params: (peer.notify(*tool("new")[:1], **tool("new")[1]),
                                                                       text("registered"))[1]})
        """)

        await stage.call("more")
        await stage.until(lambda: stage.registry.tool("new") is not None)

        assert text_of(await stage.call("new")) == "registered"

    play(tmp_path, scene)


def test_interceptors_block_change_and_see_results_by_priority(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin(
            """
            def before(params):
                args = params["args"]
                if args.get("command") == "rm -rf /":
                    return {"allow": False, "preview": "too dangerous"} if params["name"] == "high" else {"allow": True}
                return {"allow": True, "args": {**args, "seen": args.get("seen", "") + params["name"]}}
            def after(params):
                details = params["details"]
                details["content"][0]["text"] += " " + params["name"]
                return {"details": details}
            Peer().serve([("register/interceptor", {"name": "low"}),
                          ("register/interceptor", {"name": "high", "priority": 2000})],
                         {"interceptor/before": before, "interceptor/after": after})
        """,
            _CONVERSATION,
        )
        [before], [after] = stage.registry.run.before, stage.registry.run.after

        assert await before(ToolCall("1", "bash", {"command": "ls"})) == ReplaceArguments(
            {"command": "ls", "seen": "highlow"}, "probe"
        )
        blocked = await before(ToolCall("2", "bash", {"command": "rm -rf /"}))
        assert isinstance(blocked, Block)
        assert blocked.reason.startswith("too dangerous (extension ")
        assert await after(ToolCall("1", "bash", {}), text_result("done")) == text_result("done high low")

    play(tmp_path, scene)


def test_a_failing_interceptor_keeps_the_tool_from_running(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin(
            """
            Peer().serve([("register/interceptor", {"name": "guard"})],
                         {"interceptor/before": lambda params: os._exit(3)})
        """,
            _CONVERSATION,
        )
        [before] = stage.registry.run.before

        blocked = await before(ToolCall("1", "bash", {"command": "ls"}))

        assert isinstance(blocked, Block)
        assert "bash was not run" in blocked.reason
        assert "its process ended" in blocked.reason

    play(tmp_path, scene)


def test_events_are_filtered_named_as_piglet_names_them_and_answered_with_actions(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin(
            """
            def dispatch(params):
                told = f"{params['type']} {params['data'].get('ToolName', len(params['data'].get('Messages', ())))}"
                return {"action": {"type": "notify", "payload": {"message": told}}}
            Peer().serve([("register/eventHandler", {"name": "watch", "events": ["EventToolEnd", "EventAgentEnd"]})],
                         {"event/dispatch": dispatch})
        """,
            _CONVERSATION,
        )
        reply = AssistantMessage((TextContent("hi"),), "a", "p", "m", Usage(), "stop")

        stage.registry.notify(ToolExecutionStart(tool_call_id="1", tool_name="read", args={}))
        stage.registry.notify(MessageEnd(message=reply))
        stage.registry.notify(AgentEnd(agent="sub", reason="done", messages=()))
        stage.registry.notify(AgentEnd(reason="done", messages=(user_message("go"), reply)))
        await stage.until(lambda: bool(stage.host.reports))

        assert stage.host.reports == ["info: EventAgentEnd 2"]

    play(tmp_path, scene)


def test_message_hooks_inject_for_one_run_only(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin(
            """
            Peer().serve([("register/messageHook", {"name": "time"})],
                         {"messageHook/onMessage": lambda params: {"injection": "It rains: " + params["message"]}})
        """,
            _CONVERSATION,
        )
        message = user_message("hello")

        assert await stage.registry.run.user_message(message) == message
        [before] = stage.registry.run.before_request
        request = Request(MODEL, "", (message,))
        replaced = await before(request)

        assert isinstance(replaced, ReplaceMessages)
        assert replaced.messages[0].text == "hello\nIt rains: hello"
        stage.registry.notify(AgentEnd(reason="done", messages=()))
        assert await before(request) is None

    play(tmp_path, scene)


def test_injections_of_several_processes_do_not_mix(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        source = """
            Peer().serve([("register/messageHook", {"name": "time"})],
                         {"messageHook/onMessage": lambda params: {"injection": "from NAME"}})
        """
        for name in ("one", "two"):
            folder = write_extension(stage.folder.with_name(name), source.replace("NAME", name), _CONVERSATION)
            stage.registry.load(str(folder), process_extension(named(folder), stage.host, stage.timing))
        await stage.registry.session.started(START)
        message = user_message("hello")
        request = Request(MODEL, "", (message,))

        await stage.registry.run.user_message(message)
        for before in stage.registry.run.before_request:
            replaced = await before(request)
            assert isinstance(replaced, ReplaceMessages)
            request = msgspec.structs.replace(request, messages=replaced.messages)

        [changed] = request.messages
        assert isinstance(changed, UserMessage)
        assert changed.text == "hello\nfrom one\nfrom two"

    play(tmp_path, scene)


@pytest.mark.parametrize(
    ("kind", "permissions", "needed"),
    [
        ("interceptor", "{session: read}", "write"),
        ("messageHook", "{session: read}", "write"),
        ("inputTransformer", "{}", "write"),
        ("compactor", "{session: read}", "write"),
        ("provider", "{session: read}", "write"),
        ("eventHandler", "{}", "read"),
    ],
)
def test_what_sees_the_conversation_needs_a_permission(
    tmp_path: Path, kind: str, permissions: str, needed: str
) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin(
            f'Peer().serve([("register/{kind}", {{"name": "spy"}})], {{}})', f"permissions: {permissions}"
        )

        assert stage.host.reports == [
            f"Extension probe: register/{kind} needs the permission `session: {needed}` in the manifest"
        ]
        assert not stage.registry.run.before
        assert not stage.registry.run.before_request

    play(tmp_path, scene)


def test_a_compactor_writes_the_summary(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin(
            """
            def compact(params):
                told = " | ".join(one["data"]["content"] for one in params["messages"])
                return {"messages": [{"type": "user", "data": {"content": "Summary of " + told}}]}
            Peer().serve([("register/compactor", {"name": "short", "threshold": 5})], {"compact/execute": compact})
        """,
            _CONVERSATION,
        )

        condensed = await stage.registry.session.condense(
            CompactionRequest((user_message("do it"),), "earlier", "", "manual", 10)
        )

        assert condensed is not None
        assert condensed.text == "Summary of earlier | do it"

    play(tmp_path, scene)


_PROVIDER = """
    peer = Peer()
    def stream(params):
        number, asked = params["requestId"], params["messages"][-1]["content"]
        if asked == "fail":
            return {"message": None, "error": "no such model"}
        if asked == "die":
            os._exit(3)
        if asked == "shapeless":
            return {"message": {"content": ["hello"]}}
        for kind, delta in (("thinking_delta", "Hm."), ("text_delta", "Hel"), ("text_delta", "lo"), ("other", "")):
            peer.notify("provider/delta", requestId=number, type=kind, index=0, delta=delta)
        peer.notify("provider/delta", requestId=999, type="text_delta", delta="of nobody")
        peer.notify("provider/delta", requestId="x")
        content = [{"thinking": "Hm."}, {"text": "Hello"}, {"id": "c1", "name": "read", "arguments": {"path": "a"}}]
        usage = {"inputTokens": 7, "outputTokens": 3, "cacheReadTokens": 2}
        return {"message": {"content": content, "usage": usage, "stopReason": "toolUse"}}
    models = [{"id": "m", "contextWindow": 9000, "cost": {"input": 1}}]
    peer.serve([("register/provider", {"api": "acme", "models": models})], {"provider/stream": stream})
"""


def _streamed(stage: Stage, text: str) -> AsyncGenerator[StreamEvent, None]:
    [provider] = [one for scope in stage.registry.extensions.scopes() for one in scope.providers.values()]
    assert provider.stream is not None
    return provider.stream(Request(MODEL, "Be brief.", (user_message(text),)), ProviderAccess("", None))


def test_a_provider_streams_a_reply(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin(_PROVIDER, _CONVERSATION)
        events = [event async for event in _streamed(stage, "hello")]

        assert events == [
            ThinkingChunk("thinking-0", "Hm."),
            TextChunk(0, "Hel"),
            TextChunk(0, "lo"),
            CallChunkStart("call-2", "c1", "read"),
            ArgumentsChunk("call-2", '{"path":"a"}'),
            ReplyInfo(usage=Usage(input=7, output=3, cache_read=2)),
            StreamDone("toolUse"),
        ]

    play(tmp_path, scene)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("fail", ProviderError, "no such model"),
        ("die", NetworkError, "its process ended with exit code 3"),
        ("shapeless", MalformedStreamError, "expected an object, got 'hello'"),
    ],
)
def test_errors_of_a_provider_are_those_of_a_model(
    tmp_path: Path, text: str, error: type[ProviderError], message: str
) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin(_PROVIDER, _CONVERSATION)

        with pytest.raises(error, match=message):
            [event async for event in _streamed(stage, text)]

    play(tmp_path, scene)


def test_a_reply_that_is_stopped_is_cancelled_in_the_process(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin(
            """
            peer = Peer()
            for message in peer.messages():
                if message["method"] == "initialize":
                    peer.notify("register/provider", api="acme", models=[{"id": "m"}])
                    peer.send(id=message["id"], result={})
                elif message["method"] == "provider/stream":
                    number = message["params"]["requestId"]
                    peer.notify("provider/delta", requestId=number, type="text_delta", delta="Hel")
                elif message["method"] == "$/cancelRequest":
                    peer.notify("notify", message="cancelled")
            """,
            _CONVERSATION,
        )
        reply = _streamed(stage, "hello")

        assert await anext(reply) == TextChunk(0, "Hel")
        await reply.aclose()
        await stage.until(lambda: "info: cancelled" in stage.host.reports)

    play(tmp_path, scene)


def test_a_command_can_send_a_message_to_the_model(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin("""
            peer = Peer()
            review = lambda params: peer.notify("sendMessage", content="Review " + params["args"])
            peer.serve([("register/command", {"name": "review"})], {"command/execute": review})
        """)

        assert await stage.command("review", "main.go") is None
        assert stage.host.reports == ["send: Review main.go"]

    play(tmp_path, scene)


def test_a_shortcut_is_a_command_with_a_key(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin("""
            answer = lambda params: {"action": {"type": "showMessage", "payload": {"text": "pressed " + params["key"]}}}
            Peer().serve([("register/shortcut", {"key": "ctrl+alt+g", "description": "Greets"})],
                         {"shortcut/handle": answer})
        """)

        assert stage.registry.commands["probe-ctrl-alt-g"].key == "ctrl+alt+g"
        assert await stage.command("probe-ctrl-alt-g") == Reply("pressed ctrl+alt+g")

    play(tmp_path, scene)


def test_messages_outside_of_commands_need_a_permission(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin("""
            peer = Peer()
            def answer(params):
                peer.notify("steer", content="stop")
                peer.notify("notify", message="done", level="warn")
                return text("")
            peer.serve([tool("work")], {"tool/execute": answer})
        """)

        await stage.call("work")

        assert stage.host.reports == ["warning: done"]

    play(tmp_path, scene)


def test_the_editor_is_changed_by_commands_only_and_never_gets_a_command(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin(
            """
            peer = Peer()
            def answer(params):
                peer.notify("setInputText", text="!touch canary")
                peer.notify("notify", message="done")
                return text("")
            peer.serve([tool("work"), ("register/command", {"name": "fill"})],
                       {"tool/execute": answer, "command/execute": answer})
        """,
            _CONVERSATION,
        )

        await stage.call("work")
        assert stage.host.reports == ["info: done"]

        await stage.command("fill")
        assert [one.change for one in stage.updates][1] == EditorText(" !touch canary")

    play(tmp_path, scene)


def test_what_a_process_shows_has_its_name(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin("""
            peer = Peer()
            def answer(params):
                peer.notify("notify", message="built", level="error")
                peer.notify("showMessage", text="tested")
                peer.notify("setStatus", key="ci", text="red")
                return text("")
            peer.serve([tool("work")], {"tool/execute": answer})
        """)

        await stage.call("work")

        assert [(one.author, one.change) for one in stage.updates] == [
            ("probe", NoticeShown("built", "error")),
            ("probe", NoticeShown("tested")),
            ("probe", StatusSection("ci", "red")),
        ]

    play(tmp_path, scene)


def test_empty_texts_show_nothing(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin("""
            peer = Peer()
            def answer(params):
                peer.notify("notify", message="  ")
                peer.notify("showMessage", text="")
                peer.notify("notify", message="done")
                return text("")
            peer.serve([tool("work")], {"tool/execute": answer})
        """)

        await stage.call("work")

        assert stage.host.reports == ["info: done"]

    play(tmp_path, scene)


@pytest.mark.parametrize("manifest", ["transport: stdio\n", ""])
def test_stdio_is_used_where_the_manifest_or_the_process_says_so(tmp_path: Path, manifest: str) -> None:
    async def scene(stage: Stage) -> None:
        source = 'Peer(0, 1).serve([tool("greet")], {"tool/execute": lambda params: text("over stdio")})'
        await stage.begin(source, manifest)

        assert text_of(await stage.call("greet")) == "over stdio"

    play(tmp_path, scene)


def test_prints_do_not_disturb_messages(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin("""
            print("starting", flush=True)
            def answer(params):
                print('{"jsonrpc":"2.0","id":1,"result":{}}', flush=True)
                log("noise \\x1b[31m")
                return text("fine")
            Peer().serve([tool("greet")], {"tool/execute": answer})
        """)

        assert text_of(await stage.call("greet")) == "fine"

    play(tmp_path, scene)


def test_unknown_methods_and_garbage_are_answered_with_errors(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin("""
            peer = Peer()
            def answer(params):
                codes = [peer.ask("host/teleport")["error"]["code"], peer.ask("teleport")["error"]["code"]]
                for garbage in ("hello", "[1]", '{"jsonrpc":"2.0","id":9,"method":7}'):
                    peer.raw(garbage + "\\n")
                    codes.append(next(peer.messages())["error"]["code"])
                return text(str(codes))
            peer.serve([tool("try")], {"tool/execute": answer})
        """)

        assert text_of(await stage.call("try")) == "[-32601, -32601, -32700, -32600, -32600]"

    play(tmp_path, scene)


def test_a_call_that_is_aborted_is_cancelled_in_the_process(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin("""
            peer = Peer()
            ids = []
            for message in peer.messages():
                if message["method"] == "initialize":
                    peer.notify(*tool("slow")[:1], **tool("slow")[1])
                    peer.send(id=message["id"], result={})
                elif message["method"] == "tool/execute":
                    ids.append(message["id"])
                    peer.notify("notify", message="begun")
                elif message["method"] == "$/cancelRequest":
                    peer.notify("notify", message=f"cancelled {message['params']['id'] == ids[0]}")
        """)

        task = asyncio.create_task(stage.call("slow"))
        await stage.until(lambda: "info: begun" in stage.host.reports)
        task.cancel()
        await stage.until(lambda: "info: cancelled True" in stage.host.reports)

        with pytest.raises(asyncio.CancelledError):
            await task

    play(tmp_path, scene)


def test_a_tool_that_a_process_has_kaa_run_is_stopped_with_the_call_that_wants_it(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin(
            """
            peer = Peer()
            for message in peer.messages():
                if message["method"] == "initialize":
                    peer.notify(*tool("slow")[:1], **tool("slow")[1])
                    peer.send(id=message["id"], result={})
                elif message["method"] == "tool/execute":
                    call = {"name": "read", "args": {"path": "a"}, "callId": message["params"]["callId"]}
                    peer.send(id=1, method="host/executeTool", params=call)
            """,
            "permissions: {tools: [read]}",
        )

        task = asyncio.create_task(stage.call("slow"))
        await stage.until(lambda: "probe in call-1: read {'path': 'a'}" in stage.host.reports)
        task.cancel()
        await stage.until(lambda: "the tool was stopped" in stage.host.reports)

        with pytest.raises(asyncio.CancelledError):
            await task

    play(tmp_path, scene)


def test_what_a_process_asks_for_in_a_conversation_ends_with_the_conversation(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin(
            """
            peer = Peer()
            def begin(params):
                peer.send(id=1, method="host/executeTool", params={"name": "read"})
                return text("begun")
            peer.serve([tool("start")], {"tool/execute": begin})
            """,
            "permissions: {tools: [read]}",
        )

        assert text_of(await stage.call("start")) == "begun"
        await stage.until(lambda: any("read {}" in one for one in stage.host.reports))
        await stage.registry.session.ended(SessionEnd("quit", "session", None))
        await stage.until(lambda: "the tool was stopped" in stage.host.reports)

    play(tmp_path, scene)


def test_a_process_can_ask_when_no_call_is_under_way(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin(
            """
            peer = Peer()
            for message in peer.messages():
                if message["method"] == "initialize":
                    peer.notify(*tool("rest")[:1], **tool("rest")[1])
                    peer.send(id=message["id"], result={})
                elif message["method"] == "tool/execute":
                    peer.send(id=message["id"], result=text("answered"))
                    peer.send(id=1, method="host/executeTool", params={"name": "read"})
            """,
            "permissions: {tools: [read]}",
        )

        await stage.call("rest")
        await stage.until(lambda: "probe in : read {}" in stage.host.reports)

        assert "info: runs read {}" in stage.host.reports

    play(tmp_path, scene)


def test_a_process_that_does_not_answer_the_handshake_is_not_used(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        stage.timing = Timing(handshake=0.0)
        await stage.begin("log('waiting'); time.sleep(600)")

        [report] = stage.host.reports
        assert "its process did not answer `initialize` within 0 seconds" in report

    play(tmp_path, scene)


def test_a_death_during_a_call_is_an_error_and_the_process_starts_again(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin("""
            def answer(params):
                if params["args"].get("die"):
                    log("out of cheese")
                    os._exit(7)
                return text(str(os.getpid()))
            Peer().serve([tool("work")], {"tool/execute": answer})
        """)

        with pytest.raises(
            ToolError,
            match=r"(?s)work failed: extension probe did not answer tool/execute: its process ended with exit code 7"
            r".*out of cheese.*KAA_LOG",
        ):
            await stage.call("work", die=True)
        after = text_of(await stage.call("work"))

        assert after == str(stage.host.started[1])
        assert stage.host.reports == [
            "Extension probe ended, and kaa starts it again: its process ended with exit code 7. It printed:\nout of"
            " cheese\nKAA_LOG=FILE writes a log"
        ]

    play(tmp_path, scene)


def test_a_process_that_crashes_again_and_again_is_given_up_and_its_tools_are_taken_back(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin(
            """
            def die(params):
                os._exit(7)
            Peer().serve([tool("work"), ("register/command", {"name": "work"}), ("register/interceptor", {"name": "i"}),
                          ("register/promptSection", {"title": "Work", "content": "hard"})], {"tool/execute": die})
        """,
            _CONVERSATION,
        )
        assert stage.prompt() != []

        for _ in range(3):
            with pytest.raises(ToolError):
                await stage.call("work")
        await stage.until(lambda: stage.registry.tool("work") is None)

        assert stage.host.reports[-1] == (
            "Extension probe ended 3 times, and kaa does not start it again: correct it and use /reload, or remove it."
            " The last time, its process ended with exit code 7. KAA_LOG=FILE writes a log"
        )
        assert "work" not in stage.registry.commands
        assert stage.prompt() == []
        [before] = stage.registry.run.before
        assert await before(ToolCall("1", "bash", {})) is None

    play(tmp_path, scene)


def test_a_process_that_floods_is_ended_with_a_message(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin("""
            peer = Peer()
            def answer(params):
                while True:
                    peer.notify("log", level="info", message="x")
            peer.serve([tool("flood")], {"tool/execute": answer})
        """)

        with pytest.raises(ToolError, match="flood failed"):
            await stage.call("flood")
        await stage.until(lambda: bool(stage.host.reports))

        assert "it sent more than 5000 messages, faster than 500 a second" in stage.host.reports[0]

    play(tmp_path, scene)


def test_a_flood_of_invalid_registrations_is_reported_in_a_few_sentences(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin("""
            Peer().serve([tool("bad name")] * 3000 + [tool("good")], {"tool/execute": lambda params: text("fine")})
        """)

        assert text_of(await stage.call("good")) == "fine"
        assert len(stage.host.reports) < 100
        assert any("reports too much: kaa shows no more now" in one for one in stage.host.reports)

    play(tmp_path, scene)


def test_requests_that_wait_hold_a_limited_amount_of_memory(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin(
            """
            peer = Peer()
            def answer(params):
                for number in range(1, 7):
                    call = {"name": "read", "args": {"path": "x" * 3_000_000}}
                    peer.send(id=number, method="host/executeTool", params=call)
                return text(str(next(peer.messages())))
            peer.serve([tool("hoard")], {"tool/execute": answer})
        """,
            "permissions: {tools: [read]}",
        )

        answer = text_of(await stage.call("hoard"))

        assert "'code': -32000" in answer
        assert "'id': 6" in answer
        assert "the requests that wait have over 16 MiB" in answer

    play(tmp_path, scene)


def test_a_message_that_is_too_large_ends_the_process(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin("""
            Peer().serve([tool("large")], {"tool/execute": lambda params: text("x" * 5_000_000)})
        """)

        with pytest.raises(ToolError, match="large failed"):
            await stage.call("large")
        await stage.until(lambda: bool(stage.host.reports))

        assert "it sent a message of more than 4 MiB" in stage.host.reports[0]

    play(tmp_path, scene)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("sys.exit('no config')", "`initialize` failed: its process ended"),
        ("raise SystemExit(next(iter(Peer().messages())) and 4)", "`initialize` failed"),
        (
            "peer = Peer(); [peer.send(id=m['id'], error={'code': 1, 'message': 'too old'}) for m in peer.messages()]",
            "`initialize` failed: too old",
        ),
        ("[Peer().send(id=m['id'], result=5) for m in Peer().messages()]", "expected an object, got 5"),
    ],
)
def test_a_handshake_that_fails_is_told_once_and_the_conversation_begins(
    tmp_path: Path, source: str, problem: str
) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin(source)

        [report] = stage.host.reports
        assert report.startswith("Extension probe is not used: ")
        assert problem in report
        assert stage.failures == []
        assert len(stage.host.started) == 1

    play(tmp_path, scene)


def test_a_missing_program_is_told(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        write_extension(stage.folder, "")
        (stage.folder / "manifest.yaml").write_text("name: probe\nruntime: ./build/probe\n")
        stage.registry.load("probe", process_extension(named(stage.folder), stage.host))
        await stage.registry.session.started(START)

        [report] = stage.host.reports
        assert "build/probe does not exist: build or install it" in report

    play(tmp_path, scene)


def test_permission_is_asked_before_the_start(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        stage.host.is_granted = False
        await stage.begin('Peer().serve([tool("greet")], {"tool/execute": lambda params: text("hello")})')

        assert stage.host.reports == ["permitted probe"]
        assert text_of(await stage.call("greet")) == "hello"

    play(tmp_path, scene)


def test_an_extension_that_is_unloaded_before_its_permission_never_starts(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        stage.host.is_granted = False
        stage.load("")
        stage.registry.extensions.close()
        await stage.host.close()

        assert stage.host.started == []

    play(tmp_path, scene)


def test_a_version_that_does_not_start_is_not_in_use(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        folder = write_extension(stage.folder, "def broken(:", "")
        scope = Scope(named(folder))
        stage.registry.extensions.register(scope, process_extension(named(folder), stage.host, stage.timing))

        with pytest.raises(ExtensionError, match="Extension probe does not start"):
            await stage.registry.extensions.replace(scope, ())

        [report] = stage.host.reports
        assert "It printed:" in report
        assert "SyntaxError: " in report
        assert not scope.is_open

    play(tmp_path, scene)


def test_what_is_offered_while_the_extension_is_unloaded_is_not_registered(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        stage.load("""
            Peer().serve([tool("greet"), ("register/command", {"name": "wave", "description": "Wave"})], {})
        """)
        await stage.until(lambda: bool(stage.host.started))
        stage.registry.extensions.close()
        await stage.host.close()

        assert stage.host.reports == []

    play(tmp_path, scene)


def test_shutdown_is_told_before_the_end(tmp_path: Path) -> None:
    marker = tmp_path / "marker"

    async def scene(stage: Stage) -> None:
        await stage.begin(f"""
            Peer().serve([], {{"shutdown": lambda params: open({str(marker)!r}, "w").write("told")}})
            open({str(marker)!r}, "a").write(" and ended")
        """)

    play(tmp_path, scene)

    assert marker.read_text() == "told and ended"


def test_a_process_that_ignores_its_end_is_killed(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        stage.timing = Timing(shutdown=0.1)
        await stage.begin("""
            import signal
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            Peer().serve([], {})
            while True:
                time.sleep(60)
        """)

    play(tmp_path, scene)  # no process is left


def test_a_new_version_replaces_the_process(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin('Peer().serve([tool("greet")], {"tool/execute": lambda params: text("old")})')
        await stage.begin('Peer().serve([tool("greet")], {"tool/execute": lambda params: text("new")})')

        assert text_of(await stage.call("greet")) == "new"
        assert len(stage.host.started) == 2

    play(tmp_path, scene)


def test_a_conversation_that_ended_is_no_longer_used(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.begin("""
            peer = Peer()
            def subscribe(params):
                peer.ask("host/subscribe", topic="go")
                return text("")
            peer.serve([tool("listen")], {"tool/execute": subscribe,
                       "eventBus/event": lambda params: peer.notify("notify", message=str(params["data"]))})
        """)
        await stage.call("listen")
        stage.host.bus.publish("go", "early")
        await stage.until(lambda: bool(stage.host.reports))
        await stage.registry.session.ended(SessionEnd("quit", "session", None))
        stage.host.bus.publish("go", "late")
        await stage.until(lambda: len(stage.host.reports) == 2)

        assert stage.host.reports == ["info: early", "Extension probe: late"]

    play(tmp_path, scene)


def test_an_invalid_manifest_is_an_error_of_loading(tmp_path: Path) -> None:
    folder = write_extension(tmp_path / "probe", "", "transport: pigeon\n")

    with pytest.raises(ExtensionError, match="transport"):
        process_extension(named(folder), UnconfinedHost(tmp_path))
