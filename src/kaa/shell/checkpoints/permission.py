"""How much may be copied of a project, and asking the user before it is much."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import msgspec

from kaa.builtin.amounts import counted
from kaa.ext.asking import Asker, confirm
from kaa.shell.settings import CheckpointSettings
from kaa.workspace.checkpoints.contract import CheckpointLimits, Permit

_MEGABYTE = 1024 * 1024
_MODE = 0o600


def limits_of(settings: CheckpointSettings) -> CheckpointLimits:
    """What may be kept of a project."""
    limits = CheckpointLimits(settings.max_megabytes, settings.max_days, settings.announce_megabytes)
    return msgspec.structs.replace(limits, first_files=0) if settings.wait_for_all_files else limits


def permission(asker: Asker, notify: Callable[[str], None], folder: Path) -> Permit:
    """Asks the user before much is copied. Where nobody can be asked, it is copied, and the user is told.

    A yes holds for the project, and the user is told once for each project: the first sessions in a large one copy a
    part each.
    """
    permitted, told = folder / "permitted", folder / "told"

    async def permit(files: int, size: int) -> bool:
        if permitted.exists():
            return True
        amount = f"{size / _MEGABYTE:,.0f} MB ({counted(files, 'file')})"
        if not asker.can_ask:
            if not told.exists():
                notify(
                    f"checkpoints: the first one of this project copies {amount}; set checkpoints.enabled to false, or "
                    "let .gitignore leave folders out, if that is not wanted"
                )
                _note(told)
            return True
        if not await confirm(
            asker,
            f"Copy {amount} of this project, so that /undo can restore files?",
            "This is the first checkpoint of the project; later ones copy only what changed.\n"
            "No turns checkpoints off for this session: kaa then cannot undo changes to files.\n"
            "A .gitignore can leave folders out; checkpoints.announceMegabytes in settings.json says from how many "
            "MB on kaa asks.",
        ):
            return False
        _note(permitted)
        return True

    return permit


def _note(file: Path) -> None:
    with contextlib.suppress(OSError):  # on a full disk, it is said again the next time
        file.touch(_MODE)
