"""The slash commands that only the interactive terminal has, and what does the same in the modes that refuse them."""

from kaa.core.messages import UserMessage
from kaa.ext.invocation import invocation_in

# Each with what does the same, or nearly, without a terminal.
TERMINAL_COMMANDS = {
    "branch": "/tree does the same",
    "changelog": "",
    "clear": "/new does the same",
    "copy": "",
    "detach": "",
    "exit": "",
    "fullscreen": "",
    "hotkeys": "/help lists the slash commands",
    "login": "`kaa login PROVIDER` does the same",
    "logout": "`kaa logout PROVIDER` does the same",
    "quit": "",
    "redraw": "",
    "theme": "/settings theme NAME does the same",
    "transcript": "`kaa sessions export ID` writes all of it",
}


def why_not_here(message: UserMessage | str) -> str | None:
    """What to say if `message` is a slash command for which a terminal is needed; None if it is not."""
    called = invocation_in(message)
    if called is None or called.name not in TERMINAL_COMMANDS:
        return None
    instead = TERMINAL_COMMANDS[called.name]
    refusal = f"/{called.name} needs the interactive terminal: start kaa without -p and --mode"
    return f"{refusal}; {instead}" if instead else refusal
