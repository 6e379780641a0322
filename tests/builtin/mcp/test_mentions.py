"""`@server:uri` in a message takes the resource along, in every frontend."""

from base64 import b64decode
from collections.abc import Mapping

import msgspec
import pytest

from kaa.builtin.mcp.host import ServerState
from kaa.core.messages import ImageContent, TextContent, UserMessage, user_message
from kaa.mcp.contents import PromptMessage, PromptResult, TextPart
from kaa.mcp.manifest import PromptInfo, ResourceInfo, ServerFeatures, TemplateInfo
from kaa.shell.host import HostedConversation
from tests.support.mcp_host import MemoryMcpHost, MemoryMcpServer, manifest, server
from tests.support.mcp_stage import Notices, play_with
from tests.support.model_script import say
from tests.support.rich_session import png
from tests.support.stage import Stage

_NOTES = ResourceInfo("note://shopping", name="Shopping")


@pytest.fixture
def notices(stage: Stage) -> Notices:
    seen = stage.display = Notices()
    return seen


def library(state: ServerState = "known") -> MemoryMcpServer:
    """A server with a note, an image and a template."""
    offered = msgspec.structs.replace(
        manifest(),
        resources=(_NOTES, ResourceInfo("img://logo")),
        templates=(TemplateInfo("issue://{project}/{number}", name="Issue"), TemplateInfo("{+anything}")),
        prompts=(PromptInfo("ask"),),
    )
    made = server("lib", state=state, manifest=offered)
    made.texts = {_NOTES.uri: "buy milk", "issue://kaa/16": "MCP", "img://logo": b64decode(png(4, 4))}
    made.texts["evil://secret"] = "sent"
    return made


def said(stage: Stage, message: str | UserMessage, *servers: MemoryMcpServer) -> UserMessage:
    """The message that the model gets for one of the person."""
    given = user_message(message) if isinstance(message, str) else message

    async def scene(hosted: HostedConversation) -> UserMessage:
        stage.server.begin([say("Fine.")])
        await hosted.work.submit(given)
        [message] = [one for one in hosted.conversation.messages if isinstance(one, UserMessage)]
        return message

    return play_with(stage, MemoryMcpHost(servers or [library()]), scene)


@pytest.mark.parametrize(
    "text",
    [
        "What is in @lib:note://shopping?",
        "(@lib:note://shopping)",
        '@"lib:note://shopping"',
        "See @lib:note://shopping.",
    ],
)
def test_a_listed_resource_goes_along_as_data_of_its_server(stage: Stage, text: str) -> None:
    message = said(stage, text)

    assert message.text.startswith(f"{text}\n")
    assert '<mcp-result server="lib">\n[@lib:note://shopping]\nbuy milk\n</mcp-result>' in message.text


def test_a_resource_of_a_template_goes_along(stage: Stage) -> None:
    assert "[@lib:issue://kaa/16]\nMCP" in said(stage, "Do @lib:issue://kaa/16, please.").text


def test_an_image_goes_along_as_an_image(stage: Stage) -> None:
    message = said(stage, "Look at @lib:img://logo")

    assert any(isinstance(block, ImageContent) for block in message.content)


@pytest.mark.parametrize(
    "text", ["mail me@lib:note://shopping", "@other:note://shopping", "@lib", "@lib:", "a @types/node"]
)
def test_what_is_no_mention_stays_as_it_is(stage: Stage, text: str) -> None:
    assert said(stage, text).text == text


@pytest.mark.parametrize("uri", ["evil://secret", "issue://kaa/", "issue:///16"])
def test_an_address_that_the_server_does_not_list_is_not_read(stage: Stage, notices: Notices, uri: str) -> None:
    message = said(stage, f"Read @lib:{uri}")

    assert message.text == f"Read @lib:{uri}"
    assert f"@lib:{uri} is sent as a name only: the server lists no such resource" in notices.texts


def test_a_resource_that_cannot_be_read_stays_a_name_and_the_user_learns_why(stage: Stage, notices: Notices) -> None:
    broken = library()
    broken.problem = "MCP server lib did not start: out of luck"

    assert said(stage, "See @lib:note://shopping", broken).text == "See @lib:note://shopping"
    assert "@lib:note://shopping is sent as a name only: MCP server lib did not start: out of luck" in notices.texts


