"""Judges scripts for a shell that hooks execute, by the tree of the grammar of bash.

Values that a script computes may be the model's: a path of a call, a word of a command. They are data to the programs
here, and never a file, a program, or something that bash evaluates.
"""

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kaa.builtin.agent_hooks.own_files import expanded, imports_from_projects, is_outside
from kaa.builtin.agent_hooks.shell_programs import judge_of
from kaa.builtin.agent_hooks.shell_words import LED_BY, ShellScript, Word

if TYPE_CHECKING:
    from tree_sitter import Node

# What consists of other nodes and evaluates nothing itself.
_KNOWN = frozenset(
    """
    ansi_c_string array binary_expression brace_expression c_style_for_statement case_item case_statement command
    command_name command_substitution comment compound_statement concatenation declaration_command do_group elif_clause
    else_clause expansion extglob_pattern file_descriptor file_redirect for_statement function_definition heredoc_body
    heredoc_content heredoc_end heredoc_redirect heredoc_start herestring_redirect if_statement list negated_command
    number parenthesized_expression pipeline postfix_expression process_substitution program raw_string
    redirected_statement regex simple_expansion special_variable_name string string_content subscript subshell
    test_command test_operator translated_string unary_expression unset_command variable_assignment
    variable_assignments variable_name while_statement word arithmetic_expansion
    """.split()  # noqa: SIM905 - as a list it would fill the screen
)
# bash evaluates a subscript in the value of a variable there: `a[$(x)]` executes x.
_ARITHMETIC = re.compile(r"\(\(.*(?:[A-Za-z_`]|\$(?![#?])).*\)\)|\$\[", re.DOTALL)
_COMPARED = re.compile(r"(\S+)\s+-(?:eq|ne|lt|le|gt|ge)\s+(\S+)")
_NUMBER = re.compile(r"""["']?(?:-?\d+|\$[?#]|\$\{#\w+\})["']?""")
_OF_VARIABLE = re.compile(r"\s-[vR]\s")
_BLANK = re.compile(r"\s")
_INDEX = re.compile(r"\[\d+\]")
_EXPANSION = re.compile(
    r"\$\{(?:#?(?:\w+|[@*#?!-])|\w+\[(?:\d+|[@*])\])\}"
    r"|\$\{(?:\w+|[@*])(?:\[(?:\d+|[@*])\])?(?::?[-+?]|##?|%%?|//?|\^\^?|,,?|:\s?-?\d+(?::\d+)?\}).*",
    re.DOTALL,
)
# What bash executes or calculates in a text, and the nodes that begin so. The grammar overlooks some of them.
_SUBSTITUTION = re.compile(rb"(?<!\\)(?:\\\\)*(\$[({\[]|`)")
_SUBSTITUTIONS = frozenset({"arithmetic_expansion", "command_substitution", "expansion"})
_DATA = frozenset({"ansi_c_string", "comment", "raw_string"})
_CONTROL = re.compile(r"[^\S \t\n]|[\x00-\x08\x0e-\x1f\x7f]")
_PATH_ITSELF = frozenset({"$PATH", "${PATH}"})

# Whatever their words are.
_TELLING = frozenset(
    """
    : [ basename break cd continue dirname echo exit expr false hostname id logger nproc notify-send popd pushd pwd
    readlink realpath return say seq shift sleep stat terminal-notifier test tput tr true type umask uname wait which
    whoami
    """.split()  # noqa: SIM905 - as above
)
# Options of these whose values they obey. Others of their words may be computed.
_OBEYED = {
    "hostname": re.compile(r".*"),
    "logger": re.compile(r"-\w*f.*|--file.*"),
    "notify-send": re.compile(r"-\w*A.*|--action.*"),
    "tput": re.compile(r"-\w*[TS].*"),
    "wait": re.compile(r".*"),
}
# The address of the user's own bus: others can name a program to start.
_BUS = re.compile(r"""["']?unix:(?:path|abstract)=/[\w/.-]*(?:\$(?:E?UID|\{E?UID\}|\(id -u\))[\w/.-]*)?["']?""")
_NAMING = frozenset({"mapfile", "read", "readarray", "shopt", "unset"})
_BEFORE_OTHERS = frozenset({"builtin", "command", "exec", "nice", "nohup", "time"})
_PYTHON = re.compile(r"python(?:3(?:\.\d+)?)?")
_SHELL = re.compile(r"(?:ba|da)?sh")
_OPTIONS_OF_PYTHON = frozenset({"-u", "-B", "-E", "-I", "-s", "-S", "-O"})
_OPTIONS_OF_SHELLS = frozenset({"-e", "-u", "-x", "-eu", "-ex", "-eux"})
_MOST_NODES = 20_000


