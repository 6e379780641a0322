"""What asks even in `auto`: commands that throw work away."""

import pytest

from kaa.shell.approvals.judgement import Allowed, Denied, Doubtful
from tests.shell.approvals.judging import bash
from tests.support.tables import each


def warning(command: str, changed: tuple[str, ...] | None = None) -> str | None:
    verdict = bash(command, policy="auto", changed=changed)
    assert not isinstance(verdict, Denied)
    return verdict.warning if isinstance(verdict, Doubtful) else None


@each(
    ("command", "lost"),
    [
        ("git reset --hard", "all uncommitted changes"),
        ("git -C sub reset --hard HEAD~1", "all uncommitted changes"),
        ("git -c a=b --no-pager clean -fdx", "does not track"),
        ("git checkout -f main", "changes"),
        ("git checkout -- a b", "in a, b"),
        ("git checkout .", "in ."),
        ("git checkout HEAD~1 src", "in src"),
        ("git restore .", "in ."),
        ("git restore --staged --worktree x", "in x"),
        ("git switch --discard-changes main", "changes"),
        ("git stash drop", "stashed"),
        ("git stash clear", "stashed"),
        ("git branch -D topic", "topic"),
        ("git branch --delete --force topic", "topic"),
        ("git push --force", "remote"),
        ("git push -f origin main", "remote"),
        ("git push --force-with-lease", "remote"),
        ("git push origin +main", "remote"),
        ("git push --mirror", "remote"),
        ("git push origin --delete topic", "topic on the remote"),
        ("git push origin :topic", ":topic on the remote"),
        ("git reflog expire --expire=now --all", "record"),
        ("git filter-branch --tree-filter x", "history"),
        ("git worktree remove -f x", "worktree"),
        ("rm -rf build", "build"),
        ("rm -r -- a b c d", "a, b, c, 1 more"),
        ("rm -f x", "x"),
        ("rm x", "deletes x"),
        ("rm -i -v x", "deletes x"),
        ("unlink x", "deletes x"),
        ("unlink -- x", "deletes x"),
        ("cp /dev/null x", "content of x"),
        ("cp -f /dev/null -- x", "content of x"),
        ("find . -name x -exec rm -- {} \\;", "all files it finds"),
        ("find . -name x -exec unlink {} \\;", "deletes {}"),
        ("find . -exec cp /dev/null {} \\;", "content of {}"),
        ("rm -rf $x", "what is computed"),
        ("rm -rf /tmp/../etc", "/tmp/../etc"),
        ("rm -rf /tmp/a b", "b"),
        ("find . -name x -delete", "all files it finds"),
        ("shred x", "x"),
        ("truncate -s 0 x", "x"),
        ("dd if=/dev/zero of=x", "x"),
        ("mkfs.ext4 /dev/sda1", "/dev/sda1"),
        ("cat x > /dev/sda", "disk"),
        ("chmod -R 777 /", "everything in /"),
        ("chown -R me ~", "what is computed"),
        ("kill -9 -1", "every process"),
        ("docker system prune -af", "unused"),
        ("docker compose down -v", "volumes"),
        ("docker volume rm data", "data"),
        ("psql -c 'DROP TABLE users'", "database"),
        # Wherever it stands, and whoever runs it.
        ("make && rm -rf x", "x"),
        ("echo $(rm -rf x)", "x"),
        ("f() { rm -rf x; }; f", "x"),
        ("sudo -u root rm -rf x", "x"),
        ("env -i A=1 rm -rf x", "x"),
        ("nohup nice -n 5 rm -rf x", "x"),
        ("timeout -s KILL 5 rm -rf x", "x"),
        ("ls | xargs -n 1 rm -rf", "what is computed"),
        ("find . -name x -exec rm -rf {} +", "all files it finds"),
        ("sh -c 'cd y; rm -rf x'", "x"),
        ("bash -lc \"git reset --hard\"", "all uncommitted changes"),
        ("eval rm -rf x", "x"),
        ("sh -c \"sh -c 'rm -rf x'\"", "x"),
        ("command rm -rf x", "x"),
        ("/bin/rm -rf x", "x"),
        ("A=1 rm -rf x 2>/dev/null", "x"),
        ("cat <<E\n$(rm -rf x)\nE", "x"),
    ],
)  # fmt: skip
def test_what_would_be_lost_is_said(command: str, lost: str) -> None:
    found = warning(command)

    assert found is not None
    assert lost in found


