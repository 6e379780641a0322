"""Servers that want a login, within a conversation: what is said, how a person logs in, what happens without."""

import asyncio
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import pytest

from kaa.builtin.mcp.host import ServerUnavailableError
from kaa.core.messages import Json
from kaa.ext.asking import NOBODY
from kaa.ext.questions import Confirmed, Declined, Dismissed, Entered, OpenUrl, Question, TextInput
from kaa.llm.auth.errors import LoginError
from kaa.llm.http.authorized import AuthorizedTransport
from kaa.llm.http.live import LiveTransport
from kaa.mcp.connection import ServerConnection
from kaa.mcp.errors import McpError
from kaa.mcp.http.streamable import StreamableHttpConnection
from kaa.shell.home import Home
from kaa.shell.mcp.approvals import Approvals
from kaa.shell.mcp.config.entry import Scope, Source
from kaa.shell.mcp.config.reading import configured, server_of
from kaa.shell.mcp.logins import McpLogins
from kaa.shell.mcp.manifests import ServerManifests
from kaa.shell.mcp.offer import Offer
from kaa.shell.mcp.project_servers import ProjectServers
from kaa.shell.mcp.server import Server
from tests.support.login_screen import Person
from tests.support.loops import in_loop
from tests.support.mcp_browsing import Browsing
from tests.support.mcp_connection import texts
from tests.support.mcp_oauth import McpOAuthServer
from tests.support.mcp_server import ScriptedServer
from tests.support.oauth_server import Reply

AnswerT = TypeVar("AnswerT")

YES = Confirmed(yes=True)


@pytest.fixture
def oauth(monkeypatch: pytest.MonkeyPatch) -> Iterator[McpOAuthServer]:
    for name in ("http_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with McpOAuthServer() as server:
        yield server


class Lab:
    """A kaa whose user configured the server `lab`, behind a login. `fields`: more of its entry."""

    def __init__(self, folder: Path, oauth: McpOAuthServer, /, **fields: object) -> None:
        self.home = Home(folder)
        self.oauth = oauth
        self.told: list[str] = []
        oauth.behind = ScriptedServer()
        self._live = LiveTransport()
        folder.mkdir(exist_ok=True)
        (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"lab": {"url": oauth.mcp} | fields}}))
        logins = McpLogins(self.home, {}, "/project")

        def server(changed: Callable[[str], None]) -> Server:
            (one,) = configured(self.home, "/project", ()).servers

            def connect(_: Callable[[str], None]) -> ServerConnection:
                transport = AuthorizedTransport(self._live, logins.authorizer(one))
                return StreamableHttpConnection(oauth.mcp, transport, _no_headers)

            tell = partial(changed, one.name)
            offer = Offer(one, Approvals(self.home), ServerManifests(self.home), str, lambda _: "outside", tell)
            return Server(one, "/project", offer, connect, tell, lacks=partial(logins.note_missing, one))

        self.servers = ProjectServers(lambda changed: [server(changed)], lambda: logins, self.told.append)

    async def close(self) -> None:
        """End all of it."""
        await self.servers.close()
        await self._live.close()

    async def state(self, wanted: str) -> None:
        """Wait until the server is in a state."""
        reached = asyncio.Event()

        def look(_: str) -> None:
            if self.servers.servers()[0].state == wanted:
                reached.set()

        ended = self.servers.observe(look)
        look("")
        await reached.wait()
        ended()

    async def call(self) -> list[str]:
        """Call a tool of the server."""
        session = await self.servers.session("lab", NOBODY)
        return texts(await session.call("echo", {"text": "hello"}))


@pytest.fixture
def lab(tmp_path: Path, oauth: McpOAuthServer) -> Lab:
    return Lab(tmp_path / "home", oauth)


