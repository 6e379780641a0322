"""Names that commands of extension processes cannot have, because the terminal has them."""

TERMINAL_NAMES = frozenset(
    [
        "branch",
        "changelog",
        "clear",
        "copy",
        "detach",
        "exit",
        "fullscreen",
        "hotkeys",
        "login",
        "logout",
        "quit",
        "redraw",
        "theme",
        "transcript",
    ]
)
"""The names of commands that only the interactive terminal has; there they go before one of an extension."""
