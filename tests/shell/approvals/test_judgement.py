"""Every policy against every risk, in every mode, with and without rules."""

from itertools import product
from typing import Literal

import pytest

from kaa.core.messages import Json
from kaa.shell.approvals.judgement import Allowed, Denied, Doubtful
from kaa.shell.settings import ApprovalPolicy
from tests.shell.approvals.judging import CONFINED, FULL_ACCESS, READ_ONLY, UNCONFINED, Confinement, bash, verdict
from tests.support.tables import each

_CALLS: dict[str, tuple[str, dict[str, Json]]] = {
    "read": ("read", {"path": "a.py"}),
    "write": ("write", {"path": "src/a.py"}),
    "command": ("bash", {"command": "make test"}),
    "destructive": ("bash", {"command": "git clean -fd"}),
    "write elsewhere": ("write", {"path": "/etc/hosts"}),
    "protected": ("edit", {"path": ".vscode/tasks.json"}),
    "outside": ("deploy", {"to": "production"}),
    "unknown tool": ("surprise", {}),
}
_POLICIES: tuple[ApprovalPolicy, ...] = ("ask", "auto", "never", "step")
Decision = Literal["+", "?"]

# Which calls run (+) and which are in doubt (?) under ask, auto, never and step. Nobody to ask: a doubt is a denial.
_MATRIX: list[tuple[Confinement, dict[str, str]]] = [
    (
        CONFINED,
        {
            "read": "+++?",
            "write": "?++?",
            "command": "?++?",
            "destructive": "????",
            "write elsewhere": "????",
            "protected": "????",
            "outside": "????",
            "unknown tool": "????",
        },
    ),
    (
        READ_ONLY,
        {"read": "+++?", "write": "????", "command": "?++?", "destructive": "????", "outside": "????"},
    ),
    (
        UNCONFINED,
        {"read": "+++?", "write": "????", "command": "????", "destructive": "????", "outside": "????"},
    ),
    (
        FULL_ACCESS,
        {
            "read": "+++?",
            "write": "?++?",
            "command": "?++?",
            "destructive": "????",
            "write elsewhere": "?++?",
            "protected": "?++?",
            "outside": "?++?",
        },
    ),
]


@each(
    ("confinement", "what", "policy", "decision"),
    [
        pytest.param(held, what, policy, decision, id=f"{held.mode}-{held.confined}-{what}-{policy}")
        for held, row in _MATRIX
        for what, decisions in row.items()
        for policy, decision in zip(_POLICIES, decisions, strict=True)
    ],
)  # fmt: skip
def test_policy_and_risk_decide(
    confinement: Confinement, what: str, policy: ApprovalPolicy, decision: Decision
) -> None:
    tool, arguments = _CALLS[what]

    found = verdict(tool, arguments, policy=policy, confinement=confinement)

    assert isinstance(found, Allowed if decision == "+" else Doubtful)


@each("policy", _POLICIES)
@each(
    ("what", "rule"),
    [
        ("read", "read: *.py"),
        ("write", "write: src/**"),
        ("write", "write"),
        ("command", "bash: make test"),
        ("command", "bash"),
        ("outside", "deploy"),
        ("protected", "edit"),
    ],
)
def test_deny_rules_win_in_every_policy_and_over_allow_rules(what: str, rule: str, policy: ApprovalPolicy) -> None:
    tool, arguments = _CALLS[what]
    allow = ["bash: make test", "read", "write", "deploy", "outside edit"]

    found = verdict(tool, arguments, policy=policy, allow=allow, deny=[rule], confinement=FULL_ACCESS)

    assert found == Denied(f"the rule {rule!r} forbids it")


@each("policy", ["ask", "auto", "never"])
@each(
    ("what", "rule", "leaves"),
    [
        ("write", "write: src/**", False),
        ("write", "write", False),
        ("write", "outside write", True),
        ("command", "bash: make test", False),
        ("command", "outside bash: make test", True),
        ("destructive", "bash: git clean -fd", False),
        ("write elsewhere", "outside write: /etc/hosts", True),
        ("protected", "outside edit", True),
        ("outside", "deploy", False),
    ],
)
def test_allow_rules_end_the_doubt_except_in_step(what: str, rule: str, leaves: bool, policy: ApprovalPolicy) -> None:
    tool, arguments = _CALLS[what]

    assert verdict(tool, arguments, policy=policy, allow=[rule]) == Allowed(leaves)
    assert isinstance(verdict(tool, arguments, policy="step", allow=[rule]), Doubtful)


