"""What the terminal can do: guessed from the environment at once, corrected by what it answers later.

Answers are never waited for. A guess that is wrong for some milliseconds costs at most a coarser colour.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from kaa.tui.colors import Depth
from kaa.tui.events import TerminalReply
from kaa.tui.picture import ImageProtocol


class _Program(NamedTuple):
    """What a terminal program can do, as its documentation says."""

    truecolor: bool = True
    hyperlinks: bool = True
    images: ImageProtocol = "none"
    # Whether OSC 9;4 shows a progress bar. Some that do not know it show a notification that says "4;3".
    progress: bool = False


_PROGRAMS = {
    "alacritty": _Program(),
    "apple": _Program(truecolor=False, hyperlinks=False),
    "conemu": _Program(hyperlinks=False, progress=True),
    "contour": _Program(),
    "foot": _Program(),
    "ghostty": _Program(images="kitty", progress=True),
    "iterm2": _Program(images="iterm2"),
    "kitty": _Program(images="kitty"),
    "konsole": _Program(images="kitty"),
    "linux": _Program(truecolor=False, hyperlinks=False),
    "mintty": _Program(images="iterm2", progress=True),
    "rio": _Program(images="kitty"),
    "rxvt": _Program(truecolor=False, hyperlinks=False),
    "vscode": _Program(),
    "vte": _Program(),
    "warp": _Program(hyperlinks=False, images="kitty"),
    "wezterm": _Program(images="kitty", progress=True),
    "windows-terminal": _Program(progress=True),
    "xterm": _Program(truecolor=False, hyperlinks=False),
}
_UNKNOWN = _Program(truecolor=False, hyperlinks=False)

_BY_TERM_PROGRAM = {
    "Apple_Terminal": "apple",
    "ghostty": "ghostty",
    "iTerm.app": "iterm2",
    "mintty": "mintty",
    "rio": "rio",
    "vscode": "vscode",
    "WarpTerminal": "warp",
    "WezTerm": "wezterm",
}
# Variables by which a terminal is known, some of which survive where TERM_PROGRAM does not.
_BY_VARIABLE = {
    "KITTY_WINDOW_ID": "kitty",
    "GHOSTTY_RESOURCES_DIR": "ghostty",
    "WEZTERM_PANE": "wezterm",
    "WT_SESSION": "windows-terminal",
    "ConEmuANSI": "conemu",
    "ALACRITTY_WINDOW_ID": "alacritty",
    "KONSOLE_VERSION": "konsole",
    "ITERM_SESSION_ID": "iterm2",
    "VTE_VERSION": "vte",
    "XTERM_VERSION": "xterm",
}
# Values of TERM that say which terminal it is; they cross SSH.
_BY_TERM = ("alacritty", "contour", "foot", "ghostty", "kitty", "konsole", "linux", "mintty", "rxvt", "vte", "wezterm")
# Compiled with the answer, behind the first frame.
_VERSION_NAMES = r"([A-Za-z][A-Za-z0-9 _-]*?)[ (/]*v?(?:[0-9][0-9A-Za-z.:+-]*)?\)?"
_BY_VERSION_NAME = {"iterm": "iterm2", "libvterm": "", "windows terminal": "windows-terminal"}

_MULTIPLEXERS = {"TMUX": "tmux", "ZELLIJ": "zellij", "STY": "screen"}


class Capabilities:
    """What is known of the terminal so far.

    Args:
        environment: variables of the process.

    Attributes:
        program: which terminal it is (`kitty`, `iterm2`, `vte`, …), empty if unknown or hidden by a multiplexer.
        multiplexer: `tmux`, `screen`, `zellij` or empty.
        over_ssh: whether keys and output travel.
        dumb: whether it can do nothing but print lines.
        colors: how many there are. `none` also if the user wants none (https://no-color.org).
        utf8: whether text is sent in UTF-8. What cannot draw, such as an editor's shell, can show names all the same.
        unicode: whether characters beyond ASCII can be shown, those that draw too.
        hyperlinks: whether OSC 8 links work.
        images: how images can be shown.
        progress: whether OSC 9;4 shows progress.
        kitty_keyboard: whether it speaks the Kitty keyboard protocol; known from its answer only.
        is_dark: whether its background is; None if unknown.
        cell_pixels: width and height of a cell; None if unknown.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        term = environment.get("TERM", "")
        self.dumb = term in ("", "dumb", "unknown")
        self.over_ssh = any(environment.get(name) for name in ("SSH_TTY", "SSH_CONNECTION", "SSH_CLIENT"))
        self.multiplexer = _multiplexer(environment, term)
        self.program = "" if self.multiplexer or self.dumb else _program(environment, term)
        self.utf8 = _is_utf8(environment)
        self.unicode = self.utf8 and not self.dumb and self.program != "linux"
        self._may_color = not environment.get("NO_COLOR") and not self.dumb
        self.kitty_keyboard = False
        self.is_dark = _is_dark_by_variable(environment.get("COLORFGBG", ""))
        self.cell_pixels: tuple[int, int] | None = None
        self.colors: Depth = "none"
        self.hyperlinks = False
        self.images: ImageProtocol = "none"
        self.progress = False
        self._be(_PROGRAMS.get(self.program, _UNKNOWN), _depth(environment, term, self.multiplexer))

    def _be(self, program: _Program, depth: Depth) -> None:
        self.colors = ("truecolor" if program.truecolor else depth) if self._may_color else "none"
        self.hyperlinks = program.hyperlinks
        self.images = program.images
        self.progress = program.progress

    @property
    def takes_strings(self) -> bool:
        """Whether strings (OSC) that it does not know are ignored instead of shown."""
        return not self.dumb and self.program != "linux"

    def learn(self, reply: TerminalReply) -> None:
        """Take an answer."""
        match reply.kind, reply.values:
            case "background", (red, green, blue):
                self.is_dark = _is_dark(red, green, blue)
            case "dark" | "light", _:
                self.is_dark = reply.kind == "dark"
            case "kitty-keyboard", _:
                self.kitty_keyboard = True
            case "cell-size", (height, width) if height and width:
                self.cell_pixels = width, height
            case "graphics", (1,) if not self.multiplexer:
                self.images = "kitty"
            case "version", _:
                self._learn_version(reply.text)

    def _learn_version(self, text: str) -> None:
        match = re.fullmatch(_VERSION_NAMES, text)
        if match is None:
            return
        name = match[1].lower()
        if name in ("tmux", "zellij"):
            # It swallows what the terminal behind it could do.
            self.multiplexer, self.program = name, ""
            self._be(_UNKNOWN, self.colors)
            return
        name = next((known for known in _PROGRAMS if name.startswith(known)), _BY_VERSION_NAME.get(name[:5], ""))
        if name and not self.multiplexer:
            self.program = name
            images = self.images
            self._be(_PROGRAMS[name], self.colors)
            self.images = self.images if images == "none" else images


def questions(capabilities: Capabilities) -> str:
    """What to send to learn more; empty if it is better not to ask. The last answer is the one to `CSI c`."""
    if not capabilities.takes_strings:
        return ""
    asked = ["\x1b[?u", "\x1b]11;?\x1b\\"]
    # Apple's terminal shows parts of these as text.
    if capabilities.program != "apple":
        asked += ["\x1b[>q", "\x1b[16t"]
        # tmux and screen take it for a window's title.
        if not capabilities.multiplexer:
            asked.append("\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\")
    # Every terminal answers this, in turn: what was not answered before it never will be.
    return "".join([*asked, "\x1b[c"])


def _multiplexer(environment: Mapping[str, str], term: str) -> str:
    found = next((name for variable, name in _MULTIPLEXERS.items() if environment.get(variable)), "")
    # Variables do not cross SSH, TERM does.
    return found or next((name for name in ("tmux", "screen") if term.partition("-")[0].partition(".")[0] == name), "")


def _program(environment: Mapping[str, str], term: str) -> str:
    if name := _BY_TERM_PROGRAM.get(environment.get("TERM_PROGRAM", "")):
        return name
    by_term = next((name for name in _BY_TERM if term.removeprefix("xterm-").startswith(name)), "")
    return by_term or next((name for variable, name in _BY_VARIABLE.items() if environment.get(variable)), "")


def _depth(environment: Mapping[str, str], term: str, multiplexer: str) -> Depth:
    # GNU screen passes on the variable of the terminal it was started in, but not its colours.
    if multiplexer != "screen" and environment.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return "truecolor"
    if term.endswith("-direct"):
        return "truecolor"
    if "256color" in term or multiplexer or environment.get("TERM_PROGRAM") == "Apple_Terminal":
        return "256"
    return "none" if term.startswith("vt") and term[2:3].isdecimal() else "16"


def _is_utf8(environment: Mapping[str, str]) -> bool:
    locale = next((value for name in ("LC_ALL", "LC_CTYPE", "LANG") if (value := environment.get(name))), "")
    # Nothing said (containers): the terminals of today are. Python itself says C.UTF-8 where it found C.
    return not locale or "utf8" in locale.lower().replace("-", "")


def _is_dark_by_variable(value: str) -> bool | None:
    """By `COLORFGBG`, of rxvt, Konsole and others: `foreground;background`, numbers of the 16 colours."""
    background = value.rpartition(";")[2]
    return int(background) in (0, 1, 2, 3, 4, 5, 6, 8) if background.isdecimal() and len(background) < 3 else None


def _is_dark(red: int, green: int, blue: int) -> bool:
    # Luma of BT.601, against the middle.
    return 299 * red + 587 * green + 114 * blue < 128_000
