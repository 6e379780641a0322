"""Hooks of a project: what trust in them covers, and what the question about it shows."""

import json
from pathlib import Path

import pytest

from kaa.shell.components import HOOK_PLACES
from kaa.shell.components.finding import UserTree
from kaa.shell.components.hook_files import find_hooks
from kaa.shell.components.part_files import MAX_BYTES
from kaa.shell.home import Home
from kaa.shell.trust.configuration import ProjectConfiguration, survey
from kaa.shell.trust.store import Changed, Trusted, TrustStore
from kaa.shell.trust.verdict import judge
from kaa.workspace.memory import MemoryWorkspace
from tests.support.agents import run

FILE = ".claude/settings.json"


def settings(command: str, **others: object) -> bytes:
    hooks = {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": command}]}]}
    return json.dumps({**others, "hooks": hooks}).encode()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "agent")


def surveyed(home: Home, files: dict[str, bytes]) -> ProjectConfiguration:
    return run(survey(MemoryWorkspace(files), home))


def test_trust_covers_the_hooks_and_not_the_other_settings_of_a_file(home: Home) -> None:
    skill = {".claude/skills/a/SKILL.md": b"---\nname: a\ndescription: A.\n---\nDo it."}
    store = TrustStore(home)
    store.trust(surveyed(home, {FILE: settings("./check.sh", model="one"), **skill}))

    same = surveyed(home, {FILE: settings("./check.sh", model="other"), **skill})
    changed = surveyed(home, {FILE: settings("./other.sh", model="one"), **skill})

    assert isinstance(store.state(same), Trusted)
    state = store.state(changed)
    assert isinstance(state, Changed)
    assert "./other.sh" in state.difference.diff
    assert judge("stored", changed, home).components == {".claude/skills/a/SKILL.md"}


def test_the_question_shows_the_commands(home: Home) -> None:
    files = {FILE: settings("./check.sh"), ".claude/settings.local.json": settings("sed 's/  *=/ =/'\nx")}

    use, *hooks = surveyed(home, files).uses

    assert use == "hooks, whose commands run in the sandbox when the model works:"
    assert hooks == [
        f"{FILE}: PreToolUse Bash: ./check.sh",
        ".claude/settings.local.json: PreToolUse Bash: sed 's/  *=/ =/'↵x",
    ]


def test_hooks_in_the_configuration_of_codex_count(home: Home) -> None:
    hook = (
        b'[[hooks.PreToolUse]]\nmatcher = "Bash"\n[[hooks.PreToolUse.hooks]]\ntype = "command"\ncommand = "./check"\n'
    )

    _, use = surveyed(home, {".codex/config.toml": b'model = "x"\n' + hook}).uses

    assert use == ".codex/config.toml: PreToolUse Bash: ./check"


def test_a_file_without_hooks_is_nothing_to_trust(home: Home) -> None:
    assert not surveyed(home, {FILE: b'{"model": "one"}'}).exists


@pytest.mark.parametrize(
    ("data", "why"),
    [(b"{", "not valid JSON"), (b" " * (MAX_BYTES + 1), "larger than"), (b"[]", "has no JSON object")],
)
def test_what_cannot_be_read_is_named_and_the_rest_is_used(home: Home, data: bytes, why: str) -> None:
    found = surveyed(home, {FILE: data, ".gemini/settings.json": settings("x")}).components

    assert [file.path for file in found.files] == [".gemini/settings.json"]
    assert why in found.notices[0]


def test_links_lead_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.json").write_bytes(settings("x"))
    project = tmp_path / "project"
    project.mkdir()
    for place in HOOK_PLACES[:2]:
        (project / place.folder).parent.mkdir(exist_ok=True)
    (project / ".claude" / "settings.json").symlink_to(tmp_path / "elsewhere.json")
    (project / ".claude" / "settings.local.json").write_bytes(settings("y"))
    places = [place._replace(folder=str(project / place.folder)) for place in HOOK_PLACES[:2]]

    inside = run(find_hooks(UserTree(), places, str(project)))
    anywhere = run(find_hooks(UserTree(), places, None))

    assert [file.name for file in inside.files] == ["settings.local.json"]
    assert "a link that leads out of the project" in inside.notices[0]
    assert len(anywhere.files) == 2
