"""What extension processes ask of kaa (`host/…`), in a real conversation."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kaa.core.messages import Json
from kaa.ext.api import CommandContext, ExtensionAPI
from kaa.ext.context import ConversationContext
from kaa.ext.permissions import Permissions
from kaa.ext.process.host import EventBus, ProcessHost
from kaa.ext.process.manifest import Manifest
from kaa.ext.process.services import Caller, answer
from kaa.ext.process.wire import INTERNAL_ERROR, NOT_PERMITTED, RpcError
from kaa.ext.questions import AnswerT, Choice, Chosen, Dismissed, Question
from kaa.ext.scope import Scope
from tests.support.extended import in_a_command
from tests.support.extension_ids import named
from tests.support.model_server import say
from tests.support.stage import Stage
from tests.support.tables import each

_ALL = Permissions(project="write", session="write", keys=("openai",), models=True)


class Host:
    """As far as services use it: `ProcessHost` without processes."""

    project = "/project"

    def __init__(self, folder: str = "") -> None:
        self.bus = EventBus()
        self.loaded: list[Scope] = []
        self._folder = folder

    def scopes(self) -> Sequence[Scope]:
        return self.loaded

    def data_folder(self, manifest: Manifest) -> str:
        return f"{self._folder}/{manifest.name}"

    async def key(self, name: str) -> str | None:
        return f"key of {name}"


def _caller(
    context: ConversationContext | None,
    permissions: Permissions = _ALL,
    host: Host | None = None,
    notified: list[Any] | None = None,
    name: str = "hello",
) -> Caller:
    manifest = Manifest(name, "node", "main.js", folder=f"/extensions/{name}", extension=named(name))
    told: list[Any] = [] if notified is None else notified
    given: Any = host or Host()
    checked: ProcessHost = given
    return Caller(manifest, permissions, context, checked, lambda method, params: told.append((method, params)))


def _answers(stage: Stage, *asked: tuple[str, Mapping[str, Json]], permissions: Permissions = _ALL) -> list[Any]:
    """Ask in a command. A refusal is its message."""
    found: list[Any] = []

    async def work(context: CommandContext) -> None:
        caller = _caller(_plain(context), permissions)
        for method, params in asked:
            try:
                found.append(await answer(method, params, caller))
            except RpcError as error:
                found.append(error.message)

    in_a_command(stage, work)
    return found


def _plain(context: CommandContext) -> ConversationContext:
    assert isinstance(context, ConversationContext)
    return context


_NEEDS: dict[str, tuple[Permissions, Mapping[str, Json]]] = {
    "host/auth.getKey": (Permissions(keys=("openai",)), {"provider": "openai"}),
    "host/chat": (Permissions(models=True), {"messages": [{"role": "user", "content": "hi"}]}),
    "host/agent.run": (Permissions(project="read", models=True), {"task": "look"}),
    "host/conversationMessages": (Permissions(session="read"), {}),
    "host/lastAssistantText": (Permissions(session="read"), {}),
    "host/sessionTitle": (Permissions(session="read"), {}),
    "host/sessions": (Permissions(session="read"), {}),
    "host/sessionEntryInfos": (Permissions(session="read"), {}),
    "host/sessionFullTree": (Permissions(session="read"), {}),
    "host/sessionStats": (Permissions(session="read"), {}),
    "host/appendSessionEntry": (Permissions(session="write"), {"kind": "x", "data": 1}),
    "host/appendCustomMessage": (Permissions(session="write"), {"role": "user", "content": "x"}),
    "host/setSessionTitle": (Permissions(session="write"), {"title": "x"}),
    "host/setLabel": (Permissions(session="write"), {"label": "x"}),
    "host/branchSession": (Permissions(session="write"), {"entryId": "x"}),
    "host/activateTool": (Permissions(session="write"), {"name": "bash"}),
    "host/switchModel": (Permissions(session="write"), {"modelId": "m"}),
    "host/triggerCompact": (Permissions(session="write", models=True), {}),
    "host/undoSnapshots": (Permissions(project="read"), {}),
    "host/executeTool": (Permissions(tools=("bash",)), {"name": "bash", "args": {"command": "true"}}),
}


@each("method", _NEEDS)
def test_nothing_is_answered_without_the_permission_for_it(method: str) -> None:
    needed, params = _NEEDS[method]

    with pytest.raises(RpcError, match="extension hello has no permission to") as caught:
        asyncio.run(_awaited(method, params, _caller(None, Permissions())))

    assert caught.value.code == NOT_PERMITTED
    assert needed.keys or all(sentence in caught.value.message for sentence in needed.sentences)


async def _awaited(method: str, params: Mapping[str, Json], caller: Caller) -> Json:
    return await answer(method, params, caller)


def test_an_agent_that_may_write_needs_the_permission_to_write() -> None:
    reads = Permissions(project="read", models=True)

    with pytest.raises(RpcError, match="read and write the files of the project"):
        asyncio.run(_awaited("host/agent.run", {"task": "change it", "tools": "all"}, _caller(None, reads)))


@pytest.mark.parametrize("method", ["host/setConversationMessages", "host/loadSession", "host/abort"])
def test_what_kaa_refuses_has_a_reason(method: str) -> None:
    with pytest.raises(RpcError) as caught:
        asyncio.run(_awaited(method, {}, _caller(None)))

    assert caught.value.code == INTERNAL_ERROR
    assert "kaa" in caught.value.message


def test_without_a_conversation_a_request_fails() -> None:
    with pytest.raises(RpcError, match="no conversation is open yet"):
        asyncio.run(_awaited("host/sessionTitle", {}, _caller(None)))


def test_keys_are_given_as_permitted() -> None:
    assert asyncio.run(_awaited("host/auth.getKey", {"provider": "openai"}, _caller(None))) == {"key": "key of openai"}
    with pytest.raises(RpcError, match="no permission to read your key of"):
        asyncio.run(_awaited("host/auth.getKey", {"provider": "anthropic"}, _caller(None)))


def test_only_its_own_settings_are_read(tmp_path: Any) -> None:
    host = Host(str(tmp_path))
    (tmp_path / "hello").mkdir()
    (tmp_path / "hello" / "hello.md").write_text("# mine")

    own = asyncio.run(_awaited("host/config.readExtension", {"name": "hello"}, _caller(None, host=host)))

    assert own == {"content": "# mine"}
    with pytest.raises(RpcError, match="cannot read the settings of"):
        asyncio.run(_awaited("host/config.readExtension", {"name": "../other"}, _caller(None, host=host)))


def test_its_settings_are_not_read_through_a_link(tmp_path: Any) -> None:
    (tmp_path / "hello").mkdir()
    (tmp_path / "secret").write_text("key")
    (tmp_path / "hello" / "hello.md").symlink_to(tmp_path / "secret")

    with pytest.raises(RpcError, match="cannot read"):
        asyncio.run(_awaited("host/config.readExtension", {"name": "hello"}, _caller(None, host=Host(str(tmp_path)))))


def test_a_model_answers_a_chat(stage: Stage) -> None:
    stage.server.begin([say("milk")])
    asked = {"system": "Be brief.", "messages": [{"role": "user", "content": "What?"}], "model": "small"}

    [answer] = _answers(stage, ("host/chat", asked))

    assert answer["text"] == "milk"
    assert answer["usage"].keys() == {"input", "output"}
    assert "Be brief." in str(stage.server.requests[0].json["messages"][0])


def test_the_session_is_named_labelled_and_extended(stage: Stage) -> None:
    answers = _answers(
        stage,
        ("host/setSessionTitle", {"title": "Bugs"}),
        ("host/sessionTitle", {}),
        ("host/appendSessionEntry", {"kind": "ext:memory:facts", "data": {"a": 1}}),
        ("host/sessionEntryInfos", {}),
        ("host/setLabel", {"targetId": "", "label": "here"}),
        ("host/sessionFullTree", {}),
    )

    assert answers[:3] == [{}, {"title": "Bugs"}, {}]
    assert answers[3]["entries"]
    assert answers[4] == {}
    assert [node["label"] for node in answers[5]["nodes"] if node["label"]] == ["here"]


def test_messages_have_the_form_of_piglet(stage: Stage) -> None:
    added = {"role": "user", "content": "Remember the milk."}

    answers = _answers(stage, ("host/appendCustomMessage", added), ("host/conversationMessages", {}))

    [message] = answers[1]["messages"]
    assert message["role"] == "user"
    assert "Remember the milk." in message["content"]
    assert message["timestamp"].endswith("Z")


def test_settings_that_say_nothing_about_the_user_are_given(stage: Stage) -> None:
    [answer] = _answers(stage, ("host/config.get", {"keys": ["defaultModel", "apiKey", "sandbox.mode"]}))

    assert answer == {"values": {"defaultModel": "openai/m"}}


def test_models_are_listed(stage: Stage) -> None:
    [answer] = _answers(stage, ("host/availableModels", {}))

    assert [model["id"] for model in answer["models"] if model["current"]] == ["m"]


def test_what_only_a_command_may_do_is_refused_elsewhere(stage: Stage) -> None:
    found: list[str] = []

    async def work(context: CommandContext) -> None:
        plain = _plain(context).asking(context.asker)
        conversation = ConversationContext(plain.workspace, plain.asker)
        try:
            await _awaited("host/branchSession", {"entryId": "x"}, _caller(conversation))
        except RpcError as error:
            found.append(error.message)

    in_a_command(stage, work)

    assert found == ["kaa permits this only while the extension executes a command or a shortcut"]


class Person:
    """Chooses an option."""

    can_ask = True

    def __init__(self, option: str | None) -> None:
        self._option = option
        self.asked: list[Choice] = []

    async def ask(self, question: Question[AnswerT]) -> AnswerT | Dismissed:
        if isinstance(question, Choice):
            self.asked.append(question)
        return Dismissed() if self._option is None else question.fit(Chosen(self._option))


def _asking(stage: Stage, person: Person, method: str, params: Mapping[str, Json]) -> Any:
    found: list[Any] = []

    async def work(context: CommandContext) -> None:
        found.append(await _awaited(method, params, _caller(_plain(context).asking(person))))

    in_a_command(stage, work)
    return found[0]


def test_a_picker_names_the_extension_and_returns_the_id(stage: Stage) -> None:
    person = Person("main (2)")
    items = [{"id": "1", "label": "main"}, {"id": "2", "label": "main", "desc": "the other"}]

    answer = _asking(stage, person, "host/showPicker", {"title": "Branch?", "items": items})

    assert answer == {"selected": "2", "id": "2"}
    assert person.asked[0].title == "hello: Branch?"
    assert person.asked[0].options == ("main (1)", "main (2)")


def test_a_question_that_is_closed_is_cancelled(stage: Stage) -> None:
    answer = _asking(stage, Person(None), "host/askUser", {"prompt": "Go on?", "choices": ["yes", "no"]})

    assert answer == {"selected": "", "cancelled": True}


def test_tools_commands_and_extensions_are_listed(stage: Stage) -> None:
    found: list[Any] = []
    scopes: list[Scope] = []

    def extend(kaa: ExtensionAPI) -> None:
        async def nothing(_arguments: str, _context: CommandContext) -> None:
            return None

        kaa.register_command("deploy", "Deploy it", nothing)
        scopes.append(kaa._scope)

    async def work(context: CommandContext) -> None:
        host = Host()
        host.loaded = scopes
        caller = _caller(_plain(context), host=host)
        found.extend([await _awaited(f"host/{name}", {}, caller) for name in ("commands", "extInfos", "listTools")])

    in_a_command(stage, work, extend)

    assert found[0] == {"commands": [{"name": "deploy", "description": "Deploy it"}]}
    assert found[1]["extensions"][0]["commands"] == ["deploy"]
    assert found[2] == {"tools": []}


def test_extensions_hear_of_topics_that_they_subscribed_to() -> None:
    host = Host()
    first: list[Any] = []
    second: list[Any] = []
    one, two = _caller(None, host=host, notified=first), _caller(None, host=host, notified=second, name="other")

    async def talk() -> None:
        await _awaited("host/subscribe", {"topic": "memory:*"}, one)
        await _awaited("host/subscribe", {"topic": "other"}, two)
        await _awaited("host/publish", {"topic": "memory:updated", "data": {"a": 1}}, two)

    asyncio.run(talk())

    assert first == [("eventBus/event", {"topic": "memory:updated", "subscriptionId": 1, "data": {"a": 1}})]
    assert second == []


def test_subscriptions_end_with_the_process_and_have_a_limit() -> None:
    bus, told = EventBus(), []
    for _ in range(64):
        bus.subscribe("/a", "x", print)

    assert bus.subscribe("/a", "x", print) is None
    assert bus.subscribe("/a", "x", lambda *event: told.append(event)) is not None
    bus.publish("x", None)
    assert len(told) == 1


_TOOLS = Permissions(tools=("read", "secret", "sing", "write"))


def test_tools_are_executed_as_permitted(stage: Stage) -> None:
    read = {"name": "read", "args": {"path": "notes.txt"}}

    answers = _answers(
        stage,
        ("host/executeTool", read),
        ("host/executeTool", {"name": "read", "args": {"path": "missing.txt"}}),
        ("host/executeTool", {"name": "bash", "args": {"command": "true"}}),
        ("host/executeTool", {"name": "sing"}),
        ("host/executeTool", {"name": "../read"}),
        ("host/executeTool", {"name": "read", "args": ["notes.txt"]}),
        permissions=_TOOLS,
    )

    assert answers[0] == {"content": [{"type": "text", "text": "remember the milk"}], "isError": False}
    assert answers[1]["isError"]
    assert answers[2].startswith("extension hello has no permission to run the tools bash as the model does")
    assert answers[3].startswith("no tool 'sing' can be called here: there are read, ")
    assert answers[4].startswith("invalid tool '../read'")
    assert answers[5].startswith("expected `object`, got `array`")


def test_hidden_tools_are_not_executed_for_processes(stage: Stage) -> None:
    found: list[str] = []

    def hides(kaa: ExtensionAPI) -> None:
        @kaa.tool(exposure="hidden")
        async def secret() -> str:
            """Tell a secret."""
            return "the secret"

    async def work(context: CommandContext) -> None:
        with pytest.raises(RpcError) as caught:
            await answer("host/executeTool", {"name": "secret"}, _caller(_plain(context), _TOOLS))
        found.append(caught.value.message)

    in_a_command(stage, work, hides)

    assert found[0].startswith("no tool 'secret' can be called here")
