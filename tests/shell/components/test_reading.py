"""What files of skills and commands become."""

import random

import pytest

from kaa.components.frontmatter import fields_in
from kaa.components.skill import Skill
from kaa.components.templates.command_file import CommandFile
from kaa.shell.components import FoundFile, Place
from kaa.shell.components.reading import Candidate, FoundComponent, components_in
from tests.support.tables import each

SKILL = Place(".claude/skills", "skill", "claude")
COMMAND = Place(".claude/commands", "command", "claude")
_HIDDEN = "\U000e0041\u202e\u200b\x1b"


def component(place: Place, text: str | bytes) -> FoundComponent:
    file = FoundFile("x", "x", text.encode() if isinstance(text, str) else text, place, "/x")
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


def test_escapes_hide_nothing_either() -> None:
    skill = component(SKILL, '---\nname: x\ndescription: x\npaths: ["a\\u200b*.py"]\n---\nSort.')
    command = component(Place(".gemini/commands", "command", "gemini"), 'prompt = "Sort\\U000E0041 it"')
    agent = component(
        Place(".codex/agents", "agent", "codex"),
        'name = "x"\ndescription = "x"\ndeveloper_instructions = "Sort\\u202e it"',
    )

    assert isinstance(skill.definition, Skill)
    assert skill.definition.paths == ("a*.py",)
    assert isinstance(command.definition, CommandFile)
    assert command.definition.body == "Sort it"
    assert agent.agent is not None
    assert agent.agent.prompt == "Sort it"
    for one in (skill, command, agent):
        assert "characters that a reader would not see are left out" in one.notes


@pytest.mark.parametrize("place", [SKILL, COMMAND])
def test_ordinary_text_stays(place: Place) -> None:
    found = component(place, "---\nname: x\ndescription: Zürich 👩‍💻 für alle\n---\nA\tB 👩‍💻\n")

    assert isinstance(found.definition, Skill | CommandFile)
    assert found.definition.description == "Zürich 👩‍💻 für alle"
    assert found.definition.body.strip() == "A\tB 👩‍💻"
    assert not any("reader" in note for note in found.notes)


@each("codec", ["utf-16", "utf-16-be", "utf-8-sig"])
@each("place", [SKILL, COMMAND])
def test_text_with_a_byte_order_mark_is_decoded(place: Place, codec: str) -> None:
    mark = "\ufeff" if codec == "utf-16-be" else ""  # the others write one
    found = component(place, f"{mark}---\nname: x\ndescription: Räum auf\n---\nSort.".encode(codec))

    assert isinstance(found.definition, Skill | CommandFile)
    assert found.definition.description == "Räum auf"
    assert not found.notes


@pytest.mark.parametrize("data", [random.Random(38).randbytes(3000), "---\nname: x\n---\nx".encode("utf-16-le")])
@pytest.mark.parametrize("place", [SKILL, COMMAND])
def test_what_is_no_text_is_left_out(place: Place, data: bytes) -> None:
    found = component(place, data)

    assert found.state == "unusable"
    assert "it holds no text" in found.reason


def test_a_broken_character_leaves_nothing_out() -> None:
    found = component(SKILL, "---\nname: x\ndescription: Räum auf, was herumliegt\n---\n".encode("latin-1"))

    assert found.state == "used"
