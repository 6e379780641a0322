"""kaa's log: what it says, and what it must not say."""

import logging
import re
import resource
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from kaa.host.log import LOG
from kaa.shell.conversation import Conversation
from kaa.shell.home import Home
from kaa.shell.logs import start_logging, stop_logging
from tests.support.model_script import Answer, Call
from tests.support.model_server import say
from tests.support.stage import Stage

KEY = "plain-word-that-is-a-key"


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    stop_logging()


def log_of(stage: Stage) -> Path:
    path = stage.home.parent / "kaa.log"
    stage.environ["KAA_LOG"] = str(path)
    return path


async def one_question(conversation: Conversation) -> None:
    await conversation.submit("the password is swordfish")


def test_nothing_is_written_unless_it_is_wanted(stage: Stage) -> None:
    stage.server.begin([say("hello")])

    stage.play(one_question)

    assert not LOG.isEnabledFor(logging.CRITICAL)
    assert not list(stage.home.parent.glob("*.log"))


def test_a_run_is_logged_without_what_is_said_in_it(stage: Stage) -> None:
    path = log_of(stage)
    call = Call("read", '{"path": "notes.txt"}')
    stage.server.begin([Answer(calls=(call,)), say("a reply nobody else reads")])

    stage.play(one_question)

    text = path.read_text()
    for expected in (
        r"INFO kaa \S+ starts: Python 3",
        r"opens: session /\S+\.jsonl, project /",
        r"request to openai/m: 1 messages, about \d+ tokens",
        r"tool read: \d+ ms, ok",
        r"reply after \d+\.\d+ s: stop, input \d+",
        r"run ends: done",
        r"closed\n",
    ):
        assert re.search(expected, text), (expected, text)
    assert not re.search("swordfish|nobody else reads|remember the milk", text)
    assert path.stat().st_mode & 0o777 == 0o600


def test_tracebacks_of_extensions_are_logged_without_secrets(stage: Stage) -> None:
    stage.install(
        "def extend(api):\n"
        "    def observe(event, context):\n"
        "        raise ValueError('key \\x1b[1m" + KEY + "\\x1b[0m of ' + 'observer')\n"
        "    api.on_event(observe)\n"
    )
    stage.environ["SOME_API_KEY"] = KEY
    path = log_of(stage)
    stage.server.begin([say("hello")])

    stage.play(one_question)

    text = path.read_text()
    assert re.search(r"extension \S+mine.py loaded", text)
    assert re.search(r"ERROR extension \S+mine.py: on_event handler failed\n    Traceback", text)
    assert "ValueError: key [redacted] of observer" in text
    assert KEY not in text
    assert re.search(r"extension \S+mine.py unloaded", text)


def test_a_key_that_is_stored_later_is_kept_out_too(tmp_path: Path) -> None:
    path = tmp_path / "kaa.log"
    start_logging({"KAA_LOG": str(path)}, Home(tmp_path), print)

    LOG.warning("before: %s", KEY)
    (tmp_path / "auth.json").write_bytes(msgspec.json.encode({"openai": {"type": "api_key", "key": KEY}}))
    LOG.warning("after: %s", KEY)

    assert f"before: {KEY}" in path.read_text()
    assert "after: [redacted]" in path.read_text()


def test_no_text_can_look_like_another_record(tmp_path: Path) -> None:
    path = tmp_path / "kaa.log"
    start_logging({"KAA_LOG": str(path)}, Home(tmp_path), print)

    LOG.warning("one\n2026-01-01T00:00:00.000Z 1 INFO two")

    assert path.read_text().endswith("WARNING one\n    2026-01-01T00:00:00.000Z 1 INFO two\n")


def test_the_level_says_what_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "kaa.log"
    start_logging({"KAA_LOG": str(path), "KAA_LOG_LEVEL": "error"}, Home(tmp_path), print)

    LOG.warning("one")
    LOG.error("two")

    assert re.fullmatch(r"\S+Z \d+ ERROR two\n", path.read_text())


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"KAA_LOG": "kaa.log"}, "Nothing is logged: KAA_LOG: 'kaa.log' is not an absolute path"),
        ({"KAA_LOG": "/nowhere/kaa.log"}, "Nothing is logged: /nowhere/kaa.log is in a directory that does not exist"),
        ({"KAA_LOG": "/kaa.log", "KAA_LOG_LEVEL": "loud"}, "KAA_LOG_LEVEL is 'loud': use debug, info"),
    ],
)
def test_a_log_that_cannot_be_written_is_reported_and_stops_nothing(
    tmp_path: Path, variables: dict[str, str], said: str
) -> None:
    notices: list[str] = []

    start_logging(variables, Home(tmp_path), notices.append)

    assert len(notices) == 1
    assert said in notices[0]


def test_a_full_disk_ends_the_log_and_nothing_else(tmp_path: Path) -> None:
    notices: list[str] = []
    path = tmp_path / "kaa.log"
    start_logging({"KAA_LOG": str(path)}, Home(tmp_path), notices.append)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)

    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, limit[1]))
    try:
        LOG.warning("one")
        LOG.warning("two")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)

    assert notices == [f"Nothing more is logged: {path}: [Errno 27] File too large"]
