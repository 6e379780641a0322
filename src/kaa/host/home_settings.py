"""Settings in the user's home that programs which kaa starts would obey, though commands can write them.

Whoever works on their own dotfiles has them in a project, and links in the home lead there.
"""

import os
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple


class _Setting(NamedTuple):
    """Files of the home, and the variable that has a program do without them."""

    files: tuple[str, ...]
    variable: str
    value: str


_SETTINGS: Final = (
    _Setting((".gitconfig", ".config/git/config"), "GIT_CONFIG_GLOBAL", os.devnull),
    _Setting((".ssh/config", ".ssh/config.d"), "GIT_SSH_COMMAND", f"ssh -F {os.devnull}"),
    _Setting((".npmrc",), "npm_config_userconfig", os.devnull),
    _Setting((".config/pip/pip.conf", ".pip/pip.conf"), "PIP_CONFIG_FILE", os.devnull),
)


def led_into_projects(environ: Mapping[str, str], is_safe: Callable[[str], bool]) -> dict[str, tuple[str, str]]:
    """Return the files that commands can write, each with the variable, and its value, that switches it off.

    Args:
        environ: the user's variables.
        is_safe: whether commands can write neither an absolute path nor what leads to it.
    """
    home = environ.get("HOME") or os.path.expanduser("~")
    found: dict[str, tuple[str, str]] = {}
    for setting in _SETTINGS:
        if setting.variable in environ:  # then it has another file, or none
            continue
        paths = (os.path.join(home, file) for file in setting.files)
        if (led := next((path for path in paths if not is_safe(path)), None)) is not None:
            found[led] = setting.variable, setting.value
    return found
