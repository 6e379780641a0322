"""Rules that people write: what is allowed without a question, and what is forbidden whatever anybody says.

    bash: git status            exactly this command
    bash: npm run *             with any further words
    write: src/**               a tool that writes a file there (globs start at the project, or are absolute)
    read: ~/notes/*.md          a tool that reads there
    mytool                      any call of this tool
    mcp__github__*              any call of the tools whose names begin so, for those of MCP servers
    host: pypi.org              connections of commands to this host, as `--net` takes it
    host: registries            the same for a group of hosts
    outside bash: docker ps     the same, and it runs outside the sandbox

An allow rule without `outside` never lets anything out of the sandbox. With both `outside` and ` *` it may name only
programs that cannot read or write any file (`risk_of_any_words`). A deny rule holds for everything that begins
with its words, and its options may stand anywhere: `bash: git push --force` forbids `git push origin --force`.
"""

import os.path
import re
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache

import msgspec

from kaa.ext.api import Risk
from kaa.shell.approvals.grammar import SimpleCommand, Words
from kaa.shell.approvals.places import confusable
from kaa.shell.approvals.programs import distrust
from kaa.shell.approvals.words import split
from kaa.workspace.globs import Glob, compile_glob
from kaa.workspace.network.allow_list import NetworkRule, NetworkRuleError, rules_of
from kaa.workspace.protocol import SearchError

COMMAND_SUBJECT = "bash"
HOST_SUBJECT = "host"
_PATH_SUBJECTS: tuple[Risk, ...] = ("read", "write")
_OUTSIDE = "outside "
_LETTERS = re.compile(r"-[A-Za-z]{1,4}")
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}|mcp__[A-Za-z0-9_-]{1,58}\*")


class RuleError(ValueError):
    """A text is no rule; the message quotes it and says what to write instead."""


class RuleMatch(Enum):
    """Whether a deny rule holds for a command, as far as can be seen."""

    NO = 0
    MAYBE = 1
    YES = 2


class Rule(msgspec.Struct, frozen=True):
    """One rule, made by `parse_rule`.

    Attributes:
        text: as it was written.
        subject: `bash`, `read`, `write`, `host`, or the name of a tool or the beginning of one with `*`.
        outside: what it allows runs outside the sandbox.
        words: for `bash`, the words that a command must begin with.
        open_ended: for `bash`, whether further words may follow.
        pattern: for `read` and `write`, the glob; empty for every path.
        hosts: for `host`, what may be connected to.
    """

    text: str
    subject: str
    outside: bool = False
    words: tuple[str, ...] = ()
    open_ended: bool = False
    pattern: str = ""
    hosts: tuple[NetworkRule, ...] = ()

    @property
    def is_for_paths(self) -> bool:
        """Whether it is about files that tools read or write."""
        return self.subject in _PATH_SUBJECTS

    @property
    def is_for_tool(self) -> bool:
        """Whether it is about all calls of one tool."""
        return self.subject not in (COMMAND_SUBJECT, HOST_SUBJECT) and not self.is_for_paths

    def names(self, tool: str) -> bool:
        """Whether it is about all calls of tools, and this is one of them."""
        if not self.is_for_tool:
            return False
        return tool.startswith(self.subject[:-1]) if self.subject.endswith("*") else tool == self.subject

    def begins(self, words: Sequence[str]) -> bool:
        """Whether a command with these words begins with its own."""
        return bool(self.words) and tuple(words[: len(self.words)]) == self.words

    def allows_command(self, command: SimpleCommand, *, held: bool) -> bool:
        """Whether it allows a part of a command.

        Args:
            held: the sandbox confines whatever further words make of it, so that any program may have them.
        """
        words = command.literal_words
        if words is None or not self.begins(words) or command.assigns or command.redirections:
            return False
        if not self.open_ended:
            return words == self.words
        return (held and not self.outside) or distrust(words, len(self.words)) is None

    def matches_path(self, path: str, root: str) -> bool:
        """Whether its glob matches an absolute path. `root`: where relative globs start."""
        try:
            return not self.pattern or _glob(_full(self.pattern, root)).matches(path.lstrip("/"))
        except SearchError:  # too much, together with this root
            return False

    def forbids_path(self, path: str, root: str) -> bool:
        """The same for a deny rule, which also holds for a directory, what is below it, and other spellings."""
        if not self.pattern:
            return True
        pattern = confusable(_full(self.pattern, root))
        try:
            top = pattern.removesuffix("/**") or pattern
            globs = [_glob(one) for one in (pattern, top, f"{top.rstrip('/')}/**")]
        except SearchError:  # as above
            return True
        return any(glob.matches(confusable(path).lstrip("/")) for glob in globs)

    def forbids_words(self, words: Words) -> RuleMatch:
        """Whether it forbids a program with these arguments; words that bash computes may be anything."""
        if not self.words:
            return RuleMatch.YES
        program, rest = words[0], words[1:]
        if program is None:
            return RuleMatch.MAYBE
        if self.words[0].casefold() not in (program.casefold(), program.rpartition("/")[2].casefold()):
            return RuleMatch.NO
        return _follow(self.words[1:], rest)


