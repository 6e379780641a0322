from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kaa.core.messages import ImageContent, UserMessage
from kaa.ext.command_context import CommandContext
from kaa.ext.commands import Command
from kaa.frontends.interactive.attachments import Attachments
from kaa.frontends.interactive.commands import Commands, UiCommand
from kaa.frontends.interactive.prompt_history import PromptHistory
from kaa.frontends.interactive.submission import Submission
from kaa.frontends.interactive.ui_context import UIContext
from kaa.shell.conversation import CommandReply
from tests.frontends.interactive.offscreen import Seated, core_of, seated


class Engine:
    """Notes what it is asked to do."""

    def __init__(self) -> None:
        self.conversation = self.work = self
        self.asked: list[tuple[object, ...]] = []
        self.said: list[UserMessage] = []
        self.failure: Exception | None = None
        self.refuses = False

    async def in_turn(self) -> None:
        """Nothing is before anything else."""

    async def say(self, message: UserMessage, *, follow_up: bool, kept: Callable[[], None]) -> None:
        self.said.append(message)
        self._note("say", message.text, follow_up)

    async def command(self, text: str, _kept: Callable[[], None]) -> CommandReply:
        self._note("command", text)
        return CommandReply(f"reply to {text}", refused=self.refuses)

    async def run_command(self, command: str, *, in_context: bool) -> None:
        self._note("run", command, in_context)

    def _note(self, *what: object) -> None:
        if self.failure is not None:
            raise self.failure
        self.asked.append(what)


async def _do_nothing(_arguments: str, _context: CommandContext) -> None:
    """A command of the conversation's that is only known by name."""


class World:
    """A submission and all around it."""

    def __init__(self, seat: Seated, folder: Path) -> None:
        self.seat = seat
        self.editor = seat.main_view.editor
        self.engine = Engine()
        self.attachments = Attachments()
        self.history = PromptHistory(folder)
        self.ran: list[tuple[str, str]] = []
        self.replies: list[str] = []
        self.failures: list[BaseException] = []
        commands = Commands()
        commands.add(
            [
                UiCommand("theme", "", lambda arguments: self.ran.append(("theme", arguments)), takes_arguments=True),
                UiCommand("exit", "", lambda arguments: self.ran.append(("exit", arguments))),
            ]
        )
        self.submission = Submission(
            UIContext(seat.main_view, core_of(self.engine), self.failures.append),
            commands,
            self.attachments,
            self.history,
            lambda _: lambda: None,
            self.replies.append,
            self.failures.append,
            lambda _: None,
        )
        commands.of_conversation = tuple(
            Command(name, "", _do_nothing) for name in ("net", "plan", "skill:hello", "my_cmd")
        )

    def enter(self, text: str, *, follow_up: bool = False) -> None:
        """Type it and enter it."""
        self.editor.set_text(text)
        self.submission.submit(follow_up=follow_up)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with seated(tmp_path) as seat:
        yield World(seat, tmp_path)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("fix it", ("say", "fix it", False)),
        ("  two\nlines  ", ("say", "  two\nlines  ", False)),
        ("/etc/hosts", ("say", "/etc/hosts", False)),
        ("/ is the root", ("say", "/ is the root", False)),
        (" /net is a command", ("say", " /net is a command", False)),
        (" !ls is a command", ("say", " !ls is a command", False)),
        ("/net on", ("command", "/net on")),
        ("/skill:hello you", ("command", "/skill:hello you")),
        ("/my_cmd", ("command", "/my_cmd")),
        ("!ls -l", ("run", "ls -l", True)),
        ("! ls", ("run", "ls", True)),
        ("!!ls", ("run", "ls", False)),
    ],
)
def test_what_is_entered_goes_where_it_belongs(world: World, text: str, asked: tuple[object, ...]) -> None:
    world.enter(text)

    assert world.engine.asked == [asked]
    assert world.editor.is_empty
    assert world.history.load() == [text]


def test_own_commands_get_their_arguments(world: World) -> None:
    world.enter("/theme  light ")
    world.enter("/theme")

    assert world.ran == [("theme", "light"), ("theme", "")]
    assert world.engine.asked == []


