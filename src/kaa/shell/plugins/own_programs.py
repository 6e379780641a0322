"""Tells which hooks of a plugin start nothing but programs of the plugin itself and harmless ones of the machine.

Only these get secrets and the folder of what the plugin keeps: commands of the model write the project's programs.
"""

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from kaa.builtin.agent_hooks.own_files import is_outside
from kaa.builtin.agent_hooks.programs import is_harmless
from kaa.builtin.agent_hooks.shell_words import LED_BY
from kaa.components.plugins.variables import PluginFolders
from kaa.host.paths import is_below

_PUNCTUATION = "();<>|&\n"
_SUBSTITUTION = re.compile(r"\$\(|`|[<>=]\(")  # a command that is executed wherever it stands, also behind `<`
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")
# They execute the first word that is no option of theirs. Deno, Bun and uv would obey files of the project besides.
_INTERPRETER = re.compile(r"(?:ba|da|z|k)?sh|node(?:js)?|python(?:3(?:\.\d+)?)?|ruby|perl|php")
_OPTIONS = (
    (re.compile(r"python.*"), re.compile(r"-[uBEIsSO]+")),
    (re.compile(r".*sh"), re.compile(r"-(?:e?u?x?)")),
    (re.compile(r"node.*"), re.compile(r"--(?:no-warnings|enable-source-maps|experimental-(?!loader|config)[\w-]+)")),
)
# They lead the line itself: to its folders, and to the words that it consists of.
_OF_LINE = frozenset({"CLAUDE_PLUGIN_ROOT", "PLUGIN_ROOT", "extensionPath", "CLAUDE_PLUGIN_DATA", "PLUGIN_DATA", "IFS"})
_MOST_OF_FIRST_LINE = 256  # Linux reads no more (BINPRM_BUF_SIZE)
# They execute nothing that they name, but set variables.
_OF_SHELL = frozenset({"[", "test", "cd", "export", "set", "read", "umask", "wait", "unset", "return", "shift"})


def starts_own_programs(command: str, args: Sequence[str] | None, folders: PluginFolders) -> bool:
    """Return whether the command of a hook starts only what commands of the model cannot write.

    What a program of the plugin starts itself is not looked at.

    Args:
        command: for a shell, or with `args` a program, with variables for the folders.
        args: its arguments; None for a shell command.
    """
    if args is not None:
        return _is_own([command, *args], folders)
    if _SUBSTITUTION.search(command):
        return False
    try:
        commands = [*_commands(command)]
    except ValueError:  # a quote without an end
        return False
    return all(_is_own([_filled(word, folders) for word in words], folders) for words in commands)


def _commands(text: str) -> Iterator[list[str]]:
    """The simple commands of a line, without their redirections.

    Raises:
        ValueError: it cannot be read.
    """
    words = shlex.shlex(text.replace("\\\n", " "), posix=True, punctuation_chars=_PUNCTUATION)
    words.whitespace, words.whitespace_split, words.commenters = " \t\r", True, ""
    found: list[str] = []
    leads_to_file = False
    for word in words:
        if set(word) <= set(_PUNCTUATION):
            leads_to_file = "<" in word or ">" in word
            if not leads_to_file and found:
                yield found
                found = []
        elif leads_to_file:
            leads_to_file = False
        else:
            found.append(word)
    if found:
        yield found


def _filled(word: str, folders: PluginFolders) -> str:
    values: Mapping[str, str] = {
        **dict.fromkeys(("CLAUDE_PLUGIN_ROOT", "PLUGIN_ROOT", "extensionPath"), folders.root),
        **dict.fromkeys(("CLAUDE_PLUGIN_DATA", "PLUGIN_DATA"), folders.data),
        **dict.fromkeys(("CLAUDE_PROJECT_DIR", "workspacePath"), folders.project),
    }
    return _VARIABLE.sub(lambda found: values.get(found[1] or found[2], found[0]), word)


def _is_own(words: Sequence[str], folders: PluginFolders) -> bool:
    while words and ((assigned := _ASSIGNMENT.fullmatch(words[0])) or words[0] == "exec"):
        if assigned and not _leads_nowhere(assigned[1], assigned[2], folders):
            return False
        words = words[1:]
    if not words:
        return True
    if words[0] in _OF_SHELL or words[0] == "printf":
        return all(map(_sets_nothing, words[1:])) or _exports(words, folders)
    if _is_of_plugin(words[0], folders):
        return _has_own_interpreter(words, folders)
    name = os.path.basename(words[0])
    if _INTERPRETER.fullmatch(name) and ("/" not in words[0] or is_outside(words[0], folders.project)):
        options = [options for names, options in _OPTIONS if names.fullmatch(name)]
        script = next((word for word in words[1:] if not any(one.fullmatch(word) for one in options)), "")
        return _is_of_plugin(script, folders) or ("$" not in script and is_harmless(words, folders.project))
    return is_harmless(words, folders.project)


def _has_own_interpreter(words: Sequence[str], folders: PluginFolders) -> bool:
    """Whether the first line of a program of the plugin names nothing to start that commands can write."""
    try:
        with open(words[0], "rb") as file:
            line = file.readline(_MOST_OF_FIRST_LINE)
    except OSError:  # not there, or not readable: nothing starts
        return True
    if not line.startswith(b"#!"):
        return True
    named = os.fsdecode(line[2:]).split()
    if named and os.path.basename(named[0]) == "env":
        named = [word.removeprefix("-S") for word in named[1:] if word not in ("-S", "--split-string")]
    return bool(named) and _is_own([*named, *words], folders)


def _exports(words: Sequence[str], folders: PluginFolders) -> bool:
    """Whether a command only gives variables values with which programs load nothing that commands can write."""
    assigned = [_ASSIGNMENT.fullmatch(word) for word in words[1:]]
    return words[0] == "export" and all(one and _leads_nowhere(one[1], one[2], folders) for one in assigned)


def _sets_nothing(word: str) -> bool:
    """Whether a word names no variable that leads programs, or this line."""
    name = word.partition("=")[0].removesuffix("+").partition("[")[0]
    return not (LED_BY.fullmatch(name) or name in _OF_LINE)


def _leads_nowhere(name: str, value: str, folders: PluginFolders) -> bool:
    """Whether a value of a variable has programs load nothing that commands can write."""
    if _sets_nothing(name):
        return True
    entries = value.split(":")
    return name not in _OF_LINE and all(
        _is_of_plugin(entry, folders) or entry in (f"${name}", f"${{{name}}}") for entry in entries
    )


def _is_of_plugin(word: str, folders: PluginFolders) -> bool:
    return is_below(os.path.normpath(word), (folders.root, folders.data)) and "$" not in word
