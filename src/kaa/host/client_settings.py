"""What clients of the network are told by variables: which settings they obey, and which programs they run."""

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
