"""Takes the screenshots of the documentation: the real kaa, a scripted model, an emulated terminal.

    python scripts/screenshots.py                all of them
    python scripts/screenshots.py diff help      some of them

Running it again changes nothing unless kaa looks different: what depends on time is set to fixed values.
"""

import argparse
import os
import re
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

_REPOSITORY = Path(__file__).resolve().parents[1]
# Run as a script, Python would look for `tests` beside this file.
sys.path[0] = str(_REPOSITORY)

from tests.support.model_script import Answer, Call, Fault, ScriptItem  # noqa: E402 - only found after the line above
from tests.support.model_server import ModelServer, say  # noqa: E402
from tests.support.program import Program  # noqa: E402
from tests.support.screen import Screen  # noqa: E402
from tests.support.screen_grid import Cell  # noqa: E402
from tests.support.screen_svg import DARK, LIGHT, draw  # noqa: E402

_FOLDER = _REPOSITORY / "docs" / "screenshots"
_COLUMNS, _ROWS = 100, 30

_PROJECT = {
    "pendulum.py": '''\
"""A pendulum without friction."""

import math

GRAVITY = 9.81


def period(length: float) -> float:
    """Seconds for one swing of small amplitude."""
    return 2 * math.pi * math.sqrt(GRAVITY / length)
''',
    "test_pendulum.py": """\
from unittest import TestCase

from pendulum import period


class PeriodTest(TestCase):
    def test_one_metre_takes_about_two_seconds(self) -> None:
        self.assertAlmostEqual(period(1.0), 2.006, places=3)
""",
}

_EXPLANATION = """\
The formula has its fraction upside down. For small swings

- the period grows with the **length** of the pendulum,
- and falls with *gravity*,

so `length` belongs above the line:

```python
def period(length: float) -> float:
    \"\"\"Seconds for one swing of small amplitude.\"\"\"
    return 2 * math.pi * math.sqrt(length / GRAVITY)
```

| length | now | right |
|---|--:|--:|
| 0.25 m | 39.4 s | 1.0 s |
| 1 m | 19.7 s | 2.0 s |

I will change that line and run the test again, whi"""

_EDIT = Call(
    "edit",
    msgspec.json.encode(
        {
            "path": "pendulum.py",
            "edits": [{"oldText": "math.sqrt(GRAVITY / length)", "newText": "math.sqrt(length / GRAVITY)"}],
        }
    ).decode(),
)
_QUESTION = "the test fails, find out why and fix it"


def _pieces(text: str) -> tuple[str, ...]:
    return tuple(text[start : start + 6] for start in range(0, len(text), 6))


def _call(name: str, **arguments: object) -> Call:
    return Call(name, msgspec.json.encode(arguments).decode())


def _answer_that_pauses(text: str) -> Answer:
    pieces = _pieces(text)
    return Answer(text=(*pieces, "…"), fault=Fault("stall", after=len(pieces)))


# The scenes. Each is driven to the state that is shown.


def _ask(program: Program, shown: str, question: str = _QUESTION) -> None:
    program.type(question)
    program.press("enter")
    program.wait_for(shown)


def _start(_program: Program, _server: ModelServer) -> None:
    pass


def _streaming(program: Program, _server: ModelServer) -> None:
    _ask(program, "run the test again, whi")


def _diff(program: Program, server: ModelServer) -> None:
    _ask(program, "First I")
    _think(program, server)
    program.wait_for("That was all.")


def _think(program: Program, server: ModelServer) -> None:
    """The model takes its time, as models do: kaa asks nothing while somebody types."""
    _settle(program)
    server.release()


def _approval(program: Program, server: ModelServer) -> None:
    _ask(program, "I install", "run the tests")
    _think(program, server)
    program.wait_for("registries")


def _models(program: Program, _server: ModelServer) -> None:
    program.press("ctrl+l")
    program.wait_for("small-model")


def _help(program: Program, _server: ModelServer) -> None:
    program.press("f1")


def _full_screen(program: Program, server: ModelServer) -> None:
    _diff(program, server)
    program.type("/fullscreen")
    program.press("enter")
    program.wait_for(lambda screen: screen.in_alternate_screen)


def _sessions(program: Program, _server: ModelServer) -> None:
    for number, (question, answer) in enumerate(_TALKS):
        if number:
            _enter(program, "/new")
            program.wait_for("Started a new session.")
        _ask(program, answer, question)
        _settle(program)
    _enter(program, "/name Which pendulum is right?")
    program.wait_for("named: ")
    _enter(program, "/clear")
    program.wait_for("Started a new session.")
    _enter(program, "/resume")
    program.wait_for("tell me how a clock")


def _tree(program: Program, _server: ModelServer) -> None:
    for question, answer in _TALKS[:2]:
        _ask(program, answer, question)
        _settle(program)
    _enter(program, "/undo")
    program.wait_for("continues from before that message")
    program.press("ctrl+c")
    for question, answer in _TALKS[2:]:
        _ask(program, answer, question)
        _settle(program)
    _enter(program, "/label the one to build")
    program.wait_for("named it")
    _enter(program, "/tree")
    program.wait_for("(you are here)")


def _undo(program: Program, server: ModelServer) -> None:
    _diff(program, server)
    _settle(program)
    _enter(program, "/undo")
    program.wait_for("Restore 1 file too?")


def _enter(program: Program, text: str) -> None:
    program.type(text)
    program.press("enter")


def _settings(program: Program, _server: ModelServer) -> None:
    program.type("/settings")
    program.press("enter")