@pytest.mark.parametrize(
    ("what", "rule"),
    [("write elsewhere", "write: /etc/hosts"), ("protected", "write"), ("protected", "edit"), ("write", "read")],
)
def test_a_rule_without_outside_lets_nothing_out(what: str, rule: str) -> None:
    tool, arguments = _CALLS[what]

    assert isinstance(verdict(tool, arguments, allow=[rule]), Doubtful)
    assert isinstance(verdict(*_CALLS["command"], allow=["bash: make test"], confinement=UNCONFINED), Doubtful)


def test_a_command_leaves_the_sandbox_only_if_all_of_it_may() -> None:
    allow = ["outside bash: docker ps", "bash: git status"]

    assert bash("docker ps", allow=allow) == Allowed(outside=True)
    assert bash("docker ps; git status", allow=allow) == Allowed(outside=False)
    assert isinstance(bash("docker ps; git status", allow=allow, confinement=UNCONFINED), Doubtful)


@pytest.mark.parametrize(
    ("command", "policy"),
    [
        *product(["$tool push", "echo 'git push", "eval $x", "git $x"], ("auto", "never")),
        ("find -exec " * 1400, "auto"),  # too long to be read, as what follows
        ("x" * 20_000, "never"),
    ],
)
def test_what_a_deny_rule_may_hold_for_is_in_doubt_and_no_rule_allows_it(command: str, policy: ApprovalPolicy) -> None:
    assert bash(command, policy=policy) == Allowed()

    doubt = bash(command, policy=policy, deny=["bash: git push"])

    assert isinstance(doubt, Doubtful)
    assert "'bash: git push' may forbid it" in doubt.reasons[0]
    assert not doubt.rules_count


@each(
    "command",
    [
        "bash <<< 'git push'",
        "sh <<EOF\ngit push\nEOF",
        "echo git push | sh",
        "printf 'git push' > x; ./x",
        "cat > x <<EOF\ngit push\nEOF\nsh x",
        "alias p='git push'\np",
        "GIT_PAGER='git push' git log",
        "export PROMPT_COMMAND='git push'",
        "echo push | xargs git",
        "echo push | xargs -I{} git {}",
        "parallel git ::: push",
        "git p",
        "git submodule foreach 'git push'",
        "git -c core.sshCommand='git push' fetch",
        "python3 -c \"import os; os.system('git push')\"",
        "python3 -c \"import subprocess; subprocess.run(['git', '-C', 'x', 'push'])\"",
        "perl -e 'exec qw(git push)'",
        "awk 'BEGIN{system(\"git push\")}'",
        "sed '1e git push' a",
        "vim -c '!git push'",
        "make SHELL='git push'",
        "flatpak-spawn --host git push",
        "unknown-runner --x git push",
        "uv run git push",
        "nix-shell --run 'git push'",
        "ssh host 'cd x; git $1'",
        "ed -s <<< '!git push'",
        "vim -es <<< '!git push'",
        "echo '.shell git push' | sqlite3",
        "git grep -O'git push' x",
        "git grep -nO'git push' x",
        "rsync -ze'git push' a b:",
        "ls | xargs -I % % push",
        "ls | xargs -0I% sh -c 'git %'",
        "ls | xargs -i% git %",
        "ls | xargs --replace=% git %",
        "ls | xargs -J % git % origin",
        "find /usr/bin -name git -exec {} push \\;",
        "BASH_CMDS[x]=/usr/bin/git; x push",
        "declare -A BASH_ALIASES=([x]=git); x push",
        "printf -v 'BASH_C'MDS[x] /usr/bin/git; x push",
        "alias x=git; x push",
        "concurrently -k 'npm start' 'cd x && git push'",
        "nodemon --exec='sudo git push'",
        "cargo watch -s 'git $1'",
    ],
)
def test_what_may_run_a_denied_program_in_another_way_is_in_doubt(command: str) -> None:
    doubt = bash(command, policy="auto", deny=["bash: git push"])

    assert isinstance(doubt, Doubtful)
    assert "'bash: git push' may forbid it" in doubt.reasons[0]


