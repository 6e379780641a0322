"""Placeholders hold names for root and for ordinary users, whose hands live in a user namespace, and are removed."""

import os

import pytest

from tests.escapes.world.arena import arena
from tests.escapes.world.people import ORDINARY, ROOT, Person
from tests.escapes.world.possible import obstacle, tier_of
from tests.escapes.world.trial import base_environment, is_compared, sandbox_command
from tests.support.patience import HANG_SECONDS

_SCRIPT = """
ls -A
mkdir -p .vscode/x; touch .claude/x; mkdir x; mv -T x .cursor; rmdir .zed; ln -sfnT / .kaa
echo filled: .vscode/* .claude/* .cursor/* .zed/* .kaa/*
"""


@pytest.mark.parametrize("person", [ROOT, ORDINARY], ids=lambda person: person.name)
def test_names_are_held_while_the_sandbox_lives(person: Person) -> None:
    if reason := obstacle(person):
        pytest.skip(reason)
    if is_compared() or tier_of(person) != "full":
        pytest.skip("there are none in other sandboxes and tiers")
    with arena(person) as place:
        (place.project / "main.c").touch()
        before = set(os.listdir(place.project))
        place.hand_over()
        process = place.person.start(
            [*sandbox_command(), "sh", "-c", _SCRIPT],
            directory=place.project,
            environment=base_environment(place.home),
            pid_file=place.top / "brain.pid",
        )
        out, _ = process.communicate(timeout=HANG_SECONDS)

        *listed, filled = out.decode().splitlines()
        assert {".vscode", ".claude", ".cursor", ".zed", ".kaa"} <= set(listed)
        assert filled == "filled: .vscode/* .claude/* .cursor/* .zed/* .kaa/*"
        assert set(os.listdir(place.project)) == before | {"x"}
        assert not list(place.home.glob(".cache/kaa/placeholders/*"))
