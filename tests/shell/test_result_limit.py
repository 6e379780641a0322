"""Results of tools that are too long for a model."""

import asyncio

from kaa.core.messages import ImageContent, TextContent, ToolCall
from kaa.core.tool import ToolResult, text_result
from kaa.ext.api import ExtensionAPI
from kaa.shell.host import HostedConversation
from kaa.shell.result_limit import limiting
from kaa.workspace.memory import MemoryWorkspace
from tests.support.extended import play
from tests.support.model_server import call, say
from tests.support.stage import Stage

_CALL = ToolCall("1", "look", {})


def _limited(result: ToolResult, workspace: MemoryWorkspace | None = None) -> ToolResult | None:
    async def limit() -> ToolResult | None:
        verdict = await limiting(workspace or MemoryWorkspace())(_CALL, result)
        assert verdict is None or isinstance(verdict, ToolResult)
        return verdict

    return asyncio.run(limit())


def test_what_fits_stays_as_it_is() -> None:
    assert _limited(text_result("line\n" * 2000)) is None
    assert _limited(text_result("\u20ac" * 17_000)) is None
    assert _limited(text_result("")) is None


def test_the_beginning_and_the_end_stay_and_a_file_has_everything() -> None:
    workspace = MemoryWorkspace()
    whole = "\n".join(f"line {number}" for number in range(100_000))

    result = _limited(text_result(whole, details={"kept": True}, is_error=True), workspace)

    assert result is not None
    [block] = result.content
    assert isinstance(block, TextContent)
    lines = block.text.split("\n")
    assert lines[0] == "line 0"
    assert lines[-1] == "line 99999"
    assert lines[1000] == "[1.0 MB of 1.0 MB are left out here. Full result: /output/0.log]"
    assert len(block.text) < 60_000
    assert workspace.files["/output/0.log"].decode() == whole
    assert (result.details, result.is_error) == ({"kept": True}, True)


def test_one_endless_line_and_many_blocks_are_cut_and_images_stay() -> None:
    image = ImageContent("aGk=", "image/png")

    result = _limited(ToolResult((TextContent("x" * 3_000_000), image, TextContent("\ud800" * 50_000))))

    assert result is not None
    text, kept = result.content
    assert isinstance(text, TextContent)
    assert len(text.text) < 60_000
    assert kept is image


def test_neither_a_tool_of_an_extension_nor_a_hook_gives_the_model_more(stage: Stage) -> None:
    def extend(kaa: ExtensionAPI) -> None:
        @kaa.tool
        async def flood() -> str:
            """Say much."""
            return "much\n" * 300_000

        async def enlarge(_: ToolCall, result: ToolResult, __: object) -> ToolResult:
            return ToolResult((*result.content, TextContent("more\n" * 300_000)))

        kaa.after_tool(enlarge)

    async def scene(hosted: HostedConversation) -> None:
        await hosted.conversation.submit("go")

    stage.server.begin([call("flood"), say("done")])
    play(stage, scene, extend)

    request = str(stage.server.requests[-1].json)
    assert "Full result: /output/" in request
    assert "more" in request
    assert len(request) < 150_000
