"""Commands whose connections wait for an answer: what their results say if the answer comes late, or never."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from kaa.workspace.blocked import Blocked, BlockedKind
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.network.asking import HostAnswer
from kaa.workspace.protocol import CommandRequest, CommandResult
from tests.support.elsewhere import folder_elsewhere
from tests.support.patience import HANG_SECONDS
from tests.workspace.sandbox.test_sandbox import Scenario, sh
from tests.workspace.sandbox.test_sandbox import play as play_anywhere

# Of the event loop, in which kaa hears of connections that were closed before.
_ROUNDS = 20
_LIMIT_SECONDS = 2.0
_FETCH = "import urllib.request as r; r.urlopen('http://name.invalid/')"


def play(folder: Path, scenario: Scenario) -> None:
    """Where there is a proxy."""

    async def held(workspace: LocalWorkspace) -> None:
        if (await workspace.sandbox.status()).tier in ("landlock", "none"):
            pytest.skip("this machine's sandbox has no proxy")
        await scenario(workspace)

    play_anywhere(folder, held)


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_elsewhere() as folder:
        (folder / "project").mkdir()
        yield folder


class User:
    """Answers a question about hosts when `until` says so; never, if there is none."""

    can_ask = True

    def __init__(self, answer: HostAnswer, until: Callable[[], bool] | None = None) -> None:
        self._answer = answer
        self._until = until
        self.asked = asyncio.Event()
        self.withdrawn = False

    def together(self, hosts: Sequence[str]) -> Sequence[str]:
        return hosts

    async def ask_private(self, host: str, addresses: Sequence[str], *, alone: bool) -> HostAnswer:
        raise AssertionError("the name has no address")

    async def ask(self, hosts: Sequence[str], *, alone: bool) -> HostAnswer:
        assert hosts == ("name.invalid",)
        assert alone
        self.asked.set()
        try:
            while self._until is None or not self._until():
                await asyncio.sleep(0.01)
            for _ in range(_ROUNDS):
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.withdrawn = True
            raise
        return self._answer


@pytest.mark.parametrize(("answer", "kind"), [("call", "late"), ("session", "late"), ("no", "network")])
def test_a_program_that_does_not_wait_for_the_answer_is_told_what_it_was(
    folder: Path, answer: HostAnswer, kind: BlockedKind
) -> None:
    ended = folder / "project" / "ended"
    script = r"""
    python3 - <<'END'
import socket, os, urllib.parse
proxy = urllib.parse.urlsplit(os.environ["http_proxy"])
s = socket.create_connection((proxy.hostname, proxy.port))
s.sendall(b"CONNECT name.invalid:443 HTTP/1.1\r\n\r\n")
while not os.path.exists("asked"):
    pass
END
    touch ended; exit 1
    """
    user = User(answer, ended.exists)
    results: list[CommandResult] = []

    async def scenario(workspace: LocalWorkspace) -> None:
        running = asyncio.create_task(sh(workspace.asking(user), script))
        await asyncio.wait_for(user.asked.wait(), HANG_SECONDS)
        (folder / "project" / "asked").touch()
        results.append(await running)

    play(folder, scenario)

    assert [one for one in results[0].blocked if one.what] == [Blocked(kind, "name.invalid:443")]


def test_the_time_of_a_command_stands_still_while_its_question_is_open(folder: Path) -> None:
    begun = time.monotonic()
    user = User("no", lambda: time.monotonic() > begun + 2 * _LIMIT_SECONDS)
    # The question is there within milliseconds: nothing but the shell starts.
    script = """
    proxy=${http_proxy#*//}; proxy=${proxy%/}
    exec 3<>"/dev/tcp/${proxy%:*}/${proxy##*:}"
    printf 'CONNECT name.invalid:443 HTTP/1.1\\r\\n\\r\\n' >&3
    read -r answer <&3
    echo "$answer"
    """
    results: list[CommandResult] = []

    async def scenario(workspace: LocalWorkspace) -> None:
        command = CommandRequest(["bash", "-c", script], timeout=_LIMIT_SECONDS)
        results.append(await workspace.asking(user).run(command))

    play(folder, scenario)

    assert not results[0].timed_out
    assert b" 403 " in results[0].tail


def test_a_command_that_ends_well_withdraws_its_question(folder: Path) -> None:
    user = User("call")
    script = f'python3 -c "{_FETCH}" & while [ ! -e asked ]; do sleep 0.1; done; exit 0'
    results: list[CommandResult] = []

    async def scenario(workspace: LocalWorkspace) -> None:
        running = asyncio.create_task(sh(workspace.asking(user), script))
        await asyncio.wait_for(user.asked.wait(), HANG_SECONDS)
        (folder / "project" / "asked").touch()
        results.append(await running)

    play(folder, scenario)

    assert user.withdrawn
    assert results[0].missed == (Blocked("unanswered", "name.invalid:80"),)


def test_a_command_that_is_stopped_withdraws_its_question(folder: Path) -> None:
    user = User("call")

    async def scenario(workspace: LocalWorkspace) -> None:
        running = asyncio.create_task(sh(workspace.asking(user), f'python3 -c "{_FETCH}"'))
        await asyncio.wait_for(user.asked.wait(), HANG_SECONDS)

        running.cancel()
        await asyncio.wait({running})

        assert running.cancelled()
        assert user.withdrawn
        after = await sh(workspace, f'python3 -c "{_FETCH}" 2>&1')
        assert after.blocked == (Blocked("network", "name.invalid:80"),)

    play(folder, scenario)


def test_an_agent_with_a_narrower_workspace_asks_nobody(folder: Path) -> None:
    user = User("session")

    async def scenario(workspace: LocalWorkspace) -> None:
        narrower = workspace.asking(user).narrowed(hosts=())
        try:
            result = await sh(narrower, f'python3 -c "{_FETCH}"')
        finally:
            await narrower.close()

        assert result.blocked == (Blocked("network", "name.invalid:80"),)
        assert not user.asked.is_set()

    play(folder, scenario)


def test_several_conversations_share_what_is_permitted_and_each_asks_for_its_own(folder: Path) -> None:
    first, second = User("session", lambda: True), User("no", lambda: True)

    async def scenario(workspace: LocalWorkspace) -> None:
        with workspace.of_conversation() as one, workspace.of_conversation() as other:
            refused = await sh(other.asking(second), f'python3 -c "{_FETCH}" 2>&1')
            allowed = await sh(one.asking(first), f'python3 -c "{_FETCH}" 2>&1')
            shared = await sh(other.asking(User("no")), f'python3 -c "{_FETCH}" 2>&1')

        assert refused.blocked == (Blocked("network", "name.invalid:80"),)
        assert (allowed.blocked, shared.blocked) == ((), ())
        assert (second.asked.is_set(), first.asked.is_set()) == (True, True)
        assert b"502" in shared.tail

    play(folder, scenario)