@each(
    ("command", "rule"),
    [
        ("git commit -m 'say that git push is denied'", "git push"),
        ("git add -A && python3 -m pytest -k push", "git push"),
        ("git stash push", "git push"),
        ("git -c alias.p=push status", "git push"),
        ("grep -rn 'git push' docs | sed 's/a/b/'", "git push"),
        ("cat > docs/push.md <<EOF\ngit push\nEOF", "git push"),
        ("find . -name push -exec grep git {} +", "git push"),
        ("python3 scripts/push.py", "git push"),
        ("git lfs install", "git push"),
        ("git log --oneline | head", "git push"),
        ("git for-each-repo --config=maintenance.repo fetch", "git push"),
        ("git subtree add --prefix x o main", "git push"),
        ("git commit -m'git push is denied' -q", "git push"),
        ("make test", "docker"),
        ("python3 docker.py", "docker"),
        ("cat docker/notes | head", "docker"),
        ("npm run build", "npm publish"),
        ("python3 -m pip download x", "pip install"),
        ("concurrently 'npm start' 'tell of git push'", "git push"),
        ("find . -xdev -name push -exec wc {} +", "git push"),
        ("ls | xargs -I% cp % push", "git push"),
    ],
)
def test_a_deny_rule_leaves_other_work_alone(command: str, rule: str) -> None:
    assert bash(command, policy="auto", deny=[f"bash: {rule}"]) == bash(command, policy="auto")


def test_a_module_of_python_may_be_the_program_of_its_name() -> None:
    assert isinstance(bash("python3 -m pip install x", policy="auto", deny=["bash: pip install"]), Doubtful)


@each(
    "command",
    [
        "git push",
        "cd x && git push origin",
        "git -C x push",
        "git -c a=b --no-pager push",
        "sudo git push",
        "env A=1 git push",
        "sh -c 'git push'",
        "xargs git push",
        "find . -exec git push \\;",
        "nohup timeout 5 git push &",
        "echo $(git push)",
        "/usr/bin/git push",
        "/usr/lib/git-core/git-push origin",
        "git-push",
        "git -c alias.p=push p",
        "git -c 'alias.p=-C x push' p origin",
        "git -c alias.P='!cd x && git push' p",
        "unshare -r git push",
        "setpriv --reuid 1000 --clear-groups git push",
        "prlimit --nofile=9 git push",
        "nsenter -t 1 -a git push",
        "env -S 'git push'",
        "env -iS'git push'",
        "env --split-string='git push'",
        "busybox sh -c 'git push'",
        "eval 'git push'",
        "f() { git push; }; f",
        "trap 'git push' EXIT",
        "command -p git push",
        "exec -a x git push",
        "linux64 git push",
        "git for-each-repo --config=a push",
        "git for-each-repo --keep-going --config a -- push origin",
        "git -C x subtree push --prefix x o main",
        "git send-pack origin main",
        "hub push origin",
        "sudo -iu me git push",
        "ls | xargs -0I % git push %",
        "ls | entr -r git push",
        "sem -j 4 'git push'",
        "fd -xgit push",
        "fd --exec=git push",
        "yadm push",
    ],
)
def test_denied_commands_are_found_behind_others(command: str) -> None:
    assert bash(command, policy="auto", deny=["bash: git push"]) == Denied("the rule 'bash: git push' forbids it")


@each(
    ("path", "free"),
    [
        ("a.py", True),
        ("./src/../a.py", True),
        ("/project/a.py", True),
        ("/tmp/x", True),
        ("../x", False),
        ("/project/../x", False),
        ("/projects/x", False),
        ("~/x", False),
        ("/project", False),
        (".git/config", False),
        ("sub/.git/hooks/x", False),
        (".GIT/config", False),
        (".kaa/settings.json", False),
        (".envrc", False),
        (".gitignore", True),
        ("sub/.envrc", False),
        ("sub/.husky", True),
        ("@/etc/hosts", False),
        ("a\0b", False),
        ("", False),
    ],
)
def test_writes_are_free_below_writable_directories_but_for_what_others_execute(path: str, free: bool) -> None:
    assert (verdict("write", {"path": path}, policy="auto") == Allowed()) is free


