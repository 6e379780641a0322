"""Reads the text of a shell: the words of its commands without quotes, and the folders that it enters.

Whatever runs, and in which order, is not judged: each command counts, and each folder may be the current one. Text that
is none of a shell gives words that lead nowhere.
"""

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kaa.host.shell_grammar import parse

if TYPE_CHECKING:
    from tree_sitter import Node

_ENTERS = frozenset({"cd", "pushd", "chdir"})
_NO_WORDS = frozenset({"variable_assignment", "comment", "file_redirect", "heredoc_redirect", "herestring_redirect"})
_QUOTED = re.compile(r"""(["'])((?:(?!\1)[^\\\n]|\\.){1,300})\1""")
# A substitution stays as it is; variables and escapes are replaced, also in double quotes.
_COMPUTED = (
    r"(?P<computed>\$\((?:[^()]|\([^()]*\))*\)|`[^`]*`)|\\(?P<escaped>.)"
    r"|\$(?:(?P<name>\w+)|\{(?P<braced>\w+)(?::?[-=](?P<default>[^}]*))?[^}]*\})"
)
_IN_QUOTES = re.compile(_COMPUTED, re.DOTALL)
_PIECE = re.compile(
    r"'(?P<plain>[^']*)'|\$'(?P<escapes>(?:[^'\\]|\\.)*)'|\"(?P<quoted>(?:\$\([^)]*\)|[^\"\\]|\\.)*)\"|" + _COMPUTED,
    re.DOTALL,
)
_ALL_ARGUMENTS = re.compile(r"""(?P<quote>"?)\$(?:[@*]|\{[@*][^}]*\})(?P=quote)""")
_MAX_BYTES = 64 * 1024


class ShellText(NamedTuple):
    """What a text of a shell says.

    Attributes:
        commands: the words of each command: a program and its arguments. Variables and substitutions whose values are
            not known stay in them.
        entered: the folders that `cd` and `pushd` name, also below the one that was entered before.
        values: what variables are set to.
        quoted: all literals in quotes, whatever language they are of.
    """

    commands: tuple[tuple[str, ...], ...]
    entered: tuple[str, ...]
    values: tuple[str, ...]
    quoted: tuple[str, ...]

    @property
    def words(self) -> Iterator[str]:
        """All words and values."""
        yield from (word for command in self.commands for word in command)
        yield from self.values
        yield from self.quoted


def is_shell_text(word: str) -> bool:
    """Whether a word of a command line may be a text with commands, and not one word of one."""
    return re.search(r"[\s;|]|&&", word) is not None


def read_shell(text: str, variables: Mapping[str, str], arguments: Sequence[str] = ()) -> ShellText:
    """Take a text apart.

    Args:
        arguments: what it is started with: `$0`, `$1` and so on.
    """
    if arguments:
        text = _ALL_ARGUMENTS.sub(lambda _: shlex.join(arguments[1:]), text)
    known = {**variables, **{str(number): word for number, word in enumerate(arguments)}}
    return _Reading(text.encode(errors="replace")[:_MAX_BYTES], known).read()


def without_shell_comments(text: str) -> str:
    """A text of a shell without the lines that are comments. Such lines of a here-document or a string stay."""
    source = text.encode(errors="surrogateescape")
    begun, kept = 0, list[bytes]()
    for node in _nodes(source):
        line = source[source.rfind(b"\n", 0, node.start_byte) + 1 : node.start_byte]
        if node.type == "comment" and not line.strip():
            kept.append(source[begun : node.start_byte])
            begun = max(begun, node.end_byte)
    return b"".join((*kept, source[begun:])).decode(errors="surrogateescape")


def _nodes(source: bytes) -> "Iterator[Node]":
    """All nodes in the order of the source."""
    stack = [parse(source).root_node]
    while stack:
        yield (node := stack.pop())
        stack += reversed(node.named_children)


class _Reading:
    def __init__(self, source: bytes, variables: dict[str, str]) -> None:
        self._source = source
        self._variables = variables
        self._commands: list[tuple[str, ...]] = []
        self._entered: dict[str, None] = {}
        self._values: list[str] = []

    def read(self) -> ShellText:
        for node in _nodes(self._source):
            match node.type:
                case "command":
                    self._commands.append(self._words(node))
                    self._enter(self._commands[-1])
                case "variable_assignment":
                    self._assign(node)
                case "for_statement":
                    self._loop(node)
        quoted = (found[2] for found in _QUOTED.finditer(self._source.decode(errors="replace")))
        return ShellText(tuple(self._commands), tuple(self._entered), tuple(self._values), tuple(dict.fromkeys(quoted)))

    def _words(self, node: "Node") -> tuple[str, ...]:
        holders = [node]
        if node.parent is not None and node.parent.type == "redirected_statement":
            holders += (one for one in node.parent.named_children if one.type == "file_redirect")
        words = [child for child in node.named_children if child.type not in _NO_WORDS]
        # The grammar takes words behind a redirection for parts of it.
        words += (one for held in holders for one in held.children_by_field_name("destination"))
        return tuple(map(self._value, words))

    def _enter(self, words: tuple[str, ...]) -> None:
        names = [number for number, word in enumerate(words) if word in _ENTERS]
        for number in names[:1]:
            for word in words[number + 1 :]:
                if not re.fullmatch(r"--?\w*", word):
                    before = next(reversed(self._entered), "")
                    self._entered.update(dict.fromkeys((word, os.path.join(before, word))))

    def _assign(self, node: "Node") -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is not None and value is not None:
            text = self._value(value)
            self._variables[self._text(name)] = text
            self._values.append(text)

    def _loop(self, node: "Node") -> None:
        """Take the first of the values of a loop for that of its variable: the others count as words."""
        variable = node.child_by_field_name("variable")
        values = [self._value(one) for one in node.named_children if one.type not in ("variable_name", "do_group")]
        self._values += values
        if variable is not None and values:
            self._variables[self._text(variable)] = values[0]

    def _value(self, node: "Node") -> str:
        return unquoted(self._text(node), self._variables)

    def _text(self, node: "Node") -> str:
        return self._source[node.start_byte : node.end_byte].decode(errors="replace")


def unquoted(word: str, variables: Mapping[str, str]) -> str:
    """A word of a shell without quotes and escapes, with the values of the variables that are known."""

    def replaced(found: re.Match[str]) -> str:
        if (quoted := found["quoted"]) is not None:
            return _IN_QUOTES.sub(in_quotes, quoted)
        if (escapes := found["escapes"]) is not None:
            return re.sub(r"\\(.)", r"\1", escapes)
        plain = found["plain"] if found["plain"] is not None else found["escaped"]
        return value(found) if plain is None else plain

    def in_quotes(found: re.Match[str]) -> str:
        if (escaped := found["escaped"]) is not None:
            return escaped if escaped in '$`"\\' else found[0]
        return value(found)

    def value(found: re.Match[str]) -> str:
        name = found["name"] or found["braced"]
        if name is not None and name in variables:
            return variables[name]
        return unquoted(found["default"], variables) if found["default"] else found[0]

    return _PIECE.sub(replaced, word)
