"""Which entries of a git configuration make git run a program, or write a file of their choice.

An entry does unless its variable is known to be inert (`git_config_keys`) or its value is known to be harmless there.
An alias without `!` is words for git itself, and git has commands and options that run programs, use another repository
or write files anywhere, so all aliases count that are not known to be harmless.

The parser follows git's own (git_parse_source in config.c), because an entry that git sees and we do not would be
a hole. What it does not understand counts as an entry that executes.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from kaa.hands.lazy_pattern import LazyPattern

_SPACES = " \t\n\r"  # git's isspace
_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "\\": "\\", '"': '"'}
# By the last part of their name, whatever section they are in (git-config(1), git-lfs-config(5), git-svn(1)).
_EXECUTING = frozenset(
    """
    askpass browser clean difffilter driver editor external fsmonitor gitproxy httpd pager process receivepack
    smtpserver smtpserveroption smudge textconv tunnel uploadpack vcs virtualfilesystem
    """.split()  # noqa: SIM905 - as a list it would fill the screen
)
# Their value is the path of a directory with programs, or of a file that git writes: `on` is a name like any other.
_NAMING_PATHS = frozenset(("cookiefile", "hookspath", "modulepath", "outputdirectory", "templatedir"))
_WRITTEN_IN_SECTIONS = {
    "gitcvs": frozenset(("dbdriver", "dbname", "logfile")),
    "trace2": frozenset(("eventtarget", "normaltarget", "perftarget")),
}
_EXECUTING_ENDINGS = ("cmd", "command", "helper", "hook", "prog", "program")
# Sections in which `path` names a program or more configuration.
_SECTIONS_WITH_PATH = frozenset(("browser", "difftool", "guitool", "include", "includeif", "lfs", "man", "mergetool"))
# As a program, which git finds only on PATH, these do nothing; as what such entries also may be, a switch, neither.
_HARMLESS_VALUES = frozenset(("", "true", "false", "yes", "no", "on", "off", "0", "1"))
_HARMLESS_PAGERS = frozenset(("cat", "less", "less -F", "less -FR", "less -FRX", "less -FX", "less -R", "more"))
_HARMLESS_HELPERS = frozenset(("cache", "libsecret", "manager", "manager-core", "osxkeychain", "store", "wincred"))
_TOOL = LazyPattern("/")  # a file in the directory of tools, or reached from there
_DANGEROUS_VALUES = {
    ("diff", "tool"): _TOOL,
    ("diff", "guitool"): _TOOL,
    ("merge", "tool"): _TOOL,
    ("merge", "guitool"): _TOOL,
    ("mergetool", "layout"): LazyPattern(r"[^A-Za-z,/()+@ ]"),  # git-mergetool hands it to a shell
    ("extensions", "refstorage"): LazyPattern("[/:]"),  # a place of references outside the repository
    ("format", "suffix"): LazyPattern("/"),  # the end of a path that git writes
    ("protocol", "allow"): LazyPattern(""),
    ("rebase", "instructionformat"): LazyPattern(""),  # it makes a line of the todo list: with %n there are two
}
_CERTIFICATES = frozenset(("proxysslcert", "proxysslkey", "sslcert", "sslkey"))
_RUNNING_ADDRESS = "ext::"
# Quotes and backslashes only decide where words end. Without them there are more words, and none is hidden in another.
_WITHOUT_QUOTES = str.maketrans("", "", "\"'\\")
_HARMLESS_BEFORE_COMMAND = frozenset(
    ("-p", "-P", "--paginate", "--no-pager", "--no-optional-locks", "--no-replace-objects")
)
# Commands that run nothing but what the configuration says, with those of their short options that do.
_COMMANDS = {
    **dict.fromkeys(
        """
        add blame branch cat-file check-ignore checkout cherry cherry-pick citool clean commit count-objects describe
        diff diff-files diff-index diff-tree fetch for-each-ref fsck gc gui help log ls-files ls-remote ls-tree merge
        merge-base mergetool mv name-rev prune pull push range-diff reflog remote reset restore rev-list rev-parse
        revert rm shortlog show show-branch show-ref stash status switch symbolic-ref tag update-index whatchanged
        worktree
        """.split(),  # noqa: SIM905 - as a list it would fill the screen
        "",
    ),
    "bisect": "",
    "clone": "cu",
    "config": "",
    "difftool": "x",
    "format-patch": "o",
    "grep": "O",
    "init": "",
    "rebase": "x",
    "submodule": "",
}
# Of any command; git takes each beginning that is not ambiguous.
_OPTIONS = (
    "--config",
    "--exec",
    "--extcmd",
    "--open-files-in-pager",
    "--output",
    "--output-directory",
    "--receive-pack",
    "--template",
    "--upload-pack",
)
_WORDS_THAT_RUN = {"bisect": "run", "submodule": "foreach"}
_READING_CONFIGURATION = ("--get", "--list", "-l", "get", "list")
_SHORTEST_OPTION = len("--e")


class ConfigSyntaxError(ValueError):
    """Git could not read this either."""


class ConfigEntry(NamedTuple):
    """One variable; section and name in lower case, as git compares them. No value is as good as `true`."""

    section: str
    subsection: str
    name: str
    value: str

    @property
    def key(self) -> str:
        """As `git config` shows it."""
        return ".".join(part for part in (self.section, self.subsection, self.name) if part)

    @property
    def executes(self) -> bool:
        """Whether it may make git, or a tool that reads git's configuration, run a program or write another file."""
        if (known := self._judgement()) is not None:
            return known
        from kaa.hands.git_config_keys import is_inert  # lazy: where there is a repository, but not in each process

        return not is_inert(self.section, self.name)

    @property
    def names_program(self) -> bool:
        """Whether it is known to make git run a program, or read or write a file, that its value names."""
        return self._judgement() is True

    def _judgement(self) -> bool | None:
        """Whether its value makes git execute something; None if nothing is known of such a variable."""
        if self._names_a_path:
            return self.value != ""
        is_switch = self.value.lower() in _HARMLESS_VALUES  # not stripped: ` ` makes a shell run its first argument
        value = self.value.strip()
        if value.startswith(_RUNNING_ADDRESS):  # a remote's address, and a branch's or submodule's
            return True
        match self.section, self.name:
            case ("submodule", "update"):
                return value.startswith("!")
            case ("gitflow", "hooks"):
                return self.value != "" and not self.value.endswith("/.git/hooks")  # git-flow writes it by itself
            case ("alias", _):
                return not is_switch and (value.startswith("!") or alias_executes(self.value, _setting_executes))
            case ("pager", _) | ("core", "pager"):
                return not is_switch and self.value not in _HARMLESS_PAGERS
            case ("credential", "helper"):
                return not is_switch and self.value not in _HARMLESS_HELPERS
            case ("url", "insteadof" | "pushinsteadof"):
                # The beginning of an address; the rest may follow from what it replaces.
                return self.subsection[: len(_RUNNING_ADDRESS)] == _RUNNING_ADDRESS[: len(self.subsection)]
        if dangerous := _DANGEROUS_VALUES.get((self.section, self.name)):
            return not is_switch and dangerous.search(value) is not None
        if self.section == "http" and self.name in _CERTIFICATES:
            return value.lower().startswith("pkcs11:")  # may name a library
        if self.name in _EXECUTING or self.name.endswith(_EXECUTING_ENDINGS):
            return not is_switch
        return None

    @property
    def _names_a_path(self) -> bool:
        """Whether its value is a path that git executes from, reads more configuration from, or writes to."""
        if self.name == "path":
            return self.section in _SECTIONS_WITH_PATH
        return self.name in _NAMING_PATHS or self.name in _WRITTEN_IN_SECTIONS.get(self.section, ())


