"""The environment of commands: the user's own, without secrets and set for nobody sitting at the keyboard."""

import re
from collections.abc import Mapping, Sequence

# Patterns, not compiled: a conversation without commands needs none, and compiling takes a part of a start.
# What keys of model providers and the like are called. `TOKENIZERS_PARALLELISM` is no token.
_SECRET = (
    r"(?i)API_?KEY|ACCESS_?KEY|KEY$|TOKENS?(?![A-Z])|SECRET|PASSW|PASSPHRASE|_PASS$|_PAT$|CREDENTIAL|COOKIE"
    r"|CONNECTION_STRING|DATABASE_URL|DSN$|AUTH$|_HEADERS$"  # headers as in OTEL_EXPORTER_OTLP_HEADERS
    r"|_PWD$|SSHPASS$|_PW$|BINDPW$|^(?:BW|OP|FASTLANE)_SESSION"  # MYSQL_PWD; keys of Bitwarden's and 1Password's vaults
)
# Git reads its configuration from GIT_CONFIG_KEY_<n> and GIT_CONFIG_VALUE_<n>; with one missing it refuses to run.
_NOT_SECRET = r"(?i)GIT_CONFIG_.*|.*_TOKENS|.*_TOKEN_LIMIT"

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
    # But a list of commits that nobody edits is not what was wanted.
    "GIT_SEQUENCE_EDITOR": "echo 'No editor: set GIT_SEQUENCE_EDITOR to a command that edits the list.' >&2; false",
    "GCM_INTERACTIVE": "never",
    "SSH_ASKPASS_REQUIRE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
}


# Ways to programs outside that act with the user's rights, and to the user's screen. Their sockets are hidden inside.
_WAYS_OUT = frozenset(
    (
        *("SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY", "GPG_AGENT_INFO"),
        *("GNOME_KEYRING_CONTROL", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "ICEAUTHORITY", "STY", "INSIDE_EMACS"),
        *("DOCKER_HOST", "CONTAINER_HOST", "XDG_RUNTIME_DIR", "WSL_INTEROP", "WSLENV", "SESSION_MANAGER"),
    )
)
_WAYS_OUT_BEGIN = (
    *("DBUS_", "TMUX", "ZELLIJ", "KITTY_", "WEZTERM_", "ITERM_", "VSCODE_", "NVIM", "EMACS", "PODMAN_", "XDG_SESSION_"),
    *("PULSE_", "AT_SPI_"),
)
# With them bash reads a command otherwise than the judgement of it: `cd x` goes elsewhere, patterns match other files.
_OF_BASH = frozenset({"BASHOPTS", "CDPATH", "GLOBIGNORE", "SHELLOPTS"})
_GIT_SETTINGS = (  # what commands may not write or do not see
    ("rerere.enabled", "false"),  # what it notes of resolved conflicts may not be written
    ("gc.worktreePruneExpire", "never"),  # to commands, worktrees elsewhere seem to be gone
)


def command_environment(environment: Mapping[str, str], *, confined: bool) -> dict[str, str]:
    """The variables commands get, given those of kaa itself.

    Args:
        confined: the commands run in a sandbox, where ways out of it lead nowhere.
    """
    kept = {name: value for name, value in environment.items() if name not in _OF_BASH and not is_secret(name)}
    if confined:
        kept = {name: value for name, value in kept.items() if not _leads_out(name)}
        kept |= git_settings(kept, _GIT_SETTINGS)
    return {**kept, **_UNATTENDED}


def git_settings(environment: Mapping[str, str], settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Variables that add settings of git to those that an environment has."""
    count = environment.get("GIT_CONFIG_COUNT", "0")
    if not count.isdecimal():
        return {}  # git refuses to run anyway
    variables = {"GIT_CONFIG_COUNT": str(int(count) + len(settings))}
    for number, (key, value) in enumerate(settings, int(count)):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


def _leads_out(name: str) -> bool:
    folded = name.upper()  # some programs read their proxy in lower case
    return folded in _WAYS_OUT or folded.startswith(_WAYS_OUT_BEGIN) or folded.endswith("_PROXY")


def is_secret(name: str) -> bool:
    """Whether a variable of this name probably holds a secret."""
    return re.search(_SECRET, name) is not None and re.fullmatch(_NOT_SECRET, name) is None
