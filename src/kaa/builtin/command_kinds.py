"""Tells commands that execute something from those that look, that install packages, and that change files."""

import re
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from kaa.ext.command_reading import CommandReading, Words

Kind: TypeAlias = Literal["looks", "installs", "writes", "executes"]

# What is not here executes something: an unknown program may be a test.
_LOOKING = (
    "cat head tail less more nl wc ls tree find fd fdfind grep egrep fgrep rg ag ack sed awk gawk cut sort uniq tr "
    "column stat file du df pwd cd pushd popd echo printf true false : test [ [[ which type command builtin env "
    "printenv export set unset declare local date uname whoami id hostname ps top free uptime diff cmp comm md5sum "
    "sha1sum sha256sum xxd od hexdump strings realpath readlink dirname basename sleep wait seq jq yq history man "
    "clear mkdir touch chmod chown kill pkill timeout gtimeout time nice ionice nohup setsid stdbuf sudo doas xargs "
    "exec eval read break continue exit return jobs bat gh ping apt apt-get brew"
)
_WRITING = "tee cp mv rm rmdir ln install patch truncate dd rsync unlink shred"
_DELETING = "rm rmdir unlink"
_GIT_DELETING = "rm clean"
# Not switch and pull: they bring what was committed, and say nothing of the work under way.
_GIT_WRITING = "apply am mv rm"
_GIT_BRINGING = "merge rebase cherry-pick revert stash"
_GIT_TAKING_BACK = "restore reset clean"  # and checkout, with files
# Package managers, with the subcommands that only install.
_INSTALLING: Final[dict[str, str]] = {
    "pip": "install uninstall list show freeze",
    "npm": "install i ci ls list outdated view",
    "pnpm": "install i add list",
    "yarn": "install add list",
    "bun": "install add",
    "uv": "sync add pip lock venv tree",
    "poetry": "install add lock show",
    "cargo": "add fetch tree metadata",
    "go": "get mod env list version",
    "gem": "install list",
    "bundle": "install",
    "composer": "install require",
}
_IN_PLACE: Final = re.compile(r"-(?:[a-zA-Z]*i|i\S*|-in-place\S*)")
_FILE: Final = re.compile(r"\.|.*\.[A-Za-z]\w{0,5}")
_INTERPRETERS = "python pypy node ruby perl php deno bun lua rscript"
_INLINE: Final = ("-c", "-e", "-", "-E", "--eval", "-p")
_SHELLS = "sh bash zsh dash"
_WRITES: Final = re.compile(r"write|replace\(|\brename|\bunlink|\bopen\([^)\n]{0,200}['\"][wa]b?['\"]")
_VERSION: Final = re.compile(r"(?<=[A-Za-z])-?[0-9][0-9.]*\Z")
_TARGET: Final = re.compile(r"(?:^|[^<&>0-9])[0-9]?&?>{1,2}[|&]?\s*([^\s>&|;]\S*)")


def kind_of(command: str, read: Callable[[str], CommandReading]) -> Kind:
    """What a command does that counts most."""
    reading = read(command)
    if not reading.programs and not reading.is_complete:
        reading = read(command.partition("\n")[0])  # a long text is written, or its syntax is broken
    kinds = [_kind(words, command) for words in reading.programs]
    decisive = [one for one in kinds if one != "looks"]
    if decisive:
        return decisive[-1]
    if any(_targets(text) for text in reading.redirections):
        return "writes"
    return "looks" if reading.is_complete else "executes"


def names_as_written(command: str, name: str, read: Callable[[str], CommandReading]) -> bool:
    """Return True if the words of a command say that it writes a file, or may: what does more than look names it.

    Args:
        name: of the file, without its directories.
    """
    if name not in command:
        return False
    reading = read(command)
    if any(target.strip("'\"").rpartition("/")[2] == name for target in targets_of(reading)):
        return True
    changing = [words for words in reading.programs if _kind(words, command) != "looks"]
    if any(word is not None and name in word for words in changing for word in words):
        return True
    computes = not reading.is_complete or any(None in words for words in changing)
    return computes or (bool(changing) and any(name in text for text in reading.redirections))  # a script on stdin


