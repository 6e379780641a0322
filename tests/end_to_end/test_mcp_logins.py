"""Logins at MCP servers, as a person comes to them: on the command line."""

import json
import re
from collections.abc import Iterator

import pytest

from kaa.frontends.exit_codes import ExitCode
from kaa.shell.home import Home
from kaa.shell.mcp.approvals import Approvals
from kaa.shell.mcp.config.reading import configured
from kaa.shell.trust.configuration import ConfigurationFile, ProjectConfiguration
from kaa.shell.trust.store import TrustStore
from tests.end_to_end.seat import Seat, answer, enter
from tests.end_to_end.test_login import browse
from tests.support.mcp_oauth import McpOAuthServer
from tests.support.mcp_server import ScriptedServer, echo_tool
from tests.support.model_server import call, say
from tests.support.oauth_server import refusal
from tests.support.patience import HANG_SECONDS
from tests.support.program import Program
from tests.support.screen import Screen
from tests.support.warm_start import COMMAND

pytestmark = pytest.mark.usefixtures("full_access")

ECHO = call("mcp", action="call", server="lab", tool="echo", arguments={"text": "through the door"})


@pytest.fixture
def oauth() -> Iterator[McpOAuthServer]:
    with McpOAuthServer() as server:
        yield server


def configure(seat: Seat, url: str, **fields: object) -> None:
    (seat.home / "mcp.json").write_text(json.dumps({"mcpServers": {"lab": {"url": url, **fields}}}))


def configure_in_project(seat: Seat, entry: dict[str, object]) -> None:
    """In a project that the user trusts."""
    data = json.dumps({"mcpServers": {"lab": entry}}).encode()
    (seat.project / ".mcp.json").write_bytes(data)
    project = ProjectConfiguration(str(seat.project.resolve()), (ConfigurationFile(".mcp.json", "file", data),))
    TrustStore(Home(seat.home)).trust(project)


def at_terminal(seat: Seat, *arguments: str) -> Program:
    return Program.start([COMMAND, "mcp", *arguments], env=seat.environ, cwd=seat.project, screen=Screen(140, 30))


def address_on(program: Program, server: McpOAuthServer) -> str:
    """The address that somebody is to open."""
    program.wait_for("code_challenge_method=S256")
    shown = re.sub(r"[\s│|]+", "", program.screen.text())
    found = re.search(rf"{re.escape(server.url)}/authorize\?[\w=&%.+-]*?code_challenge_method=S256", shown)
    assert found, program.screen.text()
    return found[0]


def stored(seat: Seat) -> dict[str, dict[str, object]]:
    content: dict[str, dict[str, object]] = json.loads((seat.home / "mcp-auth.json").read_text())
    return content


def test_a_person_logs_in_and_out_on_the_command_line(seat: Seat, oauth: McpOAuthServer) -> None:
    configure(seat, oauth.mcp)
    oauth.conditions.metadata["revocation_endpoint"] = f"{oauth.url}/revoke"

    with at_terminal(seat, "login", "lab") as program:
        browse(oauth.agree(address_on(program, oauth)))
        program.wait_for("You are logged in to lab")
        assert oauth.access_token not in program.screen.text()
    kept = stored(seat)
    out, again = seat.run("mcp", "logout", "lab"), seat.run("mcp", "logout", "lab")

    assert kept[oauth.mcp]["access"] == oauth.access_token
    assert (seat.home / "mcp-auth.json").stat().st_mode & 0o777 == 0o600
    assert out.code == 0
    assert out.out.startswith("The login at lab was removed. Its tokens were revoked at 127.0.0.1:")
    assert [form["token"] for form in oauth.asked("/revoke")] == [oauth.refresh_token, oauth.access_token]
    assert stored(seat) == {}
    assert (again.code, again.err) == (1, "kaa: there is no login at lab\n")


def test_a_login_is_removed_with_the_last_server_of_its_address(seat: Seat, oauth: McpOAuthServer) -> None:
    oauth.conditions.metadata["revocation_endpoint"] = f"{oauth.url}/revoke"
    configure(seat, oauth.mcp)
    log_in(seat, oauth)
    seat.run("mcp", "add", "twin", f"{oauth.mcp}#", "--description", "the same")

    first = seat.run("mcp", "remove", "lab")
    kept = stored(seat)
    last = seat.run("mcp", "remove", "twin")

    assert (first.code, last.code) == (0, 0), first.err + last.err
    assert first.out.endswith("The login at it stays: twin has the same address.\n")
    assert oauth.mcp in kept
    assert "The login at it was removed. Its tokens were revoked at 127.0.0.1:" in last.out
    assert [form["token"] for form in oauth.asked("/revoke")] == [oauth.refresh_token, oauth.access_token]
    assert stored(seat) == {}


