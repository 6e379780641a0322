"""A run through a recording transport, and the same run replayed: what is kept, what comes back, what is refused."""

import asyncio
import json
import stat
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from kaa.core.errors import NetworkError, ProviderError, StalledStreamError
from kaa.core.messages import Json
from kaa.core.provider import Model
from kaa.llm.cassette import (
    CassetteDivergence,
    CassetteError,
    RecordedModel,
    RecordingTransport,
    ReplayTransport,
)
from kaa.llm.http.transport import Headers, HttpRequest, HttpResponse
from tests.support.known_project import make_known

_URL = "https://api.example.com/v1/chat/completions"


class _Server:
    """A transport that answers with the given bodies in turn; an error in a body breaks the connection there."""

    def __init__(self, *bodies: Iterable[bytes | ProviderError] | ProviderError) -> None:
        self._bodies = list(bodies)
        self.closed = False

    @asynccontextmanager
    async def send(self, request: HttpRequest) -> AsyncIterator[HttpResponse]:
        body = self._bodies.pop(0)
        if isinstance(body, ProviderError):
            raise body
        headers = Headers((("Content-Type", "text/event-stream"), ("Set-Cookie", "k3y-cookie"), ("retry-after", "3")))
        yield HttpResponse(200, headers, self._play(body))

    async def _play(self, body: Iterable[bytes | ProviderError]) -> AsyncIterator[bytes]:
        for chunk in body:
            await asyncio.sleep(0)
            if isinstance(chunk, ProviderError):
                raise chunk
            yield chunk

    async def close(self) -> None:
        self.closed = True


def _request(*texts: str, model: str = "m", system: str = "You are kaa.") -> HttpRequest:
    messages = [{"role": "system", "content": system}, *({"role": "user", "content": text} for text in texts)]
    headers = (("content-type", "application/json"), ("authorization", "Bearer k3y-in-header"))
    return HttpRequest("POST", _URL, headers, msgspec.json.encode({"model": model, "messages": messages}))


