"""Choosing by name: what is meant is taken, what is misspelt is not kept."""

import json

from tests.end_to_end.seat import READY, Seat, enter


def test_a_model_that_nobody_knows_is_searched_for_and_not_kept(seat: Seat) -> None:
    with seat.open() as program:
        enter(program, "/model nonsense")
        program.wait_for("Search: nonsense")
        program.wait_for("Nothing found")
        program.press("escape")
        program.wait_for(READY)

    assert "defaultModel" not in json.loads((seat.home / "settings.json").read_text())


def test_a_theme_that_does_not_exist_is_not_kept(seat: Seat) -> None:
    with seat.open() as program:
        enter(program, "/theme nonsense")
        program.wait_for("there is no theme 'nonsense'")
        assert "theme" not in json.loads((seat.home / "settings.json").read_text())

        enter(program, "/theme light")
        program.wait_for(lambda _: json.loads((seat.home / "settings.json").read_text()).get("theme") == "light")

        enter(program, "/theme automatic")
        program.wait_for(lambda _: not json.loads((seat.home / "settings.json").read_text()).get("theme"))
