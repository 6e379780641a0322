"""What git's configuration and links in a git directory lead to: hooks, more configuration, programs.

With `core.hooksPath = .githooks`, in the user's own configuration or the repository's, git executes files of the
project which have no name that anybody knows; so it does with `.git/hooks/pre-commit -> ../../scripts/check`. They are
protected like those that have one.

With `path = ~/.dotfiles/work`, git without that file commits as another author. What the user's own configuration names
in the home is shown, although the home's list does not have it.
"""

import os
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import chain, islice
from typing import NamedTuple

from kaa.hands.confinement import repositories
from kaa.hands.confinement.listing import is_below_any
from kaa.hands.confinement.repositories import Repository
from kaa.hands.git_config import ConfigEntry, ConfigSyntaxError, entries
from kaa.hands.lazy_pattern import LazyPattern

# Of whom git reads configuration besides the repository, git-config(1). The hands have no environment to say otherwise.
_OF_SYSTEM = ("/etc/gitconfig",)
_OF_USER = (".gitconfig", ".config/git/config")
_FILES_OF_USER = (*_OF_USER, ".config/git/attributes")
_OF_REPOSITORY = ("config", "config.worktree")
_MAX_FILE_BYTES = 128 * 1024
_MAX_FILES = 256  # that configuration includes
_MAX_BYTES = 4 * 1024 * 1024  # of configurations of repositories, each content once; 0.6 us for a byte
_MAX_INCLUDE_DEPTH = 10  # MAX_INCLUDE_DEPTH in git's config.c
_MAX_COMMAND = 4096  # characters in which quotes are looked for
_MAX_PLAIN_WORDS = 256
_MAX_WORDS = 20_000  # that may be paths; about 0.4 s
_MAX_LOOKS = 10_000  # at what words may name besides; about 0.1 s
_MAX_READ = 50_000  # entries, also those that are read again because another file includes them, and long values
_LOOKS_OF_VALUE = 4  # however short it is
_MAX_PATH = 4096  # the kernel takes no longer one
_CHARACTERS_OF_LOOK = 32  # to find the words takes time, too
_MAX_NAMED = 64  # a configuration that names more than this is not the work of people
BETWEEN_WORDS = LazyPattern(r"""[\s;|&()<>"'`=!]+""")
# What may make words name more than paths from the top: expansions, other directories, modules.
_FURTHER = LazyPattern(
    r"(?i)[$`]|\b(?:cd|pushd|pythonpath|node_path)\b|-C|--(?:chdir|directory|cwd|prefix|project)\b"
    r"|python|pypy|\b(?:py|uv|coverage|node|nodejs|bun|tsx)\b"
)
# What git reads besides what is included, as far as it holds no credentials: section and name.
_FILES = frozenset(
    {
        ("commit", "template"),
        ("core", "attributesfile"),
        ("core", "excludesfile"),
        ("gpg", "allowedsignersfile"),  # of gpg.ssh
    }
)
_DIRECTORIES = frozenset({("core", "hookspath"), ("init", "templatedir")})
_SURELY_PATHS = ("/", "./", "../", "~/", ".git/")  # and no part of a regular expression or an address


class _Found(NamedTuple):
    """An entry, and the directory of the file that it is in."""

    entry: ConfigEntry
    directory: str


def named_paths(gits: Iterable[Repository], projects: Iterable[str], home: str) -> tuple[str, ...]:
    """Absolute paths in projects and their git directories that git obeys for a configuration or a link.

    They need not exist. The repositories of which a project is a subdirectory count as well.

    Args:
        projects: directories that may be written, real.
    """
    obeyed = NamedByConfiguration(projects, home)
    gits = (*repositories.above(obeyed.roots), *gits)  # first: what commands make takes no room from these
    links = (link for git in gits for path in git.directories for link in repositories.obeyed_links(path))
    ways = chain.from_iterable(map(_behind_link, dict.fromkeys(links)))
    # Each has a limit of its own: a command can make repositories, but none with such a configuration. The guard holds
    # more.
    led_to = _first_inside(ways, obeyed.roots, _directories(gits, obeyed.roots))
    return tuple(dict.fromkeys((*obeyed.own(gits), *obeyed.everywhere(gits), *led_to)))