class TestAServerThatWantsALogin:
    @in_loop
    async def test_it_is_shown_with_what_to_do_and_told_once(self, lab: Lab) -> None:
        with pytest.raises(ServerUnavailableError, match="needs a login") as failed:
            await lab.call()
        for _ in range(2):
            lab.servers.tell_of_login("lab")

        view = lab.servers.servers()[0]
        assert view.state == "needs login"
        assert "`kaa mcp login lab`" in view.reason
        assert "/mcp login lab" in view.reason
        assert str(failed.value) == view.reason
        assert lab.told == [view.reason]
        await lab.close()

    @in_loop
    async def test_one_that_takes_clients_of_their_own_needs_nobody(
        self, tmp_path: Path, oauth: McpOAuthServer
    ) -> None:
        oauth.clients["svc"] = "s3cret"
        login = {"grantType": "client_credentials", "clientId": "svc", "clientSecret": "s3cret"}
        lab = Lab(tmp_path / "home", oauth, oauth=login)

        assert await lab.call() == ["hello"]
        assert lab.told == []
        await lab.close()

    @in_loop
    async def test_one_that_refuses_such_a_client_says_why(self, tmp_path: Path, oauth: McpOAuthServer) -> None:
        login = {"grantType": "client_credentials", "clientId": "svc", "clientSecret": "s3cret"}
        lab = Lab(tmp_path / "home", oauth, oauth=login)

        with pytest.raises(ServerUnavailableError, match=r"MCP server lab did not start: .* check `clientId`"):
            await lab.call()

        assert len(oauth.asked("/token")) == 1
        await lab.close()

    @in_loop
    async def test_one_that_nobody_uses_is_not_told(self, lab: Lab) -> None:
        lab.servers.begin()
        await lab.state("needs login")

        assert lab.told == []
        await lab.close()

    @in_loop
    async def test_one_that_names_no_login_may_take_a_key(self, lab: Lab) -> None:
        lab.oauth.conditions.has_resource_metadata = lab.oauth.conditions.has_metadata = False
        lab.oauth.instead["/register"] = [Reply(404)]
        setting = f'in {lab.home.path}/mcp.json, for example "headers": {{"Authorization": "Bearer ${{LAB_TOKEN}}"}}'

        with pytest.raises(ServerUnavailableError, match="needs a login or a key") as refused:
            await lab.call()
        with pytest.raises(ServerUnavailableError, match="publishes no metadata of a login") as failed:
            await lab.servers.log_in("lab", Browsing(lab.oauth, YES))

        assert str(refused.value).endswith(setting)
        assert str(failed.value).endswith(setting)
        await lab.close()

    @in_loop
    async def test_one_that_refuses_the_configured_key_says_so(self, tmp_path: Path, oauth: McpOAuthServer) -> None:
        lab = Lab(tmp_path / "home", oauth, headers={"Authorization": "Bearer wrong"})

        with pytest.raises(ServerUnavailableError, match=r"refused the headers that are configured in .*mcp\.json"):
            await lab.call()

        assert lab.servers.servers()[0].state == "failed"
        await lab.close()

    @in_loop
    async def test_a_person_logs_in_and_the_server_is_learned(self, lab: Lab) -> None:
        with pytest.raises(ServerUnavailableError):
            await lab.call()
        person = Browsing(lab.oauth, YES)

        await lab.servers.log_in("lab", person)
        await lab.state("started")

        opened, pasted = person.questions
        assert isinstance(opened, OpenUrl)
        assert opened.title == "Log in to MCP server lab?"
        assert f"; {urlsplit(opened.url).netloc} then issues the tokens" in opened.message
        assert isinstance(pasted, TextInput)
        assert await lab.call() == ["hello"]
        await lab.close()

    @in_loop
    async def test_over_ssh_the_address_is_pasted(self, lab: Lab) -> None:
        person = Elsewhere(lab.oauth)

        await lab.servers.log_in("lab", person)

        assert len(person.questions) == 3
        assert "Waiting for the browser" in str(person.questions[1])
        assert await lab.call() == ["hello"]
        await lab.close()

    @pytest.mark.parametrize("answers", [(Declined(),), (Confirmed(yes=False),), (Dismissed(),), (YES, Dismissed())])
    @in_loop
    async def test_a_person_can_refuse(self, lab: Lab, answers: tuple[Confirmed | Declined | Dismissed, ...]) -> None:
        with pytest.raises(ServerUnavailableError, match="was cancelled"):
            await lab.servers.log_in("lab", Refusing(lab.oauth, *answers))

        assert not (lab.home.path / "mcp-auth.json").exists()
        await lab.close()

    @in_loop
    async def test_where_nobody_can_be_asked_the_command_is_named_and_nobody_contacted(self, lab: Lab) -> None:
        with pytest.raises(ServerUnavailableError, match="`kaa mcp login lab` logs in"):
            await lab.servers.log_in("lab", NOBODY)

        assert lab.oauth.requests == []
        await lab.close()