def _delta(text: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode() + b"\n\n"


async def _ask(transport: RecordingTransport | ReplayTransport, request: HttpRequest) -> list[bytes]:
    async with transport.send(request) as response:
        return [chunk async for chunk in response.chunks()]


def _record(path: Path, server: _Server, *requests: HttpRequest, placeholders: Mapping[str, str] | None = None) -> None:
    async def run() -> None:
        transport = RecordingTransport(server, path, placeholders or {})
        for request in requests:
            try:
                await _ask(transport, request)
            except ProviderError:
                continue
        await transport.close()

    asyncio.run(run())


def _replay(
    path: Path,
    *requests: HttpRequest,
    placeholders: Mapping[str, str] | None = None,
) -> list[list[bytes]]:
    async def run() -> list[list[bytes]]:
        transport = ReplayTransport(path, placeholders or {})
        return [await _ask(transport, request) for request in requests]

    return asyncio.run(run())


def _lines(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def test_a_replay_gives_the_same_chunks(path: Path) -> None:
    first, second = [_delta("a"), b'data: {"x": "', "ü".encode() + b'"}\n', b"\n"], [_delta("b")]
    _record(path, _Server(first, second), _request("one"), _request("two"))

    assert _replay(path, _request("one"), _request("two")) == [first, second]


def test_a_character_cut_in_two_stays_whole(path: Path) -> None:
    body = "data: ü\n\n".encode()
    _record(path, _Server([body[:7], body[7:]]), _request("one"))

    [chunks] = _replay(path, _request("one"))

    assert b"".join(chunks) == body
    assert len(chunks) == 2


def test_a_body_that_is_no_text_comes_back_byte_for_byte(path: Path) -> None:
    body = [b"\xff\xfe\x00", bytes(range(256))]
    _record(path, _Server(body), _request("one"))

    assert _replay(path, _request("one")) == [body]


def test_a_replay_has_status_and_meaningful_headers_only(path: Path) -> None:
    _record(path, _Server([_delta("a")]), _request("one"))

    async def run() -> HttpResponse:
        async with ReplayTransport(path, {}).send(_request("one")) as response:
            return response

    response = asyncio.run(run())
    assert response.status == 200
    assert dict(response.headers.items) == {"content-type": "text/event-stream", "retry-after": "3"}


def test_no_secret_reaches_the_file(path: Path) -> None:
    spread = [_delta(part) for part in ("your key is k3y", "-in-h", "eader, ", "AKIA", "ABCD1234EFGH5678", "!")]
    _record(path, _Server(spread, [b"plain k3y-in-header \xff"]), _request("use k3y-in-header"), _request("two"))

    content = path.read_text()
    assert "k3y" not in content
    assert "ABCD1234" not in content
    [chunks, _] = _replay(path, _request("use [redacted]"), _request("two"))
    texts = [json.loads(chunk[6:])["choices"][0]["delta"]["content"] for chunk in chunks]
    assert texts == ["your key is [redacted]", "", ", ", "[redacted]", "", "!"]


def test_the_model_that_answered_is_kept_without_the_secrets_of_its_address(path: Path) -> None:
    model = Model("m", "p", "openai-completions")
    answered_by = RecordedModel(model, "https://me:hunter2@host/v1?key=k3y", thinking="low")
    RecordingTransport(_Server(), path, {}, answered_by=answered_by)

    replay = ReplayTransport(path, {})

    assert replay.answered_by == RecordedModel(model, "https://host/v1?key=[redacted]", thinking="low")


def test_a_new_file_is_private(path: Path) -> None:
    _record(path, _Server([_delta("a")]), _request("one"))

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    header, exchange = _lines(path)
    assert header["format"] == "kaa-cassette"
    assert header["version"] == 1
    assert exchange["request"]["body"]["messages"][1]["content"] == "one"


def test_a_run_replays_in_another_directory(path: Path) -> None:
    then, now = {"cwd": "/tmp/first-run"}, {"cwd": '/work/"second"'}
    spread = [_delta("in /tmp/fi"), _delta("rst-run"), _delta("/a.py")]
    _record(path, _Server(spread), _request("fix /tmp/first-run"), placeholders=then)

    [chunks] = _replay(path, _request('fix /work/"second"'), placeholders=now)

    assert "first-run" not in path.read_text()
    texts = [json.loads(chunk[6:])["choices"][0]["delta"]["content"] for chunk in chunks]
    assert texts == ['in /work/"second"', "", "/a.py"]


def test_a_placeholder_without_a_value_is_named(path: Path) -> None:
    _record(path, _Server([_delta("a")]), _request("one"), placeholders={"cwd": "/tmp/x"})

    with pytest.raises(CassetteError, match="'cwd'"):
        _replay(path, _request("one"))


@pytest.mark.parametrize("error", [NetworkError("it broke"), StalledStreamError("it stalled")])
def test_a_broken_connection_breaks_again(path: Path, error: ProviderError) -> None:
    _record(path, _Server([_delta("a"), error], error), _request("one"), _request("two"))
    received: list[bytes] = []

    async def run() -> None:
        transport = ReplayTransport(path, {})
        async with transport.send(_request("one")) as response:
            chunks = response.chunks()
            received.append(await anext(chunks))
            with pytest.raises(type(error), match=str(error)):
                await anext(chunks)
        with pytest.raises(type(error), match=str(error)):
            await _ask(transport, _request("two"))

    asyncio.run(run())
    assert received == [_delta("a")]


def test_a_cancelled_exchange_is_kept_as_far_as_it_came(path: Path) -> None:
    async def run() -> None:
        transport = RecordingTransport(_Server([_delta("a"), _delta("b")]), path, {})
        started = asyncio.Event()

        async def ask() -> None:
            async with transport.send(_request("one")) as response:
                async for _ in response.chunks():
                    started.set()
                    await asyncio.Event().wait()

        task = asyncio.create_task(ask())
        await started.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())

    [_, exchange] = _lines(path)
    assert exchange["end"] == "cancelled"
    assert [chunk.encode() for chunk in exchange["response"]["chunks"]] == [_delta("a")]
    with pytest.raises(CassetteError, match="ends in the middle of a reply"):
        _replay(path, _request("one"))


def test_a_reader_that_stops_early_leaves_a_complete_exchange(path: Path) -> None:
    async def run() -> None:
        async with RecordingTransport(_Server([_delta("a"), _delta("b")]), path, {}).send(_request("one")) as response:
            await anext(response.chunks())

    asyncio.run(run())

    [_, exchange] = _lines(path)
    assert "end" not in exchange
    assert _replay(path, _request("one")) == [[_delta("a")]]


def test_closing_closes_the_inner_transport(path: Path) -> None:
    server = _Server()

    _record(path, server)

    assert server.closed


def test_another_question_ends_the_run_and_says_where(path: Path) -> None:
    _record(path, _Server([_delta("a")], [_delta("b")]), _request("one"), _request("two"))

    with pytest.raises(CassetteDivergence) as caught:
        _replay(path, _request("one"), _request("tow"))

    assert not caught.value.transient
    assert str(caught.value) == (
        f"the run has left its recording {path} at request 2, messages[1].content:\n"
        '  recorded: "two"\n'
        '  now:      "tow"\n'
        "Record it again"
    )


def test_more_requests_than_recorded_end_the_run(path: Path) -> None:
    _record(path, _Server([_delta("a")]), _request("one"))

    with pytest.raises(CassetteDivergence, match=r"makes request 2, but .* holds only 1"):
        _replay(path, _request("one"), _request("two"))


def test_another_system_prompt_does_not_end_the_run(path: Path) -> None:
    _record(path, _Server([_delta("a")]), _request("one"))

    assert _replay(path, _request("one", system="You are boa.")) == [[_delta("a")]]


def test_unused_exchanges_are_counted(path: Path) -> None:
    _record(path, _Server([_delta("a")], [_delta("b")]), _request("one"), _request("two"))

    async def run() -> tuple[int, int]:
        transport = ReplayTransport(path, {})
        await _ask(transport, _request("one"))
        await transport.close()
        return transport.unused, len(transport.recorded)

    assert asyncio.run(run()) == (1, len("2026-11-20"))


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda text: "", "line 1 is not a header"),
        (lambda text: "{}\n" + text, "line 1 is not a header"),
        (lambda text: text.replace("kaa-cassette", "tape"), "its format is 'tape'"),
        (lambda text: text.replace('"version":1', '"version":2'), "version 2 of the cassette format"),
        (lambda text: text[:-20], "line 3: the exchange is incomplete"),
        (lambda text: text[:-1], "line 3: .*cut off"),
        (lambda text: text.replace('"status":200', '"status":"ok"', 1), r"line 2: .*\$\.response\.status"),
        (lambda text: text.replace("\n", "\n\n", 1), "line 2"),
        (lambda text: text.replace("\n", "\n" + '{"x":' * 100_000, 1), "line 2"),
        (lambda text: '{"x":' * 100_000 + text, "line 1"),
        (lambda text: text.encode().decode("latin-1").replace("data", "\udcff"), "line 2"),
    ],
)
def test_a_damaged_cassette_is_refused_with_its_line(path: Path, damage: Callable[[str], str], complaint: str) -> None:
    _record(path, _Server([_delta("a")], [_delta("b")]), _request("one"), _request("two"))
    path.write_text(damage(path.read_text()), errors="surrogateescape")

    with pytest.raises(CassetteError, match=complaint):
        ReplayTransport(path, {})


