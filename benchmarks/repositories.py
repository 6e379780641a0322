"""Projects of many files."""

import shutil
import subprocess
import time
from pathlib import Path

from benchmarks.edits import EditedFile
from benchmarks.process_tree import RunFailedError

_FILES_PER_DIRECTORY = 20
_LINE = "x = compute(x, offset=12)  # a line of code\n"

# What was changed just before an agent or git looks at it is looked at twice.
OLD_SECONDS = 1.0


def fill(project: Path, files: int) -> int:
    """Write so many different files of 2 KB into a project; returns their bytes."""
    size = 0
    for number in range(files):
        path = project / f"d{number // _FILES_PER_DIRECTORY}" / f"f{number % _FILES_PER_DIRECTORY}.py"
        if not number % _FILES_PER_DIRECTORY:
            path.parent.mkdir(parents=True)
        size += path.write_text(f"# {number}\n" + _LINE * 50)
    time.sleep(OLD_SECONDS)
    return size


def repository(project: Path, files: int, edited: EditedFile, *, tracked: bool) -> Path:
    """Make a git repository with a file to edit and so many others, which git tracks or does not know; returns it.

    Raises:
        RunFailedError: there is no git on this machine.
    """
    if shutil.which("git") is None:
        raise RunFailedError("there is no git on this machine")
    fill(project, files)
    git(project, "init", "-q")
    (project / edited.name).write_text(edited.text)
    git(project, "add", "-A" if tracked else edited.name)
    git(project, "commit", "-qm", "all")
    git(project, "repack", "-adq")
    return project


def git(project: Path, *arguments: str) -> None:
    """Run git, which then does nothing in the background."""
    options = ("user.name=b", "user.email=b@b", "maintenance.auto=false", "gc.auto=0")
    subprocess.run(
        ["git", *(word for option in options for word in ("-c", option)), *arguments], cwd=project, check=True
    )
