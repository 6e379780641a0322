"""Tells which hooks of a plugin start nothing but programs of the plugin itself and harmless ones of the machine.

Only these get secrets and the folder of what the plugin keeps: commands of the model write the project's programs.
"""

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from kaa.builtin.agent_hooks.programs import is_harmless
from kaa.components.plugins.variables import PluginFolders
from kaa.host.paths import is_below

_PUNCTUATION = "();<>|&\n"
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")
# They execute the first word that is no option of theirs. Deno, Bun and uv would obey files of the project besides.
_INTERPRETER = re.compile(r"(?:ba|da|z|k)?sh|node(?:js)?|python(?:3(?:\.\d+)?)?|ruby|perl|php")
_OPTION = re.compile(r"-(?:[uBEIsSO]+|e?u?x?)|--(?:no-warnings|enable-source-maps|experimental-[\w-]+)")
# They execute nothing that they name.
_OF_SHELL = frozenset({"[", "test", "cd", "export", "set", "read", "umask", "wait", "unset", "return", "shift"})


def starts_own_programs(command: str, args: Sequence[str] | None, folders: PluginFolders) -> bool:
    """Return whether the command of a hook starts only what commands of the model cannot write.

    What a program of the plugin starts itself is not looked at.

    Args:
        command: for a shell, or with `args` a program, with variables for the folders.
        args: its arguments; None for a shell command.
        folders: where the plugin is.
    """
    if args is not None:
        return _is_own([command, *args], folders)
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
    if any("$(" in word or "`" in word for word in words):
        return False
    while words and (_ASSIGNMENT.match(words[0]) or words[0] == "exec"):
        words = words[1:]
    if not words or words[0] in _OF_SHELL or _is_of_plugin(words[0], folders):
        return True
    if _INTERPRETER.fullmatch(os.path.basename(words[0])):
        script = next((word for word in words[1:] if not _OPTION.fullmatch(word)), "")
        return _is_of_plugin(script, folders) or ("$" not in script and is_harmless(words, folders.project))
    return is_harmless(words, folders.project)


def _is_of_plugin(word: str, folders: PluginFolders) -> bool:
    return is_below(os.path.normpath(word), (folders.root, folders.data))
