"""Commands of git that would change files that the sandbox protects: they would stop half way.

git unlinks a file before it writes another version. Where the sandbox refuses that, git switches the branch all the
same and leaves the file, which the next checkout then refuses to overwrite.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeAlias

from kaa.shell.approvals.calls import JudgedCall
from kaa.shell.approvals.grammar import Words
from kaa.workspace.git_held import HeldFiles

# What of a revision is protected in the project, differs there and is held; None if nothing, or not known.
AskHeld: TypeAlias = Callable[[str], Awaitable[HeldFiles | None]]

_WITH_VALUE = frozenset("-b -B -c -C --orphan --conflict -s --strategy -X --strategy-option --onto -m -F".split())  # noqa: SIM905
_HARD = frozenset({"--hard", "--merge", "--keep"})
_MOVING = frozenset("checkout switch merge rebase reset".split())  # noqa: SIM905
_MOST_NAMED = 5


async def held_by(call: JudgedCall, ask: AskHeld) -> HeldFiles | None:
    """Return the protected files that a command of git in a call would have to change; None if there are none."""
    if call.reach is None or call.works_elsewhere:
        return None
    for revision in dict.fromkeys(found for words in call.reach.commands for found in _revisions(words)):
        if (held := await ask(revision)) is not None:
            return held
    return None


def explained(held: HeldFiles) -> str:
    """Return why a command is not run in the sandbox, a sentence without a full stop."""
    more = len(held.paths) - _MOST_NAMED
    named = ", ".join(held.paths[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"it changes or removes {named}, which the sandbox protects, so git would stop half way"


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
