"""A person's seat before kaa: a project, a home, a model that follows a script, and terminals to open kaa in."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.end_to_end.kaa_process import Kaa, conversation
from tests.support.model_server import MODEL_ID, Answer, Fault, ModelServer, ScriptItem
from tests.support.program import Program
from tests.support.screen import Screen
from tests.support.warm_start import COMMAND

# The footer names the model when the conversation is open.
READY = f"test/{MODEL_ID}"


class Seat(Kaa):
    """kaa with a model of its own. Without other flags nothing is confined, so that it runs on every machine.

    Args:
        folder: for the project and the home.
        model: answers; it runs already.
    """

    def __init__(self, folder: Path, model: ModelServer) -> None:
        super().__init__(folder)
        self.model = model
        self.use(model, "openai-completions")

    @contextmanager
    def open(
        self, *flags: str, script: Sequence[ScriptItem] = (), screen: Screen | None = None, sandbox: str = "full-access"
    ) -> Iterator[Program]:
        """Open kaa in a terminal, and wait until it can be talked to."""
        with self.start(*flags, script=script, screen=screen, sandbox=sandbox) as program:
            program.wait_for(READY)
            yield program

    def start(
        self, *flags: str, script: Sequence[ScriptItem] = (), screen: Screen | None = None, sandbox: str = "full-access"
    ) -> Program:
        """Start kaa in a terminal and wait for nothing.

        Args:
            flags: its arguments.
            script: what the model answers from now on.
            screen: the terminal.
            sandbox: the mode, empty for the flag to be left out.
        """
        self.model.begin(script)
        mode = ("--sandbox", sandbox) if sandbox else ()
        return Program.start(
            [COMMAND, *mode, *flags], env=self.environ, cwd=self.project, screen=screen, limits=self.limits
        )

    @property
    def session_files(self) -> list[Path]:
        """The files of all sessions of kaa."""
        return sorted(self.home.glob("sessions/**/*.jsonl"))

    def session_about(self, text: str) -> Path:
        """The only session with this text in it."""
        (path,) = [path for path in self.session_files if text in path.read_text("utf-8")]
        return path

    def heard(self, request: int = -1) -> Sequence[tuple[str, str]]:
        """Who said what in a request that the model got, the last one if no other is asked for."""
        return conversation(self.model.requests[request])


def pausing(*text: str, after: int = 1) -> Answer:
    """A reply that stops after so many deltas until `ModelServer.release`."""
    return Answer(text=text, fault=Fault("stall", after=after))


def enter(program: Program, text: str) -> None:
    """Type something and enter it."""
    program.type(text)
    program.press("enter")


def answer(program: Program, letter: str) -> None:
    """Answer a question that arrives, as soon as it can be; with Enter, because a letter alone waits for others."""
    choose(program, letter)
    program.press("enter")


def choose(program: Program, letter: str) -> None:
    """Answer a question that the user has opened: its letter does at once, and an Enter after it goes to the editor."""
    # On low screens the other letters stand behind the selected answer.
    program.wait_for(re.compile(rf"\({letter}\)|\([a-z]\)  .*{letter}"))
    program.press(letter)


def read_question(program: Program) -> None:
    """Scroll a question to its end, page by page: before that it takes no yes."""
    while shown := re.search(r"Scroll to the end to allow: \d+ ", program.screen.text()):
        program.press("pagedown")
        program.wait_for(_without(shown[0]))


def _without(text: str) -> Callable[[Screen], bool]:
    return lambda screen: text not in screen.text()


def is_idle(screen: Screen) -> bool:
    """Whether the agent does nothing and the editor is there, empty."""
    return "Ask kaa to do something" in screen.text() and not re.search(r"stops it\)", screen.text())