@each(
    "command",
    [
        "git reset HEAD x",
        "git reset --soft HEAD~1",
        "git clean -n",
        "git checkout -b topic",
        "git checkout",
        "git switch main",
        "git restore --staged x",
        "git stash",
        "git stash pop",
        "git branch -d topic",
        "git push",
        "git push -u origin topic",
        "rm --help",
        "rm /tmp/x",
        "rm -rf /tmp/x",
        "unlink /tmp/x",
        "cp /dev/null /tmp/x",
        "cp a b",
        "find . -name x",
        "dd if=x of=/dev/null",
        "chmod +x run.sh",
        "chmod -R u+w build",
        "kill -9 123",
        "docker ps",
        "echo rm -rf x",
        "grep -rf patterns x",
        "command -v rm",
        "timeout 5 grep rm x",
        "psql -c 'SELECT 1'",
    ],
)
def test_what_loses_nothing_does_not_warn(command: str) -> None:
    assert warning(command) is None


@each(
    ("command", "changed", "warns"),
    [
        ("git checkout main", (), False),
        ("git checkout main", ("src/main.py",), False),
        ("git checkout -q main; echo rc=$?", (), False),
        ("cd $x; git checkout -q main", (), True),
        ("git checkout main", ("main/a.py",), True),
        ("git checkout -- src/a.py", ("src/a.py",), True),
        ("git checkout -- a.py", ("src/a.py",), True),
        ("git checkout -- src", ("src/a.py",), True),
        ("git checkout -- src", ("lib/a.py",), False),
        ("git checkout .", ("lib/a.py",), True),
        ("git checkout .", (), False),
        ("git restore $x", ("lib/a.py",), True),
        ("git reset --hard", (), False),
        ("git reset --hard", ("a",), True),
        ("git checkout main", None, True),
        ("git clean -fd", (), False),
        ("git clean -fd", ("new",), True),
        ("git clean -fdx", (), True),
        ("git reset --hard; rm -rf x", (), True),
    ],
)
def test_what_git_knows_of_changes_decides_where_only_they_are_lost(
    command: str, changed: tuple[str, ...] | None, warns: bool
) -> None:
    assert (warning(command, changed) is not None) is warns


def test_a_rule_with_an_open_end_does_not_allow_destruction_and_one_for_exactly_it_does() -> None:
    assert isinstance(bash("rm -rf build", policy="auto", allow=["bash: rm *"]), Doubtful)
    assert bash("rm -rf build", policy="auto", allow=["bash: rm -rf build"]) == Allowed()