def is_harmless_shell(text: str, root: str, depth: int) -> bool:
    """Whether a script executes and uses only what commands of the model cannot write."""
    return depth <= 4 and not _CONTROL.search(text) and _Script(text.encode(), root, depth).is_harmless()


class _Script:
    def __init__(self, source: bytes, root: str, depth: int) -> None:
        self._root = root
        self._depth = depth
        self._script = ShellScript(source)
        self._functions = self._defined()
        self._arrays = self._named_arrays()
        self._sets_path = any(
            node.type == "variable_assignment" and self._script.text(node).startswith("PATH")
            for node in self._script.nodes
        )

    def _defined(self) -> dict[str, int]:
        """The functions that are defined in any case, with where that ends."""
        found: dict[str, int] = {}
        for node in self._script.tree.named_children:
            name = node.child_by_field_name("name") if node.type == "function_definition" else None
            if name is not None:
                found.setdefault(self._script.text(name), node.end_byte)
        return found

    def is_harmless(self) -> bool:
        nodes = self._script.nodes
        if self._script.tree.has_error or len(nodes) >= _MOST_NODES or self._overlooks():
            return False
        return all(map(self._is_harmless, nodes))

    def _is_harmless(self, node: "Node") -> bool:
        match node.type:
            case "command":
                return self._is_harmless_command(node)
            case "for_statement":
                variable = node.child_by_field_name("variable")
                return variable is None or not LED_BY.fullmatch(self._script.text(variable))
            case "variable_assignment":
                return self._is_harmless_assignment(node)
            case "simple_expansion" | "heredoc_redirect" | "array":
                return self._is_as_it_seems(node)
            case "declaration_command" | "unset_command":
                return all(
                    (child.type == "variable_assignment" and not self._declares_array(child))
                    or (child.type == "variable_name" and not self._unsets_needed(node, child))
                    or (child.type == "word" and not re.match(r"-\w*[fin]", self._script.text(child)))
                    for child in node.named_children
                )
            case "test_command":
                return self._is_harmless_test(node)
            case "compound_statement" | "arithmetic_expansion" | "c_style_for_statement":
                text = self._script.text(node)
                return not (text.startswith(("((", "$((", "$[", "for")) and _ARITHMETIC.search(text))
            case "expansion":
                return _EXPANSION.fullmatch(self._script.text(node).lstrip()) is not None
            case "subscript":
                return re.fullmatch(r"\w+\[(?:\d+|[@*])\]", self._script.text(node)) is not None
            case "file_redirect":
                return self._is_harmless_redirection(node)
            case kind:
                return kind in _KNOWN

    def _is_as_it_seems(self, node: "Node") -> bool:
        """Whether bash takes for the same what the grammar takes for a variable, a here-document or an array."""
        match node.type:
            case "simple_expansion":
                return _BLANK.search(self._script.text(node).lstrip()) is None
            case "heredoc_redirect":
                return any(one.type == "heredoc_end" for one in node.named_children)
            case _:
                return all(map(self._is_harmless_element, node.named_children))

    def _overlooks(self) -> bool:
        """Whether bash may execute something that is no node: the grammar took it for a part of a text."""
        nodes = self._script.nodes
        known = {self._script.start(node) for node in nodes if node.type in _SUBSTITUTIONS}
        known |= {node.end_byte - 1 for node in nodes if node.type == "command_substitution"}  # the second backtick
        data = [(node.start_byte, node.end_byte) for node in nodes if node.type in _DATA or self._is_quoted(node)]
        found = (match.start(1) for match in _SUBSTITUTION.finditer(self._script.source))
        return any(at not in known and not any(start <= at < end for start, end in data) for at in found)

    def _is_quoted(self, node: "Node") -> bool:
        """Whether a node is a here-document with quotes, which is data."""
        if node.type != "heredoc_body" or node.parent is None:
            return False
        starts = [self._script.text(one) for one in node.parent.named_children if one.type == "heredoc_start"]
        return bool(starts) and starts[0][:1] in "'\"\\"

    def _is_harmless_element(self, element: "Node") -> bool:
        """Judge a value of an array: bash calculates what stands in brackets before it."""
        text = self._script.text(element)
        return not text.startswith("[") or _INDEX.match(text) is not None

    def _declares_array(self, assignment: "Node") -> bool:
        """Whether the value of a variable is one that bash takes apart into elements once it is computed."""
        name, value = assignment.child_by_field_name("name"), assignment.child_by_field_name("value")
        if name is None or value is None or value.type == "array" or self._script.text(name) not in self._arrays:
            return False
        return self._script.word(value).value is None

    def _named_arrays(self) -> set[str]:
        """The variables that may have elements."""
        found: set[str] = set()
        for node in self._script.nodes:
            words = [self._script.text(child) for child in node.named_children]
            if (
                node.type == "variable_assignment"
                and node.named_children[-1:]
                and node.named_children[-1].type == "array"
            ):
                found.add(words[0])
            elif node.type == "declaration_command" and any(re.match(r"-\w*[aA]", one) for one in words):
                found.update(re.split(r"\+?=", one)[0] for one in words)
            elif node.type == "command" and not _NAMING.isdisjoint(words):
                found.update(words)
        return found

    def _unsets_needed(self, command: "Node", name: "Node") -> bool:
        text = self._script.text(name)
        return command.type == "unset_command" and (text in self._functions or LED_BY.fullmatch(text) is not None)

    def _is_harmless_test(self, node: "Node") -> bool:
        """Judge a test: bash evaluates what `[[` compares as numbers, and the variable that `-v` names."""
        text = self._script.text(node)
        if _OF_VARIABLE.search(text):
            return False
        if text.startswith("[["):
            return all(_NUMBER.fullmatch(left) and _NUMBER.fullmatch(right) for left, right in _COMPARED.findall(text))
        stack = [*node.named_children]
        while stack:
            part = stack.pop()
            if part.type in ("simple_expansion", "expansion", "command_substitution", "concatenation"):
                if self._script.word(part).splits and not _NUMBER.fullmatch(self._script.text(part)):
                    return False
            elif part.type != "string":
                stack += part.named_children
        return True

    def _is_harmless_assignment(self, node: "Node") -> bool:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or not LED_BY.fullmatch(self._script.text(name)):
            return True
        if self._script.text(name) == "DBUS_SESSION_BUS_ADDRESS":
            return value is not None and _BUS.fullmatch(self._script.text(value)) is not None
        if self._script.text(name) != "PATH" or value is None:
            return False
        entries = self._script.text(value).strip("\"'").split(":")
        return all(entry in _PATH_ITSELF or is_outside(entry, self._root) for entry in entries)

    def _set_entries(self) -> set[str]:
        """The directories that the script puts on the PATH, which may have another Python."""
        nodes = (node for node in self._script.nodes if self._sets_path and node.type == "variable_assignment")
        values = (
            self._script.text(node).partition("=")[2] for node in nodes if self._script.text(node).startswith("PATH")
        )
        return {expanded(entry) for value in values for entry in value.strip("\"'").split(":")} - _PATH_ITSELF

    def _is_harmless_redirection(self, node: "Node") -> bool:
        targets = node.children_by_field_name("destination")
        if not targets or targets[0].type == "process_substitution":
            return len(targets) < 2
        target = self._script.word(targets[0])
        return target.value is not None and (target.value.isdigit() or self._is_own(target.value))

    def _is_own(self, path: str) -> bool:
        return path in ("/dev/stdin", "/dev/tty", "-") or (os.path.isabs(path) and is_outside(path, self._root))

    def _is_harmless_command(self, node: "Node") -> bool:
        words = [self._script.word(child) for child in self._script.arguments(node)]
        if words and self._is_function(words[0].value, node):
            return True
        while words and words[0].value in _BEFORE_OTHERS:
            words = words[1:]
            if words and (words[0].value or "").startswith("-"):
                return words[0].value in ("-v", "-V")
        if not words:
            return True
        if (program := words[0].value) is None:
            return False
        from kaa.builtin.agent_hooks.programs import obeys_only_own  # each judges by the other

        is_own = obeys_only_own(os.path.basename(program), self._root)
        return is_own and self._is_harmless_program(program, words[1:], node)

    def _is_function(self, name: str | None, call: "Node") -> bool:
        """Whether a call executes a function, and not the program of its name; functions call others below them."""
        if (end := self._functions.get(name or "")) is None:
            return False
        holder = call.parent
        while holder is not None and holder.type != "function_definition":
            holder = holder.parent
        return holder is not None or end <= call.start_byte

    def _is_harmless_program(self, program: str, words: Sequence[Word], node: "Node") -> bool:
        from kaa.builtin.agent_hooks.programs import is_harmless  # each judges by the other

        known = [word.value for word in words if word.value is not None]
        if "/" in program:
            if not self._is_own(program):
                return False
            if _PYTHON.fullmatch(os.path.basename(program)) and imports_from_projects(program):
                return False
            if not _is_judged(name := os.path.basename(program)):
                return is_harmless([program], self._root, self._depth)
            program = name
        if program in _TELLING:
            if program == "test":
                return "-v" not in known and not any(word.splits for word in words)
            return "-execute" not in known and not self._obeys_computed(program, words, node)
        if (judge := judge_of(program)) is not None:
            return judge(words, self._is_own)
        if program in (".", "source"):
            return self._sources(words)
        if program == "trap":
            return self._traps(words)
        if _PYTHON.fullmatch(program) or _SHELL.fullmatch(program):
            return self._interprets(program, words, node)
        if program in _NAMING:
            return len(known) == len(words) and not any(
                word.startswith("-C") or LED_BY.fullmatch(word) for word in known
            )
        return program in ("date", "mktemp") and len(known) == len(words)

    def _obeys_computed(self, program: str, words: Sequence[Word], node: "Node") -> bool:
        """Whether a program obeys an option with a value that the script computes."""
        if (options := _OBEYED.get(program)) is None or all(word.value is not None for word in words):
            return False
        if program == "wait":
            texts = [self._script.text(child) for child in self._script.arguments(node)][-len(words) :]
            return not all(map(self._script.is_job, texts))
        return any(options.fullmatch(word.value if word.value is not None else word.head) for word in words)

    def _traps(self, words: Sequence[Word]) -> bool:
        if not words or words[0].value is None:
            return False
        return words[0].value in ("-", "") or is_harmless_shell(words[0].value, self._root, self._depth + 1)

    def _sources(self, words: Sequence[Word]) -> bool:
        from kaa.builtin.agent_hooks.scripts import is_harmless_script  # each judges by the other

        path = words[0].value if words else None
        if path is None or not self._is_own(path):
            return False
        return is_harmless_script(path, "sh", self._root, self._depth)

    def _interprets(self, program: str, words: Sequence[Word], node: "Node") -> bool:
        """Judge an interpreter: its program is a word, a file, or a here-document."""
        from kaa.builtin.agent_hooks.programs import is_harmless, is_safe_python  # each judges by the other
        from kaa.builtin.agent_hooks.scripts import is_harmless_text

        is_python = _PYTHON.fullmatch(program) is not None
        if is_python and any(imports_from_projects(os.path.join(entry, program)) for entry in self._set_entries()):
            return False
        options = _OPTIONS_OF_PYTHON if is_python else _OPTIONS_OF_SHELLS
        given = set()
        while words and words[0].value in options:
            given.add(words[0].value)
            words = words[1:]
        first = words[0].value if words else "-"
        if first is None:
            return False
        if first == "-c":
            text = words[1].value if len(words) > 1 else None
        elif first == "-":
            text = self._script.document(node)
        else:
            return self._is_own(first) and is_harmless([program, first], self._root, self._depth)
        if text is None:
            return False
        if is_python and "-I" not in given and ("-E" in given or self._sets_path or not is_safe_python(program)):
            return False
        return is_harmless_text(text, program, "", self._root, self._depth)


def _is_judged(name: str) -> bool:
    """Whether a program of this name is judged with its words."""
    is_interpreter = any(map(re.fullmatch, (_PYTHON, _SHELL), (name, name)))
    return is_interpreter or name in {*_TELLING, "date", "mktemp"} or judge_of(name) is not None
