"""Choosing themes by name, and messages to go back to."""

import json

from tests.end_to_end.seat import Seat, enter, is_idle
from tests.support.model_server import say


def test_a_theme_that_does_not_exist_is_not_kept(seat: Seat) -> None:
    with seat.open() as program:
        enter(program, "/theme nonsense")
        program.wait_for("there is no theme 'nonsense'")
        assert "theme" not in json.loads((seat.home / "settings.json").read_text())

        enter(program, "/theme light")
        program.wait_for(lambda _: json.loads((seat.home / "settings.json").read_text()).get("theme") == "light")

        enter(program, "/theme automatic")
        program.wait_for(lambda _: not json.loads((seat.home / "settings.json").read_text()).get("theme"))


def test_going_back_is_said_once(seat: Seat) -> None:
    with seat.open(script=[say("First."), say("Second.")]) as program:
        enter(program, "one")
        program.wait_for("First.")
        program.wait_for(is_idle)
        program.press("escape", "escape")
        program.wait_for("Search:")
        program.press("enter")
        program.wait_for("continues from before")
        program.wait_until_quiet()

        assert program.screen.text().count("continues from before") == 1
