"""Extensions of distributions that are installed in kaa's own environment."""

from pathlib import Path

import pytest

from kaa.ext.distributions import beside_kaa
from kaa.shell.conversation import CommandReply, Conversation
from kaa.shell.extensions.errors import InstallationError
from kaa.shell.extensions.installed import InstalledExtensions
from kaa.shell.home import Home
from kaa.shell.options import ConversationOptions
from tests.support.stage import Stage

_GREETING = """
from kaa_greeting.words import HELLO

def extend(kaa):
    async def greet(text, context):
        return f"{HELLO}, {text}"

    kaa.register_command("greet", "Greet", greet)
"""
_ENTRY_POINTS = """
[console_scripts]
greet = kaa_greeting.main:run

[kaa.extensions]
greeting = kaa_greeting

[pytest11]
other = kaa_greeting.plugin
"""


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which pip installed a distribution with an extension."""
    folder = tmp_path / "site-packages"
    _write(folder / "kaa_greeting/__init__.py", _GREETING)
    _write(folder / "kaa_greeting/words.py", 'HELLO = "Hello"\n')
    _write(folder / "kaa_greeting-1.0.dist-info/entry_points.txt", _ENTRY_POINTS)
    _write(folder / "other-1.0.dist-info/entry_points.txt", "[console_scripts]\nother = other:main\n")
    monkeypatch.syspath_prepend(str(folder))
    return folder


def _write(file: Path, content: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)


async def _greet(conversation: Conversation) -> str:
    reply = await conversation.submit("/greet Ada")
    assert isinstance(reply, CommandReply)
    return reply.text


def test_one_is_loaded_without_being_installed_in_kaas_home(stage: Stage, environment: Path) -> None:
    assert beside_kaa() == [environment / "kaa_greeting"]
    assert stage.play(_greet, ConversationOptions(model="m")) == "Hello, Ada"


@pytest.mark.usefixtures("environment")
def test_one_is_listed_and_can_be_disabled_but_not_removed(stage: Stage) -> None:
    installed = InstalledExtensions(Home(stage.home))
    [listed] = installed.all()
    assert (listed.name.partition("@")[0], listed.kind) == ("kaa_greeting", "python")

    with pytest.raises(InstallationError, match="belongs to kaa's environment"):
        installed.remove("kaa_greeting")
    assert installed.enable("kaa_greeting", enabled=False)

    async def commands(conversation: Conversation) -> list[str]:
        return [command.name for command in conversation.commands]

    assert "greet" not in stage.play(commands, ConversationOptions(model="m"))


def test_what_cannot_be_read_is_none(environment: Path) -> None:
    (environment / "kaa_greeting-1.0.dist-info/entry_points.txt").write_bytes(b"[kaa.extensions]\n\xff = x\n")

    assert beside_kaa() == []


def test_a_module_without_extend_is_told(stage: Stage, environment: Path) -> None:
    (environment / "kaa_greeting/__init__.py").write_text("def register(kaa): ...\n")

    async def scene(_conversation: Conversation) -> None: ...

    stage.play(scene, ConversationOptions(model="m"))

    assert any("defines no function extend(kaa)" in notice for notice in stage.notices)
