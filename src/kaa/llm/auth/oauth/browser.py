"""Logging in with a browser: authorization code with PKCE (RFC 6749 4.1, 7636, 8252 7.3), brought back to this machine.

Where the browser runs on another machine, the person pastes the address it ended at, or the code in it.
"""

import asyncio
import hmac
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from types import TracebackType
from typing import Final, NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

from kaa.llm.auth.errors import LoginError, LoginRefusedError, MixedUpLoginError
from kaa.llm.auth.oauth.config import KeyGrant, OAuthConfig
from kaa.llm.auth.oauth.exchange import LoginTokens, ask, ask_in_json, refusal, secret_of, tokens_of
from kaa.llm.auth.oauth.metadata import addresses_of
from kaa.llm.auth.oauth.screen import LoginScreen
from kaa.llm.http.transport import Transport, host_of

_LONGEST_HEAD_BYTES: Final = 16 * 1024
_HEAD_SECONDS: Final = 5.0
_PAGE: Final = (
    "<!doctype html><meta charset=utf-8><title>kaa</title>"
    "<body style='font:1.1rem system-ui;margin:4rem auto;max-width:30rem'><p>{}</p>"
)
_REASONS: Final = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 410: "Gone"}
# Long enough to create an account on the way.
_LIMIT_SECONDS: Final = 600.0


class Issuer(NamedTuple):
    """The authorization server that the browser is sent to.

    Attributes:
        name: its issuer identifier, exactly as its metadata has it.
        says_so: whether it announces to name itself in every answer (RFC 9207 3).
    """

    name: str
    says_so: bool


