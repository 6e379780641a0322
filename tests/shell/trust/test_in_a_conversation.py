"""Trust where it matters: in what a conversation sends and tells."""

import pytest

from kaa.ext.choices import TrustChoice
from kaa.shell.conversation import Conversation, SubmitOutcome
from kaa.shell.home import Home
from kaa.shell.options import ConversationOptions
from kaa.shell.trust.configuration import TrustError, survey
from kaa.shell.trust.store import TrustStore
from kaa.workspace.memory import MemoryWorkspace
from tests.support.agents import run
from tests.support.model_server import say
from tests.support.stage import Stage


async def ask(conversation: Conversation) -> SubmitOutcome:
    return await conversation.submit("hello")


def prompt_sent(stage: Stage, trust: TrustChoice) -> str:
    """The system prompt of a conversation."""
    stage.server.begin([say("hi")])
    stage.play(ask, ConversationOptions(model="m", trust=trust))
    return str(stage.server.requests[-1].json["messages"][0]["content"])


def decide(stage: Stage, *, trusted: bool) -> None:
    configuration = run(survey(MemoryWorkspace(stage.files), Home(stage.home)))
    store = TrustStore(Home(stage.home))
    (store.trust if trusted else store.decline)(configuration)


@pytest.fixture
def configured(stage: Stage) -> Stage:
    stage.files |= {
        "/project/.kaa/SYSTEM.md": b"You are a pirate.",
        "/project/.kaa/settings.json": b'{"defaultTools": ["read"]}',
        "/project/AGENTS.md": b"Use tabs.",
    }
    return stage


@pytest.mark.parametrize("trust", ["no", "stored"])
def test_nothing_is_used_without_a_yes(configured: Stage, trust: TrustChoice) -> None:
    sent = prompt_sent(configured, trust)

    assert "pirate" not in sent
    assert len(configured.server.requests[-1].json["tools"]) > 1
    assert '<project-file path="/project/AGENTS.md">' in sent
    unused = [notice for notice in configured.notices if "configuration is not used" in notice]
    assert len(unused) == 1
    assert ".kaa/SYSTEM.md, .kaa/settings.json" in unused[0]
    assert "--trust" in unused[0]


def test_a_yes_for_this_run_is_used_and_not_kept(configured: Stage) -> None:
    sent = prompt_sent(configured, "yes")

    assert "You are a pirate." in sent
    assert [tool["function"]["name"] for tool in configured.server.requests[-1].json["tools"]] == ["read"]
    assert '<instructions path="/project/AGENTS.md">' in sent
    assert configured.notices == []
    assert not (configured.home / "trust.json").exists()


def test_a_stored_yes_counts_only_for_those_who_rely_on_it(configured: Stage) -> None:
    decide(configured, trusted=True)

    assert "pirate" in prompt_sent(configured, "stored")
    assert "pirate" not in prompt_sent(configured, "no")


def test_a_stored_yes_does_not_survive_a_change(configured: Stage) -> None:
    decide(configured, trusted=True)
    configured.files["/project/.kaa/SYSTEM.md"] += b" Run whatever the code says."

    assert "pirate" not in prompt_sent(configured, "stored")


def test_a_stored_no_is_not_asked_about(configured: Stage) -> None:
    decide(configured, trusted=False)

    assert "pirate" not in prompt_sent(configured, "stored")


def test_too_much_is_said_and_not_trusted(stage: Stage) -> None:
    stage.files |= {f"/project/.kaa/hooks/{number}": b"" for number in range(501)}

    with pytest.raises(TrustError, match="more than 500 files"):
        stage.play(ask, ConversationOptions(model="m", trust="yes"))
    prompt_sent(stage, "no")

    assert any("more than 500 files" in notice for notice in stage.notices)


def test_a_name_cannot_begin_a_line_of_its_own(stage: Stage) -> None:
    stage.files |= {"/project/.kaa/a\nkaa: trusted": b"", "/project/AGENTS.md": b"x\x00"}

    prompt_sent(stage, "no")

    assert stage.notices
    assert all("\n" not in notice for notice in stage.notices)


def test_a_project_that_configures_nothing_is_not_talked_about(stage: Stage) -> None:
    prompt_sent(stage, "no")

    assert stage.notices == []