@each(
    ("command", "kept", "asks"),
    [
        ("rm -rf build", ("build",), False),
        ("rm -rf build", (), True),
        ("rm x", ("x",), False),
        ("rm x", (), True),
        ("rm *.o", ("*.o",), False),
        ("unlink x", ("x",), False),
        ("unlink x", (), True),
        ("cp /dev/null x", ("x",), False),
        ("cp /dev/null x", (), True),
        ("find . -name x -exec rm -- {} \\;", (".",), False),
        ("find . -name x -exec rm -- {} \\;", ("{}",), True),
        ("find . -name x -exec rm -f -- {} +", (".",), False),
        ("find . -name x -exec rm {} \\;", (), True),
        ("find . -name x -exec unlink {} \\;", (".", "{}"), True),
        ("find . -exec cp /dev/null {} \\;", (".", "{}"), True),
        ("rm -rf build dist", ("build",), True),
        ("rm -rf build && npm run build", ("build",), False),
        ("rm -rf -- -x", ("-x",), False),
        ("rm -rf -- -x", (), True),
        ("find src -name x -delete", ("src",), False),
        ("find -delete", (".",), False),
        ("find -L src -delete", ("src",), True),
        ("truncate -s 0 log", ("0", "log"), False),
        ("dd if=a of=b", ("b",), False),
        ("shred x", ("x",), True),
        ("git reset --hard", ("a",), False),
        ("git reset --hard", (), True),
        ("git checkout -- a", ("a",), False),
        ("git restore .", ("a",), False),
        ("git clean -fd", ("a",), False),
        ("git clean -fdx", ("a",), True),
        ("git clean -fd -e x", ("a",), True),
        ("git stash drop", ("a", "."), True),
        ("git branch -D a", ("a", "."), True),
        ("docker volume rm a", ("a", "."), True),
        # Where the paths are not certain, nothing is.
        ("cd sub && rm -rf build", ("build",), True),
        ("cd sub && rm -rf build", ("sub/build",), True),
        ("cd sub && rm -rf build", ("build", "sub/build"), False),
        ("cd /project/sub; rm -rf build", ("build", "/project/sub/build"), False),
        ("cd sub; cd ..; rm -rf build", ("build", "sub/build"), True),
        ("ls; cd sub; rm -rf build", ("build", "sub/build"), True),
        ("cd -; rm -rf build", ("build", "-/build"), True),
        ("cd; rm -rf build", ("build",), True),
        ("cd $x; rm -rf build", ("build",), True),
        ("cd sub && git reset --hard", ("a", "sub/a"), True),
        ("rm -rf $x", ("build",), True),
        ("rm -f *.o", ("*.o",), False),
        ("rm -f '*.o'", ("[*].o",), False),
        ("rm -f '*.o'", ("*.o",), True),
        ("cd a && rm -f *.o", ("*.o", "a/*.o"), False),
        ("rm -f *.o *.a", ("*.o",), True),
        ("rm -f *.o; rm -f *.a", ("*.o",), True),
        ("rm -f *.o; rm -f $x", ("*.o",), True),
        ("ls | xargs rm -f; rm -f *.o", ("*.o",), True),
        ("sudo rm -f *.o", ("*.o",), True),
        ("shopt -s dotglob; rm -rf *", ("*",), True),
        ("rm -rf .*", (".*",), True),
        ("rm -rf a/.*/b", ("a/.*/b",), True),
        ("rm -f [ab].o", ("[ab].o",), True),
        ("rm -f {a,b}*", ("{a,b}*",), True),
        ("rm -f !(a)", ("!(a)",), True),
        ("rm -f ~/*", ("~/*",), True),
        ("rm -f $x*", ("*",), True),
        ("rm -rf /tmp/../*", ("a",), True),
        ("find . -name '*.pyc' -delete", (".",), False),
        ("find . -name *.pyc -delete", (".",), False),  # everything there is examined
        ("find . -name *.pyc -delete", (), True),
        ("find . -type d -name __pycache__ -exec rm -rf {} +", (".",), False),
        ("find a b -name x -type f -exec rm -f {} \\;", ("a", "b"), False),
        ("find a b -name x -type f -exec rm -f {} \\;", ("a",), True),
        ("find . -name x -exec rm -rf {} + -exec rm -rf y \\;", (".", "{}", "y"), True),
        ("find . -name x -exec rm -rf {} y +", (".", "{}", "y"), True),
        ("find . -name x -exec rm -rf {} +; ls | xargs -I{} rm -rf {}", (".", "{}"), True),
        ("ls | xargs -I{} rm -rf {}; find . -name x -exec rm -rf {} +", (".", "{}"), True),
        ("sudo find . -name x -exec rm -rf {} +", (".", "{}"), True),
        ("find $x -name x -delete", (".",), True),
        ("mv node_modules x; rm -rf x", ("x",), True),
        ("rm a; mv b c", ("a", "b"), False),
        ("rm a; mv b c", ("a",), True),
        ("mv -f b c d; rm a", ("a", "b", "c"), False),
        ("mv $x c; rm a", ("a",), True),
        ("mv -t c b; rm a", ("a", "b", "c"), True),
        ("find -L . -name x -exec rm -rf {} +", ("{}", "."), True),
        ("ls | xargs -I% rm -rf %", ("%",), True),
        ("ls | xargs rm -rf", (), True),
        ("sudo rm -rf build", ("build",), True),
        ("sh -c 'rm -rf build'", ("build",), True),
        ("git -C sub reset --hard", ("a",), True),
        ("GIT_WORK_TREE=x git reset --hard", ("a",), True),
    ],
)
def test_what_checkpoints_keep_is_not_asked_about(command: str, kept: tuple[str, ...], asks: bool) -> None:
    verdict = bash(command, policy="auto", changed=("a",), kept=kept)

    assert isinstance(verdict, Doubtful) is asks


