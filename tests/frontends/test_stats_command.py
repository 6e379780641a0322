"""What all sessions used adds up by whatever one asks for, pi's among them, and unknown prices stay unknown."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from kaa.frontends import stats_command
from kaa.session.naming import folder_name, iso_timestamp
from tests.support.sessions import JsonObject, entry, user_entry, write_session

DAY_MS = 86_400_000


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAA_DIR", str(tmp_path / "kaa"))
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "pi"))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    (tmp_path / "kaa").mkdir()
    (tmp_path / "kaa" / "models.json").write_text(
        json.dumps(
            {
                "providers": {
                    "lab": {
                        "baseUrl": "http://lab/v1",
                        "api": "openai-completions",
                        "apiKey": "k",
                        "models": [{"id": "free", "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}],
                    }
                }
            }
        )
    )
    return tmp_path


def reply(entry_id: str, parent: str, model: str, tokens: int, dollars: float, days_ago: int = 0) -> JsonObject:
    provider, _, model_id = model.partition("/")
    usage = {"input": tokens, "output": 10, "cacheRead": tokens, "cacheWrite": 0, "cost": {"total": dollars}}
    at = int(time.time() * 1000) - days_ago * DAY_MS
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": "ok"}],
        "api": "a",
        "provider": provider,
        "model": model_id,
        "usage": usage,
        "stopReason": "stop",
        "timestamp": at,
    }
    return {**entry("message", entry_id, parent, message=message), "timestamp": iso_timestamp(at)}


def session(home: Path, number: int, *replies: JsonObject, cwd: str | None = None, program: str = "kaa") -> Path:
    """A session in the folder of kaa or pi."""
    cwd = cwd or str(home / "project")
    folder = home / program / "sessions" / folder_name(cwd)
    folder.mkdir(parents=True, exist_ok=True)
    session_id = f"0000000{number}-caf1-7e9f-8904-a39d66b696a1"
    header = {"type": "session", "version": 3, "id": session_id, "timestamp": iso_timestamp(0), "cwd": cwd}
    path = folder / f"2026-11-20T07-49-44-305Z_{session_id}.jsonl"
    return write_session(path, user_entry("u", None, f"question {number}"), *replies, header=header)


def table(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[list[str]]:
    assert stats_command.main(arguments, os.getcwd()) == 0
    return [line.split() for line in capsys.readouterr().out.splitlines()]


def objects(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[Any]:
    assert stats_command.main([*arguments, "--json"], os.getcwd()) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_models_are_told_the_dearest_first_in_sessions_of_both_programs(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session(home, 1, reply("a", "u", "p/small", 500, 0.25), reply("b", "a", "p/large", 100, 1.0))
    session(home, 2, reply("a", "u", "p/large", 100, 1.5), program="pi", cwd="/elsewhere")

    assert table(capsys) == [
        ["by", "model", "replies", "input", "output", "cached", "cost"],
        ["p/large", "2", "400", "20", "50%", "$2.50"],
        ["p/small", "1", "1,000", "10", "50%", "$0.2500"],
        ["together", "3", "1,400", "30", "50%", "$2.75"],
    ]


def test_unknown_prices_are_no_zero_and_free_models_are(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session(
        home,
        1,
        reply("a", "u", "p/paid", 100, 1.5),
        reply("b", "a", "p/who", 50, 0),
        reply("c", "b", "lab/free", 10, 0),
    )

    lines = table(capsys)

    assert ["p/who", "1", "100", "10", "50%", "?"] in lines
    assert ["lab/free", "1", "20", "10", "50%", "$0.0000"] in lines
    assert lines[-3][-1] == "?"
    assert " ".join(lines[-1]) == "The price of 1 reply is not known. The others cost $1.50."


def test_days_come_in_their_order_and_older_ones_can_be_left_out(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session(home, 1, *(reply(f"r{days}", "u", "p/m", days, 0.5, days) for days in (0, 1, 9)))

    everything = objects(capsys, "--by", "day")
    recent = objects(capsys, "--by", "day", "--days", "2")

    assert [row["input"] for row in everything] == [9, 1, 0]
    assert recent == everything[1:]


def test_only_what_was_done_here(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session(home, 1, reply("a", "u", "p/m", 100, 1.0))
    session(home, 2, reply("a", "u", "p/m", 100, 2.0), cwd="/elsewhere")

    assert [row["cost"] for row in objects(capsys, "--here")] == [1.0]
    assert [(row["project"], row["cost"]) for row in objects(capsys, "--by", "project")] == [
        ("/elsewhere", 2.0),
        (os.getcwd(), 1.0),
    ]


def test_sessions_are_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = session(home, 1, reply("a", "u", "p/m", 100, 1.0))

    (row,) = objects(capsys, "--by", "session")

    assert (row["session"], row["title"], row["cwd"]) == (str(path), "question 1", os.getcwd())
    assert row["id"].startswith("00000001-")
    assert table(capsys, "--by", "session")[1][:3] == ["00000001", "question", "1"]


def test_programs_get_null_for_what_is_not_known(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session(home, 1, reply("a", "u", "p/who", 100, 0))

    (row,) = objects(capsys)

    assert row == {
        "model": "p/who",
        "replies": 1,
        "input": 100,
        "output": 10,
        "cacheRead": 100,
        "cacheWrite": 0,
        "cost": None,
        "knownCost": 0.0,
        "unpriced": 1,
    }


def test_titles_cannot_reach_the_terminal(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named = entry("session_info", "n", "a", name="\x1b]0;owned\x07 title")
    session(home, 1, reply("a", "u", "p/m", 100, 1.0), named)

    stats_command.main(["--by", "session"], os.getcwd())

    assert "\x1b" not in capsys.readouterr().out


def test_nothing_used_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert table(capsys, "--days", "1") == [["no", "session", "used", "anything", "in", "that", "time"]]
    assert objects(capsys) == []


@pytest.mark.parametrize("arguments", [["--days", "0"], ["--by", "weather"], ["--all", "--here"]])
def test_what_makes_no_sense_is_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        stats_command.main(arguments, os.getcwd())

    assert stopped.value.code == 2


def test_a_mistake_in_the_settings_is_told(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "kaa" / "settings.json").write_text("{")

    assert stats_command.main([], os.getcwd()) == 2
    assert "settings.json" in capsys.readouterr().err