class Looks:
    """How often words are still looked at: a command can make repositories with very much configuration.

    Attributes:
        words: how many that stand there.
        left: how often what else they may name.
    """

    def __init__(self) -> None:
        self.words = _MAX_WORDS
        self.left = _MAX_LOOKS


class NamedByConfiguration:
    """What git obeys for a configuration: the user's own, which is read once, and that of repositories.

    Args:
        projects: directories that may be written.

    Attributes:
        roots: the directories that may be written.
    """

    def __init__(self, projects: Iterable[str], home: str) -> None:
        self.roots = tuple(projects)
        self._home = home
        self._everywhere: list[_Found] | None = None
        self._of_user: list[str] = []  # files of the user that git obeys

    def own(self, gits: Sequence[Repository]) -> tuple[str, ...]:
        """Absolute paths that the configuration of repositories names, whether they exist or not."""
        reader, looks = _Reader(self._home), Looks()
        paths = chain.from_iterable(self._own(git, reader, looks) for git in gits)
        return _first_inside(_with_target(paths), self.roots, _directories(gits, self.roots))

    def everywhere(self, gits: Sequence[Repository]) -> tuple[str, ...]:
        """The same of the user's configuration, in these repositories and where one may be made."""
        if self._everywhere is None:
            reader = _Reader(self._home)
            every = [found for path in _of_all(self._home) for found in reader.read(path)]
            self._everywhere = [found for found in every if found.entry.names_program]
            self._of_user = [*_in(self._home, _FILES_OF_USER), *self._templates(every)] if self._home else []
        tops = dict.fromkeys((*self.roots, *(os.path.dirname(git.entry) for git in gits)))
        looks = Looks()
        paths = (path for top in tops for found in self._everywhere for path in _paths(found, top, self._home, looks))
        return _first_inside(_with_target(chain(self._of_user, paths)), self.roots, _directories(gits, self.roots))

    def _templates(self, every: Iterable[_Found]) -> Iterator[str]:
        """Directories whose hooks are in every new repository, and what links among these lead to."""
        for entry, _ in every:
            if (entry.section, entry.name) == ("init", "templatedir") and (
                path := absolute(entry.value, "", self._home)
            ):
                yield path
                yield from repositories.links_of_hooks(os.path.join(path, "hooks"))

    def _own(self, git: Repository, reader: "_Reader", looks: Looks) -> Iterator[str]:
        top = os.path.dirname(git.entry)
        places = dict.fromkeys(filter(None, (*git.directories, git.proof)))  # a worktree has its own
        for path in (path for directory in places for path in _in(directory, _OF_REPOSITORY)):
            for found in reader.read(path):
                if found.entry.names_program:
                    yield from _paths(found, top, self._home, looks)


def _with_target(paths: Iterable[str]) -> Iterator[str]:
    """Each with the links on the way to it, and where they lead."""
    for path in paths:
        if ".." not in path.split("/"):
            yield path
        if os.path.realpath(path) != path:
            from kaa.hands.link_ways import links_on_way  # lazy: few users have such links

            yield from links_on_way(path)


def _directories(gits: Iterable[Repository], roots: tuple[str, ...]) -> frozenset[str]:
    """The git directories of the repositories in some directories."""
    return frozenset(path for git in gits if is_below_any(git.entry, roots) for path in git.directories)


def _first_inside(paths: Iterable[str], roots: tuple[str, ...], git_directories: Set[str]) -> tuple[str, ...]:
    """The first paths in some directories, each once, and none of what git itself writes."""
    inside = (path for path in paths if _is_protected_inside(path, roots, git_directories))
    found: dict[str, None] = {}
    for path in inside:
        found[path] = None
        if len(found) == _MAX_NAMED:
            break
    return tuple(found)