class TestALogin:
    @in_loop
    async def test_it_is_renewed_once_while_several_calls_are_refused(self, lab: Lab) -> None:
        await lab.servers.log_in("lab", Browsing(lab.oauth, YES))
        await lab.state("started")
        lab.oauth.access_token = "ended early"

        answers = await asyncio.gather(*(lab.call() for _ in range(4)))

        assert answers == [["hello"]] * 4
        refreshed = [form for form in lab.oauth.asked("/token") if form["grant_type"] == "refresh_token"]
        assert len(refreshed) == 1
        await lab.close()

    @in_loop
    async def test_it_is_renewed_after_a_restart(self, lab: Lab, tmp_path: Path) -> None:
        lab.oauth.lifetime = 1
        await lab.servers.log_in("lab", Browsing(lab.oauth, YES))
        await lab.state("started")
        await lab.close()
        lab.oauth.access_token = "ended early"
        again = Lab(tmp_path / "home", lab.oauth)

        assert await again.call() == ["hello"]
        assert again.told == []
        await again.close()

    @in_loop
    async def test_one_that_ended_is_told_and_its_call_says_what_to_do(self, lab: Lab) -> None:
        await lab.servers.log_in("lab", Browsing(lab.oauth, YES))
        await lab.state("started")
        lab.oauth.access_token = lab.oauth.refresh_token = "ended early"

        with pytest.raises(McpError, match="needs a login"):
            await lab.call()

        lab.servers.tell_of_login("lab")
        assert lab.servers.servers()[0].state == "needs login"
        assert len(lab.told) == 1
        await lab.servers.log_in("lab", Browsing(lab.oauth, YES))
        assert await lab.call() == ["hello"]
        await lab.close()

    @in_loop
    async def test_one_that_permits_too_little_leaves_the_server_running_and_asks_for_more(self, lab: Lab) -> None:
        lab.oauth.conditions.scope = "read"
        with pytest.raises(ServerUnavailableError):
            await lab.call()
        await lab.servers.log_in("lab", Browsing(lab.oauth, YES))
        await lab.state("started")
        lab.oauth.conditions.scope = "write"

        with pytest.raises(McpError, match="permits more"):
            await lab.call()
        state = lab.servers.servers()[0].state
        lab.oauth.conditions.scope = "read write"
        person = Browsing(lab.oauth, YES)
        await lab.servers.log_in("lab", person)

        assert state == "started"
        assert "scope=read+write" in str(person.questions[0])
        assert await lab.call() == ["hello"]
        await lab.close()

    @in_loop
    async def test_the_scopes_that_it_lacks_are_asked_for_by_the_next_login_of_another_kaa(
        self, lab: Lab, tmp_path: Path
    ) -> None:
        lab.oauth.conditions.scope = "read"
        await lab.servers.log_in("lab", Browsing(lab.oauth, YES))
        await lab.state("started")
        for lacked in ("write", "delete"):
            lab.oauth.conditions.scope = lacked
            with pytest.raises(McpError, match="permits more"):
                await lab.call()
        await lab.close()
        again, person, another = Lab(tmp_path / "home", lab.oauth), Browsing(lab.oauth, YES), Browsing(lab.oauth, YES)

        await again.servers.log_in("lab", person)
        await again.servers.log_in("lab", another)

        assert "scope=read+delete+write" in str(person.questions[0])
        assert "write" not in str(another.questions[0])
        assert await again.call() == ["hello"]
        await again.close()


@pytest.mark.parametrize("scope", ["project", "plugin", "agent"])
@in_loop
async def test_an_entry_of_others_cannot_send_the_login_at_a_server_elsewhere(
    oauth: McpOAuthServer, tmp_path: Path, scope: Scope
) -> None:
    with McpOAuthServer() as evil:
        evil.conditions.metadata = {"issuer": oauth.url, "authorization_endpoint": f"{oauth.url}/authorize"}
        metadata = f"{evil.url}/.well-known/oauth-authorization-server"
        fields: Json = {"url": oauth.mcp, "oauth": {"authServerMetadataUrl": metadata}}
        server = server_of("lab", fields, Source("/its/file", scope), "kaa")
        person = Person()

        with pytest.raises(LoginError, match="would get the code of your login"):
            await McpLogins(Home(tmp_path), {}, "/project").log_in(server, person)

        assert not person.addresses


async def _no_headers() -> tuple[tuple[str, str], ...]:
    return ()


class Refusing(Browsing):
    """Agrees to open the address, and does not log in there."""

    async def ask(self, question: Question[AnswerT]) -> AnswerT | Dismissed:
        self.questions.append(question)
        return question.fit(self.answers.pop(0))


class Elsewhere(Browsing):
    """Logs in on another machine, and pastes a wrong address first."""

    async def ask(self, question: Question[AnswerT]) -> AnswerT | Dismissed:
        self.questions.append(question)
        if isinstance(question, OpenUrl):
            pasted = "https://elsewhere.example/?code=x", self.server.agree(question.url)
            self.answers = [YES, *map(Entered, pasted)]
        return question.fit(self.answers.pop(0))
