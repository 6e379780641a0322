"""What clients of the network obey and run besides what their words say: by variables, and as scripts of Python."""

import os
import re
from collections.abc import Iterator, Mapping

from kaa.host.programs import SAFE_PATH, HostPrograms

# Variables with which clients of the network find their settings, and programs that they start: from the manuals of
# git, ssh, gpg, gh, glab, kubectl, the clients of clouds and twine. Not those that name what is only worked on.
_OF_CLIENTS = (
    r"(?:AWS|AZURE|BOTO|CLOUDSDK|DIGITALOCEAN|DOCTL|GH|GIT|GLAB|GNUPG|GOOGLE|GPG|KUBE|SSH|SSL|TWINE)[A-Z0-9_]*"
    r"|XDG_(?:CONFIG|DATA)_[A-Z]+|BROWSER|EDITOR|PAGER|VISUAL|[A-Z]+_CA_BUNDLE"
)
_MOST_OF_SCRIPT = 64 * 1024
# Options of one letter: `-m` of Python, alone or after others; with `-I` and `-P` it ignores the current directory, and
# with `-E` the variable that has it do so.
_OPTIONS = re.compile(r"""(?:^|[\s'"])-([A-Za-z]+)(?=[\s'",\])]|$)""")
_LONE_LINE_BREAK = re.compile(r"(?<=[,(\[\\])\n")  # within a list, or a command
_STATEMENTS = re.compile(r"[\n;|&]+")
_CLEARS_VARIABLES = re.compile(rf"{SAFE_PATH}|\benv\s+(?:-i?|--ignore-environment)\s")
_PYTHON = re.compile(r"[\w./-]*\bpython[\d.]*")
_OBEYS_SAFE_PATH = re.compile(r"python3\.(?:1[1-9]|[2-9]\d)")
_ONLY_PLACES = frozenset({"GIT_CEILING_DIRECTORIES", "GIT_PREFIX"})


def exposed_setting(environ: Mapping[str, str], programs: HostPrograms) -> str | None:
    """The variable that has a client of the network obey or run what commands can write, if there is one."""
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

    Pythons before 3.11 do not know the variable that forbids it, and with `-E` the others ignore it.
    """
    path = programs.find(name)
    try:
        with open(path or os.devnull, encoding="utf-8", errors="replace") as file:
            text = file.read(_MOST_OF_SCRIPT)
    except OSError:
        return None
    starts = list(_module_starts(text)) if text.startswith("#!") else []
    if not (exposed := [options for options in starts if not {"I", "P"} & options]):
        return None
    if _CLEARS_VARIABLES.search(text) or any("E" in options for options in exposed):
        return path
    pythons = [programs.find(word) for word in _PYTHON.findall(text)]
    known = [os.path.basename(os.path.realpath(python)) for python in pythons if python is not None]
    return None if known and all(map(_OBEYS_SAFE_PATH.fullmatch, known)) else path


def _module_starts(text: str) -> Iterator[frozenset[str]]:
    """The letters of the options with which a script starts modules, in each statement that does."""
    for statement in _STATEMENTS.split(_LONE_LINE_BREAK.sub(" ", text)):
        letters = ""
        for option in _OPTIONS.findall(statement):
            letters += option
            if option.endswith("m"):
                yield frozenset(letters)
                letters = ""