def test_afterwards_is_passed_on(world: World) -> None:
    world.enter("then the tests", follow_up=True)

    assert world.engine.asked == [("say", "then the tests", True)]


@pytest.mark.parametrize("text", ["", "  \n "])
def test_nothing_is_nothing(world: World, text: str) -> None:
    world.enter(text)

    assert world.engine.asked == []
    assert world.history.load() == []


def test_an_unknown_command_is_told_and_stays(world: World) -> None:
    world.enter("/my_cdm and more")

    assert world.editor.text == "/my_cdm and more"
    assert "unknown command /my_cdm; did you mean /my_cmd? To send it as text" in world.seat.dock
    assert world.history.load() == []


@pytest.mark.parametrize(
    ("name", "told"),
    [("skills", "no skills"), ("hooks", "no hooks"), ("plugins", "no plugin is"), ("mcp", "no MCP server is")],
)
def test_a_command_that_has_nothing_to_show_says_so(world: World, name: str, told: str) -> None:
    world.enter(f"/{name}")

    assert told in str(world.replies)
    assert world.editor.is_empty


def test_a_command_of_the_terminal_without_arguments_refuses_some(world: World) -> None:
    world.enter("/exit now")

    assert world.editor.text == "/exit now"
    assert "/exit takes no arguments" in world.seat.dock
    assert world.ran == []


def test_a_command_that_the_conversation_refuses_stays_unless_something_was_typed_since(world: World) -> None:
    world.engine.refuses = True

    world.enter("/net maybe")

    assert world.replies == ["reply to /net maybe"]
    assert world.editor.text == "/net maybe"

    world.editor.set_text("meanwhile")
    world.submission.run("/net on")

    assert world.editor.text == "meanwhile"


def test_an_unknown_command_entered_before_the_start_comes_back(world: World) -> None:
    world.submission.enter("/nonsense")

    assert world.editor.text == "/nonsense"
    assert world.engine.asked == []


def test_an_unknown_command_does_not_replace_what_was_typed_since(world: World) -> None:
    world.editor.set_text("meanwhile")

    world.submission.enter("/nonsense")

    assert world.editor.text == "meanwhile"


def test_what_was_entered_before_the_start_is_remembered_too(world: World) -> None:
    world.submission.enter("early bird")

    assert world.history.load() == ["early bird"]


def test_a_history_that_cannot_be_written_is_named_and_stops_nothing(world: World, tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").mkdir()

    world.enter("fix it")

    assert world.engine.asked == [("say", "fix it", False)]
    assert world.failures == []
    assert "what you type is not kept for other sessions" in world.seat.dock


def test_replies_and_failures_are_shown(world: World) -> None:
    world.enter("/net")
    world.engine.failure = OSError("no space left")
    world.enter("hello")

    assert world.replies == ["reply to /net"]
    assert [str(error) for error in world.failures] == ["no space left"]


def test_images_go_along(world: World) -> None:
    image = ImageContent("data", "image/png")
    marker = world.attachments.add(image)

    world.enter(f"what is {marker}?")

    assert image in world.engine.said[0].content


def test_a_command_line_needs_no_slash_and_is_remembered_with_it(world: World) -> None:
    world.submission.command_line("theme dark")
    world.submission.command_line("net off")
    world.submission.command_line("wq!")

    assert world.ran == [("theme", "dark")]
    assert world.engine.asked == [("command", "/net off")]
    assert "there is no command 'wq!'" in world.seat.dock
    assert world.history.load() == ["/theme dark", "/net off"]
    assert world.editor.history.entries[-2:] == ["/theme dark", "/net off"]


@pytest.mark.parametrize(
    ("entered", "meant"),
    [("execute", "/plan run"), ("execute ask", "/plan run ask"), ("edit-plan", "/plan edit"), ("net on", "/net on")],
)
def test_names_that_are_no_slash_commands_mean_some(world: World, entered: str, meant: str) -> None:
    world.submission.command_line(entered)

    assert world.engine.asked == [("command", meant)]