def test_files_that_cannot_be_opened_are_named(tmp_path: Path) -> None:
    with pytest.raises(CassetteError, match="cannot be read"):
        ReplayTransport(tmp_path / "none.jsonl", {})
    with pytest.raises(CassetteError, match="cannot be written"):
        RecordingTransport(_Server(), tmp_path / "none" / "run.jsonl", {})


def test_no_cassette_is_written_where_a_link_of_a_command_leads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("kaa", "project", "private"):
        (tmp_path / folder).mkdir()
    make_known(tmp_path / "project", tmp_path / "kaa", monkeypatch)
    (tmp_path / "project/runs").symlink_to(tmp_path / "private")

    with pytest.raises(CassetteError, match=r"could have made the link .*project/runs"):
        RecordingTransport(_Server(), tmp_path / "project/runs/run.jsonl", {})

    assert not list((tmp_path / "private").iterdir())


def test_recording_never_replaces_a_file(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    RecordingTransport(_Server(), file, {})
    before = file.read_bytes()

    with pytest.raises(CassetteError, match=r"exists and was not changed\. Record to another file"):
        RecordingTransport(_Server(), file, {})

    assert file.read_bytes() == before


def test_recording_to_an_empty_file_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.touch(0o640)

    RecordingTransport(_Server(), file, {})

    assert file.stat().st_size > 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