def test_a_resource_that_is_too_large_stays_a_name(stage: Stage) -> None:
    large = library()
    large.texts[_NOTES.uri] = "x" * (1024 * 1024 + 1)

    assert said(stage, "See @lib:note://shopping", large).text == "See @lib:note://shopping"


def test_a_message_that_is_sent_again_gets_no_second_copy(stage: Stage) -> None:
    text = said(stage, "What is in @lib:note://shopping?").text

    assert said(stage, text).text == text


def test_a_file_that_goes_along_mentions_nothing(stage: Stage) -> None:
    file = TextContent('<file name="/a">See @lib:note://shopping now</file>', added=True)

    message = said(stage, UserMessage((TextContent("Read @/a and @lib:img://logo"), file)))

    assert "buy milk" not in message.text
    assert [type(block) for block in message.content].count(ImageContent) == 1


def test_a_prompt_of_a_server_mentions_nothing(stage: Stage) -> None:
    asking = library()
    asking.prompts["ask"] = PromptResult((PromptMessage("user", TextPart("Read @lib:note://shopping")),))

    async def scene(hosted: HostedConversation) -> str:
        stage.server.begin([say("Fine.")])
        await hosted.work.command("/lib:ask")
        return "".join(one.text for one in hosted.conversation.messages if isinstance(one, UserMessage))

    assert "buy milk" not in play_with(stage, MemoryMcpHost([asking]), scene)


def test_a_server_that_is_not_approved_is_not_asked(stage: Stage) -> None:
    assert said(stage, "@lib:note://shopping", library(state="not approved")).text == "@lib:note://shopping"


@pytest.mark.parametrize(
    ("typed", "texts"),
    [
        ("", ["lib:"]),
        ("li", ["lib:"]),
        ("x", []),
        ("lib:", ["lib:note://shopping", "lib:img://logo", "lib:issue://"]),
        ("lib:shop", ["lib:note://shopping"]),
        ("lib:note://shopping", []),
        ("bare:", []),
    ],
)
def test_servers_and_their_resources_are_completed(stage: Stage, typed: str, texts: list[str]) -> None:
    async def scene(hosted: HostedConversation) -> list[str]:
        return [one.text for one in await hosted.conversation.complete_mention(typed)]

    assert play_with(stage, MemoryMcpHost([library(), server("bare")]), scene) == texts


@pytest.mark.parametrize(
    ("typed", "asked", "texts"),
    [
        ("lib:issue://", ("project", "", {}), ["lib:issue://kaa/", "lib:issue://a%2Fb/"]),
        ("lib:issue://k", ("project", "k", {}), ["lib:issue://kaa/", "lib:issue://a%2Fb/"]),
        (
            "lib:issue://a%2Fb/1",
            ("number", "1", {"project": "a/b"}),
            ["lib:issue://a%2Fb/kaa", "lib:issue://a%2Fb/a%2Fb"],
        ),
        ("lib:file:///s", ("path", "s", {}), ["lib:file:///kaa", "lib:file:///a/b"]),
        ("lib:other://k", None, []),
        ("lib:note://k", None, []),
    ],
)
def test_parts_of_templates_are_completed_by_the_server(
    stage: Stage, typed: str, asked: tuple[str, str, dict[str, str]] | None, texts: list[str]
) -> None:
    given: list[tuple[str, str, dict[str, str]]] = []

    def completes(argument: str, value: str, known: Mapping[str, str]) -> tuple[str, ...]:
        given.append((argument, value, dict(known)))
        return "kaa", "a/b"

    templates = "issue://{project}/{number}", "file:///{+path}", "note://{?a,b}", "{+anything}"
    lib = server(
        "lib",
        manifest=msgspec.structs.replace(
            manifest(), templates=tuple(map(TemplateInfo, templates)), capabilities=ServerFeatures(completions=True)
        ),
    )
    lib.completes = completes

    async def scene(hosted: HostedConversation) -> list[str]:
        return [one.text for one in await hosted.conversation.complete_mention(typed)]

    assert play_with(stage, MemoryMcpHost([lib]), scene) == texts
    assert given == ([asked] if asked else [])


def test_a_server_that_completes_nothing_is_not_started_for_it(stage: Stage) -> None:
    host = MemoryMcpHost([library()])

    async def scene(hosted: HostedConversation) -> list[str]:
        return [one.text for one in await hosted.conversation.complete_mention("lib:issue://k")]

    assert play_with(stage, host, scene) == []
    assert host.started == []
