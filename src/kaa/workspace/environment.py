"""The environment of commands: the user's own, without secrets and set for nobody sitting at the keyboard."""

import re
from collections.abc import Mapping

# What keys of model providers and the like are called. `TOKENIZERS_PARALLELISM` is no token.
_SECRET = re.compile(
    r"API_?KEY|ACCESS_?KEY|TOKENS?(?![A-Z])|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL", re.IGNORECASE
)
# Git reads its configuration from GIT_CONFIG_KEY_<n> and GIT_CONFIG_VALUE_<n>; with one missing it refuses to run.
_NOT_SECRET = re.compile(r"GIT_CONFIG_.*|.*_TOKENS|.*_TOKEN_LIMIT", re.IGNORECASE)

_UNATTENDED = {
    "KAA": "1",  # lets a script know that kaa runs it
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",  # take the proposed message instead of waiting in an editor
    "GCM_INTERACTIVE": "never",
    "SSH_ASKPASS_REQUIRE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
}


def command_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables commands get, given those of kaa itself."""
    kept = {name: value for name, value in environment.items() if not is_secret(name)}
    return {**kept, **_UNATTENDED}


def is_secret(name: str) -> bool:
    """Whether a variable of this name probably holds a secret."""
    return _SECRET.search(name) is not None and _NOT_SECRET.fullmatch(name) is None
