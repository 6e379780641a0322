"""Which aliases make git run a program: all that are not known to be harmless.

An alias without `!` is words for git itself, and git has commands and options that run programs, use another
repository or write files anywhere.
"""

from collections.abc import Callable, Sequence

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
