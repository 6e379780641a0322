import pytest

from kaa.tui.capabilities import Capabilities, questions
from kaa.tui.events import TerminalReply
from tests.support.tables import each

_XTERM = {"TERM": "xterm-256color", "LANG": "en_US.UTF-8"}


@each(
    ("environment", "colors"),
    [
        ({"TERM": "dumb", "COLORTERM": "truecolor"}, "none"),
        ({}, "none"),
        ({"TERM": "vt220"}, "none"),
        ({"TERM": "xterm"}, "16"),
        ({"TERM": "linux"}, "16"),
        ({"TERM": "xterm-256color"}, "256"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "truecolor"),
        ({"TERM": "xterm-direct"}, "truecolor"),
        ({"TERM": "xterm-kitty"}, "truecolor"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "truecolor"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, "256"),
        ({"TERM": "tmux-256color", "TMUX": "/tmp/x", "COLORTERM": "truecolor"}, "truecolor"),
        ({"TERM": "screen-256color", "STY": "1.x", "COLORTERM": "truecolor"}, "256"),
        ({"TERM": "xterm-kitty", "NO_COLOR": "1"}, "none"),
        ({"TERM": "xterm-kitty", "NO_COLOR": ""}, "truecolor"),
    ],
)
def test_colors_by_the_environment(environment: dict[str, str], colors: str) -> None:
    assert Capabilities(environment).colors == colors


@each(
    ("environment", "program", "multiplexer"),
    [
        ({"TERM": "xterm-ghostty"}, "ghostty", ""),
        ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, "kitty", ""),
        ({"TERM": "xterm-256color", "WT_SESSION": "x"}, "windows-terminal", ""),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "vscode", "VTE_VERSION": "7200"}, "vscode", ""),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7200"}, "vte", ""),
        ({"TERM": "foot"}, "foot", ""),
        ({"TERM": "rxvt-unicode-256color"}, "rxvt", ""),
        ({"TERM": "tmux-256color", "TMUX": "/tmp/x", "KITTY_WINDOW_ID": "1"}, "", "tmux"),
        ({"TERM": "tmux-256color", "SSH_TTY": "/dev/pts/1"}, "", "tmux"),
        ({"TERM": "screen.xterm-256color"}, "", "screen"),
        ({"TERM": "xterm-256color", "ZELLIJ": "0"}, "", "zellij"),
        ({"TERM": "xterm-256color"}, "", ""),
    ],
)
def test_which_terminal_it_is(environment: dict[str, str], program: str, multiplexer: str) -> None:
    capabilities = Capabilities(environment)

    assert (capabilities.program, capabilities.multiplexer) == (program, multiplexer)


@each(
    ("environment", "unicode"),
    [
        ({"LANG": "en_US.UTF-8"}, True),
        ({"LANG": "en_US.utf8"}, True),
        ({"LANG": "de_DE.ISO-8859-1"}, False),
        ({"LC_ALL": "C", "LANG": "en_US.UTF-8"}, False),
        ({"LC_CTYPE": "C.UTF-8", "LANG": "C"}, True),
        ({}, True),
        ({"TERM": "linux", "LANG": "en_US.UTF-8"}, False),
    ],
)
def test_unicode_by_the_locale(environment: dict[str, str], unicode: bool) -> None:
    assert Capabilities({"TERM": "xterm", **environment}).unicode is unicode


@pytest.mark.parametrize(("locale", "utf8"), [("C.UTF-8", True), ("en_US", False)])
def test_terminals_that_cannot_draw_may_get_text_in_utf8(locale: str, *, utf8: bool) -> None:
    known = Capabilities({"TERM": "dumb", "LANG": locale})

    assert (known.utf8, known.unicode) == (utf8, False)


def test_what_a_multiplexer_swallows_is_not_counted_on() -> None:
    capabilities = Capabilities({"TERM": "tmux-256color", "TMUX": "x", "TERM_PROGRAM": "WezTerm"})

    assert (capabilities.hyperlinks, capabilities.images, capabilities.progress) == (False, "none", False)


@pytest.mark.parametrize(("value", "is_dark"), [("15;0", True), ("0;15", False), ("0;default;7", False), ("x", None)])
def test_a_first_guess_of_the_background(value: str, is_dark: bool | None) -> None:
    assert Capabilities({**_XTERM, "COLORFGBG": value}).is_dark is is_dark


def test_answers_correct_the_guesses() -> None:
    capabilities = Capabilities(_XTERM)

    capabilities.learn(TerminalReply("version", text="ghostty 1.2.0"))
    assert capabilities.program == "ghostty"
    assert (capabilities.colors, capabilities.hyperlinks, capabilities.images) == ("truecolor", True, "kitty")
    backgrounds: list[bool | None] = []
    for reply in (TerminalReply("background", (250, 250, 250)), TerminalReply("dark")):
        capabilities.learn(reply)
        backgrounds.append(capabilities.is_dark)
    assert backgrounds == [False, True]
    capabilities.learn(TerminalReply("kitty-keyboard", (5,)))
    assert capabilities.kitty_keyboard
    capabilities.learn(TerminalReply("cell-size", (18, 9)))
    assert capabilities.cell_pixels == (9, 18)


@each(
    ("text", "program"),
    [
        ("kitty(0.35.2)", "kitty"),
        ("WezTerm 20240203-110809-5046fc22", "wezterm"),
        ("iTerm2 3.5.4", "iterm2"),
        ("XTerm(390)", "xterm"),
        ("VTE(7600)", "vte"),
        ("foot(1.16.2)", "foot"),
        ("Konsole 24.02.0", "konsole"),
        ("contour 0.4.3", "contour"),
        ("something else", ""),
        ("", ""),
    ],
)
def test_terminals_say_who_they_are(text: str, program: str) -> None:
    capabilities = Capabilities(_XTERM)

    capabilities.learn(TerminalReply("version", text=text))

    assert capabilities.program == program


def test_a_multiplexer_behind_ssh_says_so() -> None:
    capabilities = Capabilities({**_XTERM, "TERM_PROGRAM": "WezTerm", "SSH_TTY": "/dev/pts/0"})

    capabilities.learn(TerminalReply("version", text="tmux 3.4"))

    assert (capabilities.multiplexer, capabilities.hyperlinks, capabilities.images) == ("tmux", False, "none")


def test_who_wants_no_color_gets_none_whatever_the_terminal_says() -> None:
    capabilities = Capabilities({**_XTERM, "NO_COLOR": "1"})

    capabilities.learn(TerminalReply("version", text="kitty(0.35.2)"))

    assert capabilities.colors == "none"


def test_an_image_protocol_that_answered_stays() -> None:
    capabilities = Capabilities(_XTERM)

    capabilities.learn(TerminalReply("graphics", (1,)))
    capabilities.learn(TerminalReply("version", text="XTerm(400)"))

    assert capabilities.images == "kitty"


def test_who_would_show_questions_as_text_is_not_asked() -> None:
    assert questions(Capabilities({"TERM": "dumb"})) == ""
    assert questions(Capabilities({"TERM": "linux"})) == ""
    apple = questions(Capabilities({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}))
    assert "\x1b[>q" not in apple
    assert "\x1b_" not in apple
    assert "\x1b_" not in questions(Capabilities({"TERM": "tmux-256color"}))
    assert questions(Capabilities(_XTERM)).endswith("\x1b[c")
