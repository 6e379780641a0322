"""Settings in the user's home that programs which kaa starts would obey, though commands can write them.

Whoever works on their own dotfiles has them in a project, and links in the home lead there.
"""

import os
from collections.abc import Callable, Iterator, Mapping
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


# What these execute or overwrite is also decided by files of the home, and of folders that variables name.
_OBEYED: Final = {
    "curl": (".curlrc", ".config/curlrc", "$CURL_HOME/.curlrc", "$XDG_CONFIG_HOME/curlrc"),
    "jq": (".jq",),
    "zsh": (".zshenv", "$ZDOTDIR/.zshenv"),
    "aws": (".aws/config", ".aws/credentials", ".aws/cli"),
    "gh": (".config/gh", ".config/gh/config.yml", ".ssh/config"),
    "gpg": (".gnupg", ".gnupg/gpg.conf"),
    "gpg2": (".gnupg",),
    "pass": (".gnupg", ".password-store/.extensions"),
    "wget": (".wgetrc",),
    "kubectl": (".kube", ".kube/config"),
    "docker": (".docker", ".docker/config.json"),
    "cargo": (".cargo/config.toml", ".cargo/config"),
    "gcloud": (".config/gcloud",),
    "twine": (".pypirc",),
    **dict.fromkeys(
        ("git", "glab", "rsync", "scp", "sftp", "ssh", "svn"), (".ssh/config", ".ssh/config.d")
    ),  # git's own settings cannot be written
}


def obeyed(name: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Give the absolute paths of settings that a program of this name obeys, whether anything is there or not."""
    home = environ.get("HOME") or os.path.expanduser("~")
    for file in _OBEYED.get(name, ()):
        variable, _, rest = file.removeprefix("$").partition("/")
        if not file.startswith("$"):
            yield os.path.join(home, file)
        elif environ.get(variable):
            yield os.path.join(home, environ[variable], rest)


def led_into_projects(environ: Mapping[str, str], is_safe: Callable[[str], bool]) -> dict[str, tuple[str, str]]:
    """Return the files that commands can write, each with the variable, and its value, that switches it off.

    Args:
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
