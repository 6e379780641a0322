"""The screen for those who have no model yet."""

from pathlib import Path

from kaa.frontends.getting_started import screen
from kaa.llm.models.registry import NoModelError


def _screen(*found: str) -> str:
    error = NoModelError("there is no key", auth_file=Path("/a"), models_file=Path("/m"))
    error.found = found
    return screen(error)


def test_it_says_how_to_use_what_runs_here() -> None:
    shown = _screen("ollama/qwen3:8b", *(f"vllm/{number}" for number in range(6)))

    assert "found on this machine" in shown
    assert "kaa --model ollama/qwen3:8b" in shown
    assert "and 2 more" in shown


def test_it_says_what_to_write_where_nothing_was_found() -> None:
    shown = _screen()

    assert "kaa --model ollama" in shown
    assert "found" not in shown


def test_what_may_be_meant_stands_with_the_reason() -> None:
    error = NoModelError("there is no 'clade'", suggestions=("a/claude",), auth_file=Path("/a"), models_file=Path("/m"))

    shown = screen(error)

    assert shown.index("clade") < shown.index("a/claude") < shown.index("How to get going")


def test_it_fits_into_a_terminal_of_usual_size() -> None:
    lines = _screen("ollama/qwen3:8b").splitlines() + _screen().splitlines()

    assert max(map(len, lines)) <= 78  # which notices are wrapped to
    assert len(_screen().splitlines()) <= 16
