"""A bash command taken apart into the simple commands it consists of, with tree-sitter's grammar of bash.

What the grammar does not understand, and what this module does not know, makes a command one that no rule allows.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from kaa.host.shell_grammar import parse
from kaa.shell.approvals.words import is_harmless_redirection, literal, plain_commands, simple_glob

if TYPE_CHECKING:
    from tree_sitter import Node

# Longer ones are not read: 16 KiB of the worst nonsense take 20 ms, and no person reads that before saying yes.
_MAX_BYTES = 16 * 1024
_SHOWN_CHARACTERS = 200

# The program and its arguments; None for a word that bash computes.
Words: TypeAlias = tuple[str | None, ...]

# What `words.plain_commands` understands too. Anything else needs a yes whatever the rules say.
_PLAIN = frozenset(
    {
        "program",
        "list",
        "pipeline",
        "subshell",
        "compound_statement",
        "negated_command",
        "if_statement",
        "elif_clause",
        "else_clause",
        "while_statement",
        "do_group",
        "redirected_statement",
        "file_redirect",
        "file_descriptor",
        "command",
        "command_name",
        "word",
        "number",
        "string",
        "string_content",
        "raw_string",
        "concatenation",
        "comment",
    }
)
# The rest of bash that can hold commands, and why no rule allows it.
_BEYOND_RULES = {
    "command_substitution": "a command substitution",
    "process_substitution": "a process substitution",
    "simple_expansion": "a variable",
    "expansion": "a variable",
    "arithmetic_expansion": "arithmetic",
    "variable_assignment": "an assignment",
    "variable_assignments": "an assignment",
    "declaration_command": "a declaration of variables",
    "unset_command": "a change of variables",
    "function_definition": "a function",
    "for_statement": "a loop over a variable",
    "c_style_for_statement": "a loop over a variable",
    "case_statement": "a case statement",
    "case_item": "a case statement",
    "test_command": "a test",
    "heredoc_redirect": "a here-document",
    "herestring_redirect": "a here-string",
    "ansi_c_string": "a word with escapes",
    "translated_string": "a translated word",
    "brace_expression": "a brace expansion",
    "extglob_pattern": "a pattern",
    "regex": "a pattern",
    # Parts of those.
    "array": "an assignment",
    "subscript": "an assignment",
    "variable_name": "a variable",
    "special_variable_name": "a variable",
    "binary_expression": "an expression",
    "unary_expression": "an expression",
    "ternary_expression": "an expression",
    "postfix_expression": "an expression",
    "parenthesized_expression": "an expression",
    "test_operator": "an expression",
    "heredoc_start": "a here-document",
    "heredoc_body": "a here-document",
    "heredoc_content": "a here-document",
    "heredoc_end": "a here-document",
}
# What a list of simple commands consists of: nothing decides which of them run but how the earlier ones ended.
_FLAT = (
    _PLAIN
    - {"subshell", "compound_statement", "negated_command", "if_statement", "elif_clause", "else_clause"}
    - {"while_statement", "do_group"}
) | {"simple_expansion", "expansion", "variable_name", "special_variable_name"}
_COMMAND_TYPES = frozenset({"command", "declaration_command", "unset_command", "test_command"})
_REDIRECTION_TYPES = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_NO_ARGUMENTS = _REDIRECTION_TYPES | {"variable_assignment", "comment"}

# Builtins that evaluate names of variables with their subscripts, or arithmetic.
EVALUATING = frozenset(
    {"[", "declare", "export", "getopts", "let", "local", "mapfile", "read", "readarray", "readonly"}
)
EVALUATING |= {"test", "typeset", "unset", "wait"}
# Quoted or not, one word of a command.
_WORD_TYPES = frozenset({"word", "concatenation", "raw_string", "string", "ansi_c_string"})
# What bash executes when it evaluates a text: in subscripts, in arithmetic, by `${x@P}`.
CODE = re.compile(r"\$\(|`")
# The same as a part of a word is written, in quotes of each kind.
_QUOTED_CODE = {
    "raw_string": re.compile(rb"\$\(|`"),
    "ansi_c_string": re.compile(rb"\$\(|`|\\[xuU0-7]"),
    "string": re.compile(rb"\\[$`]"),
    "word": re.compile(rb"\\[$`]"),
}


class SimpleCommand(msgspec.Struct, frozen=True):
    """One program with its arguments, somewhere in a command.

    Attributes:
        text: as it is written, for people.
        words: the program and its arguments; empty where only variables are set.
        assigns: variables are set for it.
        redirections: those that are not harmless, as they are written.
        globs: for each of the words the pattern, if it is a simple one that bash expands to names of files.
        evaluated: quoted words of a test or a declaration, and values of variables, that hold code: bash executes it
            when it evaluates them. None for one that bash computes, and for values, which may be nothing but text.
    """

    text: str
    words: Words
    assigns: bool = False
    redirections: tuple[str, ...] = ()
    globs: Words = ()
    evaluated: Words = ()

    @property
    def literal_words(self) -> tuple[str, ...] | None:
        """The words, if all are literal."""
        words = tuple(word for word in self.words if word is not None)
        return words if len(words) == len(self.words) else None


class Script(msgspec.Struct, frozen=True):
    """A whole command.

    Attributes:
        commands: every simple command in it, wherever it stands, in the order of their beginnings.
        understood: the grammar knows all of it; otherwise `commands` may lack some.
        obstacle: why no rule can allow it, None if rules can.
        is_flat: it is nothing but simple commands in a list or in pipes.
    """

    commands: tuple[SimpleCommand, ...]
    understood: bool = True
    obstacle: str | None = None
    is_flat: bool = False


def read(command: str) -> Script:
    """Take a command apart. Raises nothing, whatever the command is."""
    try:
        source = command.encode()
    except UnicodeEncodeError:
        return _not_understood("it holds characters that no program can be given")
    if len(source) > _MAX_BYTES:
        return _not_understood(f"it is longer than {_MAX_BYTES // 1024} KiB")
    if b"\0" in source:
        return _not_understood("it holds a NUL character")
    return _Reading(source).script()


def _not_understood(obstacle: str) -> Script:
    return Script((), understood=False, obstacle=obstacle)


class _Place(NamedTuple):
    """A node on the way through the tree, what it is in, and the redirections that hold there.

    (To ask the tree for the parent of a node takes as many steps as the node is deep.)
    """

    node: "Node"
    parent: "Node | None" = None
    redirections: tuple[str, ...] = ()


class _Reading:
    """One pass over the tree of one command."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._commands: list[SimpleCommand] = []
        self._beyond: str | None = None
        self._understood = True
        self._is_flat = True

    def script(self) -> Script:
        root = parse(self._source).root_node
        # A stack, since the depth of the tree is for the author of the command to choose.
        stack = [_Place(root)]
        while stack:
            stack += reversed([*self._visit(stack.pop())])
        understood = self._understood and not root.has_error
        return Script(tuple(self._commands), understood, self._obstacle(understood), understood and self._is_flat)

    def _visit(self, place: "_Place") -> "Iterator[_Place]":
        """Take note of a node; what is to be visited next."""
        node, parent, redirections = place
        self._note_type(node)
        if _is_command(node, parent):
            self._commands.append(self._command(place))
            redirections = ()
        elif node.child_by_field_name("redirect") is not None:
            redirections = (*redirections, *self._redirections(node))
        elif node.type == "for_statement" and any([*self._evaluated(value)] for value in _values_of_loop(node)):
            # It sets a variable to each of its words.
            self._commands.append(SimpleCommand(_cut(self._bytes(node)), (), assigns=True, evaluated=(None,)))
        yield from (_Place(child, node, redirections) for child in node.named_children)

    def _note_type(self, node: "Node") -> None:
        self._is_flat &= node.type in _FLAT
        if node.type in _BEYOND_RULES:
            self._beyond = self._beyond or f"it contains {_BEYOND_RULES[node.type]}"
        elif node.type not in _PLAIN:
            self._understood = False

    def _obstacle(self, understood: bool) -> str | None:
        if not understood:
            return "its syntax is not understood"
        if self._beyond is not None:
            return self._beyond
        if plain_commands(self._source) != [command.words for command in self._commands]:
            return "rules do not cover its syntax"
        return None

    def _command(self, place: _Place) -> SimpleCommand:
        node, parent, inherited = place
        words: list[str | None] = []
        globs: list[str | None] = []
        assigns = node.type == "variable_assignment"
        match node.type:
            case "declaration_command" | "unset_command" | "test_command":
                words = [self._bytes(node.children[0]).decode(errors="replace"), None]
                assigns = node.type != "test_command"
            case "command":
                names = [child.type for child in node.named_children]
                assigns = "variable_assignment" in names
                arguments = [child for child in node.named_children if child.type not in _NO_ARGUMENTS]
                written = [self._bytes(child) for child in (*arguments, *_behind_redirections(node, parent))]
                words, globs = [*map(literal, written)], [*map(simple_glob, written)]
        redirections = (*inherited, *self._redirections(node))
        evaluated = tuple(self._evaluated_by(node, words))
        return SimpleCommand(_cut(self._bytes(node)), tuple(words), assigns, redirections, tuple(globs), evaluated)

    def _evaluated_by(self, node: "Node", words: list[str | None]) -> "Iterator[str | None]":
        """What a command evaluates that holds code. Of a value, only some uses of its variable do that."""
        if node.type == "test_command" or not EVALUATING.isdisjoint(words[:1]):
            yield from self._evaluated(node)
            return
        sets = words[:1] == ["set"] or (words[:1] == ["printf"] and (words[1:2] or [""])[0] in ("-v", None))
        values = node.named_children if node.type == "command" and not sets else (node,)
        for value in values:
            if (sets or value.type == "variable_assignment") and [*self._evaluated(value)]:
                yield None

    def _evaluated(self, node: "Node") -> "Iterator[str | None]":
        """The quoted words below a node that hold code, or may. What stands there unquoted are nodes of their own."""
        stack = [node]
        while stack:
            below = stack.pop()
            if below.type not in _WORD_TYPES:
                stack += reversed(below.named_children)
            elif (word := literal(self._bytes(below))) is not None:
                if CODE.search(word):
                    yield word
            elif any(self._quotes_code(part) for part in (below, *below.named_children)):
                yield None

    def _quotes_code(self, node: "Node") -> bool:
        quoted = _QUOTED_CODE.get(node.type)
        return quoted is not None and quoted.search(self._bytes(node)) is not None

    def _redirections(self, node: "Node") -> tuple[str, ...]:
        """The redirections of a node that are not harmless."""
        texts = [self._redirection(child) for child in node.children if child.type in _REDIRECTION_TYPES]
        return tuple(_cut(text) for text in texts if not is_harmless_redirection(text))

    def _redirection(self, node: "Node") -> bytes:
        """A redirection up to its target. What follows that are arguments, whatever the grammar says."""
        targets = node.children_by_field_name("destination")
        return self._source[node.start_byte : targets[0].end_byte if targets else node.end_byte]

    def _bytes(self, node: "Node") -> bytes:
        return self._source[node.start_byte : node.end_byte]


def _is_command(node: "Node", parent: "Node | None") -> bool:
    match node.type:
        case "variable_assignment":
            return parent is None or parent.type not in _COMMAND_TYPES
        case "redirected_statement":
            return node.child_by_field_name("body") is None
        case _:
            return node.type in _COMMAND_TYPES


def _values_of_loop(node: "Node") -> "Iterator[Node]":
    return (child for child in node.named_children if child.type not in ("variable_name", "do_group"))


def _behind_redirections(node: "Node", parent: "Node | None") -> "Iterator[Node]":
    """Words that follow a redirection's target: the grammar puts them there, to bash they are arguments."""
    holders = [node, parent] if parent is not None and parent.type == "redirected_statement" else [node]
    for holder in holders:
        for child in holder.children:
            if child.type == "file_redirect":
                yield from child.children_by_field_name("destination")[1:]


def _cut(text: bytes) -> str:
    """A text for people: its first line, if that is not too long."""
    line, more, _ = text[: 4 * _SHOWN_CHARACTERS + 4].decode(errors="replace").partition("\n")
    return line if len(line) <= _SHOWN_CHARACTERS and not more else line[:_SHOWN_CHARACTERS] + "…"
