"""WebAssembly components in a running kaa: their tools in a run, their settings, and new versions."""

from pathlib import Path

import pytest

from kaa.core.events import ToolExecutionEnd
from kaa.core.messages import TextContent
from kaa.shell.conversation import CommandReply, Conversation
from kaa.shell.options import ConversationOptions
from tests.support.components import TRAP, Host, Notice, Setting, rab_component, tools_component
from tests.support.model_script import Answer, call, say
from tests.support.stage import Stage

_OPTIONS = ConversationOptions(model="m", approvals="auto")


def _install(stage: Stage, component: bytes) -> Path:
    path = stage.home / "extensions" / "it.wasm"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(component)
    return path


async def _shout(conversation: Conversation, text: str) -> str:
    reply = await conversation.submit(text)
    assert isinstance(reply, CommandReply)
    return reply.text


def _result(stage: Stage, component: bytes) -> ToolExecutionEnd:
    _install(stage, component)
    return _ended(stage)


def _ended(stage: Stage, *meanwhile: Answer) -> ToolExecutionEnd:
    """How a call of the model ends; the run goes on. `meanwhile`: what the model answers in the call."""
    stage.server.begin([call("say", text="hello"), *meanwhile, say("done")])
    ends: list[ToolExecutionEnd] = []

    async def scene(conversation: Conversation) -> None:
        conversation.subscribe(lambda event: ends.append(event) if isinstance(event, ToolExecutionEnd) else None)
        await conversation.submit("go")

    stage.play(scene, _OPTIONS)
    assert stage.server.remaining == 0
    (end,) = ends
    return end


def test_the_model_calls_a_tool_of_a_component(stage: Stage) -> None:
    end = _result(stage, tools_component())

    assert (end.is_error, end.result.content) == (False, (TextContent('{"text":"hello"}'),))


def test_a_trap_leaves_the_run_going(stage: Stage) -> None:
    end = _result(stage, tools_component(TRAP))

    assert end.is_error
    (content,) = end.result.content
    assert isinstance(content, TextContent)
    assert content.text.startswith(
        "say of the extension it failed: execute-tool failed: wasm `unreachable` instruction executed"
    )


def test_a_reload_compiles_a_new_version_and_keeps_the_old_one_if_that_fails(stage: Stage) -> None:
    path = _install(stage, rab_component())

    async def scene(conversation: Conversation) -> None:
        assert await _shout(conversation, "/shout a") == '{"arguments":"a"}'

        path.write_bytes(b"broken")
        assert "is not a WebAssembly component" in await _shout(conversation, "/reload")
        assert await _shout(conversation, "/shout b") == '{"arguments":"b"}'

        path.write_bytes(rab_component(commands=[("whisper", "Whisper something")]))
        assert f"extension {path} was loaded again" in await _shout(conversation, "/reload")
        assert await _shout(conversation, "/whisper c") == '{"arguments":"c"}'
        assert "shout" not in {command.name for command in conversation.commands}

    stage.play(scene, _OPTIONS)


@pytest.mark.parametrize("is_permitted", [False, True])
def test_a_component_with_permissions_needs_the_users_consent(stage: Stage, is_permitted: bool) -> None:
    _folder(stage, rab_component(), '[permissions]\nproject = "read"\n')
    if is_permitted:
        (stage.home / "extensions.json").write_text('{"extensions": {"it": {"granted": {"project": "read"}}}}')
        (stage.home / "extensions.json").chmod(0o600)

    async def scene(conversation: Conversation) -> bool:
        return "shout" in {command.name for command in conversation.commands}

    assert stage.play(scene, _OPTIONS) == is_permitted
    told = "\n".join(stage.notices)
    assert ("you have not permitted what it asks for (read the files of the project)" in told) is not is_permitted


def _folder(stage: Stage, component: bytes, description: str) -> None:
    folder = stage.home / "extensions" / "it"
    folder.mkdir(parents=True)
    (folder / "it.wasm").write_bytes(component)
    (folder / "extension.toml").write_text(f'component = "it.wasm"\n{description}')


@pytest.mark.parametrize(
    ("configured", "expected"), [("{}", '"metric"'), ('{"it": {"units": "imperial"}}', '"imperial"')]
)
def test_a_component_reads_its_settings(stage: Stage, configured: str, expected: str) -> None:
    _folder(stage, tools_component(asks=Setting("units")), '[settings.units]\ndefault = "metric"\n')
    (stage.home / "settings.json").write_text(f'{{"extensionSettings": {configured}}}')

    assert _ended(stage).result.content == (TextContent(expected),)


def test_a_component_shows_a_notice(stage: Stage) -> None:
    _folder(stage, tools_component(asks=Notice()), "")

    assert _ended(stage).result.content == (TextContent('{"text":"hello"}'),)
    # The frontend of this test shows nothing, of which the user is told.
    assert any("shows notices, which are not visible in this mode" in notice for notice in stage.notices)


def test_a_component_asks_the_model(stage: Stage) -> None:
    _folder(stage, tools_component(asks=Host("models", "ask", "prompt")), "[permissions]\nmodels = true\n")
    (stage.home / "extensions.json").write_text('{"extensions": {"it": {"granted": {"models": true}}}}')
    (stage.home / "extensions.json").chmod(0o600)

    end = _ended(stage, say("an answer"))

    assert end.result.content == (TextContent("an answer"),)
