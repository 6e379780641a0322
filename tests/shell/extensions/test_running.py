"""An extension process in kaa's folder, from the question about its permissions to its requests, in its sandbox."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from kaa.core.messages import AssistantMessage
from kaa.ext.questions import AnswerT, Confirmation, Confirmed, Dismissed, Question
from kaa.shell.conversation import CommandReply
from kaa.shell.host import HostedConversation
from kaa.workspace.places import Places
from tests.support.extended import play
from tests.support.process_host import write_extension
from tests.support.stage import Stage

_SOURCE = """
    import json

    def attempt(params):
        found = {}
        for path in json.loads(params["args"]):
            try:
                found[path] = open(path).read(1) != ""
            except OSError:
                found[path] = False
        asked = ["setSessionTitle", "sessionTitle", "auth.getKey", "sessionStats", "unknown"]
        answers = {name: peer.ask(f"host/{name}", title="Bugs", provider="openai") for name in asked}
        with open(os.environ["RESULT"], "w") as result:
            json.dump({"read": found, "answers": answers}, result)
        return {}

    peer = Peer()
    peer.serve(
        [("register/command", {"name": "attempt", "description": "Attempt"})],
        {
            "initialize": lambda params: os.environ.update(RESULT=params["configDir"] + "/result"),
            "command/execute": attempt,
        },
    )
"""


class Person:
    """Answers questions about permissions.

    Attributes:
        asked: the questions so far.
    """

    can_ask = True

    def __init__(self, yes: bool) -> None:
        self._yes = yes
        self.asked: list[str] = []

    async def ask(self, question: Question[AnswerT]) -> AnswerT | Dismissed:
        if isinstance(question, Confirmation):
            self.asked.append(question.title)
        return question.fit(Confirmed(self._yes))


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start in a project of its own: for the rest of this Python process, kaa trusts nothing in there."""
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")


def _install(stage: Stage, permissions: str = "{session: write}") -> None:
    stage.environ |= {"PATH": os.environ["PATH"], "HOME": str(stage.home.parent), "OPENAI_API_KEY": "sk-1"}
    write_extension(stage.home / "extensions" / "probe", _SOURCE, f"permissions: {permissions}")


def _attempt(stage: Stage, *paths: Path, permissions: str = "{session: write}") -> dict[str, Any]:
    """What the command of the process could do."""
    _install(stage, permissions)

    async def scene(hosted: HostedConversation) -> None:
        await hosted.work.command(f"/attempt {json.dumps([str(path) for path in paths])}")

    play(stage, scene)
    result = stage.home / "extension-data" / "probe" / "result"
    found: dict[str, Any] = json.loads(result.read_text())
    return found


def test_it_is_asked_about_once_and_has_its_permissions_only(stage: Stage, confined: None) -> None:
    person = Person(yes=True)
    stage.asker = person
    stage.home.mkdir(exist_ok=True, parents=True)
    secret = stage.home / "secret"
    secret.write_text("secret")
    own = stage.home / "extensions" / "probe" / "manifest.yaml"

    first = _attempt(stage, secret, own)
    second = _attempt(stage, secret, own)

    assert person.asked == ["Permit extension probe?"]
    assert first["read"] == second["read"] == {str(secret): False, str(own): True}
    answers = first["answers"]
    assert answers["setSessionTitle"]["result"] == {}
    assert answers["sessionTitle"]["result"] == {"title": "Bugs"}
    assert answers["sessionStats"]["result"]["model"] == "openai/m"
    assert answers["auth.getKey"]["error"]["code"] == -32001
    assert answers["unknown"]["error"]["code"] == -32601


def test_what_the_user_hides_is_hidden_from_it_too(stage: Stage, tmp_path: Path, confined: None) -> None:
    stage.asker = Person(yes=True)
    stage.home.mkdir(exist_ok=True, parents=True)
    (stage.home / "settings.json").write_text('{"sandbox": {"hidden": ["vault"]}}')
    vault, open_ = tmp_path / "project" / "vault", tmp_path / "project" / "open"
    for file in (vault, open_):
        file.write_text("secret")

    found = _attempt(stage, vault, open_, permissions="{project: write}")

    assert found["read"] == {str(vault): False, str(open_): True}


