"""Whether a server starts in a folder of its own, or with a home of its own, and what its command line is there.

Programs obey what they find in the directory where they start, in more ways than anybody can list: `node_modules`,
`tsconfig.json`, modules of Python. So a server starts in the project only if its code lies there, which kaa asks about,
or if its entry names a directory.

Many servers that a package runner starts keep files in the home, and that of the user is closed. What the server saw of
the user's home besides, toolchains, keeps its place: variables say where it is.
"""

import os
import re
from collections.abc import Collection, Mapping, Sequence

from kaa.shell.mcp.approvals import Approvals
from kaa.shell.mcp.code import FILES, FOLDER
from kaa.shell.mcp.config.entry import ConfiguredServer
from kaa.shell.mcp.directories import directory_of
from kaa.shell.mcp.executed_words import names_folder
from kaa.shell.mcp.place import ServerCommandLine, ServerPlace
from kaa.shell.mcp.runners import imports_from_directory, outside, package_of_runner

# Usual names of what a program shall do, which a folder of the project may have, too.
_ORDERS = frozenset(
    {
        *("api", "app", "build", "cli", "client", "daemon", "dev", "exec", "launch", "list", "local", "main", "mcp"),
        *("mcp-server", "proxy", "run", "serve", "server", "src", "start", "stdio", "test", "tools", "x"),
    }
)
_BEFORE_CODE = re.compile(r"-[A-Za-z]*[cem]|--eval|--print")  # what follows is code, or the name of a module
# What programs say that look in vain for something of the project: a file or a folder, but no browser or command.
_THING = (
    r"\b(?:files?|director(?:y|ies)|folders?|paths?|projects?|config\w*|repositor(?:y|ies)|workspaces?|modules?)\b"
    r"|\.(?:json|ya?ml|toml|[cm]?[jt]s|py|db|md|env)\b|(?:^|[\s'\"`(:])\.{1,2}/"
)
_LACKS = (
    r"not found|(?:can ?not|can't|could not|couldn't|unable to) (?:find|open|read|locate|load)|does not exist"
    r"|doesn't exist|is missing"
)
_MISSES = re.compile(
    rf"no such file|not a (?:valid )?git repository|\bENOENT\b|(?:{_LACKS})[^\n]{{0,200}}(?:{_THING})"
    rf"|(?:{_THING})[^\n]{{0,200}}(?:{_LACKS})",
    re.IGNORECASE,
)
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


def must_leave(line: ServerCommandLine, place: ServerPlace, admitted: Mapping[str, str], *, is_free: bool) -> bool:
    """Whether a server must not start in its directory: it would execute what commands put there, unseen.

    Args:
        admitted: its code, as `code_of` gives it.
        is_free: whether it has no sandbox.
    """
    base = os.path.realpath(line.base(place.project))
    if not place.commands_can_write(base):
        return False
    imports = imports_from_directory(line.words) and admitted.get(base) not in (FILES, FOLDER)
    looks_around = is_free or imports or package_of_runner(line.words) is not None
    return looks_around or (not line.cwd and not place.has_some(admitted, base))


def meant_names(server: ConfiguredServer, line: ServerCommandLine, place: ServerPlace) -> tuple[str, ...]:
    """Words without a slash that mean something in the directory: what was there when the server first started. Blocks.

    A command that makes a folder `restricted` would else change what `--access-mode restricted` says.

    Raises:
        ApprovalRecordsError: what was there cannot be read or kept.
    """
    base = line.base(place.project)
    words = [] if package_of_runner(line.words) is not None else line.words
    names = [value for number in range(1, len(words)) if (value := _name(words, number)[1])]
    now = [name for name in names if os.path.lexists(os.path.join(base, name))]
    return Approvals(place.home).names(server, place.project, now) if names else ()


def line_elsewhere(
    line: ServerCommandLine, base: str, *, is_free: bool, names: Collection[str] = ()
) -> ServerCommandLine:
    """A command line for a start in another directory: what leads to something becomes absolute.

    Args:
        base: the directory that its paths are relative to.
        is_free: whether it has no sandbox. Only what begins with `./` or `../` is a path then.
        names: words without a slash that are paths, too, as `meant_names` says it.
    """
    words = list(line.words)
    if (directory := directory_of(words)) is not None:  # its other paths are relative to that
        path = os.path.expanduser(directory.path)
        words[directory.number] = directory.word.format(os.path.normpath(os.path.join(base, path)))
    else:
        words = outside(words, base, names=not is_free)
        if not is_free and package_of_runner(words) is None:
            words = [words[0], *(_named(words, number, base, names) for number in range(1, len(words)))]
    values = outside(("", *line.variables.values()), base, names=False)[1:]
    return ServerCommandLine(tuple(words), dict(zip(line.variables, values, strict=True)), line.cwd)


def way_back(server: ConfiguredServer, said: str, project: str = "") -> str:
    """How a server starts in the project, if it says that it misses something there; empty if it does not.

    Args:
        server: one that started in a folder of its own.
        project: its directory. A file that is named by its path there is missing wherever the server starts.
    """
    if project and re.search(rf"{re.escape(project)}/[^'\"`\s:,;)]", said):
        return ""
    if not _MISSES.search(said) or server.entry.cwd or not server.entry.sandbox:
        return ""
    return (
        f"MCP server {server.name} starts in its own folder. If it looks for the project where it starts, set"
        f' "cwd": "${{workspaceFolder}}" for {server.name} in {server.source.file}; folders elsewhere that it needs are'
        ' named in "readable"'
    )


def _named(words: Sequence[str], number: int, base: str, names: Collection[str]) -> str:
    """A word; its path if it is one of some names."""
    option, name = _name(words, number)
    return f"{option}{os.path.join(base, name)}" if name in names else words[number]


def _name(words: Sequence[str], number: int) -> tuple[str, str]:
    """What stands before a name without a slash, and the name; an empty one if a word is none."""
    word = words[number]
    option, is_option, value = word.partition("=") if word.startswith("-") else ("", "", word)
    is_order = value in _ORDERS or _BEFORE_CODE.fullmatch(words[number - 1])
    before = option if is_option else words[number - 1]
    is_behind = before.startswith("-") and before != "--" and (is_option or "=" not in before)
    is_told = is_behind and not names_folder(before)  # `--toolsets repos`
    is_name = value and "/" not in value and not value.startswith(("-", "~")) and not is_order and not is_told
    return f"{option}{is_option}", value if is_name else ""


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