def test_a_login_is_removed_though_nobody_can_revoke_it(seat: Seat, oauth: McpOAuthServer) -> None:
    configure(seat, oauth.mcp)
    log_in(seat, oauth)

    done = seat.run("mcp", "remove", "lab")

    assert (done.code, done.err) == (0, "")
    assert "The login at it was removed. Its tokens stay valid until they expire" in done.out
    assert stored(seat) == {}


def test_an_entry_that_was_never_approved_ends_no_login(seat: Seat, oauth: McpOAuthServer) -> None:
    configure(seat, oauth.mcp)
    log_in(seat, oauth)
    (seat.home / "mcp.json").unlink()
    (seat.project / ".kaa").mkdir()
    (seat.project / ".kaa" / "mcp.json").write_text(json.dumps({"mcpServers": {"lab": {"url": oauth.mcp}}}))

    done = seat.run("mcp", "remove", "--project", "lab")

    assert done.code == 0, done.err
    assert oauth.mcp in stored(seat)


def test_over_ssh_the_address_is_pasted(seat: Seat, oauth: McpOAuthServer) -> None:
    configure(seat, oauth.mcp)

    with at_terminal(seat, "login", "lab") as program:
        ended_at = oauth.agree(address_on(program, oauth))
        enter(program, "https://elsewhere.example/?code=x")
        program.wait_for("kaa: ")
        enter(program, ended_at)
        program.wait_for("You are logged in to lab")

    assert stored(seat)[oauth.mcp]["access"] == oauth.access_token


def test_an_unknown_name_is_told_with_the_known_ones(seat: Seat, oauth: McpOAuthServer) -> None:
    configure(seat, oauth.mcp)

    done = seat.run("mcp", "login", "other")

    assert done.code == 2
    assert done.err == "kaa: there is no MCP server 'other' here. Configured: lab\n"


def test_a_refusal_ends_the_login_and_says_why(seat: Seat, oauth: McpOAuthServer) -> None:
    configure(seat, oauth.mcp)
    oauth.instead["/token"] = [refusal("invalid_grant", "the code was used")]

    with at_terminal(seat, "login", "lab") as program:
        browse(oauth.agree(address_on(program, oauth)))
        program.wait_for("the code was used")

    assert not (seat.home / "mcp-auth.json").exists()


def test_a_server_that_is_a_program_has_no_login(seat: Seat) -> None:
    (seat.home / "mcp.json").write_text(json.dumps({"mcpServers": {"files": {"command": "files"}}}))

    done = seat.run("mcp", "login", "files")

    assert (done.code, done.err) == (1, "kaa: MCP server files is a program on this machine: it has no login\n")


def test_a_configured_header_comes_before_a_login(seat: Seat, oauth: McpOAuthServer) -> None:
    configure(seat, oauth.mcp, headers={"authorization": "Bearer ${LAB_TOKEN}"})

    done = seat.run("mcp", "login", "lab")

    assert done.code == 1
    assert "remove the header first" in done.err
    assert oauth.requests == []


def test_a_server_of_an_untrusted_project_is_not_contacted(seat: Seat, oauth: McpOAuthServer) -> None:
    (seat.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"lab": {"url": oauth.mcp}}}))

    done = seat.run("mcp", "login", "lab")

    assert done.code == 2
    assert "not trusted (.mcp.json). Start kaa in this directory: /trust shows it and asks\n" in done.err
    assert "there is no MCP server 'lab' here" in done.err
    assert oauth.requests == []


def test_a_server_of_a_project_is_contacted_only_once_it_is_approved(seat: Seat, oauth: McpOAuthServer) -> None:
    configure_in_project(seat, {"url": oauth.mcp})

    done = seat.run("mcp", "login", "lab")

    assert done.code == 1
    assert "`kaa mcp approve lab` approves it" in done.err
    assert oauth.requests == []


@pytest.mark.parametrize("field", ["clientSecret", "clientId", "scope"])
def test_a_server_of_a_project_gets_no_key_of_kaa_with_its_login(seat: Seat, oauth: McpOAuthServer, field: str) -> None:
    key_file = seat.home / "auth.json"
    key_file.touch(0o600)
    key_file.write_text(json.dumps({"test": {"type": "api_key", "key": "$LAB_KEY"}}))
    seat.setenv(LAB_KEY="sk-of-the-user")
    configure_in_project(seat, {"url": oauth.mcp, "oauth": {"clientId": "kaa", field: "${LAB_KEY}"}})
    home = Home(seat.home)
    project = str(seat.project.resolve())
    (server,) = configured(home, project, [(".mcp.json", (seat.project / ".mcp.json").read_bytes())]).servers
    Approvals(home).approve(server)

    done = seat.run("mcp", "login", "lab")

    assert done.code == 1
    assert "${LAB_KEY} is a key of kaa, which servers of projects and plugins do not get" in done.err
    assert oauth.requests == []


