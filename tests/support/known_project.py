"""Makes a directory a project in which commands of the model could write in another run of kaa."""

from pathlib import Path

import pytest


def make_known(project: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Note a project in kaa's home, which this also makes the one of this process.

    Args:
        project: exists, as `home` does.
    """
    monkeypatch.setenv("KAA_DIR", str(home))
    status = project.stat()
    (home / "projects").write_text(f"{status.st_dev} {status.st_ino} {project}\n")
