"""Where a conversation is, now that it went elsewhere in its session, and what became of files."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kaa.core.messages import UserMessage
from kaa.frontends.interactive.transcript.notices import NoticeKind
from kaa.session.transcript import Transcript
from kaa.shell.navigating import Restore
from kaa.workspace.checkpoints.plans import FileConflict, RestoreResult, by_reason, named


class NavigationResult(NamedTuple):
    """Where it is.

    Attributes:
        message: what the user said there, to be said anew.
        files: what was done to files; None if they were left alone.
        files_problem: why nothing could be done to them; None if it could.
        gaps: of which turns nothing is kept, as in `RestorePlan`.
        entries: the conversation as it is now.
        remark: what of the messages that were left stays; empty if nothing is known.
    """

    restored: Restore
    message: UserMessage | None
    files: RestoreResult | None
    files_problem: str | None
    entries: Transcript
    gaps: Sequence[str] = ()
    remark: str = ""


def restored_files(there: NavigationResult) -> Iterator[tuple[str, NoticeKind]]:
    """What became of files, and of which importance that is."""
    if there.remark:
        yield f"{there.remark[:1].upper()}{there.remark[1:]}.", "info"
    if there.files is None:
        if there.files_problem is not None:
            yield f"Files are unchanged: {there.files_problem}", "info"
        return
    done = [
        f"{verb}: {named(paths)}"
        for action, verb in (("restore", "Restored"), ("create", "Recreated"), ("delete", "Deleted"))
        if (paths := [step.path for step in there.files.done if step.action == action])
    ]
    if done:
        yield "\n".join(done), "info"
    if partial := [step.path for step in there.files.done if step.is_partial]:
        yield f"As someone else left them between two changes of kaa's: {named(partial)}", "warning"
    if there.files.kept:
        yield f"Not restored:\n{_reasons(there.files.kept)}", "warning"
    if there.files.reduced:
        yield f"Restored in part:\n{_reasons(there.files.reduced)}", "warning"
    if there.files.failed:
        reasons = _reasons(there.files.failed)
        yield (
            f"Failed:\n{reasons}\nThe conversation did not move. Repeat the command when the cause is fixed, or select "
            "“The conversation only” there to continue without these files.",
            "error",
        )
    if there.gaps:
        yield "Not restored:\n" + "\n".join(there.gaps), "warning"


def _reasons(conflicts: Iterable[FileConflict]) -> str:
    return "\n".join(f"{paths}: {reason}" for paths, reason in by_reason(conflicts))
