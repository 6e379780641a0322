"""`kaa models`: which are listed, and what is said of them."""

import json
import socket
import sys
from pathlib import Path

import pytest

from kaa import cli
from kaa.frontends import models_command
from kaa.llm.models.provider_table import BUILTINS
from tests.support.model_server import MODEL_ID, ModelServer


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for builtin in BUILTINS.values():
        for name in (builtin.base_url_variable, *(variable for variable, _ in builtin.key_variables)):
            if name:
                monkeypatch.delenv(name, raising=False)
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "GOOGLE_APPLICATION_CREDENTIALS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KAA_DIR", str(tmp_path))
    monkeypatch.setenv("KAA_LOCAL_SERVERS", "none")
    return tmp_path


def _lab(home: Path, *models: dict[str, object]) -> None:
    provider = {"baseUrl": "http://lab/v1", "models": models}
    (home / "models.json").write_text(json.dumps({"providers": {"lab": provider}}))


def _rows(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    return [line.split() for line in capsys.readouterr().out.splitlines()[1:]]


def test_models_of_providers_with_a_key_are_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret-key")

    assert models_command.main([]) == 0

    printed = capsys.readouterr()
    rows = [line.split() for line in printed.out.splitlines()[1:]]
    assert ["anthropic/claude-opus-5-5", "1M", "128k", "low-max", "yes", "4", "20", "0.2", "5", "there"] in rows
    assert all(row[0].startswith("anthropic/") for row in rows)
    assert "secret-key" not in printed.out + printed.err


def test_all_lists_those_without_a_key_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert models_command.main(["--all", "gpt-6.1-sol"]) == 0

    rows = _rows(capsys)
    assert [
        "openai/gpt-6.1-sol",
        "272k",
        "128k",
        "low-max",
        "yes",
        "2-4",
        "10-15",
        "0.1-0.2",
        "2.5-5",
        "missing",
    ] in rows


def test_words_narrow_the_list(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _lab(home, {"id": "Small", "name": "The little one"}, {"id": "large"})

    assert models_command.main(["small"]) == 0
    assert [row[0] for row in _rows(capsys)] == ["lab/Small"]
    assert models_command.main(["lab", "little"]) == 0
    assert [row[0] for row in _rows(capsys)] == ["lab/Small"]
    assert models_command.main(["huge"]) == 1
    assert "'huge'" in capsys.readouterr().err


def test_who_searches_for_what_there_is_no_key_for_is_told(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _lab(home, {"id": "small"})

    assert models_command.main(["gpt-6.1-sol"]) == 1

    assert "--all lists" in capsys.readouterr().err


def test_a_newcomer_finds_models_before_there_is_a_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert models_command.main(["openai", "gpt-6.1-sol"]) == 0

    printed = capsys.readouterr()
    assert any(line.startswith("openai/gpt-6.1-sol ") for line in printed.out.splitlines())
    assert "kaa login" in printed.err


@pytest.mark.parametrize("columns", [50, 80, 130])
def test_the_list_fits_into_a_terminal(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    vendor_s = "a-vendor/with-a-long-name-of-a-model-Q4"
    _lab(home, {"id": "small"}, {"id": vendor_s})
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    assert models_command.main([]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= columns
    assert "$ in" in lines[0]
    assert ("$ written" in lines[0]) == (columns == 130)
    assert any(vendor_s in line for line in lines)


def test_a_price_nobody_knows_is_a_question_mark_and_a_gift_is_nothing(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    _lab(
        home, {"id": "gift", "cost": nothing}, {"id": "unpriced"}, {"id": "uncached", "cost": {"input": 1, "output": 2}}
    )

    models_command.main(["lab"])
    rows = _rows(capsys)
    models_command.main(["lab", "--json"])
    costs = [json.loads(line).get("cost") for line in capsys.readouterr().out.splitlines()]

    assert rows == [
        ["lab/gift", "128k", "16.38k", "no", "no", "0", "0", "0", "0", "not", "needed"],
        ["lab/unpriced", "128k", "16.38k", "no", "no", "?", "?", "?", "?", "not", "needed"],
        ["lab/uncached", "128k", "16.38k", "no", "no", "1", "2", "-", "-", "not", "needed"],
    ]
    assert costs[0] is not None
    assert costs[1] is None


def test_json_has_all_that_is_known(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    models_command.main(["--json", "openai/gpt-6.1-sol"])

    (line,) = capsys.readouterr().out.splitlines()
    model = json.loads(line)
    assert (model["id"], model["provider"], model["contextWindow"]) == ("gpt-6.1-sol", "openai", 272_000)
    assert model["cost"]["tiers"][0]["inputTokensAbove"] == 272_000
    assert model["thinkingLevels"] == ["low", "medium", "high", "xhigh", "max"]
    assert (model["key"], model["usable"]) == ("there", True)


def test_the_flag_of_pi_lists_the_same(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _lab(home, {"id": "small"}, {"id": "large"})

    assert cli.run(["--list-models", "small"]) == 0
    by_flag = capsys.readouterr().out
    assert cli.run(["models", "small"]) == 0

    assert capsys.readouterr().out == by_flag
    assert "lab/small" in by_flag


def test_names_cannot_steer_the_terminal(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _lab(home, {"id": "a\x1b[2Jb"})

    models_command.main(["lab"])

    assert "\x1b" not in capsys.readouterr().out


def test_models_of_servers_on_this_machine_are_listed_and_free(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KAA_LOCAL_SERVERS", "ollama")
    with ModelServer([]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)

        assert models_command.main([]) == 0
        rows = _rows(capsys)
        assert models_command.main(["--json"]) == 0

    (row,) = rows
    (model,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert row[0].endswith(f"/{MODEL_ID}")
    assert row[5:] == ["0", "0", "0", "0", "local"]
    assert (model["key"], model["usable"], model["cost"]["input"]) == ("local", True, 0)


def test_a_server_that_never_answers_does_not_hold_the_list(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("KAA_LOCAL_SERVERS", "ollama")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{silent.getsockname()[1]}")

        assert models_command.main([]) == 0

    assert {row[0].partition("/")[0] for row in _rows(capsys)} == {"anthropic"}


def test_without_any_model_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert models_command.main([]) == 5

    printed = capsys.readouterr()
    assert printed.out == ""
    assert "kaa login" in printed.err
    assert "--all" in printed.err


def test_a_mistake_in_models_json_is_told(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "models.json").write_text("{")

    models_command.main([])

    assert "models.json" in capsys.readouterr().err
