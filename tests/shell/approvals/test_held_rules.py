"""Rules where the sandbox confines whatever a program does: broad inside, exact outside, never above a deny rule."""

import pytest

from kaa.shell.approvals.judgement import Allowed, Denied, Doubtful
from tests.shell.approvals.judging import CONFINED, EFFECTIVE, FULL_ACCESS, UNCONFINED, Confinement, bash, verdict
from tests.support.tables import each


@each(
    ("command", "suggestion"),
    [
        ("pytest -q tests", "pytest *"),
        ("python script.py --fast", "python *"),
        ("python3 -m pytest -q", "python3 -m pytest *"),
        ("node build.js", "node *"),
        ("make test", "make *"),
        ("sed -n 1p a", "sed *"),
        ("./run.sh now", "./run.sh *"),
        (".venv/bin/ruff check", ".venv/bin/ruff *"),
        ("git commit -m 'a b'", "git commit *"),
        ("git cherry-pick x", "git cherry-pick *"),
        ("cargo run -- --fast", "cargo run *"),
        ("npm install x", "npm install *"),
        ("npm run build -- x", "npm run build *"),
        ("uv run pytest -q", "uv run pytest *"),
        ("npx eslint src", "npx eslint *"),
        # What could be any program, and what an option precedes, stays exact.
        ("bash -c ls", "bash -c ls"),
        ("env -i ls", "env -i ls"),
        ("sudo ls", "sudo ls"),
        ("timeout 5 ls", "timeout 5 ls"),
        ("uv run bash -c ls", "uv run bash -c ls"),
        ("npx -y eslint", "npx -y eslint"),
        ("git -c a=b log", "git -c a=b log"),
        ("git stash drop", "git stash drop"),
    ],
)
def test_what_is_offered_is_the_program_with_any_arguments(command: str, suggestion: str) -> None:
    doubt = bash(command, confinement=EFFECTIVE)

    assert isinstance(doubt, Doubtful)
    assert doubt.suggestion == f"bash: {suggestion}"
    assert bash(command, confinement=EFFECTIVE, allow=[doubt.suggestion]) == Allowed()


@pytest.mark.parametrize("path", ["README.md", "src/a/b.py", "/project/new"])
def test_what_is_offered_for_an_edit_is_all_edits_in_the_project(path: str) -> None:
    doubt = verdict("write", {"path": path}, confinement=EFFECTIVE)

    assert isinstance(doubt, Doubtful)
    assert doubt.suggestion == "write: **"


@pytest.mark.parametrize("path", [".envrc", ".git/hooks/pre-commit", "sub/.vscode/tasks.json", "/etc/hosts", "../x"])
def test_all_edits_in_the_project_are_none_of_what_the_sandbox_protects(path: str) -> None:
    assert isinstance(verdict("write", {"path": path}, confinement=EFFECTIVE, allow=["write: **"]), Doubtful)


@each("command", ["python -c 'x'", "sort -o out in", "find . -exec ls {} +", "git -c a=b log"])
@each("confinement", [CONFINED, UNCONFINED, FULL_ACCESS])
def test_where_the_sandbox_does_not_hold_everything_such_a_rule_allows_nothing(
    command: str, confinement: Confinement
) -> None:
    rule = f"bash: {command.split(maxsplit=1)[0]} *"

    assert isinstance(bash(command, allow=[rule], confinement=confinement), Doubtful)
    assert bash(command, allow=[rule], confinement=EFFECTIVE) == Allowed()


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("bash -c 'rm -rf .git'", "bash: bash *"),
        ("find . -exec rm -rf {} +", "bash: find *"),
        ("xargs rm -rf", "bash: xargs *"),
        ("env git branch -D a", "bash: env *"),
        ("git stash drop", "bash: git stash *"),
    ],
)
def test_a_broad_rule_allows_no_loss(command: str, rule: str) -> None:
    assert isinstance(bash(command, allow=[rule], confinement=EFFECTIVE), Doubtful)


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("env git push", "bash: env *"),
        ("bash -c 'cd x; git push'", "bash: bash *"),
        ("xargs git push", "bash: xargs *"),
        ("find . -exec git push ;", "bash: find *"),
    ],
)
def test_a_deny_rule_stands_above_a_broad_rule(command: str, rule: str) -> None:
    command = command.replace(" ;", r" \;")

    assert isinstance(bash(command, allow=[rule], deny=["bash: git push"], confinement=EFFECTIVE), Denied)


