"""What a project's settings of Claude Code forbid: refused once the user trusts them; what is not used is named."""

import json

import pytest

from kaa.ext.choices import TrustChoice
from kaa.shell.conversation import Conversation, SubmitOutcome
from kaa.shell.home import Home
from kaa.shell.options import ConversationOptions
from kaa.shell.trust.configuration import ProjectConfiguration, survey
from kaa.shell.trust.store import Changed, TrustStore
from kaa.workspace.memory import MemoryWorkspace
from tests.end_to_end.kaa_process import conversation as said_in
from tests.support.agents import run
from tests.support.model_server import call, say
from tests.support.stage import Stage

FILE = "/project/.claude/settings.json"
LOCAL = "/project/.claude/settings.local.json"


def settings(*denied: str, allow: tuple[str, ...] = (), **others: object) -> bytes:
    return json.dumps({**others, "permissions": {"deny": denied, "allow": allow}}).encode()


def surveyed(stage: Stage) -> ProjectConfiguration:
    return run(survey(MemoryWorkspace(stage.files), Home(stage.home)))


def results(stage: Stage, trust: TrustChoice, *paths: str) -> list[str]:
    """What reading some files gives in a conversation."""

    async def ask(conversation: Conversation) -> SubmitOutcome:
        return await conversation.submit("read them")

    stage.server.begin([*(call("read", path=path) for path in paths), say("done")])
    stage.play(ask, ConversationOptions(model="m", trust=trust))
    return [text for who, text in said_in(stage.server.requests[-1]) if who == "tool"]


@pytest.fixture
def project(stage: Stage) -> Stage:
    stage.files |= {
        "/project/secrets/a": b"the secret\n",
        "/project/keys/b": b"the key\n",
        "/project/c": b"the rest\n",
        FILE: settings("Read(./secrets/**)"),
        LOCAL: b"// mine\n" + settings("Read(keys/**)", "Read(./secrets/**)"),
    }
    return stage


@pytest.mark.parametrize("trust", ["yes", "stored", "instructions"])
def test_denied_calls_are_refused_in_a_trusted_project(project: Stage, trust: TrustChoice) -> None:
    if trust != "yes":
        TrustStore(Home(project.home)).trust(surveyed(project))

    secret, key, rest = results(project, trust, "secrets/a", "keys/b", "c")

    assert "the secret" not in secret
    assert "read: secrets/**" in secret
    assert "the key" not in key
    assert "the rest" in rest


@pytest.mark.parametrize(
    "denied", ["WebFetch(domain:localhost)", "WebFetch(domain:*.ru)", "mcp__*", "mcp__*__delete", f"mcp__a__{'b' * 80}"]
)
def test_what_no_rule_of_kaa_can_say_is_named_and_prevents_nothing(stage: Stage, denied: str) -> None:
    stage.files |= {"/project/secrets/a": b"the secret\n", FILE: settings("Read(./secrets/**)", denied)}

    (secret,) = results(stage, "yes", "secrets/a")

    assert "read: secrets/**" in secret
    assert any(denied[:40] in use for use in surveyed(stage).uses)


def test_a_path_with_one_slash_counts_below_the_project_and_says_so_if_it_looks_absolute(stage: Stage) -> None:
    stage.files |= {"/project/c": b"the rest\n", "/project/home/d": b"the secret\n"}
    stage.files |= {FILE: settings("Read(/project/**)", "Read(/home/**)")}

    rest, secret = results(stage, "yes", "c", "home/d")

    assert "the rest" in rest
    assert "read: home/**" in secret
    assert any("Read(/home/**) counts below the project, as in Claude Code" in use for use in surveyed(stage).uses)


def test_nothing_is_taken_over_without_trust_and_it_is_named(project: Stage) -> None:
    (secret,) = results(project, "stored", "secrets/a")

    assert "the secret" in secret
    (notice,) = [notice for notice in project.notices if "deny rules of the project are not used" in notice]
    assert ".claude/settings.json#permissions.deny" in notice


def test_a_changed_rule_needs_a_new_yes(project: Stage) -> None:
    store = TrustStore(Home(project.home))
    store.trust(surveyed(project))

    project.files[FILE] = settings("Read(./secrets/**)", model="another")
    assert not isinstance(store.state(surveyed(project)), Changed)
    project.files[FILE] = settings("Read(./other/**)")
    state = store.state(surveyed(project))

    assert isinstance(state, Changed)
    assert '+  "read: other/**"' in state.difference.diff


def test_the_question_shows_the_rules_and_what_is_not_used(stage: Stage) -> None:
    stage.files[FILE] = settings("Bash(rm:*)", "Read(./.env)", allow=("Bash(ls)", "Bash(cat:*)"), env={"A": "b"})

    assert surveyed(stage).uses == (
        "deny rules: calls of tools that kaa refuses:",
        ".claude/settings.json#permissions.deny: bash: rm",
        ".claude/settings.json#permissions.deny: read: .env",
        ".claude/settings.json#permissions.deny: commands can still read what a rule `read:` forbids; `sandbox.hidden`"
        " hides files from them, too",
        "settings that kaa does not use:",
        ".claude/settings.json: `permissions.allow` (2 entries) is not used: `approvals.allow` in kaa's settings has"
        " rules of kaa's own",
        ".claude/settings.json: `env` is not used: kaa takes variables from the shell that starts it",
    )


def test_settings_that_are_not_used_are_told_once_for_each_state(stage: Stage) -> None:
    def told() -> list[str]:
        stage.notices.clear()
        results(stage, "stored")
        return [notice for notice in stage.notices if "is not used:" in notice]

    stage.files[LOCAL] = settings(allow=("Bash(ls)",))
    assert not surveyed(stage).exists
    assert [line.partition(" is not")[0] for line in told()] == [
        ".claude/settings.local.json: `permissions.allow` (1 entry)"
    ]
    assert told() == []
    stage.files[LOCAL] = settings(allow=("Bash(ls)", "Bash(cat:*)"))  # as after an "always allow" in Claude Code
    assert told() == []
    stage.files[LOCAL] = settings(allow=("Bash(ls)", "Bash(cat:*)"), env={"A": "b"})
    assert len(told()) == 2


@pytest.mark.parametrize(("data", "why"), [(b"{", "not valid JSON"), (b"[]", "no JSON object")])
def test_rules_that_cannot_be_read_are_named(stage: Stage, data: bytes, why: str) -> None:
    stage.files[FILE] = data

    notices = surveyed(stage).components.notices

    assert any("its deny rules are not used" in notice and why in notice for notice in notices)