def parse_rule(text: str, *, deny: bool = False) -> Rule:
    """Read a rule.

    Raises:
        RuleError: it is none.
    """
    stripped = text.strip()
    outside = stripped.startswith(_OUTSIDE)
    if outside and deny:
        raise RuleError(f"{text!r}: a deny rule holds inside and outside the sandbox: leave out 'outside'")
    subject, colon, pattern = (part.strip() for part in stripped.removeprefix(_OUTSIDE).strip().partition(":"))
    if not _TOOL_NAME.fullmatch(subject):
        raise RuleError(f"{text!r} is no rule: write 'bash: git status', 'write: src/**' or the name of a tool")
    if colon and not pattern:
        raise RuleError(f"{text!r}: the text after the colon is missing: write, for example, 'bash: git status'")
    rule = Rule(stripped, subject, outside)
    if subject == COMMAND_SUBJECT:
        return _command_rule(rule, pattern, deny=deny)
    if subject in _PATH_SUBJECTS:
        return _path_rule(rule, pattern)
    if subject == HOST_SUBJECT:
        return _host_rule(rule, pattern)
    if pattern:
        raise RuleError(
            f"{text!r}: only bash, read, write and host can be followed by a colon: write '{subject}' alone"
        )
    return rule


def parse_grant(text: str) -> Rule:
    """Read an allow rule that may hold for one run: about commands or changed files, in the sandbox.

    Raises:
        RuleError: it is none.
    """
    rule = parse_rule(text)
    if rule.outside or rule.subject not in (COMMAND_SUBJECT, "write"):
        raise RuleError(f"{text!r} cannot hold for a run: write 'bash: git status' or 'write: docs/**'")
    return rule


def _command_rule(rule: Rule, pattern: str, *, deny: bool) -> Rule:
    command = re.sub(r"(?:^|[ \t]+)\*\Z", "", pattern)
    open_ended = command != pattern
    if not command:
        if deny:
            return rule
        raise RuleError(f"{rule.text!r} would allow every command: name a program, or set the policy to auto")
    words = split(command)
    if words is None:
        raise RuleError(
            f"{rule.text!r}: a command in a rule has only words, plain or quoted, and at its end a * for any further "
            "words: write one rule for each program, without variables, redirections and operators"
        )
    if rule.outside and open_ended and (risk := risk_of_any_words(words)):
        raise RuleError(f"{rule.text!r}: {risk}")
    return msgspec.structs.replace(rule, words=words, open_ended=open_ended)


