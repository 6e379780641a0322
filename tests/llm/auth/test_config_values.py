"""Values that name variables or commands."""

from pathlib import Path
from urllib.parse import quote

import pytest

from kaa.llm.auth import key_commands
from kaa.llm.auth.config_values import ConfigValues
from kaa.llm.auth.errors import CredentialError


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain", "plain"),
        ("$KEY", "k1"),
        ("${KEY}", "k1"),
        ("Bearer ${KEY}$OTHER!", "Bearer k1k2!"),
        ("$$KEY", "$KEY"),
        ("$!echo", "!echo"),
        ("costs 5$", "costs 5$"),
        ("$1", "$1"),
        ("KEY", "KEY"),
        ("!printf '  from command\\n'", "from command"),
    ],
)
def test_values_stand_for_text_variables_and_commands(value: str, expected: str) -> None:
    values = ConfigValues({"KEY": "k1", "OTHER": "k2"})

    assert values.can_evaluate(value)
    assert values.evaluate(value, "here") == expected


@pytest.mark.parametrize("environ", [{}, {"KEY": ""}])
def test_an_unset_variable_is_named(environ: dict[str, str]) -> None:
    values = ConfigValues(environ)

    assert not values.can_evaluate("x${KEY}")
    with pytest.raises(CredentialError, match=r"auth.json: a.key uses \$KEY, but that variable is not set"):
        values.evaluate("x${KEY}", "auth.json: a.key")


def test_a_command_runs_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    values = ConfigValues({})

    results = [values.evaluate(f"!echo run >> {log}; echo key", "here") for _ in range(3)]

    assert results == ["key"] * 3
    assert log.read_text() == "run\n"


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("echo first >&2; echo locked >&2; exit 3", "status 3: locked"),
        ("exit 1", "it said nothing"),
        ("true", "nothing"),
    ],
)
def test_a_command_that_fails_is_reported(command: str, complaint: str) -> None:
    with pytest.raises(CredentialError, match=complaint):
        ConfigValues({}).evaluate("!" + command, "here")


def test_a_command_that_hangs_is_killed_with_its_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_commands, "_TIMEOUT_SECONDS", 0.2)

    with pytest.raises(CredentialError, match=r"longer than 0\.2 s"):
        ConfigValues({}).evaluate("!sleep 1000 & sleep 1000; echo never", "here")


@pytest.mark.parametrize("line", ["~/other/key.sh", "cd other && ./key.sh"])
def test_a_command_executes_nothing_that_commands_could_write_in_a_project(tmp_path: Path, line: str) -> None:
    script = tmp_path / "other/key.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\ntouch ~/canary; echo key")
    script.chmod(0o755)
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    (tmp_path / ".cache/kaa/caches" / quote(str(script.parent), safe="")).mkdir(parents=True)

    with pytest.raises(CredentialError, match="here"):
        ConfigValues(environ).evaluate("!" + line, "here")

    assert not (tmp_path / "canary").exists()
    assert ConfigValues(environ).evaluate("!echo key", "here") == "key"
