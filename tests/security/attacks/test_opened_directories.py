"""A command leaves a file that the user's own program executes when it is started in a directory of the project.

The canary is a file outside that only a program run outside can make.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.security.attacks.play import git, play
from tests.support.elsewhere import folder_elsewhere

pytestmark = pytest.mark.usefixtures("confined")


@pytest.fixture
def kaa() -> Iterator[Kaa]:
    with folder_elsewhere() as folder:
        yield Kaa(folder)


@pytest.mark.parametrize("place", [".", "a/b/c"])
def test_a_debugger_executes_nothing(kaa: Kaa, canary: Path, place: str) -> None:
    lines = f"import os; os.system('{canary.with_name('evil')}')"

    play(kaa, f'mkdir -p {place}; echo "{lines}" > {place}/.pdbrc; echo pass > {place}/script.py')
    subprocess.run(
        [sys.executable, "-m", "pdb", "-c", "quit", "script.py"],
        cwd=kaa.project / place,
        env=kaa.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )

    assert (kaa.project / place / "script.py").exists()
    assert not canary.exists()


@pytest.mark.parametrize(
    ("key", "value", "user"),
    [
        ("alias.st", "-c core.fsmonitor={evil} status", "st"),
        ("alias.g", "grep --no-index --open-files-in-pager={evil} -e .", "g"),
        ("rebase.instructionFormat", "%s%nexec {evil}", "rebase --force-rebase HEAD~1"),
    ],
)
def test_git_executes_nothing_in_a_roundabout_way(kaa: Kaa, canary: Path, key: str, value: str, user: str) -> None:
    with_name = "git -c user.name=x -c user.email=x@example.com"
    commits = "; ".join(f"echo {text} > file; git add .; {with_name} commit -q -m {text}" for text in ("x", "y"))
    setting = f"git config {key} '{value.format(evil=canary.with_name('evil'))}'"

    play(kaa, f"git init -q new; cd new; {commits}; echo z > file; {setting}")
    if user.startswith("rebase"):
        git(kaa, "checkout", "-q", ".", at="new")
    git(kaa, *user.split(), at="new")

    assert (kaa.project / "new" / "file").exists()
    assert not canary.exists()


def test_what_opens_with_the_project_is_moved_away_and_reported(kaa: Kaa) -> None:
    names = (".helix/languages.toml", "a/.vscode/tasks.json", "a/b/.envrc", "a/x.code-workspace", ".hg/hgrc")
    make = "; ".join(f"mkdir -p $(dirname {name}); echo harm > {name}" for name in names)

    done, _ = play(
        kaa, f"{make}; mkdir -p .cargo; echo '[net]' > .cargo/config.toml; echo 'nodeLinker: pnp' > .yarnrc.yml"
    )

    assert [name for name in names if (kaa.project / name).exists()] == []
    assert (kaa.project / ".cargo" / "config.toml").exists()
    assert (kaa.project / ".yarnrc.yml").exists()
    assert "kaa-blocked" in done.err