_PAUSE = Fault("stall", after=1)
_FIX: tuple[ScriptItem, ...] = (
    Answer(
        text=("First I", " look at the code and its test."),
        fault=_PAUSE,
        calls=(_call("read", path="pendulum.py"), _call("read", path="test_pendulum.py")),
    ),
    Answer(text=("The fraction is upside down.",), calls=(_EDIT,)),
    Answer(calls=(_call("bash", command="python3 -m unittest -q"),)),
    say("The period grows with the length now: one metre takes 2.006 s. That was all."),
)
_STREAMED: tuple[ScriptItem, ...] = (_answer_that_pauses(_EXPLANATION),)


_TALKS = (
    ("tell me how a clock keeps time", "Its pendulum takes the same time for each swing."),
    ("how long must it be for one second?", "About 24.8 cm: the period grows with the root of the length."),
    ("what if it is made of brass and warms up?", "It becomes longer, and the clock slow: 0.8 s a day for one degree."),
)


class Scene(NamedTuple):
    """A screenshot.

    Attributes:
        name: of its file.
        title: of its window.
        drive: brings kaa to the state that is shown.
        script: what the model says.
        is_dark: the terminal's background; kaa's theme follows it.
        rows: the terminal's height.
    """

    name: str
    title: str
    drive: Callable[[Program, ModelServer], None]
    script: Sequence[ScriptItem] = ()
    is_dark: bool = True
    rows: int = _ROWS


_SCENES = (
    Scene("start", "kaa, just started", _start, rows=14),
    Scene("streaming", "An answer arrives", _streaming, _STREAMED, rows=36),
    Scene("diff", "What the tools did", _diff, _FIX, rows=36),
    Scene(
        "approval",
        "kaa asks",
        _approval,
        (
            Answer(
                text=("I install", " what the tests need."),
                fault=_PAUSE,
                calls=(_call("bash", command="pip install pytest-httpbin"),),
            ),
        ),
    ),
    Scene("models", "Choosing a model", _models),
    Scene("help", "Help, made from the keys in force", _help, rows=36),
    Scene("settings", "Settings", _settings),
    Scene("sessions", "The list of sessions", _sessions, tuple(say(answer) for _, answer in _TALKS), rows=18),
    Scene("tree", "The tree of a session", _tree, tuple(say(answer) for _, answer in _TALKS)),
    Scene("undo", "Before something is taken back", _undo, _FIX, rows=36),
    Scene("light", "On a light background", _streaming, _STREAMED, is_dark=False, rows=36),
    Scene("full-screen", "In the full screen", _full_screen, _FIX),
)


def main() -> int:
    """Take the screenshots that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="scene", help=", ".join(scene.name for scene in _SCENES))
    names = parser.parse_args().names or [scene.name for scene in _SCENES]
    if unknown := set(names) - {scene.name for scene in _SCENES}:
        parser.error(f"no such scene: {', '.join(sorted(unknown))}")
    _FOLDER.mkdir(exist_ok=True)
    for scene in _SCENES:
        if scene.name in names:
            (_FOLDER / f"{scene.name}.svg").write_text(_take(scene), "utf-8")
    return 0


def _take(scene: Scene) -> str:
    screen = Screen(_COLUMNS, scene.rows, is_dark=scene.is_dark)
    with tempfile.TemporaryDirectory() as folder, ModelServer(scene.script) as server:
        environment = _prepare(Path(folder), server.url)
        kaa = str(Path(sysconfig.get_path("scripts")) / "kaa")
        with Program.start([kaa], env=environment, cwd=Path(folder) / "pendulum", screen=screen) as program:
            program.wait_for("large-model")
            _settle(program)
            scene.drive(program, server)
            _settle(program)
            return draw(screen, scene.title, DARK if scene.is_dark else LIGHT, change=_steady)


def _prepare(home: Path, url: str) -> dict[str, str]:
    """A project, and a home with two models."""
    project, settings = home / "pendulum", home / ".kaa" / "agent"
    project.mkdir()
    settings.mkdir(parents=True)
    for name, text in _PROJECT.items():
        (project / name).write_text(text)
    models = [{"id": "large-model", "reasoning": True}, {"id": "small-model"}]
    provider = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "no-secret", "models": models}
    (settings / "models.json").write_bytes(msgspec.json.encode({"providers": {"example": provider}}))
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}


# A screen that stays the same so long is what we waited for.
_SETTLED_SECONDS = 0.6


def _settle(program: Program) -> None:
    """Wait until nothing changes any more, but what always does."""
    before: list[list[Cell]] = []
    while (now := [_steady(program.screen.cells(row)) for row in range(program.screen.rows)]) != before:
        before = now
        end = time.monotonic() + _SETTLED_SECONDS
        while (left := end - time.monotonic()) > 0:
            program.pump(left)


# What depends on how fast the machine is: the seconds of work that goes on, durations of tools, and the spinner.
_TIMES = re.compile(r"(?<=\()\d+(?= s,)|(?<![\w.])\d+(?:\.\d+)?(?=m?s\b)")
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def _steady(cells: list[Cell]) -> list[Cell]:
    """A row with fixed values in place of those."""
    line = "".join(cell.text[:1] or " " for cell in cells)
    steady = _TIMES.sub(lambda match: re.sub(r"\d", "0", match[0]), line)
    steady = re.sub(f"[{_SPINNER}]", _SPINNER[0], steady)
    return [cell if old == new else Cell(new, cell.style) for cell, old, new in zip(cells, line, steady, strict=True)]


if __name__ == "__main__":
    sys.exit(main())
