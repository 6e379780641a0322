"""Tokens of MCP servers: in mcp-auth.json and nowhere else, whatever servers say and models ask for."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.seat import Seat, answer, enter
from tests.end_to_end.test_login import browse
from tests.end_to_end.test_mcp_logins import ECHO, address_on, configure, log_in
from tests.support.mcp_oauth import McpOAuthServer
from tests.support.mcp_server import ScriptedServer, echo_tool
from tests.support.model_server import ModelServer, call, say
from tests.support.oauth_server import refusal
from tests.support.program import Program
from tests.support.screen import Screen
from tests.support.warm_start import COMMAND


@pytest.fixture
def oauth() -> Iterator[McpOAuthServer]:
    with McpOAuthServer() as server:
        server.conditions.client = {"client_secret": "secret-of-a-client"}
        server.conditions.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
        yield server


@pytest.fixture
def seat(tmp_path: Path) -> Iterator[Seat]:
    with ModelServer() as model:
        yield Seat(tmp_path, model)


def leaks(seat: Seat, oauth: McpOAuthServer, shown: str) -> list[str]:
    """Where tokens are: on the screen, in files of kaa or of the project, in requests to the model."""
    secrets = (oauth.access_token, oauth.refresh_token, "secret-of-a-client", "code-1")
    places = {"screen": shown.encode()} | {f"request {n}": one.body for n, one in enumerate(seat.model.requests)}
    for path in (*seat.home.rglob("*"), *seat.project.rglob("*")):
        if path.is_file() and path.name != "mcp-auth.json":
            places[str(path)] = path.read_bytes()
    return [f"{secret} in {name}" for name, data in places.items() for secret in secrets if secret.encode() in data]


def test_a_login_leaves_tokens_in_one_file_only(seat: Seat, oauth: McpOAuthServer) -> None:
    configure(seat, oauth.mcp)
    script = [call("mcp", action="auth", server="lab"), call("mcp", action="status"), say("Done.")]

    seat.setenv(KAA_LOG=str(seat.home / "kaa.log"))

    with seat.open(script=script, screen=Screen(140, 60)) as program:
        enter(program, "log in to lab")
        program.wait_for("Log in to MCP server lab?")
        address = address_on(program, oauth)
        answer(program, "c")
        program.wait_for("Waiting for the browser")
        browse(oauth.agree(address))
        program.wait_for("Done.")
        shown = program.screen.text()

    assert json.loads((seat.home / "mcp-auth.json").read_text())[oauth.mcp]["access"] == oauth.access_token
    assert (seat.home / "kaa.log").exists()
    assert leaks(seat, oauth, shown) == []


def test_a_server_that_repeats_secrets_tells_them_nobody(seat: Seat, oauth: McpOAuthServer) -> None:
    configure(seat, oauth.mcp)
    oauth.instead["/token"] = [refusal("invalid_grant", "code-1 of secret-of-a-client\x1b]0;owned\x07 is used")]

    arguments = [COMMAND, "mcp", "login", "lab"]
    with Program.start(arguments, env=seat.environ, cwd=seat.project, screen=Screen(140, 30)) as program:
        browse(oauth.agree(address_on(program, oauth)))
        program.wait_for("no longer accepts this login")
        shown = program.screen.text()
        title = program.screen.title

    assert "owned" not in title
    assert leaks(seat, oauth, shown) == []


def test_a_model_cannot_log_in_where_nobody_watches(seat: Seat, oauth: McpOAuthServer) -> None:
    configure(seat, oauth.mcp)
    seat.model.begin([call("mcp", action="auth", server="lab"), say("Done.")])

    done = seat.run("-p", "log in to lab")

    assert done.code == 0, done.err
    assert "`kaa mcp login lab` logs in" in seat.heard()[-1][1]
    assert {path for path, _ in oauth.requests} == {"/mcp"}


@pytest.mark.parametrize("kind", ["page", "result"])
def test_a_server_that_repeats_its_token_tells_it_no_model(seat: Seat, oauth: McpOAuthServer, kind: str) -> None:
    configure(seat, oauth.mcp)
    log_in(seat, oauth)
    said = f"you sent Bearer {oauth.access_token}"
    tool = echo_tool(annotations={"readOnlyHint": True})
    oauth.behind = ScriptedServer(tools=[tool], results={"echo": {"content": [{"type": "text", "text": said}]}})
    oauth.conditions.page = said if kind == "page" else ""
    seat.model.begin([ECHO, say("Done.")])

    done = seat.run("-p", "hi")

    assert done.code == 0, done.err
    assert "you sent Bearer [redacted]" in seat.heard()[-1][1]
    assert leaks(seat, oauth, done.out + done.err) == []