def _setting_executes(setting: str) -> bool:
    """The same of `key=value`, as `git -c` takes it."""
    key, _, value = setting.partition("=")
    section, _, rest = key.lower().partition(".")
    _, _, name = rest.rpartition(".")
    subsection = key[len(section) + 1 : -len(name) - 1] if "." in rest else ""
    return ConfigEntry(section, subsection, name, value).executes or (section, name) == ("core", "worktree")


def work_trees(data: bytes) -> list[str]:
    """Where a repository's files are, as its configuration says it: the last counts."""
    with contextlib.suppress(ConfigSyntaxError):
        return [entry.value for entry in entries(data) if (entry.section, entry.name) == ("core", "worktree")]
    return []


def has_long_hashes(data: bytes) -> bool:
    """Whether the objects of a repository have hashes of 32 bytes (SHA-256), according to its configuration."""
    with contextlib.suppress(ConfigSyntaxError):
        formats = [entry.value for entry in entries(data) if entry.key == "extensions.objectformat"]
        return formats[-1:] == ["sha256"]
    return False


def executing_entries(data: bytes) -> frozenset[str]:
    """`key=value` of every entry that executes."""
    try:
        found = entries(data)
    except ConfigSyntaxError as error:
        return frozenset({f"what cannot be understood ({error})"})
    return frozenset(f"{entry.key}={entry.value}" for entry in found if entry.executes)


@functools.lru_cache(maxsize=64)
def entries(data: bytes) -> tuple[ConfigEntry, ...]:
    """The entries of a configuration file, in order; known from the last time if it was read before.

    Raises:
        ConfigSyntaxError: it is none.
    """
    return tuple(parse(data))


