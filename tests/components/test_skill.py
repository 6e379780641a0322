"""Skills of the Agent Skills standard and of Claude Code; the reference validator is the oracle for the standard."""

import random
import string
from pathlib import Path

import yaml
from skills_ref.validator import validate

from kaa.components.frontmatter import MarkdownFile, document_in
from kaa.components.skill import Skill, Unusable, problems, skill_in

NAMES = (
    "pdf",
    "pdf-tools",
    "Pdf",
    "-pdf",
    "pdf-",
    "pdf--tools",
    "pdf_tools",
    "p" * 64,
    "p" * 65,
    "größe",
    "",
    "7",
    "a b",
)
TEXTS = ("Fill forms.", "", " ", "d" * 1024, "d" * 1025, "Use when: x", 'With "quotes"')


def skill(folder: str = "pdf", body: str = "Do it.", **fields: object) -> Skill | Unusable:
    return skill_in(MarkdownFile({name.replace("_", "-"): value for name, value in fields.items()}, body), folder)


def usable(folder: str = "pdf", body: str = "Do it.", **fields: object) -> Skill:
    found = skill(folder, body, **fields)
    assert isinstance(found, Skill)
    return found


def test_a_standard_skill() -> None:
    found = usable(name="pdf", description="Fill\nforms.", license="MIT", metadata={"author": "x"})

    assert (found.name, found.description, found.body) == ("pdf", "Fill forms.", "Do it.")
    assert found.notes == ()
    assert found.for_model
    assert found.for_user


def test_names_in_notes_add_no_lines() -> None:
    fields: dict[str, object] = {f"x\n- y\x1b[2J\x9b{number}": "" for number in range(30)}
    fields |= {"name": "b", "description": "x", "z" * 10_000: ""}

    found = skill_in(MarkdownFile(fields, "Do it."), "a\nb")

    assert isinstance(found, Skill)
    assert all(note.isprintable() and len(note) < 500 for note in found.notes)
    assert "`name` is not the name of its folder, a b" in found.notes
    assert "11 more fields are unknown" in found.notes


def test_random_skills_are_judged_as_the_reference_validator_does(tmp_path: Path) -> None:
    source = random.Random(7)
    judged = {True: 0, False: 0}
    for number in range(250):
        name = source.choice((*NAMES, "".join(source.choices(string.ascii_lowercase + "-", k=source.randint(1, 70)))))
        fields: dict[str, object] = {"name": name, "description": source.choice(TEXTS)}
        if source.random() < 0.2:
            del fields[source.choice(("name", "description"))]
        if source.random() < 0.3:
            fields["compatibility"] = "c" * source.choice((1, 500, 501))
        if source.random() < 0.3:
            fields["metadata"] = {"version": "1"}
        folder = tmp_path / str(number) / (name.strip() or "x" if source.random() < 0.8 else "other")
        folder.mkdir(parents=True)
        text = f"---\n{yaml.safe_dump(fields, allow_unicode=True, default_flow_style=False)}---\nBody.\n"
        (folder / "SKILL.md").write_text(text)

        expected = not validate(folder)

        assert (not problems(document_in(text).fields, folder.name)) == expected, (fields, folder.name)
        judged[expected] += 1
    assert min(judged.values()) > 15


def test_what_breaks_the_standard_is_noted_and_used() -> None:
    found = usable("Pdf_Tools", name="Pdf_Tools", description="x")

    assert found.name == "Pdf_Tools"
    assert any("capital letters" in note for note in found.notes)


def test_names_that_cannot_be_called_fall_back_to_the_folder() -> None:
    assert usable("pdf", name="p d f", description="x").name == "pdf"
    assert usable("pdf", description="x").name == "pdf"
    assert isinstance(skill("p d f", name="../x", description="x"), Unusable)


def test_a_skill_without_a_description_has_its_first_paragraph() -> None:
    assert usable(body="# Title\n\nDoes this\nand that.\n\nMore.", name="pdf").description == "Does this and that."
    assert isinstance(skill(body="# Title", name="pdf"), Unusable)


def test_the_fields_of_claude() -> None:
    found = usable(
        name="pdf",
        description="Fill forms.",
        when_to_use="x",  # the helper makes it `when-to-use`, which nobody knows
        disable_model_invocation="true",
        user_invocable="false",
        argument_hint="[file]",
        arguments="source target",
        context="fork",
        paths=["*.pdf", "docs/**"],
        allowed_tools="Bash(git *) Read",
    )

    assert (found.for_model, found.for_user, found.forks) == (False, False, True)
    assert (found.argument_hint, found.argument_names) == ("[file]", ("source", "target"))
    assert found.paths == ("*.pdf", "docs/**")
    assert found.allowed_tools == ("Bash(git *)", "Read")
    assert "`when-to-use` is unknown" in found.notes