class Loopback:
    """A listener for one answer: GET on one path, with the state that was sent along. Others are turned away.

    Args:
        state: what it has to bring along (RFC 6749 10.12); None where the path itself is the secret.
        server: whose answer it is, as messages name it.
        issuer: who has to have sent the answer, if it says so; None where that is not known.
        port: where to listen; 0 for any free port.
    """

    def __init__(
        self,
        path: str,
        state: str | None,
        server: str,
        host: str = "127.0.0.1",
        port: int = 0,
        issuer: Issuer | None = None,
    ) -> None:
        self._path = path
        self.state = state
        self._issuer = issuer
        self._server_name = server
        self._host = host
        self._port = port
        self._code: asyncio.Future[str]
        self._server: asyncio.Server
        self._served: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def __aenter__(self) -> "Loopback":
        """Listen.

        Raises:
            LoginError: something else uses the port.
        """
        self._code = asyncio.get_running_loop().create_future()
        try:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, limit=_LONGEST_HEAD_BYTES)
        except OSError as error:
            raise LoginError(
                f"kaa cannot listen on port {self._port} of this machine ({error.strerror}): end what uses it, or "
                "log in another way"
            ) from error
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        # What a browser has opened to be quick would be cancelled at the end of the loop, which complains of that.
        for writer in self._served.values():
            writer.transport.abort()
        if self._served:
            await asyncio.wait(self._served)
        if not self._code.done():
            self._code.cancel()
        elif not self._code.cancelled():
            self._code.exception()  # whoever left did not want to know

    @property
    def address(self) -> str:
        """Where the browser is to come back to."""
        return f"http://{self._host}:{self._port}{self._path}"

    async def code(self) -> str:
        """The authorization code, when the browser has brought it.

        Raises:
            LoginRefusedError: it brought a refusal.
            MixedUpLoginError: it brought the answer of another server.
        """
        return await asyncio.shield(self._code)

    def code_in(self, pasted: str) -> str:
        """The code in what a person copied from the browser: the address it was sent to, or the code alone.

        A code alone brings no state; that it is ours only the exchange tells, which needs our verifier.

        Raises:
            LoginRefusedError: it is a refusal.
            MixedUpLoginError: another server answered.
            LoginError: there is no code in it, or that of another login.
        """
        text = pasted.strip()
        if "://" in text or "?" in text:
            try:
                return self._code_of(urlsplit(text).query)
            except ValueError as error:
                raise LoginError("this is not an address from the browser: copy the whole address") from error
        if not text or not text.isascii() or not text.isprintable() or " " in text:
            raise LoginError("this is neither a code nor the address that the browser opened: copy the whole address")
        return text

    def _code_of(self, query: str) -> str:
        fields = {name: values[-1] for name, values in parse_qs(query, max_num_fields=20).items()}
        if self.state is not None and not hmac.compare_digest(fields.get("state", "").encode(), self.state.encode()):
            raise LoginError("this address belongs to another login: copy the address of the last one")
        self._check_issuer(fields.get("iss"))
        if "error" in fields:
            raise refusal(fields["error"], fields.get("error_description"), self._server_name)
        if "code" not in fields:
            raise LoginError("there is no code in this address: copy the whole address")
        return fields["code"]

    def _check_issuer(self, named: str | None) -> None:
        """RFC 9207 2.4: names are compared as they are."""
        if self._issuer is None or named == self._issuer.name or (named is None and not self._issuer.says_so):
            return
        said = f"names {named!r} as its sender" if named is not None else "does not name its sender"
        raise MixedUpLoginError(
            f"the answer to the login {said}, but kaa asked {self._issuer.name}: kaa did not use it, because another "
            "server may want the code of this one. Log in again; if that fails too, tell the server's operator"
        )

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request, whoever it is from."""
        task = asyncio.current_task()
        assert task is not None
        self._served[task] = writer
        task.add_done_callback(self._served.pop)
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                status, said = self._take(head.decode("latin-1"))
                writer.write(_response(status, said))
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # a scanner, or a browser that opened a connection to be quick
        finally:
            writer.close()

    def _take(self, head: str) -> tuple[int, str]:
        """Status and text of the answer to a request; the code goes to whoever waits for it."""
        first, *lines = head.split("\r\n")
        method, _, rest = first.partition(" ")
        target = rest.rpartition(" ")[0]
        hosts = [value.strip() for name, _, value in (line.partition(":") for line in lines) if name.lower() == "host"]
        if hosts not in ([f"127.0.0.1:{self._port}"], [f"localhost:{self._port}"]):
            return 400, "This address is only for the browser on this machine."  # DNS rebinding
        path, _, query = target.partition("?")
        if not hmac.compare_digest(path.encode(), self._path.encode()):
            return 404, "There is nothing here."
        if method != "GET":
            return 405, "Only GET is understood here."
        if self._code.done():
            return 410, "This login is over."
        try:
            self._code.set_result(self._code_of(query))
        except LoginRefusedError as error:
            self._code.set_exception(error)
            return 200, "kaa was denied access. You can close this window."
        except MixedUpLoginError as error:
            self._code.set_exception(error)
            return 400, "This is the answer of another server. kaa does not use it."
        except (LoginError, ValueError):
            return 400, "This is not the login that kaa waits for."
        return 200, "kaa has what it needs. You can close this window."


def _response(status: int, said: str) -> bytes:
    body = _PAGE.format(said).encode()
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: text/html; charset=utf-8\r\n"
        f"content-length: {len(body)}\r\ncache-control: no-store\r\nreferrer-policy: no-referrer\r\n"
        "content-security-policy: default-src 'none'; style-src 'unsafe-inline'\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body


async def log_in_with_browser(
    config: OAuthConfig, transport: Transport, screen: LoginScreen, *, limit_seconds: float = _LIMIT_SECONDS
) -> LoginTokens:
    """Log in and return the tokens. Cancelling it ends the login.

    Args:
        screen: shows the address to open, and takes what is pasted.

    Raises:
        LoginError: the person or the server said no, or it took too long.
        ProviderError: the server cannot be reached.
    """
    addresses = await addresses_of(config, transport)
    if addresses.authorization is None:
        raise LoginError("this server has no login in the browser: log in with --device")
    host = host_of(addresses.authorization)
    fields = {**config.parameters, "client_id": config.client_id}
    if config.scopes:
        fields["scope"] = " ".join(config.scopes)
    async with Loopback(
        config.redirect_path, new_state(), host, config.redirect_host, config.redirect_port
    ) as loopback:
        grant = await get_grant(loopback, addresses.authorization, fields, screen, limit_seconds=limit_seconds)
        answer = await ask(transport, addresses.token, {**grant, "client_id": config.client_id})
    return tokens_of(answer, host_of(addresses.token))


def new_state() -> str:
    """What ties an answer to the login it belongs to (RFC 6749 10.12)."""
    return secrets.token_urlsafe(32)


async def get_grant(
    loopback: Loopback,
    url: str,
    fields: Mapping[str, str],
    screen: LoginScreen,
    *,
    limit_seconds: float = _LIMIT_SECONDS,
) -> dict[str, str]:
    """Send the person to the authorization endpoint and return the form that the token endpoint takes for the answer.

    Args:
        fields: what is asked for besides the protocol's own: client, scope.
        screen: shows the address to open, and takes what is pasted.

    Raises:
        LoginError: the person or the server said no, or it took too long.
    """
    assert loopback.state is not None
    verifier = _verifier()
    asked = {
        **fields,
        "response_type": "code",
        "redirect_uri": loopback.address,
        "state": loopback.state,
        "code_challenge": challenge_of(verifier),
        "code_challenge_method": "S256",
    }
    screen.show_address(_with_query(url, asked))
    code = await _code(loopback, screen, limit_seconds)
    return {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": loopback.address,
        "code_verifier": verifier,
    }


async def get_key_with_browser(grant: KeyGrant, transport: Transport, screen: LoginScreen) -> str:
    """Have the user of a server agree, and return the API key it gives. Arguments and errors as above."""
    verifier = _verifier()
    # This server hands no state back: the path is what nobody else can know.
    path = f"/callback/{secrets.token_urlsafe(32)}"
    async with Loopback(path, None, host_of(grant.authorization_url), "localhost") as loopback:
        fields = {
            "callback_url": loopback.address,
            "code_challenge": challenge_of(verifier),
            "code_challenge_method": "S256",
        }
        screen.show_address(_with_query(grant.authorization_url, fields))
        code = await _code(loopback, screen, _LIMIT_SECONDS)
    fields = {"code": code, "code_verifier": verifier, "code_challenge_method": "S256"}
    return secret_of(await ask_in_json(transport, grant.key_url, fields), "key", host_of(grant.key_url))


def challenge_of(verifier: str) -> str:
    """The S256 challenge of a verifier (RFC 7636 4.2)."""
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _verifier() -> str:
    return secrets.token_urlsafe(48)  # 64 characters; RFC 7636 4.1 wants 43 to 128


def _with_query(url: str, fields: dict[str, str]) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(query="&".join(filter(None, [parts.query, urlencode(fields)]))))


async def _code(loopback: Loopback, screen: LoginScreen, limit_seconds: float) -> str:
    """The code that comes first: from the browser, or from the person."""
    ways = [asyncio.ensure_future(loopback.code()), asyncio.ensure_future(_pasted_code(loopback, screen))]
    try:
        done, _ = await asyncio.wait(ways, timeout=limit_seconds, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            raise LoginError(f"nobody logged in within {limit_seconds / 60:g} minutes: log in again")
        return done.pop().result()
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


async def _pasted_code(loopback: Loopback, screen: LoginScreen) -> str:
    while True:
        try:
            return loopback.code_in(await screen.pasted())
        except (LoginRefusedError, MixedUpLoginError):
            raise
        except LoginError as error:
            screen.complain(str(error))