def parse(data: bytes) -> Iterator[ConfigEntry]:
    """The entries of a configuration file, in order.

    Raises:
        ConfigSyntaxError: it is none.
    """
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    if "\0" in text:
        raise ConfigSyntaxError("it has a null character")
    yield from _Parser(text).entries()


class _Parser:
    """Reads character by character; the end of the text is the end of a line."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def entries(self) -> Iterator[ConfigEntry]:
        section = subsection = ""
        while self._position < len(self._text):
            character = self._next()
            if character in _SPACES:
                continue
            if character in "#;":
                self._skip_line()
            elif character == "[":
                section, subsection = self._section()
            elif _is_letter(character):
                yield ConfigEntry(section, subsection, *self._variable(character))
            else:
                raise self._error("neither a section nor a variable")

    def _section(self) -> tuple[str, str]:
        name = ""
        while (character := self._next_of_line()) != "]":
            if character in _SPACES:
                return name, self._subsection(character)
            if not _is_key_character(character) and character != ".":
                raise self._error("the name of a section is none")
            name += character.lower()
        name, _, subsection = name.partition(".")  # the old way of writing [name "subsection"]
        return name, subsection

    def _subsection(self, character: str) -> str:
        while character in _SPACES:
            character = self._next_of_line()
        if character != '"':
            raise self._error("a subsection has no quotes")
        subsection = []
        while (character := self._next_of_line()) != '"':
            subsection.append(self._next_of_line() if character == "\\" else character)
        if self._next() != "]":
            raise self._error("a section does not end")
        return "".join(subsection)

    def _variable(self, first: str) -> tuple[str, str]:
        name = first.lower()
        while _is_key_character(character := self._next()):
            name += character.lower()
        while character in (" ", "\t"):
            character = self._next()
        if character == "\n":
            return name, "true"
        if character != "=":
            raise self._error("a variable has no value")
        return name, self._value()

    def _value(self) -> str:
        value: list[str] = []
        kept = 0  # how much of it remains when spaces at the end are dropped
        quoted = False
        while (character := self._next()) != "\n" or quoted:
            if character == "\n":
                raise self._error("a quotation does not end")
            if character in _SPACES and not quoted:
                if value:
                    value.append(character)
                continue
            if character in "#;" and not quoted:
                self._skip_line()
                break
            if character == '"':
                quoted = not quoted
            elif character == "\\":
                escaped = self._next()
                if escaped in _ESCAPES:
                    value.append(_ESCAPES[escaped])
                elif escaped != "\n":
                    raise self._error("an escape is none")
            else:
                value.append(character)
            kept = len(value)
        return "".join(value[:kept])

    def _next(self) -> str:
        position = self._position
        self._position += 1
        return self._text[position] if position < len(self._text) else "\n"

    def _next_of_line(self) -> str:
        character = self._next()
        if character == "\n":
            raise self._error("a section does not end")
        return character

    def _skip_line(self) -> None:
        end = self._text.find("\n", self._position)
        self._position = len(self._text) if end < 0 else end + 1

    def _error(self, what: str) -> ConfigSyntaxError:
        line = self._text.count("\n", 0, max(self._position - 1, 0)) + 1
        return ConfigSyntaxError(f"line {line}: {what}")


def _is_letter(character: str) -> bool:
    return character.isascii() and character.isalpha()


def _is_key_character(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "-")


def alias_executes(value: str, setting_executes: Callable[[str], bool]) -> bool:
    """Whether git may run a program by an alias that it would not run without.

    Args:
        setting_executes: says whether `key=value`, as after `git -c`, makes git run a program.
    """
    words, at = value.translate(_WITHOUT_QUOTES).split(), 0
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "-c" and at + 1 < len(words) and not setting_executes(words[at + 1]):
            at += 2
        elif words[at] in _HARMLESS_BEFORE_COMMAND:
            at += 1
        else:
            return True
    return at < len(words) and _command_executes(words[at], words[at + 1 :])


def _command_executes(command: str, arguments: Sequence[str]) -> bool:
    if command not in _COMMANDS or _WORDS_THAT_RUN.get(command) in arguments:
        return True
    if command == "config":
        return not arguments or not arguments[0].startswith(_READING_CONFIGURATION)
    return any(_argument_executes(argument, _COMMANDS[command]) for argument in arguments)


def _argument_executes(argument: str, short: str) -> bool:
    if argument.startswith("--"):
        name = argument.partition("=")[0]
        return len(name) >= _SHORTEST_OPTION and any(option.startswith(name) for option in _OPTIONS)
    if argument.startswith("-"):
        return any(letter in argument for letter in short)
    return "::" in argument  # the address of a program: ext::
