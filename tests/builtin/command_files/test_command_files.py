"""Commands from files: what they send to the model, what they run, and what they are called."""

from collections.abc import Sequence

from kaa.builtin.command_files import UsableCommand, commands_extension
from kaa.components.templates import Dialect
from kaa.components.templates.command_file import CommandFile
from kaa.core.messages import user_message
from kaa.ext.display import ALL_KINDS, DisplayUpdate, plain_text_of
from kaa.ext.places import ExtensionId
from kaa.shell.host import HostedConversation
from kaa.shell.options import ConversationOptions
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.protocol import CommandRequest, CommandResult
from tests.support.agents import run
from tests.support.model_server import say
from tests.support.stage import Stage


def command(name: str, body: str, dialect: Dialect = "claude", description: str = "") -> UsableCommand:
    return UsableCommand(CommandFile(name, description, body, dialect), f".{dialect}/commands/{name}.md", dialect)


def sent(stage: Stage, commands: Sequence[UsableCommand], *entered: str) -> list[str]:
    """What the model gets when a person enters this."""

    texts: list[str] = []

    async def whole() -> None:
        host = stage.host()
        host.extensions.load(
            ExtensionId.built_in("kaa.test"),
            commands_extension(commands, ["scribe"], {"small": "cheap"}),
            built_in=True,
        )
        stage.workspace = MemoryWorkspace(stage.files, commands=stage.commands)
        try:
            options = ConversationOptions(model="m", approvals="auto")
            hosted: HostedConversation = await host.open(options, stage.workspace)
            await hosted.begin()
            for text in entered:
                stage.server.begin([say("Done.")])
                await hosted.work.submit(user_message(text))
                texts.append(stage.server.requests[-1].json["messages"][-1]["content"])
        finally:
            await host.close()

    run(whole())
    return texts


def echo(request: CommandRequest) -> CommandResult:
    output = f"ran {request.argv[-1]}".encode()
    return CommandResult(0, None, output, len(output), 1)


def test_arguments_commands_and_files_are_put_in(stage: Stage) -> None:
    stage.commands = echo
    stage.files["notes.txt"] = b"remember the milk\n"

    (text,) = sent(stage, [command("fix", "Fix $0 as in @notes.txt and @nobody.\n!`git log $1`")], "/fix it 'a b'")

    assert text.startswith("Fix it as in @notes.txt and @nobody.\nran git log 'a b'")
    assert '<file path="notes.txt">\nremember the milk' in text
    assert text.count("<file") == 1


class Screen:
    """Remembers what it was told to show."""

    shows = tuple(ALL_KINDS)

    def __init__(self) -> None:
        self.shown: list[str] = []

    def show(self, update: DisplayUpdate) -> None:
        self.shown.append(plain_text_of(update.change))


def test_commands_are_shown(stage: Stage) -> None:
    stage.commands, stage.display = echo, Screen()

    sent(stage, [command("fix", "!`git status`")], "/fix")

    assert stage.display.shown == [".claude/commands/fix.md runs: git status"]


def test_files_are_shown_with_the_template_that_reads_them(stage: Stage) -> None:
    stage.display = Screen()
    stage.files[".env"] = b"KEY=1\n"

    sent(stage, [command("fix", "Fix @.env and @/home/me/.netrc, @nobody.")], "/fix")

    assert stage.display.shown == [
        ".claude/commands/fix.md reads: .env",
        ".claude/commands/fix.md reads: /home/me/.netrc",
    ]


def test_files_take_the_place_of_mentions_of_gemini(stage: Stage) -> None:
    stage.files["notes.txt"] = b"remember the milk\n"

    (text,) = sent(stage, [command("fix", "Fix {{args}}: @{notes.txt}.", "gemini")], "/fix it")

    assert text == "Fix it: remember the milk."


def test_a_name_of_kaas_own_gets_the_agent_before_it(stage: Stage) -> None:
    texts = sent(
        stage, [command("review", "Theirs.", "codex"), command("mine", "Mine.", "pi")], "/codex:review", "/mine"
    )

    assert texts == ["Theirs.", "Mine."]


def forking(agent: str) -> UsableCommand:
    file = CommandFile("ask", "", "Look around.", "claude", agent=agent, subtask=True)
    return UsableCommand(file, ".claude/commands/ask.md", "claude")


def test_the_model_has_the_agent_of_a_command_answer(stage: Stage) -> None:
    stage.server.begin([])

    assert sent(stage, [forking("scribe")], "/ask") == [
        "Have the agent scribe do this task, as it is, and tell me what it reports:\n\nLook around."
    ]
    assert sent(stage, [forking("")], "/ask")[0].startswith("Have the agent general ")
    assert sent(stage, [forking("Explore")], "/ask")[0].startswith("Have the agent explore ")


def test_without_the_agent_of_a_command_the_conversation_goes_on(stage: Stage) -> None:
    stage.display = screen = Screen()

    assert sent(stage, [forking("nobody")], "/ask") == ["Look around."]
    assert any("wants an agent nobody, which does not exist" in shown for shown in screen.shown)


def test_the_model_of_a_command_answers_in_its_run(stage: Stage) -> None:
    file = CommandFile("ask", "", "Look.", "claude", model="haiku")

    sent(stage, [UsableCommand(file, ".claude/commands/ask.md", "claude")], "/ask")

    assert stage.server.requests[-1].json["model"] == "cheap"
