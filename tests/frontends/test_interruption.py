"""A signal does not lose the login that is being renewed when it comes."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.oauth_server import OAuthServer, Reply
from tests.support.patience import HANG_SECONDS

# kaa's own patience would make this test slow.
_PROCESS = """
import asyncio, sys
from pathlib import Path
import msgspec
from kaa.frontends import interruption
from kaa.host import process
from kaa.llm.auth.auth_file import AuthFile
from kaa.llm.auth.oauth.renewal import OAuthAuthorizer
from kaa.llm.auth.oauth.config import OAuthConfig
from kaa.llm.auth.oauth.renewal import ConfiguredRenewer, KeptLogin
from kaa.llm.http.live import LiveTransport
from kaa.llm.http.transport import HttpRequest

interruption._LAST_WORDS_SECONDS, process._LONGEST_SECONDS = 0.05, float(sys.argv[3])

async def work():
    renewer = ConfiguredRenewer(msgspec.json.decode(sys.argv[2], type=OAuthConfig), LiveTransport)
    await OAuthAuthorizer(KeptLogin(AuthFile(Path(sys.argv[1])), "lab"), renewer).authorize(
        HttpRequest("GET", "https://lab.example")
    )
    return 0

sys.exit(interruption.run_to_exit_code(work()))
"""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OAuthServer]:
    for name in ("http_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with OAuthServer() as running:
        yield running


@contextmanager
def renewing(
    auth: Path, server: OAuthServer, longest: float
) -> Iterator[tuple["subprocess.Popen[bytes]", threading.Event]]:
    """A process whose renewed login arrives when the event is set."""
    auth.write_text(json.dumps({"lab": {"type": "oauth", "access": "access-0", "refresh": "refresh-0", "expires": 1}}))
    auth.chmod(0o600)
    asked, released, answer = threading.Event(), threading.Event(), server.answer

    def late(path: str, fields: dict[str, str]) -> Reply:
        asked.set()
        released.wait(HANG_SECONDS)
        return answer(path, fields)

    server.answer = late  # type: ignore[method-assign]
    arguments = [sys.executable, "-c", _PROCESS, str(auth), json.dumps(server.config()), str(longest)]
    with subprocess.Popen(arguments) as process:
        try:
            assert asked.wait(HANG_SECONDS)
            yield process, released
        finally:
            released.set()
            process.kill()


@pytest.mark.parametrize(
    "numbers",
    [[signal.SIGTERM], [signal.SIGINT, signal.SIGINT], [signal.SIGHUP, signal.SIGTERM]],
    ids=["terminated", "interrupted twice", "hung up and terminated"],
)
def test_a_login_that_is_renewed_at_a_signal_is_kept(
    tmp_path: Path, server: OAuthServer, numbers: list[signal.Signals]
) -> None:
    auth = tmp_path / "auth.json"

    with renewing(auth, server, HANG_SECONDS) as (process, released):
        for number in numbers:
            process.send_signal(number)
            time.sleep(0.3)  # more than the patience of this process
        released.set()
        code = process.wait(HANG_SECONDS)

    assert code - 128 in numbers
    assert json.loads(auth.read_text())["lab"]["refresh"] == server.refresh_token == "refresh-1"


def test_a_renewal_without_an_answer_does_not_keep_kaa_running(tmp_path: Path, server: OAuthServer) -> None:
    with renewing(tmp_path / "auth.json", server, 0.1) as (process, _):
        process.send_signal(signal.SIGTERM)
        code = process.wait(HANG_SECONDS)

    assert code == 143
