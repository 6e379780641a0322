"""Skills in whole programs: the user's and the project's, with their scripts, as far as they are trusted."""

from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa, conversation
from tests.support.model_server import ModelServer, call, say
from tests.support.trusting import trust

pytestmark = pytest.mark.usefixtures("elsewhere")


@pytest.fixture
def person(kaa: Kaa) -> Path:
    """The user's home directory."""
    folder = kaa.home.parent / "person"
    folder.mkdir()
    kaa.setenv(HOME=str(folder))
    return folder


def add_skill(folder: Path, name: str, body: str) -> Path:
    file = folder / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nname: {name}\ndescription: About {name}.\n---\n{body}\n")
    return file


def results(server: ModelServer) -> list[str]:
    return [text for role, text in conversation(server.requests[-1]) if role == "tool"]


def prompt(server: ModelServer) -> str:
    return str(server.requests[-1].json["messages"][0]["content"])


def test_the_users_skills_work_with_their_scripts(kaa: Kaa, server: ModelServer, person: Path) -> None:
    file = add_skill(person / ".dotfiles" / "skills", "greet", "Run greet.sh.")
    (person / ".agents").mkdir()
    (person / ".agents" / "skills").symlink_to(person / ".dotfiles" / "skills")
    (file.parent / "greet.sh").write_text("echo greetings\n")
    add_skill(kaa.home / "skills", "own", "Mine.")
    add_skill(person / ".claude" / "skills", "foreign", "Not asked for.")
    server.begin([call("skill", name="greet"), call("bash", command=f"sh {file.parent}/greet.sh"), say("Done.")])

    finished = kaa.run("-p", "Greet.")

    assert finished.code == 0, finished.err
    assert "Run greet.sh." in results(server)[0]
    assert f"Files of this skill, in {file.parent}: greet.sh" in results(server)[0]
    assert "greetings" in results(server)[1]
    assert "- own: About own." in prompt(server)
    assert "foreign" not in prompt(server)


@pytest.mark.usefixtures("person")
def test_skills_of_the_users_in_a_project_cannot_be_changed_by_commands(kaa: Kaa, server: ModelServer) -> None:
    file = add_skill(kaa.project / "mine", "mine", "As the user wrote it.")
    kaa.settings(skills=[str(kaa.project / "mine"), "mine"], prompts=[str(kaa.project / "later")])
    command = f"echo evil >> {file}; mkdir mine/evil; mkdir -p later && echo evil > later/evil.md; echo x > other"
    server.begin([call("bash", command=command), say("Done.")])

    finished = kaa.run("-p", "Hello.")

    assert "- mine: About mine." in prompt(server)
    assert "evil" not in file.read_text()
    assert not (kaa.project / "mine" / "evil").exists()
    assert not (kaa.project / "later" / "evil.md").exists()
    assert (kaa.project / "other").exists()
    assert "'mine' in your settings is not used: write an absolute path" in finished.err


def test_a_skill_of_the_users_behind_a_link_cannot_be_changed_by_commands(
    kaa: Kaa, server: ModelServer, person: Path
) -> None:
    file = add_skill(kaa.project / "skills", "mine", "As the user wrote it.")
    (person / ".claude" / "skills").mkdir(parents=True)
    (person / ".claude" / "skills" / "mine").symlink_to(file.parent)
    kaa.settings(useFilesOf=["claude"])
    server.begin([call("bash", command="echo evil >> skills/mine/SKILL.md; echo x > skills/other"), say("Done.")])

    kaa.run("-p", "Hello.")

    assert "- mine: About mine." in prompt(server)
    assert "evil" not in file.read_text()
    assert (kaa.project / "skills" / "other").exists()


