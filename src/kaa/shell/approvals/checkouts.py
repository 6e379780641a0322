"""Commands of git that would change files that the sandbox protects: they would stop half way.

git unlinks a file before it writes another version. Where the sandbox refuses that, git switches the branch all the
same and leaves the file, which the next checkout then refuses to overwrite; and a stash takes the file and leaves it,
so that `git stash pop` finds it in its way.
"""

import re
import shlex
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Protocol, TypeAlias

import msgspec

from kaa.shell.approvals.calls import JudgedCall
from kaa.shell.approvals.grammar import Words
from kaa.workspace.git_held import HeldFiles

# What of a revision is protected in the project, differs there and is held; None if nothing, or not known.
AskHeld: TypeAlias = Callable[[str], Awaitable[HeldFiles | None]]


class AskStashed(Protocol):
    """Asks for the same of what a stash takes; see `SandboxControl.held_by_stash`."""

    async def __call__(self, *, untracked: bool) -> HeldFiles | None:
        """The protected files that are held."""
        ...


_WITH_VALUE = frozenset("-b -B -c -C --orphan --conflict -s --strategy -X --strategy-option --onto -m -F".split())  # noqa: SIM905
_HARD = frozenset({"--hard", "--merge", "--keep"})
_MOVING = frozenset("checkout switch merge rebase reset".split())  # noqa: SIM905
_LETTERS = re.compile("-[a-z]+")
_MESSAGE = re.compile("-[a-z]*m")  # which the next word is
_MOST_NAMED = 5
_PLACES = (".", ":/")


async def held_by(call: JudgedCall, ask: AskHeld, ask_stashed: AskStashed) -> HeldFiles | None:
    """Return the protected files that a command of git in a call would have to change; None if there are none."""
    if call.reach is None or call.works_elsewhere:
        return None
    for revision in dict.fromkeys(found for words in call.reach.commands for found in _revisions(words)):
        if (held := await ask(revision)) is not None:
            return held
    stashes = [untracked for words in call.reach.commands if (untracked := _stashes(words)) is not None]
    if stashes:
        return await ask_stashed(untracked=any(stashes))
    discarding = next(filter(_discards, call.reach.commands), None)
    if discarding is None or (held := await ask_stashed(untracked=False)) is None:
        return None
    return msgspec.structs.replace(held, remedy=_leaving(held.without, discarding))


def explained(held: HeldFiles) -> str:
    """Return why a command is not run in the sandbox, a sentence without a full stop."""
    more = len(held.paths) - _MOST_NAMED
    named = ", ".join(held.paths[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"it changes or removes {named}, which the sandbox protects, so git would stop half way"


def _stashes(words: Words) -> bool | None:
    """Whether a stash takes untracked files, too; None for another command, and for one that names the files."""
    if words[:2] != ("git", "stash"):
        return None
    subcommand, *rest = words[2:] if words[2:3] and not (words[2] or "-").startswith("-") else ("push", *words[2:])
    plain = ["-m" if word and _MESSAGE.fullmatch(word) else word for word in rest]
    if subcommand not in ("push", "save") or "--" in rest or (subcommand == "push" and any(_operands(plain))):
        return None
    letters = {letter for word in rest if word and _LETTERS.fullmatch(word) for letter in word}
    return bool(letters & {"u", "a"}) or not {"--include-untracked", "--all"}.isdisjoint(rest)


def _discards(words: Words) -> bool:
    """Whether a command of git restores all that changed in the working tree."""
    if words[:2] not in (("git", "checkout"), ("git", "restore")):
        return False
    places = [word for word in words[2:] if word is not None and not word.startswith("-")]
    is_of_index = words[1] == "restore" and _has(words, "--staged", "S") and not _has(words, "--worktree", "W")
    return len(places) == 1 and places[0] in _PLACES and not is_of_index


def _has(words: Words, option: str, letter: str) -> bool:
    letters = (word for word in words if word and re.fullmatch("-[A-Za-z]+", word))
    return option in words or any(letter in word for word in letters)


def _leaving(without: Sequence[str], words: Words) -> str:
    """The same command of git without some paths; empty if not all of its words are known."""
    known = [word for word in words if word is not None and word != "--"]
    if None in words or len(words) - len(known) > 1:
        return ""
    options, (place,) = [word for word in known if word not in _PLACES], [word for word in known if word in _PLACES]
    return shlex.join((*options, "--", place, *without))


def _revisions(words: Words) -> Iterator[str]:
    """What a command of git puts into the working tree, if that is a whole revision."""
    if words[:1] != ("git",) or len(words) < 2 or words[1] not in _MOVING or "--" in words:
        return
    if words[1] == "reset" and _HARD.isdisjoint(words):
        return
    operands = list(_operands(words[2:]))
    if len(operands) == 1:
        yield "@{-1}" if operands[0] == "-" else operands[0]


def _operands(words: Sequence[str | None]) -> Iterator[str]:
    is_value = False
    for word in words:
        if not is_value and word is not None and (word == "-" or not word.startswith("-")):
            yield word
        is_value = not is_value and word in _WITH_VALUE
