"""kaa's MCP client as the conformance suite runs it: a program that does what a scenario needs, at a URL.

`python -m tests.support.mcp_conformance_client URL`, with the variables `MCP_CONFORMANCE_SCENARIO` and
`MCP_CONFORMANCE_CONTEXT` (https://www.npmjs.com/package/@modelcontextprotocol/conformance).
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urljoin

from kaa.core.errors import ProviderError
from kaa.core.forms import ChoicesField, NumberField, YesNoField, defaults
from kaa.core.messages import Json
from kaa.llm.auth.errors import LoginError
from kaa.llm.http.live import LiveTransport
from kaa.llm.http.transport import HttpRequest
from kaa.mcp.client import McpClient
from kaa.mcp.errors import LoginNeededError, McpError
from kaa.mcp.http.streamable import StreamableHttpConnection
from kaa.mcp.oauth.bound import McpServerAuthorizer, let_in
from kaa.mcp.oauth.login import log_in
from kaa.mcp.oauth.machine import MachineAuthorizer
from kaa.mcp.oauth.settings import OAuthEntry
from kaa.mcp.oauth.tokens import McpAuthorizer, TokenStore
from kaa.mcp.questions import ElicitAnswer, Elicitation, FormRequest
from tests.support.mcp_connection import Observed, ScriptedQuestions

# The document that the suite serves for clients that have one.
_CLIENT_METADATA = "https://conformance-test.local/client-metadata.json"
_CALLBACK = "http://localhost:3000/callback"
_MOST_LOGINS = 3
# The scenarios without a person.
_ALONE: dict[str, Literal["client_credentials", "jwt-bearer"]] = {
    "client-credentials": "client_credentials",
    "wif": "jwt-bearer",
    "enterprise": "jwt-bearer",
}
_VALUES: dict[type, Json] = {NumberField: 5, YesNoField: True, ChoicesField: []}


Use: TypeAlias = Callable[[McpClient], Awaitable[Any]]


class _Defaults(ScriptedQuestions):
    """Accepts every form with its defaults, and what is required besides."""

    async def elicit(self, asked: Elicitation) -> ElicitAnswer:
        if not isinstance(asked, FormRequest):
            return ElicitAnswer("cancel")
        needed = {one.name: _VALUES.get(type(one), "x") for one in asked.fields if one.required}
        return ElicitAnswer("accept", needed | defaults(asked.fields))


class _Browser:
    """A `McpLoginScreen` whose person agrees at once: follows the address to where the browser would end."""

    def __init__(self) -> None:
        self._following: asyncio.Task[None] | None = None

    def show_token_host(self, host: str) -> None:
        pass

    def show_address(self, address: str) -> None:
        self._following = asyncio.create_task(self._follow(address))

    def show_code(self, address: str, code: str) -> None:
        raise NotImplementedError

    def complain(self, problem: str) -> None:
        sys.stdout.write(f"{problem}\n")

    async def pasted(self) -> str:
        await asyncio.Event().wait()
        raise AssertionError

    async def _follow(self, address: str) -> None:
        transport = LiveTransport()
        try:
            for _ in range(5):
                async with transport.send(HttpRequest("GET", address)) as response:
                    target = response.headers.get("location")
                if not target:
                    return
                address = urljoin(address, target)
        finally:
            await transport.close()


class _Client:
    """A client at a URL that logs in whenever the server wants that."""

    def __init__(self, url: str, entry: OAuthEntry, folder: Path) -> None:
        self._url = url
        self._entry = entry
        self._store = TokenStore(folder / "mcp-auth.json")
        self._transport = LiveTransport()
        self._logins = 0
        self._client: McpClient | None = None

    async def use(self, use: Use) -> Any:
        """Do something with the client, after logins if need be."""
        while True:
            try:
                if self._client is None:
                    self._client = await self._connected()
                return await use(self._client)
            except LoginNeededError as error:
                self._logins += 1
                if self._logins > _MOST_LOGINS:
                    raise
                await log_in(
                    self._url, self._entry, self._store, self._transport, _Browser(), challenge=error.challenge
                )

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
        await self._transport.close()

    async def _connected(self) -> McpClient:
        authorizer: McpServerAuthorizer = McpAuthorizer(self._url, self._store, LiveTransport)
        if self._entry.grant_type != "authorization_code":
            authorizer = MachineAuthorizer(self._url, self._entry, self._store, LiveTransport)

        async def no_headers() -> tuple[tuple[str, str], ...]:
            return ()

        return await McpClient.connect(
            lambda: StreamableHttpConnection(self._url, let_in(self._transport, authorizer), no_headers),
            _Defaults(),
            Observed(),
            eras=("modern", "legacy"),
        )


async def _run(url: str) -> None:
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    if "cimd" in scenario:  # the document names one address on this machine
        entry = OAuthEntry(client_id=_CLIENT_METADATA, callback_url=_CALLBACK)
    else:
        entry = OAuthEntry(
            client_id=context.get("client_id", ""),
            client_secret=context.get("client_secret", ""),
            grant_type=next((grant for name, grant in _ALONE.items() if name in scenario), "authorization_code"),
            private_key=context.get("private_key_pem", ""),
            assertion=context.get("valid_jwt", ""),
            idp_token_url=context.get("idp_token_endpoint", ""),
            idp_client_id=context.get("idp_client_id", ""),
            id_token=context.get("idp_id_token", ""),
        )
    with tempfile.TemporaryDirectory() as folder:
        client = _Client(url, entry, Path(folder))
        try:
            await _play(client, scenario, context)
        finally:
            await client.close()


async def _play(client: _Client, scenario: str, context: dict[str, Any]) -> None:
    manifest = await client.use(_manifest)
    calls = [(one["name"], one.get("arguments", {})) for one in context.get("toolCalls") or ()]
    if not calls:
        calls = [(tool.name, _arguments(tool.input_schema)) for tool in manifest.tools]
    if scenario == "tools_call":
        calls = [("add_numbers", {"a": 5, "b": 3})]
    elif scenario == "json-schema-2020-12-preservation":
        schemas = {tool.name: tool.input_schema for tool in manifest.tools}
        calls = [("json_schema_echo", {"schema": schemas["json_schema_2020_12_tool"]})]
    uses: list[tuple[str, Use]] = [
        (name, partial(McpClient.call, tool=name, arguments=arguments)) for name, arguments in calls
    ]
    if scenario == "http-standard-headers":
        uses += [("resources/read", partial(McpClient.read, uri="file:///path/to/file%20name.txt"))]
        uses += [("prompts/get", partial(McpClient.prompt, name="test_prompt", arguments={}))]
    for name, use in uses:
        try:
            said = str(await client.use(use))
        except (McpError, LoginError, ProviderError) as error:
            said = repr(error)
        sys.stdout.write(f"{name}: {said}\n")


async def _manifest(client: McpClient) -> Any:
    return client.manifest


def _arguments(schema: dict[str, Any]) -> dict[str, Json]:
    properties = schema.get("properties") or {}
    return {name: _VALUES.get(one.get("type", ""), "x") for name, one in properties.items() if isinstance(one, dict)}


if __name__ == "__main__":
    asyncio.run(_run(sys.argv[-1]))