@pytest.mark.parametrize(("ignored", "asks"), [(("build",), True), (("build", "dist"), False), ((), True)])
def test_generated_files_are_lost_unless_git_ignores_them(ignored: tuple[str, ...], asks: bool) -> None:
    verdict = bash("rm -rf build dist src", policy="auto", kept=("src",), generated=("build", "dist"), ignored=ignored)

    assert isinstance(verdict, Doubtful) is asks


def test_staged_content_that_only_the_index_has_is_asked_about() -> None:
    assert isinstance(bash("git reset --hard", policy="auto", changed=("a",), kept=("a",), mixed=True), Doubtful)


def test_a_rule_covers_a_loss_that_can_be_undone() -> None:
    assert isinstance(bash("rm -rf build", allow=["bash: rm *"], kept=("build",)), Allowed)
    assert isinstance(bash("rm -rf build", allow=["bash: rm *"]), Doubtful)


def test_the_question_says_what_undo_restores() -> None:
    verdict = bash("rm -rf build", kept=("build",))

    assert isinstance(verdict, Doubtful)
    assert "it deletes build, which /undo restores" in verdict.reasons
    assert verdict.warning is None


def test_the_question_says_that_undo_restores_only_a_part_of_what_kaa_did_not_read() -> None:
    verdict = bash("rm -rf data", unread=18_556)

    assert isinstance(verdict, Doubtful)
    assert verdict.warning == (
        "deletes data, and /undo may restore only a part: kaa has not read 18,556 files of the project yet"
        " (checkpoints.waitForAllFiles has commands wait for that)"
    )


@each(
    ("command", "asks"),
    [
        ("T=$(mktemp -d) && touch $T/a && rm -rf $T", False),
        ('dir="$(mktemp -d -t x.XXXX)"; trap \'rm -rf "${dir}"\' EXIT; touch "$dir/a"', False),
        ("f=$(mktemp) || exit 1; echo x > $f; rm -f $f", False),
        ("T=$(mktemp -d); rm -rf $T/../..", True),
        ("T=$(mktemp -d); rm -rf $T $HOME", True),
        ("T=$(mktemp -d); T=$HOME; rm -rf $T", True),
        ("T=$(mktemp -d); read T; rm -rf $T", True),
        ("T=$(mktemp -d); for T in *; do rm -rf $T; done", True),
        ("T=$(mktemp -d); printf -v T %s ~; rm -rf $T", True),
        ("T=$(mktemp -d; echo /); rm -rf $T", True),
        ("T=$(mktemp -d $(pwd)/x); rm -rf $T", True),
        ("rm -rf $T", True),
    ],
)
def test_what_a_command_has_made_itself_in_tmp_it_may_remove(command: str, asks: bool) -> None:
    assert (warning(command) is not None) is asks
