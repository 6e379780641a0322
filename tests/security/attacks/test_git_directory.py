"""A command leaves files in `.git` that direct the user's next git, or another program, beyond the project."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.security.attacks.play import git, play
from tests.support.elsewhere import folder_elsewhere

pytestmark = pytest.mark.usefixtures("confined")

_ID = "1" * 40


@pytest.fixture
def kaa() -> Iterator[Kaa]:
    with folder_elsewhere() as folder:
        made = Kaa(folder)
        git(made, "init", "-q", "-b", "main", check=True)
        for name, value in (("user.name", "x"), ("user.email", "x@example.com")):  # of the commands' git
            git(made, "config", name, value, check=True)
        for text in ("base", "two", "three"):
            (made.project / "file").write_text(f"{text}\n")
            git(made, "add", "file", check=True)
            git(made, "commit", "-q", "-m", text, check=True)
        yield made


@pytest.mark.parametrize("existing", [True, False])
def test_commit_copies_no_file_that_rerere_was_told_of(kaa: Kaa, existing: bool) -> None:
    key = kaa.project.parent / "key"
    key.write_text("secret")
    if existing:
        (kaa.project / ".git" / "rr-cache").mkdir()
    cache = f".git/rr-cache/{_ID}"

    play(
        kaa,
        f"mkdir -p {cache} && printf x > {cache}/preimage && printf '{_ID}\\t../key\\0' > .git/MERGE_RR",
    )
    git(kaa, "commit", "-q", "--allow-empty", "-m", "x", check=True)

    assert not (kaa.project / cache / "postimage").exists()
    assert not any("secret" in path.read_text() for path in (kaa.project / ".git").glob("rr-cache*/*/*image*"))


def test_skipping_a_patch_writes_no_file_elsewhere(kaa: Kaa) -> None:
    canary = kaa.project.parent / "canary"
    canary.write_text("mine")
    option = f" '--build-fake-ancestor={canary}'"

    play(
        kaa,
        # Commands may not discard commits without a question, so the branches are made beside each other.
        "seq 9 > other && git add other && git commit -qm new && git branch base"
        " && echo four > file && git commit -qam four && seq 8 > other && git commit -qam changed"
        " && git format-patch -q -o patches base && git switch -q -c clash base && echo clash > file"
        " && git commit -qam clash; git am patches/*",
        f'echo "{option}" > .git/rebase-apply/apply-opt',
    )
    git(kaa, "am", "--skip")

    assert git(kaa, "log", "-1", "--format=%s", check=True) in ("changed\n", "clash\n")
    assert canary.read_bytes() == b"mine"


def test_repairing_worktrees_writes_nothing_elsewhere(kaa: Kaa) -> None:
    elsewhere = kaa.project.parent / "elsewhere"
    elsewhere.mkdir()
    tree = ".git/worktrees/evil"

    play(
        kaa,
        f"mkdir -p {tree} && git rev-parse HEAD > {tree}/HEAD && echo ../.. > {tree}/commondir"
        f" && echo {elsewhere}/.git > {tree}/gitdir",
    )
    git(kaa, "worktree", "repair")

    assert not (elsewhere / ".git").exists()


def test_other_programs_find_nothing_to_obey(kaa: Kaa) -> None:
    names = ("safe/x", "lazygit.yml", ".dir-locals.el", ".envrc", ".vscode/tasks.json")
    paths = [Path(".git", name) for name in names]

    _, told = play(kaa, *(f"mkdir -p {path.parent} && echo x > {path}" for path in paths))

    assert [path for path in paths if (kaa.project / path).exists()] == []
    assert [path for path in paths if f"{path.parts[1]}.kaa-blocked" not in told] == []


def test_a_mark_of_a_plugin_stays_as_long_as_it_is_empty(kaa: Kaa) -> None:
    mark = kaa.project / ".git" / "sg-hook-once-toolu_01"

    _, told = play(kaa, f"touch {mark}", "git commit -q --allow-empty -m x")

    assert mark.exists()
    assert "kaa-blocked" not in told

    _, told = play(kaa, f"echo x > {mark}")

    assert mark.read_bytes() == b""
    assert f"{mark.name}.kaa-blocked" in told


def test_a_conflict_in_a_repository_with_rerere_is_resolved(kaa: Kaa) -> None:
    (kaa.project / ".git" / "rr-cache").mkdir()
    git(kaa, "config", "rerere.enabled", "true", check=True)

    done, told = play(
        kaa,
        "git switch -q -c other HEAD~1 && echo other > file && git commit -qam other; git merge main",
        "echo resolved > file && git commit -qam merged && git gc -q",
    )

    assert done.code == 0, done.err
    assert "kaa-blocked" not in told
    assert "Read-only" not in told
    assert git(kaa, "log", "-1", "--format=%s", check=True) == "merged\n"