def targets_of(reading: CommandReading) -> list[str]:
    """The files that the redirections of a command write, without devices and temporary ones."""
    return [target for text in reading.redirections for target in _targets(text)]


def only_discards(reading: CommandReading) -> bool:
    """Whether a command changes files only by having git take back what was not committed: `git checkout -- .`."""
    changing = [words for words in reading.programs if _kind(words, "") != "looks"]
    return bool(changing) and not targets_of(reading) and all(map(_discards, changing))


def only_deletes(reading: CommandReading) -> bool:
    """Return True if a command changes files only by deleting some."""
    changing = [words for words in reading.programs if _kind(words, "") != "looks"]
    return bool(changing) and not targets_of(reading) and all(map(_deletes, changing))


def only_by_git(reading: CommandReading) -> Literal["brings", "takes back"] | None:
    """What a command does that changes files only by having git exchange them; None if it changes some by itself.

    `brings`: what was committed or stashed takes its place in the project. `takes back`: what was not committed goes.
    """
    changing = [words for words in reading.programs if _kind(words, "") != "looks"]
    if not changing or targets_of(reading) or any(words[0] != "git" for words in changing):
        return None
    if all(words[1] in _GIT_BRINGING.split() for words in changing):
        return "brings"
    return None if any(words[1] in _GIT_WRITING.split() for words in changing) else "takes back"


def _discards(words: Words) -> bool:
    match words:
        case ("git", "checkout", "--", *_) | ("git", "reset", "--hard"):
            return True
        case ("git", "restore", *rest):
            return all(word is not None and not word.startswith("-") for word in rest)
        case _:
            return False


def _deletes(words: Words) -> bool:
    if words[0] == "git":
        return words[1] in _GIT_DELETING.split()
    return (words[0] or "").rpartition("/")[2] in _DELETING.split()


def _targets(redirection: str) -> list[str]:
    first = redirection.partition("\n")[0].rstrip("…")
    return [one for one in _TARGET.findall(f" {first}") if not one.startswith(("/dev/", "/tmp/", "/proc/"))]  # noqa: S108


def _kind(words: Words, command: str) -> Kind:
    name = _VERSION.sub("", (words[0] or "").rpartition("/")[2].casefold())
    rest = words[1:]
    if name == "git":
        writing = f"{_GIT_WRITING} {_GIT_BRINGING} {_GIT_TAKING_BACK}".split()
        return "writes" if rest[:1] and (rest[0] in writing or _takes_files(rest)) else "looks"
    if rest[:1] and rest[0] in _INSTALLING.get(name, "").split():
        return "installs"
    if name in _WRITING.split():
        return "writes"
    if name in _INTERPRETERS.split():
        return _kind_of_interpreter(name, rest, command)
    if name == "sed" and any(word and _IN_PLACE.fullmatch(word) for word in rest):
        return "writes"
    if name in _SHELLS.split():
        is_script = bool(rest) and rest[0] is not None and not rest[0].startswith("-")
        return "executes" if is_script else "looks"
    return "looks" if name in _LOOKING.split() else "executes"


def _takes_files(words: Words) -> bool:
    """Whether `git checkout` takes files of a commit, instead of switching to it."""
    operands = [word for word in words[1:] if word is None or not word.startswith("-")]
    makes = any(word in ("-b", "-B", "--orphan") for word in words)
    named = len(operands) > 1 or any(word is not None and _FILE.fullmatch(word) for word in operands)
    return words[0] == "checkout" and not makes and ("--" in words or named)


def _kind_of_interpreter(name: str, rest: Words, command: str) -> Kind:
    if name == "perl" and any(word and _IN_PLACE.fullmatch(word) for word in rest):
        return "writes"
    if any(word in ("--version", "-V", "--help") for word in rest):
        return "looks"
    is_inline = not rest or rest[0] in _INLINE
    return "writes" if is_inline and _WRITES.search(command) else "executes"