def test_without_a_yes_nothing_of_it_runs(stage: Stage) -> None:
    person = Person(yes=False)
    stage.asker = person
    _install(stage)

    async def scene(hosted: HostedConversation) -> None:
        assert "attempt" not in [command.name for command in hosted.conversation.commands]

    play(stage, scene)

    assert person.asked == ["Permit extension probe?"]
    assert stage.notices[-1].startswith("Extension probe is not started: you did not permit what it asks for")
    assert not (stage.home / "extension-data").exists()


def test_a_process_that_does_not_work_is_listed_as_failed_until_a_reload_repairs_it(
    stage: Stage, confined: None
) -> None:
    stage.asker = Person(yes=True)
    stage.environ |= {"PATH": os.environ["PATH"], "HOME": str(stage.home.parent)}
    folder = write_extension(stage.home / "extensions" / "probe", _SOURCE)
    run = folder / "run"
    replies: list[str] = []

    async def scene(hosted: HostedConversation) -> None:
        for command in ("/extensions", "/reload", "/extensions"):
            reply = await hosted.conversation.submit(command)
            assert isinstance(reply, CommandReply)
            replies.append(reply.text)
            run.chmod(0o755)

    run.chmod(0o644)
    play(stage, scene)

    assert replies[0].startswith("probe: failed, process")
    assert "run is not executable: run chmod +x" in replies[0]
    assert replies[2].startswith("probe: loaded, process")
    assert "adds /attempt" in replies[2]


def test_a_model_of_a_process_answers(stage: Stage, confined: None) -> None:
    stage.asker = Person(yes=True)
    stage.environ |= {"PATH": os.environ["PATH"], "HOME": str(stage.home.parent)}
    source = """
        def stream(params):
            said = params["messages"][-1]["content"]
            peer.notify("provider/delta", requestId=params["requestId"], type="text_delta", delta="You said " + said)
            return {"message": {"content": [], "usage": {"inputTokens": 7, "outputTokens": 3}, "stopReason": "stop"}}

        peer = Peer()
        models = [{"id": "m", "contextWindow": 90000, "cost": {"input": 2, "output": 4}}]
        peer.serve([("register/provider", {"api": "acme", "models": models})], {"provider/stream": stream})
    """
    write_extension(stage.home / "extensions" / "probe", source, "permissions: {session: write}")

    async def scene(hosted: HostedConversation) -> None:
        await hosted.conversation.models.switch("acme/m")
        await hosted.conversation.submit("hello")
        [reply] = [message for message in hosted.conversation.messages if isinstance(message, AssistantMessage)]
        assert reply.text == "You said hello"
        assert reply.usage.input == 7
        assert reply.usage.cost.total == pytest.approx(26e-6)

    play(stage, scene)


def test_one_whose_folder_becomes_a_place_to_work_in_while_it_waits_for_a_yes_is_not_started(
    stage: Stage, tmp_path: Path, confined: None
) -> None:
    class Slow(Person):
        async def ask(self, question: Question[AnswerT]) -> AnswerT | Dismissed:
            assert Places.of(stage.environ, str(stage.home.parent), str(tmp_path / "dev")).caches  # another kaa begins
            return await super().ask(question)

    person = Slow(yes=True)
    stage.asker = person
    _link(stage, tmp_path)

    async def scene(hosted: HostedConversation) -> None:
        assert "attempt" not in [command.name for command in hosted.conversation.commands]

    play(stage, scene)

    assert person.asked == ["Permit extension probe?"]
    assert any("is not started: commands can write" in one for one in stage.notices)


def _link(stage: Stage, base: Path) -> None:
    """Have the extension lie in a folder that is no project."""
    stage.environ |= {"PATH": os.environ["PATH"], "HOME": str(stage.home.parent), "KAA_DIR": str(stage.home)}
    folder = base / "dev" / "probe"
    write_extension(folder, _SOURCE, "permissions: {session: write}")
    (stage.home / "extensions").mkdir(parents=True)
    (stage.home / "extensions" / "probe").symlink_to(folder)


def test_one_whose_folder_becomes_a_place_to_work_in_is_ended(stage: Stage, tmp_path: Path, confined: None) -> None:
    stage.asker = Person(yes=True)
    _link(stage, tmp_path)

    async def scene(hosted: HostedConversation) -> None:
        await hosted.work.command("/attempt []")
        assert Places.of(stage.environ, str(stage.home.parent), str(tmp_path / "dev")).caches  # another kaa begins
        while not any("was ended: commands can write" in one for one in stage.notices):
            await asyncio.sleep(0.01)
        while not any("is not started: commands can write" in one for one in stage.notices):
            await asyncio.sleep(0.01)

    play(stage, scene)