@each(
    "command",
    [
        "test -v 'a[$(git push)]'",
        "test -v 'a[$(git pu\"\"sh)]'",
        "[ -v 'a[`git push`]' ]",
        "[[ 'a[$(git push)0]' -eq 1 ]]",
        "printf -v 'a[$(git push)]' x",
        "builtin unset 'a[$(git push)]'",
        "unset 'a[$(git push)]'",
        "let 'a[$(git push)]'",
        "declare 'a[$(git push)0]=1'",
        "typeset -i 'x=a[$(git push)0]'",
        "read 'a[$(git push)0]' < x",
        "wait -p 'a[$(git push)0]'",
        "mapfile -c1 -C 'git push' < f",
        "compgen -C 'git push' x",
        "compgen -W '$(git push)'",
        "complete -C'git push' x",
        r"git rebase -x 'git pu\sh' x",
        r"git rebase --exe='git pu\sh' x",
        r"git bisect run sh -c 'git pu\sh'",
    ],
)
def test_a_deny_rule_holds_for_code_in_words_that_are_evaluated(command: str) -> None:
    assert isinstance(bash(command, deny=["bash: git push"], confinement=EFFECTIVE), Denied)


@each(
    "command",
    [
        "set -- 'a[$(git push)]'; echo $(($1))",
        "set -- 'a[$(git push)]'; [[ $1 -eq 0 ]]",
        "for x in 'a[$(git push)]'; do echo $((x)); done",
        "select x in 'a[$(git push)]'; do ((x)); done",
        "printf -v x '%s' 'a[$(git push)]'; echo $((x))",
        "hash -p /usr/bin/git x; x push",
        r"make -f <(printf 'a:\n\tgit push\n')",
        "make -f<(cat x)",
        r"printf 'x\ngit push' | sh",
    ],
)
def test_what_may_be_code_that_a_rule_denies_is_asked_about(command: str) -> None:
    assert not isinstance(bash(command, deny=["bash: git push"], policy="auto", confinement=EFFECTIVE), Allowed)


@pytest.mark.parametrize(
    "command", ["set -e; ls", "for x in a 'b c'; do echo $x; done", "printf '%s' '$(x)'", "make -f x"]
)
def test_other_words_are_not(command: str) -> None:
    assert isinstance(bash(command, deny=["bash: git push"], policy="auto", confinement=EFFECTIVE), Allowed)


@pytest.mark.parametrize(
    "command",
    [
        "x='$(git push)'; echo ${x@P}",
        "x=a'[$''(git pu''sh)0]'; echo $((x))",
        "enable -f ./x.so push",
        r"test -v $'a[\x24(git push)]'",
        """[ "$x"'$(git push)' ]""",
    ],
)
def test_a_deny_rule_asks_where_what_is_evaluated_cannot_be_seen(command: str) -> None:
    assert isinstance(bash(command, policy="auto", deny=["bash: git push"], confinement=EFFECTIVE), Doubtful)


@each(
    "command",
    [
        "IFS=$'\\n'; ls",
        "test -n 'x y'",
        """[ "it's $(date)" = 'x' ]""",
        "printf '%s' '$(x)'",
        "x='a b'; ls",
        "CI=1 echo '`x`'",
    ],
)
def test_a_deny_rule_lets_words_alone_that_hold_no_code(command: str) -> None:
    assert isinstance(bash(command, policy="auto", deny=["bash: git push"], confinement=EFFECTIVE), Allowed)


@each("command", ["make > x", "CI=1 make", "make $x", "make; ls", "make $(ls)", "/tmp/make"])
def test_a_broad_rule_covers_only_the_words_of_its_program(command: str) -> None:
    assert isinstance(bash(command, allow=["bash: make *"], confinement=EFFECTIVE), Doubtful)
