"""A monkey at the terminal: whatever is typed, told and resized, in any order, the screen shows what there is to show.

It must not matter which key comes when, what models and tools say, or how the terminal answers. After every few steps
the screen and its scrollback have to be the document, line by line.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random

import pytest

from kaa.frontends.interactive.keybindings import load_keybindings
from kaa.tui.application import Application
from kaa.tui.document import MAX_ROWS, around_cursor
from kaa.tui.width import fit, plain
from tests.frontends.interactive.chance import Chance
from tests.frontends.interactive.puppet import SHELL_LINE, Puppet
from tests.frontends.interactive.scripted_core import ScriptedCore
from tests.support.key_bytes import key_bytes, mouse_bytes, paste_bytes
from tests.support.screen import Screen
from tests.support.screen_replies import Answers

_SEEDS = 5
_STEPS = 150

# What models, tools and files may say.
_MARKDOWN = (
    *("a ", "word ", "\n", "\n\n", "longer words of some text, ", "\t", "  ", "x" * 90, "0123456789" * 3, "- item\n"),
    *("# Title\n", "```python\nx = 1\n", "```\n", "| a | b |\n|---|---|\n| 1 | 2 |\n", "> quote ", "**bold** ", "`x` "),
    *("[link](https://example.org/a_b)", "1. one\n", "<b>", "---\n", "$x$ "),
    *("界面 ", "한국어", "👩‍🔬", "🇩🇪", "e\u0301", "ｱ", "שלום "),
)
_HOSTILE = (
    *("\x1b]0;PWNED\x07", "\x1b]2;PWNED\x1b\\", "\x1b]52;c;U1RPTEVO\x07", "\x1b[2J\x1b[H", "\x1b[?1049h", "\x1b[31m"),
    *("\x1b]8;;http://PWNED\x1b\\", "\x1bP+q\x1b\\", "\x1b_Ga=T;AAAA\x1b\\", "\x1b[6n", "\x1bc", "\x9b3J"),
    *("\x9d2;PWNED\x9c", "\r", "\r\n", "\x00", "\x07", "\b\b", "\x7f", "\x0e", "\x1b"),
    *("\u202e", "\u2066", "\u200b", "\u2028", "\ufeff", "\U000e0041", "\ufe0f\ufe0f", "\ud800", "\udcff", "\U0010ffff"),
)
_TYPED = ("a", "b ", "/", "@", "!", "!!", ":", "\r", "/help", "../", "'", "界", "👩‍🔬", "é", "\x1b", "\x1b[", "\x1bO")
_ANSWERS: tuple[Answers, ...] = ("all", "all", "none", frozenset({"attributes"}), frozenset({"attributes", "cursor"}))
# Commands that open lists, trees and questions about sessions, and what may be pressed in them.
_SESSION_COMMANDS = (
    *("/resume", "/resume a", "/search a", "/tree", "/tree", "/branch", "/rewind", "/undo", "/redo", "/fork", "/clone"),
    *("/compact", "/compact x", "/uncompact", "/new", "/clear"),
)
_SESSION_ACTIONS = ("app.session.", "app.tree.", "app.undo", "app.redo", "tui.select.", "app.interrupt")
_SESSION_LETTERS = ("a", "b", "c", "f", "i", "n", "o", "s", "y", "re:(", '"a', " ")
# What terminals tell unasked, or not as it is.
_LIES = (
    *(
        "\x1b[1;1R",
        "\x1b[999;999R",
        "\x1b[0;0R",
        "\x1b[R",
        "\x1b[;R",
        "\x1b[?1;2;3R",
        "\x1b[?31u",
        "\x1b[?u",
        "\x1b[?c",
    ),
    *("\x1b[6;0;0t", "\x1b[6;9t", "\x1b[6;99999;1t", "\x1b[?2026;9;9$y", "\x1b[?997;1n", "\x1b[?997;2n", "\x1b[?9;7n"),
    *("\x1b]11;rgb:ff/ff/ff\x1b\\", "\x1b]11;rgb:0000/0000/0000\x07", "\x1b]11;nonsense\x07", "\x1b]10;#123456\x1b\\"),
    *("\x1bP>|kitty(0.1)\x1b\\", "\x1bP>|tmux 3.4\x1b\\", "\x1bP>|\x1b\\", "\x1b_Gi=31;OK\x1b\\", "\x1b[I", "\x1b[O"),
    *("\x1b[55296u", "\x1b[1114112u", "\x1b[97;1;55296u", "\x1b[;;;;u", "\x1b[27;5;99~", "\x1b[<0;1;1M", "\x1b[<64;9M"),
)
_PROGRAMS: tuple[dict[str, str], ...] = (
    {},
    {"COLORTERM": "truecolor", "TERM_PROGRAM": "WezTerm"},
    {"NO_COLOR": "1"},
    {"LC_ALL": "C", "TERM": "xterm"},
    {"TMUX": "1"},
    {"KITTY_WINDOW_ID": "1"},
)
# Characters that show with the one before them, if there is one in the row.
_JOINING = re.compile("[\u0301\u200d\ufe0f]")


class Monkey:
    """Does what it likes at a puppet's terminal.

    Args:
        puppet: whose.
        random: what it likes.
    """

    def __init__(self, puppet: Puppet, random: Random, keys: dict[str, tuple[str, ...]]) -> None:
        self._puppet = puppet
        self._random = random
        self._keys = [key for keys_of_one in keys.values() for key in keys_of_one]
        self._session_keys = [key for id_ in keys if id_.startswith(_SESSION_ACTIONS) for key in keys[id_]]
        self._wipes = 0
        # A dock that is higher than the screen leaves rows in the scrollback when the screen gets lower.
        self._is_exact = True
        self._is_lied_to = False  # kaa does not know where on the screen it is

    def step(self) -> None:
        """Do something."""
        random = self._random
        what: list[Callable[[], None]] = [self._happen] * 10 + [self._press] * 6 + [self._type] * 4 + [self._answer] * 3
        what += [self._visit_sessions] * 2
        what += [self._wait, self._wait, self._command, self._paste, self._resize, self._lie, self._click, self._stop]
        random.choice(what)()
        self._puppet.turn(random.choice((0, 0, 0.01, 0.05)))
        self._look()

    def settle(self) -> None:
        """Let the terminal answer, and kaa paint; then look at all of the screen, also while the agent continues."""
        puppet = self._puppet
        for _ in range(3):
            self._answer()
            puppet.turn(1.0)
        self._look_at_everything()
        for _ in range(self._random.choice((0, 10))):
            puppet.core.work_on()
            puppet.turn(0.1)
        assert puppet.device.written.wipes == self._wipes
        self._look_at_everything()

    def _look_at_everything(self) -> None:
        puppet = self._puppet
        self._look()
        assert isinstance(puppet.main_view.app, Application)
        puppet.main_view.app.paint()
        self._look_at_document()

    # What it does.

    def _send(self, data: bytes) -> None:
        for start in range(0, len(data), 32768):
            self._puppet.device.type(data[start : start + 32768])
            self._puppet.turn()

    def _press(self) -> None:
        screen = self._puppet.screen
        for _ in range(self._random.choice((1, 1, 1, 2, 5))):
            self._send(key_bytes(self._random.choice(self._keys), kitty=screen.keyboard, modes=screen.modes))

    def _type(self) -> None:
        self._send("".join(self._random.choices(_TYPED, k=4)).encode())

    def _command(self) -> None:
        names = [command.name for command in self._puppet.ui.commands.offered()]
        self._send(
            f"\x03/{self._random.choice(names)}{self._random.choice(('', ' light', ' high', ' 1', ' x'))}\r".encode()
        )

    def _visit_sessions(self) -> None:
        """Go to a list, a tree or a question, and do something there while the core works, or does not yet."""
        random, puppet = self._random, self._puppet
        self._send(f"\x1b\x03{random.choice(_SESSION_COMMANDS)}\r".encode())
        for _ in range(random.choice((1, 3, 8))):
            for _ in range(random.choice((0, 2, 9))):
                puppet.core.go_on()
            letter = random.choice(_SESSION_LETTERS).encode()
            key = random.choice(self._session_keys)
            pressed = key_bytes(key, kitty=puppet.screen.keyboard, modes=puppet.screen.modes)
            self._send(random.choice((b"\r", b"\r", letter, pressed, pressed)))
            puppet.turn(random.choice((0, 0.1, 1)))
            self._look()

    def _paste(self) -> None:
        text = self._random.choice((self._puppet.core.chance.text(), "x" * 1000, "line\n" * 50, "/tmp/no image.png"))
        self._send(paste_bytes(text.encode("utf-8", "replace").decode(), self._puppet.screen.modes))

    def _happen(self) -> None:
        for _ in range(self._random.choice((1, 3, 10))):
            self._puppet.core.go_on()

    def _answer(self) -> None:
        replies = self._puppet.screen.replies
        while replies:
            self._send(replies.pop(0).encode())

    def _wait(self) -> None:
        self._puppet.turn(self._random.choice((0.1, 0.2, 0.6, 5)))

    def _resize(self) -> None:
        random, puppet = self._random, self._puppet
        columns = random.choice((puppet.screen.columns, 1, 2, 5, 20, 40, 80, 80, 200))
        rows = random.choice((puppet.screen.rows, 1, 2, 3, 6, 10, 24, 24, 60))
        if rows <= len(puppet.main_view.dock.render(puppet.screen.columns)):
            self._is_exact = False
        puppet.resize(columns, rows)

    def _lie(self) -> None:
        data = self._random.choice(_LIES).encode()
        cut = self._random.randrange(len(data))
        self._send(data[:cut])
        self._puppet.turn(self._random.choice((0, 0, 0.2)))
        self._send(data[cut:])
        self._is_lied_to = True

    def _stop(self) -> None:
        """Somebody else stops kaa; a shell writes, and lets it go on."""
        self._puppet.interrupt()
        self._is_exact = False  # where the shell was on the screen is not known

    def _click(self) -> None:
        screen = self._puppet.screen
        button = self._random.choice((0, 0, 32, 64, 65, 2))
        at = self._random.randrange(screen.columns), self._random.randrange(screen.rows)
        self._send(mouse_bytes(button, *at, pressed=self._random.choice((True, False))))

    # What it sees.

    def _look(self) -> None:
        """What holds at every moment."""
        screen, written = self._puppet.screen, self._puppet.device.written
        assert not screen.unknown, screen.unknown
        row, column = screen.cursor
        assert 0 <= row < screen.rows
        assert 0 <= column < screen.columns
        assert not screen.title.startswith("PWNED")
        assert "STOLEN" not in written.copied  # what is selected and copied is only that in base64
        if written.wipes != self._wipes:
            self._wipes = written.wipes
            self._is_exact, self._is_lied_to = True, False

    def _look_at_document(self) -> None:
        """What holds when the terminal has said where things are."""
        puppet, screen = self._puppet, self._puppet.screen
        width = screen.columns
        dock = puppet.main_view.dock
        if puppet.main_view.app.is_looking or self._is_lied_to:
            return
        if puppet.main_view.app.is_fullscreen:
            shown, _ = around_cursor(dock.render(width), dock.cursor(), screen.rows - 1)
            assert _seen(screen.lines())[screen.rows - len(shown) :] == _texts(shown, width)
            return
        blocks = [line for block in puppet.main_view.document.blocks for line in block.render(width)]
        shown, _ = around_cursor(dock.render(width), dock.cursor(), screen.rows)
        expected = [*_texts(blocks, width), *_texts(shown, width)]
        seen = _seen(line for line in screen.everything() if line != SHELL_LINE)
        if self._is_exact and len(blocks) < MAX_ROWS:
            seen, expected = _without_blanks_behind(seen), _without_blanks_behind(expected)
            if seen != expected:  # what a block adds late may stand behind a later one
                assert sorted(seen) == sorted(expected)
        else:
            assert _ends_with(_seen(screen.lines()), _texts(shown, width))


def _ends_with(lines: list[str], last: list[str]) -> bool:
    """Whether these are the last lines, but for blank ones."""
    places = (index for index in range(len(lines) - len(last) + 1) if not any(lines[index + len(last) :]))
    return any(lines[index : index + len(last)] == last for index in places)


def _texts(lines: list[str], width: int) -> list[str]:
    return _seen(plain(fit(line, width)) for line in lines)


def _seen(lines: Iterable[str]) -> list[str]:
    return [_JOINING.sub("", line).rstrip() for line in lines]


def _without_blanks_behind(lines: list[str]) -> list[str]:
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return lines[:end]


def play(folder: Path, monkeypatch: pytest.MonkeyPatch, seed: int, steps: int) -> None:
    """Let a monkey do so many steps."""
    random = Random(seed)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "TMUX", "TERMUX_VERSION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.delenv("VISUAL", raising=False)
    screen = Screen(
        random.choice((1, 20, 80, 80, 200)),
        random.choice((1, 5, 24, 24, 60)),
        answers=random.choice(_ANSWERS),
        pulls_back=random.choice((True, False)),
        reflows=random.choice((True, False)),
        is_dark=random.choice((True, False)),
    )
    core = ScriptedCore(Chance(random, _MARKDOWN + _HOSTILE), folder)
    keys = {id_: tuple(keys) for id_, keys in load_keybindings(str(folder)).keys.items()}
    with Puppet(folder, screen, core, monkeypatch, random.choice(_PROGRAMS)) as puppet:
        monkey = Monkey(puppet, random, keys)
        for number in range(steps):
            monkey.step()
            if number % 10 == 9:
                monkey.settle()
    core.close()
    assert not screen.in_alternate_screen
    assert screen.cursor_visible
    assert screen.modes == Screen().modes


@pytest.mark.parametrize("seed", range(_SEEDS))
def test_whatever_a_monkey_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    play(tmp_path, monkeypatch, seed, _STEPS)