@each(
    ("path", "leads_to", "free"),
    [
        ("notes", "/home/me/.bashrc", False),
        ("notes", "/project/.git/hooks/pre-commit", False),
        ("notes", "/project/.envrc", False),
        (".envrc", "/project/src/env", False),
        ("sub/.git/config", "/project/config", False),
        ("/home/me/link/a.py", "/project/a.py", True),
        ("a.py", "/project/src/a.py", True),
        ("a.py", "/tmp/a.py", True),
    ],
)
def test_writes_are_judged_by_where_they_lead_and_protected_names_also_as_they_are_given(
    path: str, leads_to: str, free: bool
) -> None:
    assert (verdict("write", {"path": path}, policy="auto", leads_to=leads_to) == Allowed()) is free


def test_an_allow_rule_is_for_where_a_path_leads() -> None:
    allow = ["outside write: generated/**"]

    through_a_link = verdict("write", {"path": "generated/x"}, allow=allow, leads_to="/home/me/x")
    straight = verdict("write", {"path": "link/x"}, allow=allow, leads_to="/project/generated/x")

    assert isinstance(through_a_link, Doubtful)
    assert straight == Allowed(outside=True)


@pytest.mark.parametrize("arguments", [{}, {"path": 5}, {"path": None}, {"path": ["a"]}])
def test_a_write_without_a_path_is_in_doubt(arguments: dict[str, Json]) -> None:
    assert isinstance(verdict("write", arguments, policy="auto"), Doubtful)


def test_a_path_is_found_under_the_names_that_other_agents_have_for_it() -> None:
    assert verdict("write", {"file_path": "a.py"}, policy="auto") == Allowed()
    assert isinstance(verdict("write", {"file_path": "/etc/x"}, policy="auto"), Doubtful)
    assert isinstance(verdict("write", {"file_path": "a.py", "path": "/etc/x"}, policy="auto"), Doubtful)


@pytest.mark.parametrize("arguments", [{}, {"command": 5}, {"command": None}])
def test_a_command_that_is_no_text_is_allowed_by_no_rule(arguments: dict[str, Json]) -> None:
    assert isinstance(verdict("bash", arguments, allow=["bash: make *"]), Doubtful)


@each(
    ("tool", "arguments", "confinement", "expected"),
    [
        ("bash", {"command": "make test"}, CONFINED, "bash: make test"),
        ("bash", {"command": "git commit -m 'a b'"}, CONFINED, "bash: git commit *"),
        ("bash", {"command": "npm run build -- x"}, CONFINED, "bash: npm run build *"),
        ("bash", {"command": "git push --force"}, CONFINED, "bash: git push --force"),
        ("bash", {"command": "git log --output=x"}, CONFINED, "bash: git log --output=x"),
        ("bash", {"command": "echo '*' a\\ b"}, CONFINED, "bash: echo '*' 'a b'"),
        ("bash", {"command": "ls x && cat y; ls x"}, CONFINED, "bash: ls x\nbash: cat y"),
        ("bash", {"command": "ls $x"}, CONFINED, None),
        ("bash", {"command": "docker ps"}, UNCONFINED, "outside bash: docker ps"),
        ("write", {"path": "src/a/b.py"}, CONFINED, "write: src/a/**"),
        ("write", {"path": "README.md"}, CONFINED, "write: README.md"),
        ("write", {"path": "/etc/ho[s]ts"}, CONFINED, "outside write: /etc/ho\\[s]ts"),
        ("deploy", {}, CONFINED, "deploy"),
    ],
)  # fmt: skip
def test_the_rule_offered_would_have_allowed_the_call(
    tool: str, arguments: dict[str, Json], confinement: Confinement, expected: str | None
) -> None:
    doubt = verdict(tool, arguments, confinement=confinement)

    assert isinstance(doubt, Doubtful)
    assert doubt.suggestion == expected
    if expected is not None:
        after = verdict(tool, arguments, confinement=confinement, allow=expected.splitlines())
        assert isinstance(after, Allowed)
