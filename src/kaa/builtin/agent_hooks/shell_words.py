"""Reads the words of a script for a shell: what each is, as far as the script does not compute it."""

import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kaa.host.shell_grammar import parse

if TYPE_CHECKING:
    from tree_sitter import Node

# What programs load code or settings from.
LED_BY = re.compile(
    r"PATH|ENV|BASH_\w+|BASHOPTS|SHELLOPTS|CDPATH|HOME|PS4|PROMPT_COMMAND|CLASSPATH|JAVA\w*|TMPDIR|SECONDS|RANDOM|OPTIND"
    r"|(?:LD|DYLD|PYTHON|NODE|NPM|PERL|RUBY|GEM|GIT|XDG|CURL|PHP|SSH)\w*"
    # Of libraries: OpenSSL, Kerberos, glib and GTK, and those that find locales, charsets, messages and terminals.
    r"|(?:OPENSSL|SSL|KRB5|GSS|GIO|GTK|GDK|QT|GST|GSETTINGS|DCONF|FONTCONFIG|PANGO|DBUS|AWK|LUA|ICU|NSS|PKCS11)\w*"
    r"|GCONV_PATH|LOCPATH|NLSPATH|TEXTDOMAIN\w*|TERMINFO\w*|TERMCAP|INPUTRC|LESS\w*|\w*PAGER|EDITOR|VISUAL|BROWSER"
    # Of programs: settings that name others, and which version a shim starts.
    r"|KUBECONFIG|DOCKER\w*|GNUPGHOME|GH_CONFIG_DIR|WGETRC|NETRC|RIPGREP_CONFIG_PATH|ZDOTDIR|FPATH"
    r"|(?:PYENV|RBENV|NODENV|JENV|ASDF|MISE|VOLTA|NVM|UV|PIP|CONDA|CARGO|RUSTUP|GO|DENO|BUN)(?:_\w+|PATH|FLAGS|ROOT)"
)
"""Variables by which programs find code or settings, and those in which bash calculates."""

_SESSION = re.compile(r"""\.session_id(?:\s*//\s*(?:"[\w-]*"|empty))?""")
_PRINTS = re.compile(r"""echo|printf\s+(['"])%s(?:\\n)?\1""")
_OF_VARIABLE = re.compile(r"""["']?\$\{?(\w+)\}?["']?""")
_SETS_OTHERWISE = frozenset({"read", "mapfile", "readarray", "getopts", "printf", "unset", "let"})


class Word(NamedTuple):
    """A word of a command.

    Attributes:
        value: what it is; None if the script computes it.
        head: how a computed one begins, as far as that is known.
        splits: it may become several, or none.
    """

    value: str | None
    head: str = ""
    splits: bool = False


