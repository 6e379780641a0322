"""Which of the user's variables have programs load or obey what commands can write, and the variables without these.

direnv and nix set such variables for a project: `OPENSSL_CONF=$PWD/openssl.cnf` loads a library of the project. No list
knows all of them, so each one counts that leads into what commands can write, except those that say where to work.
"""

import os
import re
from collections.abc import Callable, Collection, Mapping

# Lists of directories or files; an empty or relative entry means the current directory.
_LISTS = (
    *("PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT", "NODE_PATH", "PERL5LIB", "PERLLIB", "RUBYLIB", "CLASSPATH"),
    *(
        "GCONV_PATH",
        "GIO_EXTRA_MODULES",
        "GTK_PATH",
        "QT_PLUGIN_PATH",
        "KUBECONFIG",
        "XDG_CONFIG_DIRS",
        "XDG_DATA_DIRS",
    ),
)
# One file or directory each, from which programs load code, or settings that name programs, also if it is relative.
_PLACES = (
    *(
        "BASH_ENV",
        "ENV",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM",
        "GIT_EXEC_PATH",
        "GIT_TEMPLATE_DIR",
        "GH_CONFIG_DIR",
    ),
    *("OPENSSL_CONF", "OPENSSL_CONF_INCLUDE", "OPENSSL_MODULES", "OPENSSL_ENGINES", "CURL_HOME", "GIO_MODULE_DIR"),
    *("WGETRC", "RIPGREP_CONFIG_PATH", "KRB5_CONFIG", "GNUPGHOME", "DOCKER_CONFIG", "LUA_INIT", "ZDOTDIR"),
)
# Options of interpreters, which can name code to load.
_OPTIONS = ("NODE_OPTIONS", "PERL5OPT", "RUBYOPT")
_OF_JAVA = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
_LOADED_BY_JAVA = (
    r"(?:agent\w*:|bootclasspath\w*[:/]|(?:flags|file|path|config|properties)=+|(?:^|\s)(?:-cp|-p|-\S*path)\s+|@)(?!/)"
)
# Where to work, what is shown, and ways to programs that run: nothing is loaded from there.
_HARMLESS = re.compile(
    r"PWD|OLDPWD|HOME|_|SHLVL|TMPDIR|TEMP|TMP|INIT_CWD|VIRTUAL_ENV(?:_PROMPT)?|CONDA_PREFIX|CONDA_PROMPT_MODIFIER"
    r"|DIRENV_\w+|KAA\w*|CLAUDE_PROJECT_DIR|GIT_CEILING_DIRECTORIES|GIT_PREFIX|PS[0-4]|LS_COLORS"
    r"|(?:PROJECT|WORKSPACE|REPO|REPOSITORY|PRJ|DEVENV)(?:_(?:ROOT|DIR|PATH|FOLDER))?|ROOT_DIR|DATABASE_URL|PGDATA"
    r"|XAUTHORITY|ICEAUTHORITY|SSH_AUTH_SOCK|GPG_AGENT_INFO|DBUS_\w+|WAYLAND_DISPLAY|DISPLAY|SESSION_MANAGER"
    r"|XDG_RUNTIME_DIR|TMUX\w*|STY|ZELLIJ\w*|KITTY_LISTEN_ON|WEZTERM_UNIX_SOCKET|VSCODE_(?:GIT_)?IPC\w*|NVIM|TZ"
)
_SEPARATORS = re.compile(r"[\s:=,;|&'\"()<>]+")


def without_loaded(
    environ: Mapping[str, str],
    writable: Collection[str],
    is_safe: Callable[[str], bool],
    is_safe_entry: Callable[[str], bool],
) -> dict[str, str]:
    """Return variables with which programs neither load nor obey what commands can write.

    Args:
        writable: directories that commands can write, real paths.
        is_safe: whether a path is absolute, and commands can write neither it nor what leads to it.
        is_safe_entry: whether that holds for what links in a directory lead to, too.
    """
    kept = dict(environ)
    for name in _LISTS:
        if name in kept:
            kept[name] = os.pathsep.join(filter(is_safe_entry, kept[name].split(os.pathsep)))
            if not kept[name]:
                del kept[name]
    for name in _PLACES:
        if kept.get(name) and not is_safe_entry(kept[name].removeprefix("@")):
            del kept[name]
    for name in _OPTIONS:
        if not all(_is_safe_option(word, is_safe) for word in kept.get(name, "").split()):
            del kept[name]
    for name in _OF_JAVA:
        if name in kept and re.search(_LOADED_BY_JAVA, kept[name], re.IGNORECASE):
            del kept[name]
    home = environ.get("HOME", "/")
    whole = re.compile("|".join(rf"{re.escape(one)}(?![\w.-])" for one in writable) or "(?!)")

    def stays(name: str, value: str) -> bool:
        if name in _LISTS or _HARMLESS.fullmatch(name):
            return True
        return not whole.search(value) and not _leads(value, home, writable, is_safe)

    return {name: value for name, value in kept.items() if stays(name, value)}


def _leads(value: str, home: str, writable: Collection[str], is_safe: Callable[[str], bool]) -> bool:
    """Whether a part of a value is a path that commands can write, or a relative one that means something there."""

    def is_led(word: str) -> bool:
        begin = word.find("/")
        if begin < 0:
            return word in (".", "..") or ("." in word and _exists(word, writable))
        if not is_safe(home + word[begin:] if word[:begin] == "~" else word[begin:]):
            return True
        return begin > 0 and (word[begin - 1] == "." or _exists(word, writable))

    return any(map(is_led, _SEPARATORS.split(value)))


def _exists(relative: str, directories: Collection[str]) -> bool:
    return any(os.path.lexists(os.path.join(directory, relative)) for directory in directories)


def _is_safe_option(word: str, is_safe: Callable[[str], bool]) -> bool:
    """Whether a word names no code that commands can write: an option without a value, a number, a safe path."""
    _, _, value = word.partition("=")
    if word.startswith("--"):
        return not value or value.isdigit() or is_safe(value)
    return word in ("-w", "-W0") or is_safe(word)