def test_in_the_terminal_a_login_is_two_questions(seat: Seat, oauth: McpOAuthServer) -> None:
    configure(seat, oauth.mcp)

    with seat.open(screen=Screen(140, 40)) as program:
        enter(program, "/mcp login lab")
        program.wait_for("Log in to MCP server lab?")
        program.wait_for(f"Host: {oauth.url.partition('//')[2].partition(':')[0]}")
        address = address_on(program, oauth)
        answer(program, "c")
        program.wait_for("Waiting for the browser")
        browse(oauth.agree(address))
        program.wait_for("Logged in to lab.")
        assert "Waiting for the browser" not in program.screen.text()

    assert stored(seat)[oauth.mcp]["access"] == oauth.access_token
    assert oauth.access_token not in "".join(path.read_text() for path in seat.session_files)


def test_in_the_terminal_a_login_can_be_refused(seat: Seat, oauth: McpOAuthServer) -> None:
    configure(seat, oauth.mcp)

    with seat.open(screen=Screen(140, 40)) as program:
        enter(program, "/mcp login lab")
        program.wait_for("Log in to MCP server lab?")
        answer(program, "n")
        program.wait_for("was cancelled")

    assert not (seat.home / "mcp-auth.json").exists()


class TestWithTools:
    """The server has tools, behind its door."""

    @pytest.fixture(autouse=True)
    def behind(self, oauth: McpOAuthServer) -> None:
        oauth.behind = ScriptedServer(tools=[echo_tool(annotations={"readOnlyHint": True})])

    def test_print_mode_names_the_command(self, seat: Seat, oauth: McpOAuthServer) -> None:
        configure(seat, oauth.mcp)
        seat.model.begin([ECHO, say("It needs a login.")])

        done = seat.run("-p", "hi")

        assert done.code == 0, done.err
        assert "\nMCP server lab needs a login. Log in with `kaa mcp login lab`" in done.err
        assert "needs a login" in seat.heard()[-1][1]

    def test_a_required_server_that_needs_a_login_ends_the_run(self, seat: Seat, oauth: McpOAuthServer) -> None:
        configure(seat, oauth.mcp, required=True)

        done = seat.run("-p", "hi")

        assert (done.code, done.out) == (ExitCode.USAGE, ""), done.err
        assert "`kaa mcp login lab`" in done.err
        assert "It is required in" in done.err

    def test_a_login_of_the_command_line_lets_the_model_in(self, seat: Seat, oauth: McpOAuthServer) -> None:
        configure(seat, oauth.mcp)
        log_in(seat, oauth)
        seat.model.begin([ECHO, say("Done.")])

        done = seat.run("-p", "hi")

        assert (done.code, done.out) == (0, "Done.\n"), done.err
        assert "through the door" in seat.heard()[-1][1]

    @pytest.mark.parametrize("ending", ["in time", "early"])
    def test_two_runs_renew_an_ended_login_once(self, seat: Seat, oauth: McpOAuthServer, ending: str) -> None:
        configure(seat, oauth.mcp)
        log_in(seat, oauth)
        oauth.access_token = "ended"
        if ending == "in time":
            entries = stored(seat)
            entries[oauth.mcp]["expires"] = 1
            (seat.home / "mcp-auth.json").write_text(json.dumps(entries))
        seat.model.begin([ECHO, ECHO, say("Done."), say("Done.")])

        with seat.running("-p", "hi") as one, seat.running("-p", "hi") as other:
            said = [run.communicate(timeout=HANG_SECONDS) for run in (one, other)]

        assert [out for out, _ in said] == ["Done.\n"] * 2
        assert "needs a login" not in "".join(err for _, err in said)
        assert len([form for form in oauth.asked("/token") if form["grant_type"] == "refresh_token"]) == 1

    def test_in_the_terminal_a_server_is_used_right_after_its_login(self, seat: Seat, oauth: McpOAuthServer) -> None:
        configure(seat, oauth.mcp)

        script = [ECHO, say("It is locked."), ECHO, say("It said it.")]
        with seat.open(script=script, screen=Screen(140, 50)) as program:
            enter(program, "use it")
            program.wait_for("MCP server lab needs a login")
            program.wait_for("It is locked.")
            enter(program, "/mcp")
            enter(program, "/mcp")
            program.wait_for("lab: needs login")
            enter(program, "/mcp login lab")
            program.wait_for("Log in to MCP server lab?")
            address = address_on(program, oauth)
            answer(program, "c")
            program.wait_for("Waiting for the browser")
            browse(oauth.agree(address))
            program.wait_for("Logged in to lab.")
            enter(program, "use it now")
            host = oauth.url.partition("//")[2]
            program.wait_for(f"Allow mcp__lab__echo at {host}?")
            program.wait_for(f"calls MCP server lab at {host}")
            program.wait_for("all tools of lab")
            answer(program, "t")
            program.wait_for("It said it.")

        assert "through the door" in seat.heard()[-1][1]


def log_in(seat: Seat, oauth: McpOAuthServer) -> None:
    with at_terminal(seat, "login", "lab") as program:
        browse(oauth.agree(address_on(program, oauth)))
        program.wait_for("You are logged in to lab")