def _path_rule(rule: Rule, pattern: str) -> Rule:
    if not pattern:
        return rule
    pattern = re.sub(r"\A(?:\./)+", "", pattern)
    if pattern in ("", ".") or pattern.endswith("/"):
        pattern = pattern.removesuffix(".") + "**"
    if ".." in pattern.split("/"):
        raise RuleError(f"{rule.text!r}: a pattern cannot hold '..': write it from the project or as an absolute path")
    try:
        _glob(_full(pattern, "/"))
    except SearchError as error:
        raise RuleError(f"{rule.text!r}: {error}") from error
    return msgspec.structs.replace(rule, pattern=pattern)


def _host_rule(rule: Rule, pattern: str) -> Rule:
    if rule.outside or not pattern:  # without a host it would be one for a tool of that name
        raise RuleError(f"{rule.text!r}: a rule for a host is written 'host: pypi.org'")
    try:
        return msgspec.structs.replace(rule, hosts=rules_of(pattern))
    except NetworkRuleError as error:
        raise RuleError(f"{rule.text!r}: {error}") from error


def _full(pattern: str, root: str) -> str:
    """The glob from the root of the file system on."""
    if pattern.startswith("~"):
        first, slash, rest = pattern.partition("/")
        return _escaped(os.path.expanduser(first)) + slash + rest
    return pattern if pattern.startswith("/") else f"{_escaped(root.rstrip('/'))}/{pattern}"


def _escaped(path: str) -> str:
    return re.sub(r"([\\*?\[{},])", r"\\\1", path)


@lru_cache(maxsize=1024)
def _glob(full: str) -> Glob:
    return compile_glob("/" + full.lstrip("/"))


def _follow(wanted: Sequence[str], words: Words) -> RuleMatch:
    """Whether the words after a program begin with `wanted`, whose options may stand anywhere."""
    unseen = None in words
    given_options = [word for word in words if word is not None and _is_option(word)]
    operands = [word for word in words if word is None or not _is_option(word)]
    wanted_operands = [word for word in wanted if not _is_option(word)]
    for index, word in enumerate(wanted_operands):
        if index < len(operands) and operands[index] is None:
            return RuleMatch.MAYBE
        if index >= len(operands) or operands[index] != word:
            return RuleMatch.NO
    if all(_is_given(option, given_options) for option in wanted if _is_option(option)):
        return RuleMatch.YES
    return RuleMatch.MAYBE if unseen else RuleMatch.NO


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


def _is_given(option: str, given: Sequence[str]) -> bool:
    """Whether an option is among others; letters after one dash may be given together or apart."""
    if any(one == option or one.startswith(option + "=") for one in given):
        return True
    letters = "".join(one[1:] for one in given if _LETTERS.fullmatch(one))
    return _LETTERS.fullmatch(option) is not None and set(option[1:]) <= set(letters)


# The programs that a rule ending in `*` may let out of the sandbox. The sandbox hides secrets: a program outside it
# discloses them to the model if a further word can name a file, as `git commit -F ~/.ssh/id_rsa` and then `git log`. So
# these programs are harmless: no further word of theirs names a file, a directory, a program or another machine.
# Source: the manual pages of GNU coreutils 9.7, procps 4 and Docker 28.
_ANY_WORDS = frozenset(
    {("docker", "images"), ("docker", "logs"), ("docker", "port"), ("docker", "ps")}
    | {(name,) for name in ("arch", "echo", "false", "groups", "id", "nproc", "sleep", "true", "uname", "whoami")}
)


def risk_of_any_words(words: Sequence[str]) -> str | None:
    """Why further words after these are a risk outside the sandbox, and what to do instead; None if they are not."""
    if any(tuple(words[: len(known)]) == known for known in _ANY_WORDS):
        return None
    instead = "write the exact command, without *"
    if words[0] == "git":
        instead += ". Commits need no rule"
    return f"outside the sandbox, further words of {words[0]} could disclose or overwrite any of your files: {instead}"
