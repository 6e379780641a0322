"""Skills and commands whose `allowed-tools` spare questions: the user's own, while the run lasts that they begin."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.ext.display import ALL_KINDS, DisplayUpdate, plain_text_of
from kaa.ext.questions import Deny
from kaa.shell.home import Home
from kaa.shell.host import Host
from kaa.shell.options import ConversationOptions, HostOptions
from kaa.shell.safety import SandboxFlags
from tests.support.agents import run
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_server import Answer, ModelServer, call, say
from tests.support.person import Person
from tests.support.trusting import trust

_TEXT = "---\nname: tidy\ndescription: Tidies.\nallowed-tools: Bash(printf:*), Read\n---\nTidy.\n"
_PRINT = call("bash", command="printf one")


class Screen:
    """Remembers what it was told to show."""

    shows = tuple(ALL_KINDS)

    def __init__(self) -> None:
        self.shown: list[str] = []

    def show(self, update: DisplayUpdate) -> None:
        self.shown.append(plain_text_of(update.change))


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with folder_elsewhere() as folder:
        (folder / "home" / ".kaa").mkdir(parents=True)
        (folder / "home" / ".kaa" / "settings.json").write_text('{"useFilesOf": ["claude"]}')
        monkeypatch.setenv("HOME", str(folder / "home"))
        (folder / "project").mkdir()
        yield folder


def asked(folder: Path, texts: list[str], *script: Answer, screen: Screen | None = None) -> list[str]:
    """The commands that the person is asked about, and denies, when these texts are entered one after the other."""
    person = Person(*[Deny()] * 5)

    async def whole(server: ModelServer) -> None:
        environ = {
            "HOME": str(folder / "home"),
            "PATH": os.environ["PATH"],
            "OPENAI_BASE_URL": f"{server.url}/v1",
            "OPENAI_API_KEY": "key",
            "KAA_LOCAL_SERVERS": "none",
        }
        host = Host(HostOptions(), Home(folder / "home" / ".kaa"), environ, lambda _notice: None, person, screen)
        try:
            workspace = host.workspaces.open(str(folder / "project"), SandboxFlags())
            if not (await workspace.sandbox.status()).confined:
                pytest.skip("this machine cannot confine anything")
            hosted = await host.open(ConversationOptions(model="m", approvals="ask", trust="stored"), workspace)
            await hosted.begin()
            for text in texts:
                await hosted.conversation.submit(text)
        finally:
            await host.close()

    with ModelServer(list(script)) as server:
        run(whole(server))
    return [question.arguments["command"] for question in person.questions]


def test_the_person_is_told_what_is_allowed(folder: Path) -> None:
    write(folder, "home/.kaa/skills/tidy/SKILL.md")
    screen = Screen()

    asked(folder, ["/skill:tidy"], say("Done."), screen=screen)

    assert screen.shown == ["Allowed in this run by `allowed-tools`: bash: printf *"]


def write(folder: Path, path: str) -> None:
    (folder / path).parent.mkdir(parents=True)
    (folder / path).write_text(_TEXT)


@pytest.mark.parametrize(
    ("path", "entered"),
    [("home/.kaa/skills/tidy/SKILL.md", "/skill:tidy"), ("home/.claude/commands/tidy.md", "/tidy")],
)
def test_what_a_skill_of_the_user_allows_is_not_asked_in_its_run(folder: Path, path: str, entered: str) -> None:
    write(folder, path)
    other = call("bash", command="uname")

    commands = asked(folder, [entered, "And now?"], _PRINT, other, say("Tidied."), _PRINT, say("Done."))

    assert commands == ["uname", "printf one"]


def test_a_skill_that_the_model_calls_grants_nothing(folder: Path) -> None:
    write(folder, "home/.kaa/skills/tidy/SKILL.md")

    assert asked(folder, ["Go."], call("skill", name="tidy"), _PRINT, say("Done.")) == ["printf one"]


def test_a_skill_of_the_project_grants_nothing(folder: Path) -> None:
    write(folder, "project/.claude/skills/tidy/SKILL.md")
    trust(folder / "project", folder / "home" / ".kaa")

    assert asked(folder, ["/skill:tidy"], _PRINT, say("Done.")) == ["printf one"]