class ShellScript:
    """A script, taken apart."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.tree = parse(source).root_node
        self.nodes = list(self._all())
        self._constants = self._single_values()

    def _all(self) -> "Iterator[Node]":
        stack = [self.tree]
        while stack:
            node = stack.pop()
            yield node
            stack += reversed(node.named_children)

    def _single_values(self) -> "dict[str, Node]":
        """The variables that get a value in one place only, with it."""
        found: dict[str, list[Node | None]] = {}
        for node in self.nodes:
            match node.type:
                case "variable_assignment":
                    name = node.child_by_field_name("name")
                    is_plain = (
                        name is not None
                        and name.type == "variable_name"
                        and b"+=" not in self.source[node.start_byte : name.end_byte + 2]
                    )
                    found.setdefault(self.text(name) if name else "", []).append(
                        node.child_by_field_name("value") if is_plain else None
                    )
                case "for_statement":
                    variable = node.child_by_field_name("variable")
                    found.setdefault(self.text(variable) if variable else "", []).append(None)
                case "command":
                    words = [self.text(child) for child in node.named_children]
                    if next((word for word in words if word not in ("builtin", "command")), "") in (".", "source"):
                        return {}  # what is sourced may set any of them
                    if not _SETS_OTHERWISE.isdisjoint(words):
                        for word in words:
                            found.setdefault(word, []).append(None)
        return {name: values[0] for name, values in found.items() if len(values) == 1 and values[0] is not None}

    def text(self, node: "Node") -> str:
        """Return the text of a node."""
        return self.source[node.start_byte : node.end_byte].decode(errors="replace")

    def start(self, node: "Node") -> int:
        """Return where the text of a node begins; in strings the grammar counts the blanks before it to some nodes."""
        text = self.source[node.start_byte : node.end_byte]
        return node.end_byte - len(text.lstrip())

    def arguments(self, node: "Node") -> "Iterator[Node]":
        """The words of a command, also those behind its redirections."""
        holders = (
            [node, node.parent] if node.parent is not None and node.parent.type == "redirected_statement" else [node]
        )
        for holder in holders:
            for child in holder.named_children:
                match child.type:
                    case "file_redirect":
                        yield from child.children_by_field_name("destination")[1:]
                    case "heredoc_redirect":
                        yield from (one for one in child.named_children if not one.type.startswith("heredoc"))
                    case "herestring_redirect" | "variable_assignment" | "comment":
                        continue
                    case "command_name":
                        yield child.named_children[0] if child.named_children else child
                    case _ if holder is node:
                        yield child

    def word(self, node: "Node", seen: frozenset[str] = frozenset()) -> Word:
        """Return what a word is. `seen`: the variables whose values have led to it."""
        text = self.text(node)
        match node.type:
            case "word" | "number":
                if re.search(r"[\\*?\[\]{}]", text):
                    return Word(None, re.split(r"[\\*?\[\]{}]", text)[0], splits=True)
                return Word(os.path.expanduser("~") + text[1:] if text == "~" or text.startswith("~/") else text)
            case "raw_string":
                return Word(text[1:-1])
            case "string":
                return self._joined(node, seen)
            case "concatenation":
                parts = [self.word(child, seen) for child in node.named_children]
                return _sum(parts)
            case "simple_expansion" | "expansion":
                return _unquoted(self._expanded(text, seen))
            case "command_substitution":
                return _unquoted(self._substituted(node, seen))
            case _:
                return Word(None, splits=True)

    def _joined(self, node: "Node", seen: frozenset[str]) -> Word:
        parts: list[Word] = []
        place, end = node.start_byte + 1, node.end_byte - 1
        for child in node.named_children:
            if child.type == "string_content":
                continue
            parts.append(_literal(self.source[place : child.start_byte].decode(errors="replace")))
            if child.type in ("simple_expansion", "expansion"):
                parts.append(self._expanded(self.text(child), seen))
            elif child.type == "command_substitution":
                parts.append(self._substituted(child, seen))
            else:
                parts.append(Word(None))
            place = child.end_byte
        parts.append(_literal(self.source[place:end].decode(errors="replace")))
        return _sum(parts)._replace(splits=False)

    def _expanded(self, text: str, seen: frozenset[str]) -> Word:
        name = text.strip("${}")
        if name == "HOME":
            return Word(os.path.expanduser("~"))
        value = self._constants.get(name)
        if value is None or name in seen or LED_BY.fullmatch(name):
            return Word(None)
        return self.word(value, seen | {name})

    def _substituted(self, node: "Node", seen: frozenset[str]) -> Word:
        """Return the value of `$(dirname …)`, and a word in place of a time and of the name of the session."""
        command = node.named_children[-1] if len(node.named_children) == 1 else None
        while command is not None and command.type in ("pipeline", "redirected_statement"):
            inner = [one for one in command.named_children if not one.type.endswith("_redirect")]
            command = inner[-1] if inner else None
        if command is None or command.type != "command":
            return Word(None)
        words = [self.word(child, seen).value for child in self.arguments(command)]
        match words:
            case ["date", str(form)] if "/" not in form:
                return Word("date")
            case ["jq", "-r", str(form)] if _SESSION.fullmatch(form) and self._gets_input(command):
                return Word("session")
            case ["dirname", str(path)]:
                return Word(os.path.dirname(path))
            case _:
                return Word(None)

    def _gets_input(self, command: "Node") -> bool:
        """Whether a command in a substitution gets what kaa gives the script, and not a part of that or other data."""
        holder = command.parent
        redirections = [one for one in command.named_children if one.type.endswith("_redirect")]
        if holder is not None and holder.type == "redirected_statement":
            redirections += [one for one in holder.named_children if one.type.endswith("_redirect")]
            holder = holder.parent
        given = [one for one in redirections if one.type != "file_redirect" or "<" in self.text(one)]
        if given:
            return (
                len(given) == 1 and given[0].type == "herestring_redirect" and self._is_input(self.text(given[0])[3:])
            )
        if holder is None or holder.type != "pipeline":
            return self._has_stdin(command)
        before = holder.named_children[0]
        if len(holder.named_children) != 2:
            return False
        if (text := self.text(before)) in ("cat", "cat -"):
            return self._has_stdin(holder)
        found = _PRINTS.match(text)
        return found is not None and self._is_input(text[found.end() :])

    def _is_input(self, word: str) -> bool:
        """Whether a word is a variable with all that kaa gives the script."""
        found = _OF_VARIABLE.fullmatch(word.strip())
        value = self._constants.get(found[1]) if found is not None else None
        if value is None:
            return False
        is_read = re.fullmatch(
            r"""["']?\$\(\s*(?:cat(?:\s+-)?|<\s*/dev/stdin|cat\s+/dev/stdin)\s*\)["']?""", self.text(value)
        )
        return is_read is not None and self._has_stdin(value)

    def _has_stdin(self, node: "Node") -> bool:
        if any(one.type in ("command", "redirected_statement") and self._moves_stdin(one) for one in self.nodes):
            return False
        holder = node.parent
        while holder is not None:
            match holder.type:
                case "pipeline" if holder.named_children[0] != node:
                    return False
                case "redirected_statement" if any(
                    one.type != "file_redirect" or "<" in self.text(one)
                    for one in holder.named_children
                    if one.type.endswith("_redirect")
                ):
                    return False
                case "function_definition" | "process_substitution":
                    return False
                case _:
                    node, holder = holder, holder.parent
        return True

    def _moves_stdin(self, command: "Node") -> bool:
        return re.match(r"(?:(?:builtin|command)\s+)*exec\b[^#]*<", self.text(command)) is not None

    def is_job(self, word: str) -> bool:
        """Whether a word is the number of a process that the script started."""
        found = _OF_VARIABLE.fullmatch(word)
        value = self._constants.get(found[1]) if found is not None else None
        text = word if value is None else self.text(value)
        return re.fullmatch(r"""["']?(?:\$!|\$\{!\}|\d+)["']?""", text) is not None

    def document(self, node: "Node") -> str | None:
        """The here-document that a command gets, if nothing in it is computed."""
        holder = node.parent
        if holder is None or holder.type != "redirected_statement":
            return None
        documents = [child for child in holder.named_children if child.type == "heredoc_redirect"]
        parts = [part for document in documents for part in document.named_children]
        start = next((self.text(part) for part in parts if part.type == "heredoc_start"), "")
        bodies = [self.text(part) for part in parts if part.type == "heredoc_body"]
        if len(documents) != 1 or len(bodies) != 1:
            return None
        return bodies[0] if start[:1] in "'\"\\" or not re.search(r"[$`\\]", bodies[0]) else None


def _unquoted(word: Word) -> Word:
    return word._replace(splits=word.value is None or re.search(r"[\s*?\[]", word.value) is not None)


def _literal(text: str) -> Word:
    """A part of a string in double quotes."""
    return Word(re.sub(r"\\([$`\"\\\n])", r"\1", text))


def _sum(parts: Sequence[Word]) -> Word:
    head = ""
    for part in parts:
        if part.value is None:
            return Word(None, head + part.head, any(one.splits for one in parts))
        head += part.value
    return Word(head, splits=False)
