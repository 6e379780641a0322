"""Extensions that act on the conversation, in whole programs: print and JSON mode, rpc mode, the terminal."""

from collections.abc import Iterator

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.end_to_end.seat import Seat, enter
from tests.support.model_server import ModelServer, say
from tests.support.rpc_client import rpc

pytestmark = pytest.mark.usefixtures("full_access")

_SENDING = """
from kaa.ext.api import events

def extend(kaa):
    def follow(event, context):
        if isinstance(event, events.AgentEnd) and context.state(list, list) == []:
            context.state(list, list).append("asked")
            context.send("And the tests?")
            context.session.add_message("kept from view", display=False)

    async def act(arguments, context):
        context.send("Look at the build.")

    kaa.on_event(follow)
    kaa.register_command("act", "Act", act)
"""


@pytest.fixture
def server(kaa: Kaa) -> Iterator[ModelServer]:
    (kaa.home / "extensions").mkdir()
    (kaa.home / "extensions" / "ci.py").write_text(_SENDING)
    with ModelServer() as server:
        kaa.use(server, "openai-completions")
        yield server


def test_print_mode_works_on_what_extensions_send(kaa: Kaa, server: ModelServer) -> None:
    server.begin([say("Hello."), say("They pass.")])

    done = kaa.run("-p", "hi")

    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("They pass.\n")


_LEAVING = """
import asyncio
from kaa.ext.api import GiveUp

def extend(kaa):
    async def look(context):
        await asyncio.sleep(0.3)
        context.show.notice("looked at what is left")

    async def give_up(reply, context):
        context.when_idle(look)
        return GiveUp("the check failed")

    kaa.before_end(give_up)
"""


def test_what_an_extension_leaves_for_later_is_done_after_a_run_that_failed(kaa: Kaa, server: ModelServer) -> None:
    (kaa.home / "extensions" / "ci.py").write_text(_LEAVING)
    server.begin([say("Done.")])

    done = kaa.run("-p", "hi")

    assert done.code != 0
    assert "the check failed" in done.err
    assert "looked at what is left" in done.err
    assert "when_idle" not in done.err


def test_json_mode_names_the_extension(kaa: Kaa, server: ModelServer) -> None:
    server.begin([say("Hello."), say("They pass.")])

    done = kaa.run("--mode", "json", "-p", "hi")

    ended = [event["message"] for event in done.events if event["type"] == "message_end"]
    (sent,) = [message for message in ended if str(message["content"]).count("And the tests?")]
    assert (sent["role"], sent["customType"], sent["display"]) == ("custom", "ci", True)


def test_rpc_mode_settles_after_the_run_of_an_extension(kaa: Kaa, server: ModelServer) -> None:
    server.begin([say("It is green."), say("They pass.")])

    with rpc(kaa) as client:
        assert client.data("prompt", message="/act") == {"disposition": "handled"}
        client.wait(lambda line: line.get("type") == "agent_settled")
        code, err = client.end()

    assert (code, err) == (0, "")
    assert len(server.requests) == 2
    assert [line["type"] for line in client.seen].count("agent_settled") == 1


def test_the_terminal_shows_who_sent_a_message(seat: Seat) -> None:
    extension = seat.project / "ci.py"
    extension.write_text(_SENDING)
    with seat.open("-e", str(extension), script=[say("It is green."), say("They pass.")]) as program:
        enter(program, "/act")
        program.wait_for("They pass.")

        shown = program.screen.text()
        assert "[ci]" in shown
        assert "Look at the build." in shown
        assert "kept from view" not in shown