def test_a_setting_names_the_agents_whose_files_are_used(kaa: Kaa, server: ModelServer, person: Path) -> None:
    for name in ("first", "second"):
        add_skill(person / ".claude" / "skills", name, "Theirs.")
    kaa.settings(useFilesOf=["claude"], skills=["!sec*"])
    server.begin([say("Done.")])

    kaa.run("-p", "Hello.")

    assert "- first: About first." in prompt(server)
    assert "second" not in prompt(server)


@pytest.mark.usefixtures("person")
def test_skills_of_a_project_are_used_while_they_are_what_the_user_trusted(kaa: Kaa, server: ModelServer) -> None:
    kept = add_skill(kaa.project / ".agents" / "skills", "kept", "Stays.")
    changed = add_skill(kaa.project / ".claude" / "skills", "changed", "Before.")
    server.begin([say("Done.")] * 3)

    untrusted = kaa.run("-p", "Hello.")
    assert "kept" not in prompt(server)
    assert (
        "skills, commands, hooks, agents, language servers and deny rules of the project are not used" in untrusted.err
    )
    trust(kaa.project, kaa.home)
    changed.write_text(changed.read_text().replace("Before", "After"))
    kept.with_name("script.py").write_text("print()")
    finished = kaa.run("-p", "Hello.")

    assert "- kept: About kept." in prompt(server)
    assert "changed" not in prompt(server)
    assert "you have not trusted them (.claude/skills/changed/SKILL.md)" in finished.err


@pytest.mark.usefixtures("person")
def test_skills_above_the_project_work_with_their_scripts(kaa: Kaa, server: ModelServer) -> None:
    repository = kaa.project.parent
    (repository / ".git").mkdir()
    (repository / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    file = add_skill(repository / ".claude" / "skills", "greet", "Run greet.sh.")
    (file.parent / "greet.sh").write_text("echo greetings\n")
    add_skill(repository / ".claude" / "skills", "near", "Of the repository.")
    add_skill(kaa.project / ".claude" / "skills", "near", "Of the project.")
    trust(kaa.project, kaa.home)
    commands = f"sh {file.parent}/greet.sh; echo evil >> {file}"
    server.begin(
        [call("skill", name="greet"), call("skill", name="near"), call("bash", command=commands), say("Done.")]
    )

    kaa.run("-p", "Hello.")

    greet, near, ran = results(server)
    assert f"Files of this skill, in {file.parent}: greet.sh" in greet
    assert "Of the project." in near
    assert "greetings" in ran
    assert "evil" not in file.read_text()


def test_files_that_are_no_skills_are_named(kaa: Kaa, server: ModelServer, person: Path) -> None:
    skills = person / ".agents" / "skills"
    add_skill(skills, "good", "Good.")
    add_skill(kaa.home / "skills", "good", "Better.")
    (skills / "broken").mkdir()
    (skills / "broken" / "SKILL.md").write_bytes(b"---\nname: [\n---\n\xff")
    server.begin([say("Done.")])

    finished = kaa.run("-p", "Hello.")

    assert "Not used: " in finished.err
    assert "skills/broken/SKILL.md: the fields at its beginning are not valid YAML" in finished.err
    assert "has the same name, good" in finished.err
    assert "- good: About good." in prompt(server)


@pytest.mark.usefixtures("person")
def test_commands_of_a_trusted_project_run_in_the_sandbox(kaa: Kaa, server: ModelServer) -> None:
    folder = kaa.project / ".claude" / "commands" / "git"
    folder.mkdir(parents=True)
    (folder / "look.md").write_text(f"---\ndescription: Look\n---\nLook at $0: !`cat $0; ls {kaa.home}`")
    (kaa.project / "notes.txt").write_text("remember the milk\n")
    trust(kaa.project, kaa.home)
    server.begin([say("Done.")])

    finished = kaa.run("-p", "/git:look notes.txt")

    (text,) = [text for role, text in conversation(server.requests[-1]) if role == "user"]
    assert text.startswith("Look at notes.txt: remember the milk")
    assert "settings.json" not in text
    assert "look.md runs: cat notes.txt; ls" in finished.err