def needed_paths(home: str, untrusted: Iterable[str], hidden: Iterable[str]) -> tuple[str, ...]:
    """Real paths of what git reads or executes because the user's own configuration says so, as far as it exists.

    Args:
        untrusted: real directories that commands may write: configuration in them is not the user's word.
        hidden: real paths of what stays hidden whatever names it.
    """
    reader = _Reader(home, tuple(untrusted))
    every = (found for path in _of_all(home) for found in reader.read(path))
    paths = (os.path.realpath(path) for found in every if (path := _needed(found, home)))
    secret = tuple(hidden)
    return tuple(dict.fromkeys(islice((path for path in paths if not is_below_any(path, secret)), _MAX_NAMED)))


class _Reader:
    """Reads configuration with what it includes, each file once.

    Args:
        untrusted: real directories whose files are not read.
    """

    def __init__(self, home: str, untrusted: tuple[str, ...] = ()) -> None:
        self._home = home
        self._untrusted = untrusted
        self._entries: dict[str, tuple[ConfigEntry, ...]] = {}
        self._included = 0
        self._contents: dict[bytes, tuple[ConfigEntry, ...]] = {}  # many repositories have the same
        self._left = _MAX_BYTES
        self._entries_left = _MAX_READ

    def read(self, path: str) -> Iterator[_Found]:
        """The entries of a file and of those that it includes; none if it is not there or cannot be understood."""
        yield from self._read(path, 0, set())

    def _read(self, path: str, depth: int, seen: set[tuple[str, int]]) -> Iterator[_Found]:
        if (path, depth) in seen or depth > _MAX_INCLUDE_DEPTH:
            return
        seen.add((path, depth))
        if path not in self._entries:
            self._included += bool(depth)
            if self._included > _MAX_FILES:
                return
            trusted = not self._untrusted or not is_below_any(os.path.realpath(path), self._untrusted)
            self._entries[path] = self._parsed(_content(path)) if trusted else ()
        for entry in self._entries[path]:
            self._entries_left -= 1 + len(entry.value) // _CHARACTERS_OF_LOOK
            if self._entries_left < 0:
                return
            found = _Found(entry, os.path.dirname(path))
            yield found
            if _includes(entry) and (included := absolute(entry.value, found.directory, self._home)):
                yield from self._read(included, depth + 1, seen)

    def _parsed(self, content: bytes) -> tuple[ConfigEntry, ...]:
        if content not in self._contents:
            self._left -= len(content)
            if self._left < 0:
                return ()
            try:
                self._contents[content] = entries(content)
            except ConfigSyntaxError:  # git would not read on either
                self._contents[content] = ()
        return self._contents[content]


