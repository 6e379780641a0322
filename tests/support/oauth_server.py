"""An authorization server on loopback, over real HTTP: browser and device logins, refresh tokens that rotate.

It does what the RFCs say and checks what clients must send; a test can have it misbehave.
"""

import json
import threading
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from email.message import Message
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, urlencode, urlsplit

CLIENT_ID = "kaa-of-the-tests"
USER_CODE = "WDJB-MJHT"

Fields = dict[str, str]


@dataclass
class Reply:
    """An answer, as it is sent."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)


def json_reply(content: object, status: int = 200) -> Reply:
    """An answer in JSON."""
    return Reply(status, json.dumps(content).encode(), {"content-type": "application/json"})


def refusal(code: str, description: str = "", status: int = 400) -> Reply:
    """A refusal, as RFC 6749 5.2 has it."""
    return json_reply({"error": code, "error_description": description}, status)


class OAuthServer:
    """The server; as a context manager it runs in a thread of its own.

    Attributes:
        requests: path and fields of all requests to its endpoints, in order.
        instead: answers to the next requests by path, instead of the right ones.
        lifetime: seconds that access tokens hold.
        refresh_token: the one that is accepted next.
        access_token: the one that was given last.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, Fields]] = []
        self.instead: dict[str, list[Reply]] = {}
        self.lifetime: object = 3600
        self.refresh_token = "refresh-0"
        self.access_token = "access-0"
        self.rotates = True
        self._challenges: dict[str, tuple[str, str]] = {}
        self._issued = 0
        self._lock = threading.Lock()
        self._handled = threading.local()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), name="oauth-server")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Its issuer."""
        return f"http://127.0.0.1:{self._http.server_port}"

    def config(self, **changes: object) -> dict[str, object]:
        """An entry `oauth` of models.json that leads here."""
        addresses = {"authorizationUrl": f"{self.url}/authorize", "tokenUrl": f"{self.url}/token"}
        return {"clientId": CLIENT_ID, "deviceUrl": f"{self.url}/device", **addresses, **changes}

    def asked(self, path: str) -> list[Fields]:
        """The fields of all requests to an endpoint."""
        return [fields for where, fields in self.requests if where == path]

    def agree(self, address: str, *, code: str = "code-1") -> str:
        """What a browser does whose user agrees: returns the address it is sent back to."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        target = asked.get("redirect_uri") or asked["callback_url"]
        self._challenges[code] = asked["code_challenge"], asked.get("redirect_uri", "")
        state = {"state": asked["state"]} if "state" in asked else {}
        return f"{target}?{urlencode({'code': code, **state})}"

    @property
    def authorization(self) -> str:
        """The header `Authorization` of the request that this thread answers."""
        return str(self.headers.get("authorization", ""))

    @property
    def headers(self) -> Message:
        """The headers of the request that this thread answers."""
        headers: Message = self._handled.headers
        return headers

    def handle(self, path: str, fields: Fields, headers: Message) -> Reply:
        """Answer a request."""
        self._handled.headers = headers
        return self.answer(path, fields)

    def answer(self, path: str, fields: Fields) -> Reply:
        """What to answer to a request."""
        with self._lock:
            self.requests.append((path, fields))
            if self.instead.get(path):
                return self.instead[path].pop(0)
            endpoint = self.endpoints().get(path)
            return endpoint(fields) if endpoint else Reply(404, b"<html>not here</html>")

    def endpoints(self) -> dict[str, Callable[[Fields], Reply]]:
        """What answers by path."""
        return {
            "/token": self._token,
            "/device": self._device,
            "/keys": self._key,
            "/.well-known/oauth-authorization-server": lambda _: json_reply(self.metadata()),
        }

    def metadata(self) -> dict[str, object]:
        """What it says about itself (RFC 8414)."""
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "device_authorization_endpoint": f"{self.url}/device",
        }

    def knows(self, fields: Fields) -> bool:
        """Whether a client proves to be one of its own."""
        return fields.get("client_id") == CLIENT_ID

    def _device(self, fields: Fields) -> Reply:
        if fields.get("client_id") != CLIENT_ID:
            return refusal("invalid_client", status=401)
        return json_reply(
            {
                "device_code": "device-1",
                "user_code": USER_CODE,
                "verification_uri": f"{self.url}/enter",
                "expires_in": 900,
                "interval": 1,
            }
        )

    def _token(self, fields: Fields) -> Reply:
        if not self.knows(fields):
            return refusal("invalid_client", status=401)
        match fields.get("grant_type"):
            case "authorization_code" if self._proves(fields, fields.get("redirect_uri", "")):
                return self._tokens()
            case "refresh_token" if fields.get("refresh_token") == self.refresh_token:
                return self._tokens()
            case "urn:ietf:params:oauth:grant-type:device_code" if fields.get("device_code") == "device-1":
                return self._tokens()
        return refusal("invalid_grant", "it was used before")

    def _key(self, fields: Fields) -> Reply:
        return json_reply({"key": "sk-or-1", "user_id": "u"}) if self._proves(fields, "") else refusal("bad", "", 403)

    def _proves(self, fields: Fields, target: str) -> bool:
        """Whether the code was given for this verifier and address; each is good once."""
        challenge, promised = self._challenges.pop(fields.get("code", ""), ("", ""))
        digest = sha256(fields.get("code_verifier", "").encode()).digest()
        return challenge == urlsafe_b64encode(digest).decode().rstrip("=") and target == promised

    def _tokens(self) -> Reply:
        self._issued += 1
        self.access_token = f"access-{self._issued}"
        given = {"access_token": self.access_token, "token_type": "Bearer", "expires_in": self.lifetime}
        if self.rotates:
            self.refresh_token = f"refresh-{self._issued}"
            given["refresh_token"] = self.refresh_token
        return json_reply(given)


def _handler(server: OAuthServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0"))).decode()
            is_json = self.headers.get("content-type", "").startswith("application/json")
            fields = json.loads(body) if is_json else {name: values[0] for name, values in parse_qs(body).items()}
            self._reply(server.handle(self.path, fields, self.headers))

        def do_GET(self) -> None:
            self._reply(server.handle(self.path, {}, self.headers))

        def _reply(self, reply: Reply) -> None:
            self.send_response(reply.status)
            for name, value in {**reply.headers, "content-length": str(len(reply.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, *_: object) -> None:
            """Nothing: what is printed would be part of the tests' output."""

    return Handler
