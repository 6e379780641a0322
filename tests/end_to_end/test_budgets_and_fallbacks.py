"""What a run may use, and who goes on where a model is given up, as scripts and people meet it."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

import msgspec
import pytest

from kaa.core.messages import Json
from tests.end_to_end.kaa_process import SECRET, Kaa
from tests.end_to_end.seat import Seat, answer, enter, is_idle
from tests.support.model_server import (
    MODEL_ID,
    OVERLOADED,
    Answer,
    Call,
    Fault,
    ModelServer,
    Refusal,
    Tokens,
    Wire,
    call,
    rate_limited,
    say,
)
from tests.support.patience import HANG_SECONDS

pytestmark = pytest.mark.usefixtures("full_access")

_BUDGET = 6
_PRICED: dict[str, Json] = {"cost": {"input": 100, "output": 0, "cacheRead": 0, "cacheWrite": 0}}


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        (("--max-cost", "0.80"), "it can cost $0.70"),
        (("--max-tokens", "7k"), "7,010 tokens of the 7,000 tokens for this run"),
    ],
)
def test_a_run_without_anybody_ends_behind_the_tool_with_a_code_of_its_own(
    kaa: Kaa, flag: tuple[str, str], words: str
) -> None:
    write = msgspec.structs.replace(call("write", path="done.txt", content="yes"), usage=Tokens(prompt=7000))
    with ModelServer([write, say("never")]) as server:
        kaa.use(server, "anthropic-messages", **_PRICED)
        kaa.settings(features={"briefing": False})  # how long that is depends on the machine
        done = kaa.run("-p", *flag, "go")

    assert done.code == _BUDGET, done.err
    assert words in done.err
    assert flag[0] in done.err
    assert (kaa.project / "done.txt").read_text() == "yes"
    assert len(server.requests) == 1


def test_a_request_that_costs_more_than_allowed_is_not_sent(kaa: Kaa) -> None:
    with ModelServer([say("never")]) as server:
        kaa.use(server, "anthropic-messages", cost={"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75})
        done = kaa.run("-p", "--max-cost", "0.0030", "go")

    assert done.code == _BUDGET, done.err
    assert "the budget is too small for the next request: it can cost $0." in done.err
    assert "$0.0030 of the $0.0030 for this run are left" in done.err
    assert server.requests == []


@pytest.mark.parametrize("reporting", ["openai-completions", "openai-responses", "anthropic-messages"])
def test_what_the_server_says_that_a_reply_cost_counts_before_its_list_price(kaa: Kaa, reporting: Wire) -> None:
    dear = Answer(calls=(Call("ls"),), usage=Tokens(cost=0.6))
    with ModelServer([dear, say("never")]) as server:
        kaa.use(server, reporting, cost={"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0})
        done = kaa.run("-p", "--max-cost", "0.5", "go")

    assert done.code == _BUDGET, done.err
    assert "$0.60 of the $0.50 for this run" in done.err


def test_replies_that_break_off_use_up_a_limit_of_tokens(kaa: Kaa) -> None:
    broken = Answer(text=("word " * 8000, "never"), usage=None, fault=Fault("early_end"))
    with ModelServer([broken, broken]) as server:
        kaa.use(server, "anthropic-messages")
        done = kaa.run("-p", "--max-tokens", "8k", "go")

    assert done.code == _BUDGET, done.err
    assert "of the 8,000 tokens for this run" in done.err
    assert len(server.requests) == 1


def test_programs_are_told_in_events(kaa: Kaa) -> None:
    with ModelServer([call("ls"), say("never")]) as server:
        kaa.use(server, "openai-completions", **_PRICED)
        done = kaa.run("--mode", "json", "-p", "--max-tokens", "100", "go")

    assert done.code == _BUDGET
    update, end = done.events[-2:]
    assert (update["type"], update["state"], update["measure"], update["limit"]) == (
        "budget_update",
        "reached",
        "tokens",
        100,
    )
    assert (end["type"], end["reason"]) == ("agent_end", "budget")


def test_time_ends_a_reply_that_does_not_come(kaa: Kaa) -> None:
    with ModelServer([Answer(text=("Well ", "never"), fault=Fault("stall"))]) as server:
        kaa.use(server, "anthropic-messages")
        done = kaa.run("-p", "--max-time", "0.3s", "go")

    assert done.code == _BUDGET
    assert done.out in ("Well \n", "")  # a busy machine may not get as far as the first word
    assert "for this run" in done.err


@pytest.mark.parametrize("flag", [("--max-time", "10"), ("--max-cost", "free"), ("--max-tokens", "0")])
def test_what_is_no_limit_is_bad_usage(kaa: Kaa, flag: tuple[str, str]) -> None:
    done = kaa.run("-p", *flag, "go")

    assert done.code == 2
    assert flag[0] in done.err
    assert "such as" in done.err


def test_a_project_sets_no_budget_and_no_fallback(kaa: Kaa) -> None:
    (kaa.project / ".kaa").mkdir()
    settings = {"budget": {"run": {"tokens": 1}}, "fallbackModels": ["evil/m"]}
    (kaa.project / ".kaa" / "settings.json").write_bytes(msgspec.json.encode(settings))
    with ModelServer([call("ls"), say("done")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("-p", "--trust", "go")

    assert done.code == 0, done.err
    assert "'budget' is ignored" in done.err
    assert "'fallbackModels' is ignored" in done.err


def _two(kaa: Kaa, first: ModelServer, second: ModelServer) -> None:
    kaa.use(first, "openai-completions")
    path = kaa.home / "models.json"
    providers = msgspec.json.decode(path.read_bytes())["providers"]
    providers["spare"] = {
        "baseUrl": second.url,
        "api": "anthropic-messages",
        "apiKey": SECRET,
        "models": [{"id": "other"}],
    }
    path.write_bytes(msgspec.json.encode({"providers": providers}))


def test_another_model_of_another_vendor_goes_on(kaa: Kaa) -> None:
    kaa.settings(retry={"baseDelayMs": 1, "maxRetries": 1})
    with ModelServer([call("ls"), OVERLOADED, OVERLOADED]) as first, ModelServer([say("I did it.")]) as second:
        _two(kaa, first, second)
        done = kaa.run("-p", "--model", f"test/{MODEL_ID}", "--fallback", "spare/other", "go")

    assert (done.code, done.out) == (0, "I did it.\n"), done.err
    assert f"test/{MODEL_ID} was abandoned; spare/other continues" in done.err
    assert '"modelId":"other"' in kaa.session_text
    assert SECRET not in done.err + kaa.session_text


@pytest.mark.parametrize("name", ["nope", "spare/other,nope:high", ":99999"])
def test_a_fallback_that_does_not_exist_ends_kaa_before_a_request(kaa: Kaa, name: str) -> None:
    with ModelServer([say("never")]) as first, ModelServer() as second:
        _two(kaa, first, second)
        done = kaa.run("-p", "--model", f"test/{MODEL_ID}", "--fallback", name, "go")

    assert (done.code, done.out, first.requests) == (2, "", [])
    assert ("no port 99999" if name.startswith(":") else "nope") in done.err


@pytest.mark.parametrize("name", ["spare/other:off", ":9/m", "ollama", "openai/gpt-5.2"])
def test_a_fallback_that_may_be_there_is_not_asked_for_before_its_turn(kaa: Kaa, name: str) -> None:
    with ModelServer([say("ok")]) as first, ModelServer() as second:
        _two(kaa, first, second)
        done = kaa.run("-p", "--model", f"test/{MODEL_ID}", "--fallback", name, "go")

    assert (done.code, done.out) == (0, "ok\n"), done.err


def test_programs_are_told_of_it(kaa: Kaa) -> None:
    no_credit = Refusal(402, body='{"error":{"message":"no credit"}}')
    with ModelServer([no_credit]) as first, ModelServer([say("ok")]) as second:
        _two(kaa, first, second)
        done = kaa.run("--mode", "json", "-p", "--model", f"test/{MODEL_ID}", "--fallback", "spare/other", "go")

    types = [event["type"] for event in done.events]
    assert types.index("model_changed") < types.index("model_fallback") < types.index("agent_end")
    fallback = next(event for event in done.events if event["type"] == "model_fallback")
    assert (fallback["fromModel"], fallback["toModel"]) == (f"test/{MODEL_ID}", "spare/other")


def test_a_limit_for_an_hour_is_told_with_the_time_of_day_and_the_setting(kaa: Kaa) -> None:
    with ModelServer([rate_limited("3600")]) as server:
        kaa.use(server, "anthropic-messages")
        done = kaa.run("-p", "go")

    assert done.code == 1
    assert "It asks to come back in 60 min, at " in done.err
    assert "retry.provider.maxRetryDelayMs" in done.err


@contextmanager
def _server_that_only_says_that_it_is_alive(ping: bytes) -> Iterator[str]:
    """Streams `ping` for ever."""
    ready, over, url = Event(), Event(), []

    async def answer_with_pings(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
            while not over.is_set():
                writer.write(ping)
                await writer.drain()
                await asyncio.sleep(0.02)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def serve() -> None:
        server = await asyncio.start_server(answer_with_pings, "127.0.0.1", 0)
        url.append(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        ready.set()
        async with server:
            while not over.is_set():
                await asyncio.sleep(0.02)

    thread = Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(HANG_SECONDS)
    try:
        yield url[0]
    finally:
        over.set()
        thread.join(HANG_SECONDS)


@pytest.mark.parametrize("ping", [b": still here\n\n", b'event: ping\ndata: {"type": "ping"}\n\n'])
def test_a_server_that_only_says_that_it_is_alive_is_given_up(kaa: Kaa, ping: bytes) -> None:
    kaa.settings(retry={"maxRetries": 0, "provider": {"silenceTimeoutMs": 300}})
    with _server_that_only_says_that_it_is_alive(ping) as url:
        provider: Json = {
            "baseUrl": url,
            "api": "anthropic-messages",
            "apiKey": SECRET,
            "models": [{"id": "m"}],
        }
        (kaa.home / "models.json").write_bytes(msgspec.json.encode({"providers": {"test": provider}}))
        done = kaa.run("-p", "go")

    assert done.code == 1
    assert "sent nothing of the reply for 0.3 s" in done.err


def test_at_a_terminal_the_person_is_asked_and_may_allow_more(seat: Seat) -> None:
    seat.use(seat.model, "openai-completions", **_PRICED)
    look = Answer(calls=(Call("ls"),))
    with seat.open("--max-tokens", "100", "--approvals", "auto", script=[look, say("Found it.")]) as program:
        enter(program, "look around")
        program.wait_for("Continue with 100 tokens more?")
        answer(program, "y")
        program.wait_for("Found it.")
        program.wait_for(is_idle)
        assert "allowed for this run: 100 tokens more" in program.screen.text()


def test_at_a_terminal_no_ends_the_run(seat: Seat) -> None:
    with seat.open("--max-tokens", "100", script=[Answer(calls=(Call("ls"),)), say("never")]) as program:
        enter(program, "look around")
        program.wait_for("Continue with 100 tokens more?")
        answer(program, "n")
        program.wait_for("Allow more with /budget run")
        program.wait_for(is_idle)

    assert len(seat.model.requests) == 1


def test_the_wait_for_another_try_counts_down_and_can_be_stopped(seat: Seat) -> None:
    with seat.open(script=[rate_limited("50")]) as program:
        enter(program, "go")
        program.wait_for(re.compile(r"Retrying in (4[0-8]|[1-3]\d) s, 1 of 5"))  # a slow machine skips some
        program.press("escape")
        program.wait_for(is_idle)
