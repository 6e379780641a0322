"""What completes the arguments of the built-in slash commands."""

from kaa.ext.api import CommandCompleter, CommandContext, Suggestion


def among(*words: str) -> CommandCompleter:
    """Completes one of some words."""

    def complete(typed: str, _context: CommandContext) -> list[Suggestion]:
        return [Suggestion(word) for word in words if word.startswith(typed)]

    return complete


def flags(*known: str) -> CommandCompleter:
    """Completes the last word if it begins a flag."""

    def complete(typed: str, _context: CommandContext) -> list[Suggestion]:
        before, space, last = typed.rpartition(" ")
        return [Suggestion(before + space + flag) for flag in known if last and flag.startswith(last)]

    return complete
