"""What clients of the network obey and run besides what their words say: by variables, and as scripts of Python."""

import os
import re
from collections.abc import Mapping

from kaa.host.programs import HostPrograms

# Variables with which clients of the network find their settings, and programs that they start: from the manuals of
# git, ssh, gpg, gh, glab, kubectl, the clients of clouds and twine. Not those that name what is only worked on.
_OF_CLIENTS = (
    r"(?:AWS|AZURE|BOTO|CLOUDSDK|DIGITALOCEAN|DOCTL|GH|GIT|GLAB|GNUPG|GOOGLE|GPG|KUBE|SSH|SSL|TWINE)[A-Z0-9_]*"
    r"|XDG_(?:CONFIG|DATA)_[A-Z]+|BROWSER|EDITOR|PAGER|VISUAL|[A-Z]+_CA_BUNDLE"
)
_MOST_OF_SCRIPT = 64 * 1024
# An option `-m` of Python, alone or after others, without `-I` and `-P`, with which it ignores the current directory.
_STARTS_MODULE = re.compile(r"""(?:^|[\s'"])-(?![A-Za-z]*[IP])[A-Za-z]*m(?=[\s'",])""", re.MULTILINE)
_IGNORES_DIRECTORY = re.compile(r"""(?:^|[\s'"])-[A-Za-z]*[IP]""", re.MULTILINE)
_PYTHON = re.compile(r"[\w./-]*\bpython[\d.]*")
_OBEYS_SAFE_PATH = re.compile(r"python3\.(?:1[1-9]|[2-9]\d)")
_ONLY_PLACES = frozenset({"GIT_CEILING_DIRECTORIES", "GIT_PREFIX"})


def exposed_setting(environ: Mapping[str, str], programs: HostPrograms) -> str | None:
    """The variable that has a client of the network obey or run what commands can write, if there is one.

    Args:
        environ: the user's variables.
        programs: know what commands can write.
    """
    return next((name for name, value in environ.items() if _is_exposed(name, value, environ, programs)), None)


def _is_exposed(name: str, value: str, environ: Mapping[str, str], programs: HostPrograms) -> bool:
    if not re.fullmatch(_OF_CLIENTS, name) or name in _ONLY_PLACES:
        return False
    if name.startswith("GIT_CONFIG_VALUE_"):
        key = environ.get(name.replace("_VALUE_", "_KEY_"), "")
        if key.casefold() == "safe.directory":
            return False
    # A list of files, or a command: a relative path in it starts in the project.
    return any(
        "/" in word and not programs.keeps(os.path.abspath(os.path.expanduser(word)))
        for word in re.split(r"[:=\s]+", value)
    )


def starts_module_here(name: str, programs: HostPrograms) -> str | None:
    """The script that a name means, if it starts a module with a Python that looks for it in the current directory.

    Pythons before 3.11 do not know the variable that forbids it.
    """
    path = programs.find(name)
    try:
        with open(path or os.devnull, encoding="utf-8", errors="replace") as file:
            text = file.read(_MOST_OF_SCRIPT)
    except OSError:
        return None
    if not text.startswith("#!") or not _STARTS_MODULE.search(text) or _IGNORES_DIRECTORY.search(text):
        return None
    pythons = [programs.find(word) for word in _PYTHON.findall(text)]
    known = [os.path.basename(os.path.realpath(python)) for python in pythons if python is not None]
    return None if known and all(map(_OBEYS_SAFE_PATH.fullmatch, known)) else path
