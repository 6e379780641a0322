import pytest

from kaa.ext.escalations import OUTSIDE
from kaa.shell.approvals.foresight import foreseen, removed_worktree
from kaa.shell.approvals.grammar import read
from kaa.shell.approvals.reach import reach
from tests.support.tables import each


@each(
    ("command", "reason"),
    [
        ("git push", "git push uses the network and your credentials"),
        ("git -C sub push -u origin x", "git push uses"),
        ("make && git push", "git push uses"),
        ("gh pr create --fill", "gh uses your credentials"),
        ("npm publish", "npm publish uses"),
        ("ssh me@example.com ls", "ssh uses"),
        ("rsync -a x host:/srv", "rsync uses ssh"),
        ("git clone git@github.com:a/b.git", "git clone uses ssh"),
        ("git fetch ssh://git@example.com/x", "git fetch uses ssh"),
        ("git commit -S -m x", "git commit signs"),
        ("git tag -s v1", "git tag signs"),
        ("python3 -m twine upload dist/x", "twine uses your credentials"),
    ],
)
def test_what_needs_credentials_is_foreseen(command: str, reason: str) -> None:
    (need,) = foreseen(reach(read(command)))

    assert need.escalation == OUTSIDE
    assert need.reason.startswith(reason)


@pytest.mark.parametrize("command", ["git worktree remove wt", "git -C sub worktree prune -v", "git worktree move a b"])
def test_what_takes_away_worktrees_that_the_sandbox_hides_is_foreseen(command: str) -> None:
    (need,) = foreseen(reach(read(command)))

    assert need.escalation == OUTSIDE


@pytest.mark.parametrize(
    "command",
    [
        "git submodule add https://example.com/lib.git",
        "git -C x submodule -q add -b main a b",
        "git submodule deinit x",
    ],
)
def test_what_git_would_leave_half_registered_is_foreseen(command: str) -> None:
    (need,) = foreseen(reach(read(command)))

    assert need.escalation == OUTSIDE
    assert "writes the configuration of git" in need.reason


@pytest.mark.parametrize(
    "words", ["../wt -b side", "-b side ../wt", "--reason 'for x' --lock ../wt main", "-q ../wt", "../wt"]
)
def test_a_worktree_where_nothing_can_be_written_is_foreseen_wherever_its_path_stands(words: str) -> None:
    asked: list[str] = []

    def is_beyond(path: str) -> bool:
        asked.append(path)
        return path.startswith("..")

    (need,) = foreseen(reach(read(f"git worktree add {words}")), is_beyond)

    assert need.escalation == OUTSIDE
    assert asked == ["../wt"]
    assert not foreseen(reach(read(f"git worktree add {words}".replace("../", ""))), is_beyond)


@each(
    ("command", "path"),
    [
        ("git worktree remove wt", "wt"),
        ("git worktree remove --force wt && git branch -d side", "wt"),
        ("git worktree remove a; git worktree remove b", None),
        ("git worktree remove wt; git worktree prune", None),
        ("git worktree remove wt; git push", None),
        ('git worktree remove "$x"', None),
    ],
)
def test_the_only_worktree_that_a_command_removes_is_known(command: str, path: str | None) -> None:
    assert removed_worktree(reach(read(command))) == path


@each(
    "command",
    [
        *("git worktree", "git worktree add wt", "git worktree list"),
        *(
            "git submodule update",
            "git commit -s -m x",
            "git stash push",
            "git fetch origin v1.2:refs/heads/x",
            "git clone ../other",
            "git log",
        ),
        *("gh --version", "npm run publish", "kubectl", "./gh pr create", "rsync -a a b", "cargo test", "git tag v1"),
        *("python -m twine --help", "python -m", 'python -m "$x"', "bin/python -m twine upload x"),
    ],
)
def test_what_needs_none_is_not(command: str) -> None:
    assert OUTSIDE not in [need.escalation for need in foreseen(reach(read(command)))]
