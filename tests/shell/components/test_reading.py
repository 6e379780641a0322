"""What files of skills and commands become."""

import pytest

from kaa.components.frontmatter import fields_in
from kaa.components.skill import Skill
from kaa.components.templates.command_file import CommandFile
from kaa.shell.components import FoundFile, Place
from kaa.shell.components.reading import Candidate, Component, components_in

SKILL = Place(".claude/skills", "skill", "claude")
COMMAND = Place(".claude/commands", "command", "claude")
_HIDDEN = "\U000e0041\u202e\u200b\x1b"


def component(place: Place, text: str) -> Component:
    file = FoundFile("x", "x", text.encode(), place, "/x")
    [found] = components_in([Candidate(file, is_of_project=True)], lambda _: (), fields_in)
    return found


@pytest.mark.parametrize("place", [SKILL, COMMAND])
def test_what_a_reader_would_not_see_is_left_out_and_told(place: Place) -> None:
    text = f'---\nname: x\ndescription: "Tidy{_HIDDEN} up \\e]0;x"\n---\nSort{_HIDDEN} files.\r\n'

    found = component(place, text)

    assert isinstance(found.definition, Skill | CommandFile)
    assert found.definition.description in ("Tidy up ]0;x", "Tidy up")
    assert found.definition.body.strip() == "Sort files."
    assert "characters that a reader would not see are left out" in found.notes


@pytest.mark.parametrize("place", [SKILL, COMMAND])
def test_ordinary_text_stays(place: Place) -> None:
    found = component(place, "---\nname: x\ndescription: Zürich 👩‍💻 für alle\n---\nA\tB 👩‍💻\n")

    assert isinstance(found.definition, Skill | CommandFile)
    assert found.definition.description == "Zürich 👩‍💻 für alle"
    assert found.definition.body.strip() == "A\tB 👩‍💻"
    assert not any("reader" in note for note in found.notes)
