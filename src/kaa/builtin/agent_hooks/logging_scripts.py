"""Recognizes scripts of hooks that can do nothing but log: a shell exits with 2 where it cannot open their log.

Such a script has no way to refuse: it neither ends with a code of its own choice nor prints a decision. All its files
are named by itself, so what is tried again of it contains no words of the model.
"""

import os
import re
import shlex
from typing import TYPE_CHECKING, Final

from kaa.builtin.agent_hooks.own_files import expanded
from kaa.builtin.agent_hooks.shell_words import ShellScript
from kaa.host.regular_files import regular

if TYPE_CHECKING:
    from tree_sitter import Node

_KNOWN = frozenset(
    """
    ansi_c_string command command_name command_substitution comment compound_statement concatenation do_group
    elif_clause else_clause expansion file_descriptor file_redirect heredoc_body heredoc_content heredoc_end
    heredoc_redirect heredoc_start herestring_redirect if_statement list negated_command number pipeline program
    raw_string redirected_statement simple_expansion special_variable_name string string_content subshell test_command
    test_operator unary_expression binary_expression variable_assignment variable_assignments variable_name word
    declaration_command
    """.split()  # noqa: SIM905 - as a list it would fill the screen
)
# None of them ends with 2 because its user wants that: they do so where something is wrong with their use.
_HARMLESS = frozenset(
    """
    : [ basename cat cut date dirname echo export grep head hostname id jq mkdir printf pwd read set tail tee test touch
    tr true umask uname wc whoami
    """.split()  # noqa: SIM905 - as above
)
# Of git, those with which a log describes a repository: not `diff`, which ends with 2 for `--check`, nor commands of
# `remote`, which end with 2 for an unknown remote.
_TELLING_OF_GIT = frozenset(
    {"branch", "config", "describe", "log", "ls-files", "remote", "rev-list", "rev-parse", "show", "status"}
    | {"symbolic-ref"}
)
_SHELL = re.compile(r"(?:ba|da|z)?sh")
_FIRST_LINE = re.compile(r"#![ \t]*(?:/usr/bin/env[ \t]+|/(?:usr/)?bin/)(?:ba|da|z)?sh\b")
_PYTHON = re.compile(r"python(?:3(?:\.\d+)?)?")
_DECIDES = re.compile(r"decision|continue|halt|_?exit|kill|abort|raise|system|subprocess|exec|eval", re.IGNORECASE)
_OPENED = re.compile(r"""open\(\s*(?:os\.path\.expanduser\(\s*)?(['"])(?P<path>[^'"\\\n]+)\1\)?\s*,\s*['"][aw]""")
_MOST_CHARACTERS: Final = 16 * 1024


def script_of(line: str) -> str:
    """The text of the script for a shell that a line of a hook executes; empty if it does anything else."""
    try:
        words = [expanded(word) for word in shlex.split(line)]
    except ValueError:
        return ""
    is_named = words[:1] and _SHELL.fullmatch(os.path.basename(words[0]))
    path = next(iter(words[1:] if is_named else words), "")
    if not os.path.isabs(path):
        return ""
    try:
        with open(path, encoding="utf-8", errors="replace", opener=regular) as file:
            text = file.read(_MOST_CHARACTERS + 1)
    except OSError:
        return ""
    return text if is_named or _FIRST_LINE.match(text) else ""


def try_of_logs(script: str) -> str:
    """Return commands that open the logs of a script and write nothing; empty if it may do more than log."""
    if len(script) > _MOST_CHARACTERS or "\0" in script:
        return ""
    text = ShellScript(script.encode("utf-8", "replace"))
    if text.tree.has_error:
        return ""
    tries: list[str] = []
    for node in text.nodes:
        if node.type not in _KNOWN:
            return ""
        match node.type:
            case "command":
                if (found := _tries_of_command(text, node)) is None:
                    return ""
                tries += found
            case "variable_assignment" | "declaration_command" if _is_apart(node):
                tries.append(text.text(node))
            case "file_redirect":
                target = node.child_by_field_name("destination")
                if target is None or text.text(node).startswith((">&2", "1>&2")):  # the latter gives a reason
                    return ""
                if ">" in text.text(node).partition(text.text(target))[0] and target.type != "number":
                    tries.append(f"(: >>{text.text(target)})")
            case _:
                pass
    tries = list(dict.fromkeys(tries))
    is_logging = any(one.startswith("(:") for one in tries)
    return "\n".join([*tries, "exit 0"]) if is_logging else ""


def _tries_of_command(text: ShellScript, node: "Node") -> list[str] | None:
    """What opens the logs that a command names; None if it may do more than log."""
    name_node = node.child_by_field_name("name")
    if name_node is None:
        return []
    name = text.text(name_node)
    words = [text.text(child) for child in node.children_by_field_name("argument")]
    if name == "exit":
        return [] if words == ["0"] else None
    if name == "exec":  # with redirections only; with words it becomes another program
        return [] if not words else None
    if _PYTHON.fullmatch(name):
        return _tries_of_python(words)
    is_harmless = name in _HARMLESS or (name == "git" and _command_of_git(words) in _TELLING_OF_GIT)
    if not is_harmless or any(_DECIDES.search(word) for word in words):
        return None
    if name == "tee":
        return [f"(: >>{word})" for word in words if not word.startswith("-")]
    if name in ("mkdir", "touch"):
        return [text.text(node)]
    return []


def _command_of_git(words: list[str]) -> str:
    while words[:1] == ["-C"]:
        words = words[2:]
    if any(word.startswith("--check") for word in words):
        return ""
    if words[:1] == ["remote"] and not all(word.startswith("-") for word in words[1:]):
        return ""
    return next(iter(words), "")


def _tries_of_python(words: list[str]) -> list[str] | None:
    if len(words) < 2 or words[0] != "-c":
        return None
    try:
        [code] = shlex.split(words[1])
    except ValueError:
        return None
    if words[1][0] != "'" or _DECIDES.search(code):
        return None
    paths = [found["path"] for found in _OPENED.finditer(code)]
    return [f"(: >>{_shell_word(path)})" for path in paths] or None


def _shell_word(path: str) -> str:
    return f"~/{shlex.quote(path[2:])}" if path.startswith("~/") else shlex.quote(path)


def _is_apart(node: "Node") -> bool:
    """Whether an assignment is a statement, and not for one command or a part of a declaration."""
    return node.parent is None or node.parent.type not in ("command", "declaration_command", "variable_assignments")
