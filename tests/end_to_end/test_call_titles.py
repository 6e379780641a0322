"""Titles that extensions give the calls of their tools, in the terminal and in print mode."""

from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.end_to_end.seat import Seat, enter, is_idle
from tests.support.model_server import ModelServer, call, say

pytestmark = pytest.mark.usefixtures("full_access")

_COUNTING = """
def extend(kaa):
    @kaa.tool(risk="read", title="{path}, counted by {unit}")
    async def count(path: str, context, unit: str = "lines") -> str:
        "Count."
        return "three"
"""
_CALL = call("count", path="a.txt", unit="words")


@pytest.fixture
def extension(tmp_path: Path) -> Path:
    path = tmp_path / "ci.py"
    path.write_text(_COUNTING)
    return path


def test_the_terminal_titles_calls_and_shows_all_arguments_when_expanded(seat: Seat, extension: Path) -> None:
    with seat.open("-e", str(extension), script=[_CALL, say("Three.")]) as program:
        enter(program, "count")
        program.wait_for("Three.")
        program.wait_for(is_idle)
        assert "count a.txt, counted by words" in program.screen.text()
        program.press("ctrl+o")
        program.wait_for('"unit":"words"')

    with seat.open("-c", "-e", str(extension)) as program:
        program.wait_for("count a.txt, counted by words")
        extension.write_text(_COUNTING.replace(', title="{path}, counted by {unit}"', ""))
        enter(program, "/reload")
        program.wait_for('"unit":"words"')


def test_print_mode_writes_the_title_of_a_call(kaa: Kaa, extension: Path) -> None:
    with ModelServer() as model:
        model.begin([_CALL, say("Three.")])
        kaa.use(model, "openai-completions")
        done = kaa.run("-e", str(extension), "-p", "count")

    assert "> count a.txt, counted by words\n" in done.err


def test_a_title_that_names_no_parameter_is_refused_with_the_extension(kaa: Kaa, extension: Path) -> None:
    extension.write_text(_COUNTING.replace("{unit}", "{units}"))
    with ModelServer() as model:
        kaa.use(model, "openai-completions")
        done = kaa.run("-e", str(extension), "-p", "count")

    assert done.code != 0
    assert "{units} is not one of the parameters {path}, {unit}" in done.err
    assert str(extension) in done.err
