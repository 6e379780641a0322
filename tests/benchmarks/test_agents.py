"""Finding the agents that are measured: where they are looked for, and which are too old."""

from pathlib import Path

import pytest

from benchmarks.agents import AGENTS, Found, NotHereError, search_path

PI = next(agent for agent in AGENTS if agent.name == "pi")


def _program(path: Path, version: str = "1.6.0", *, code: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho 'pi {version}'\nexit {code}\n")
    path.chmod(0o755)
    return path


def test_the_installed_peer_comes_before_the_path(tmp_path: Path) -> None:
    installed, other = _program(tmp_path / "peers" / "pi", "1.6.0"), _program(tmp_path / "bin" / "pi", "1.7.1")
    environ = {"PATH": f"{other.parent}:/bin"}

    assert PI.find(environ, installed.parent) == Found(str(installed), "1.6.0")
    assert PI.find(environ, tmp_path / "nowhere") == Found(str(other), "1.7.1")


def test_the_variable_comes_first(tmp_path: Path) -> None:
    installed, given = _program(tmp_path / "peers" / "pi"), _program(tmp_path / "given", "2.0")

    found = PI.find({"PATH": "/bin", "KAA_BENCH_PI": str(given)}, installed.parent)

    assert found == Found(str(given), "2.0")


def test_a_variable_that_names_no_program_is_reported_and_nothing_else_measured(tmp_path: Path) -> None:
    installed = _program(tmp_path / "peers" / "pi")

    with pytest.raises(NotHereError, match="KAA_BENCH_PI names no program: /nowhere/pi"):
        PI.find({"PATH": "/bin", "KAA_BENCH_PI": "/nowhere/pi"}, installed.parent)


def test_an_agent_that_is_nowhere_names_what_installs_it(tmp_path: Path) -> None:
    with pytest.raises(NotHereError, match="make peers"):
        PI.find({"PATH": str(tmp_path)}, tmp_path)


@pytest.mark.parametrize("version", ["0.74.2", "1.5.2", "1.5"])
def test_an_older_pi_is_not_measured(tmp_path: Path, version: str) -> None:
    _program(tmp_path / "pi", version)

    with pytest.raises(NotHereError, match=f"version {version} is too old: 1.6 or newer is needed"):
        PI.find({"PATH": "/bin"}, tmp_path)


@pytest.mark.parametrize("version", ["1.6", "1.10.0", "2.0.0"])
def test_a_newer_pi_is_measured(tmp_path: Path, version: str) -> None:
    _program(tmp_path / "pi", version)

    assert PI.find({"PATH": "/bin"}, tmp_path).version == version


def test_a_program_that_does_not_start_is_reported_with_its_last_words(tmp_path: Path) -> None:
    _program(tmp_path / "pi", "needs a newer node", code=3)

    with pytest.raises(NotHereError, match="exited with 3: pi needs a newer node"):
        PI.find({"PATH": "/bin"}, tmp_path)


def test_an_installed_peer_finds_the_node_beside_it(tmp_path: Path) -> None:
    environ = {"PATH": "/bin"}

    assert search_path(str(tmp_path / "pi"), environ, tmp_path) == f"{tmp_path}:/bin"
    assert search_path("/usr/bin/pi", environ, tmp_path) == "/bin"


def test_commands_of_a_session_differ() -> None:
    for agent in AGENTS:
        assert len({call.arguments for call in agent.commands(20)}) == 20