def _content(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return b""
    try:
        return os.read(descriptor, _MAX_FILE_BYTES)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _paths(found: _Found, top: str, home: str, looks: Looks) -> Iterator[str]:
    """What an entry names; a command is run at the top of the working tree."""
    entry = found.entry
    if _includes(entry) or (entry.section, entry.name) == ("core", "hookspath"):
        if path := absolute(entry.value, found.directory if _includes(entry) else top, home):
            yield path
            yield from () if _includes(entry) else repositories.links_of_hooks(path)
        return
    for word in _words(entry) if looks.words > 0 else ():
        looks.words -= 1
        if looks.words < 0:
            break
        path = absolute(word, top, home)
        # A word of a command may name a file that does not exist yet; most words with a slash are no paths.
        if path and (os.path.isfile(path) or (word.startswith(_SURELY_PATHS) and not os.path.lexists(path))):
            yield path
    if len(entry.value) <= _MAX_COMMAND and looks.left > 0 and _FURTHER.search(entry.value):
        from kaa.hands.confinement.shell_words import further_paths  # lazy: few commands say more than a name

        looks.left -= _LOOKS_OF_VALUE + len(entry.value) // _CHARACTERS_OF_LOOK
        is_shell = entry.section != "alias" or entry.value.startswith("!")
        plain = frozenset(_plain_words(entry))
        yield from further_paths(
            entry.value.removeprefix("!"), top, home, looks, is_shell=is_shell, skips=lambda word: word not in plain
        )


def _words(entry: ConfigEntry) -> Iterator[str]:
    """The words of a command that may name files: all with a slash, and those without one that PATH does not find."""
    yield from (word for word in BETWEEN_WORDS.split(entry.value) if "/" in word)
    if entry.section == "alias" and not entry.value.startswith("!"):
        return  # of git's own commands
    yield from (word for word in _unquoted(entry.value) if "/" in word)
    yield from _plain_words(entry)


def _plain_words(entry: ConfigEntry) -> list[str]:
    words = BETWEEN_WORDS.split(entry.value)
    program = next(filter(None, words), "")
    others = [
        one for one in dict.fromkeys((*words, *_unquoted(entry.value))) if one not in ("", program) and "/" not in one
    ]
    if entry.section == "alias":  # people write what they do all day: `!git add package.json`
        from kaa.hands.data_names import is_data_name  # lazy: few aliases are commands of the shell

        others = [word for word in others if not is_data_name(word)]
    return others[:_MAX_PLAIN_WORDS]


def _unquoted(command: str) -> list[str]:
    """The words of a command as the shell reads them, of which quotes may hold blanks; none if it would refuse it."""
    if len(command) > _MAX_COMMAND or not {"'", '"', "\\"}.intersection(command):
        return []
    import shlex  # lazy: few commands are quoted

    try:
        return shlex.split(command.removeprefix("!"))
    except ValueError:
        return []


def _behind_link(link: str) -> Sequence[str]:
    from kaa.hands.link_ways import behind_link  # lazy: few users have such links

    return behind_link(link)


def _needed(found: _Found, home: str) -> str | None:
    """The path of what an entry makes git read or execute wherever git works; None if there is none."""
    entry, key = found.entry, (found.entry.section, found.entry.name)
    if not (_includes(entry) or key in _FILES or key in _DIRECTORIES):
        return None
    # Only what is included may be relative to the file that says so: all else is relative to where git works.
    path = absolute(entry.value, found.directory if _includes(entry) else "", home)
    if path is None or not os.path.isabs(path):
        return None
    return path if (os.path.isdir if key in _DIRECTORIES else os.path.isfile)(path) else None


def _of_all(home: str) -> tuple[str, ...]:
    """The configuration that git reads in every repository."""
    return (*_OF_SYSTEM, *_in(home, _OF_USER if home else ()))


def _includes(entry: ConfigEntry) -> bool:
    return entry.section in ("include", "includeif") and entry.name == "path"


def absolute(word: str, base: str, home: str) -> str | None:
    """The path that a word means, without `..` if no link comes before that; None if it means none."""
    if word == "~" or word.startswith("~/"):
        word = home + word[1:]
    if not word or "\0" in word or word.startswith(("~", "%")) or len(word) > _MAX_PATH:
        return None
    joined = os.path.join(base, word)
    path = os.path.normpath(joined)
    if ".." in word.split("/") and os.path.realpath(path) != os.path.realpath(joined):
        path = joined  # `link/..` is above what the link leads to
    return path[1:] if path.startswith("//") else path  # which normpath keeps


def _in(directory: str, names: Iterable[str]) -> list[str]:
    return [os.path.join(directory, name) for name in names]


def _is_protected_inside(path: str, roots: tuple[str, ...], git_directories: Set[str]) -> bool:
    above, below = path, ""
    while above != below and above not in roots:
        if above in git_directories or os.path.basename(above) == ".git":
            is_ours = above in git_directories or _is_in_any(above, roots)
            return is_ours and not repositories.is_written_by_git(above, path[len(above) + 1 :])
        above, below = os.path.dirname(above), above
    return _is_in_any(path, roots)


def _is_in_any(path: str, roots: tuple[str, ...]) -> bool:
    return path not in roots and any(path.startswith(root.rstrip("/") + "/") for root in roots)
