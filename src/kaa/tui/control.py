"""Sequences that say something to the terminal beside the text: frames, titles, progress, zones, notifications."""

import re

from kaa.tui.invisible import replace_invisible

# Compiled when it is first used, behind the first frame.
_CONTROL = "[\x00-\x1f\x7f-\x9f]+"
# Terminals cut longer ones or ignore them.
_LONGEST_TITLE = 200

# Who shows OSC 777 (urxvt's form), and who only OSC 9 (iTerm2's): elsewhere that one may mean something else.
_TITLED_NOTIFICATIONS = ("contour", "foot", "ghostty", "rxvt", "vte", "warp", "wezterm")
_NOTIFICATIONS = ("iterm2", "kitty", "rio")

# Synchronized output (https://gist.github.com/christianparpart/d8a62cc1ab659194337d73e399004036): no half painted frame
# is shown. No automatic wrap: where terminal and program disagree about a width, a line is clipped and no row shifts.
BEGIN_FRAME, END_FRAME = "\x1b[?2026h\x1b[?7l", "\x1b[?7h\x1b[?2026l"
HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"

PUSH_TITLE, POP_TITLE = "\x1b[22;2t", "\x1b[23;2t"

# Zones of FinalTerm's protocol (OSC 133), by which terminals jump from prompt to prompt and select output.
PROMPT_START, OUTPUT_START = "\x1b]133;A\x1b\\", "\x1b]133;C\x1b\\"


def plain(text: str) -> str:
    """Foreign text for the inside of a sequence: one short line without what acts on terminals or hides text."""
    return replace_invisible(re.sub(_CONTROL, " ", text), lambda _: "").strip()[:_LONGEST_TITLE]


def title(text: str) -> str:
    """Set the window's title."""
    return f"\x1b]2;{plain(text)}\x1b\\"


def progress(*, busy: bool) -> str:
    """Show that work goes on, for an unknown time, or nothing (ConEmu's OSC 9;4)."""
    return f"\x1b]9;4;{3 if busy else 0};0\x1b\\"


def notification(program: str, heading: str, text: str) -> str:
    """Have the desktop say something; empty where the program is not known to do so.

    Args:
        program: the terminal, as `Capabilities.program` has it.
        heading: in one line.
        text: in one line.
    """
    heading, text = plain(heading).replace(";", ","), plain(text)
    if program in _TITLED_NOTIFICATIONS:
        return f"\x1b]777;notify;{heading};{text}\x1b\\"
    return f"\x1b]9;{heading}: {text}\x1b\\" if program in _NOTIFICATIONS else ""
