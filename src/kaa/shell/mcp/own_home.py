"""A home of its own for a server that a package runner starts: many keep files there, and that of the user is closed.

What the server saw of the user's home besides, toolchains, keeps its place: variables say where it is.
"""

import os
import re
from collections.abc import Mapping, Sequence

from kaa.shell.mcp.runners import package_of_runner

# Where toolchains and settings of runners are in a home, and the variables that say so. Sources are their manuals.
_IN_HOME = {
    "ASDF_DATA_DIR": ".asdf",
    "BUN_INSTALL": ".bun",
    "CARGO_HOME": ".cargo",
    "FNM_DIR": ".local/share/fnm",
    "GIT_CONFIG_GLOBAL": ".gitconfig",
    "GOPATH": "go",
    "MISE_CONFIG_DIR": ".config/mise",
    "MISE_DATA_DIR": ".local/share/mise",
    "NODENV_ROOT": ".nodenv",
    "NVM_DIR": ".nvm",
    "PIP_CONFIG_FILE": ".config/pip/pip.conf",
    "PROTO_HOME": ".proto",
    "PYENV_ROOT": ".pyenv",
    "PYTHONUSERBASE": ".local",
    "RBENV_ROOT": ".rbenv",
    "RUSTUP_HOME": ".rustup",
    "UV_CONFIG_FILE": ".config/uv/uv.toml",
    "UV_PYTHON_INSTALL_DIR": ".local/share/uv/python",
    "VOLTA_HOME": ".volta",
}
_BASES = {".config/": "XDG_CONFIG_HOME", ".local/share/": "XDG_DATA_HOME"}
# Programs would write in these, too, if the user has chosen others.
_OWN = {"XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share", "XDG_STATE_HOME": ".local/state"}
_OF_USER = re.compile(r"(?<![^=])~(?=/|$)")


def variables_of_home(words: Sequence[str], environ: Mapping[str, str], data: str) -> dict[str, str]:
    """The variables for a home of its own; empty for a server that no package runner starts."""
    if package_of_runner(words) is None:
        return {}
    home = environ.get("HOME") or os.path.expanduser("~")
    places = {name: environ.get(name) or _place(path, home, environ) for name, path in _IN_HOME.items()}
    own = {name: f"{data}/{path}" for name, path in _OWN.items()}
    return {"HOME": data, **own, **{name: path for name, path in places.items() if os.path.exists(path)}}


def with_users_home(word: str, home: str) -> str:
    """An argument in which `~` is the home of the user, and not that of the server."""
    return _OF_USER.sub(lambda _: home, word)


def _place(path: str, home: str, environ: Mapping[str, str]) -> str:
    for beginning, variable in _BASES.items():
        if path.startswith(beginning) and environ.get(variable):
            return os.path.join(environ[variable], path.removeprefix(beginning))
    return os.path.join(home, path)
