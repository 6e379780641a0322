"""Ways around allow-lists that worked on other agents: each must ask, though its programs are allowed."""

from hypothesis import assume, given
from hypothesis import strategies as st

from kaa.shell.approvals.judgement import Allowed, Doubtful
from tests.shell.approvals.judging import bash
from tests.support.tables import each

# An allow-list as a careless user would write it.
_PROGRAMS = (
    "echo cat ls git rg grep sed awk gawk find xargs env nohup timeout tar sort make vim less man npm cd true head wc "
    "python python3.12 perl node ruby sh bash sudo ssh docker tee dd printf test read export eval exec source . "
    "command builtin npx uvx parallel watch strace gdb script busybox nice time doas man go jq curl pytest "
    "fd hash trap alias"
)
ALLOW = [
    "bash: git status *", "bash: git log *", "bash: git diff *", "bash: npm run *", "bash: npm test",
    *(f"bash: {name} *" for name in _PROGRAMS.split()),
]  # fmt: skip

_BYPASSES = [
    # CVE-2025-54795: quotes that end an argument of echo.
    'echo "\\"; touch x; echo \\""$(touch y)',
    "echo 'a'; evil",
    'echo ""; evil; echo ""',
    # CVE-2025-58764: rg runs a preprocessor.
    "rg --pre ./evil x",
    "rg --pre=./evil x",
    "rg --hostname-bin=./evil x",
    "rg -z x",
    "rg -uz x",
    # CVE-2025-64755, -66032: sed writes and executes, abbreviated and joined options.
    "sed -n 1e x",
    "sed 's/a/id/e' x",
    "sed -n 'w /tmp/x' y",
    "sed --expr=1e x",
    "sort --compress-prog=./evil x",
    "sort -o /etc/passwd x",
    "man --html=./evil x",
    "man -P ./evil x",
    "xargs -I{} sh -c {}",
    "history -a /tmp/x",
    "git diff --ext-diff",
    "git diff --output=.envrc",
    "git log --outp=x",
    "git log --textconv",
    "git grep -O./evil x",
    "git grep --open-files-in-pager=./evil x",
    "git ls-remote --upload-pa=./evil x",
    "git fetch --upload-pack=./evil x",
    "git clone ext::evil",
    "git rebase -x evil",
    "git bisect run evil",
    "git submodule foreach evil",
    "git config core.pager evil",
    "git evil",
    # awk.
    "awk 'BEGIN{system(\"id\")}'",
    "gawk -f x",
    # CVE-2026-24887: find executes and writes.
    "find . -exec evil {} \\;",
    "find . -execdir evil {} +",
    "find . -ok evil {} \\;",
    "find . -fprintf /tmp/x %p",
    "find . -delete",
    "fd -x evil",
    # CVE-2026-55582: options of git before the subcommand.
    "git -c alias.x=!evil x",
    "git -c core.fsmonitor=evil status",
    "git --exec-path=. status",
    "git --config-env=core.pager=X log",
    "git -C /elsewhere status",
    "git -p log",
    # CVE-2026-25722: cd changes what the rest means.
    "cd x && git status",
    "cd x; npm test",
    "pushd x && npm test",
    # CVE-2026-22708: variables.
    "PATH=. git status",
    "GIT_PAGER=evil git log",
    "RIPGREP_CONFIG_PATH=x rg y",
    "export PATH=. && git status",
    "PATH=.; git status",
    "read PATH; git status",
    "printf -v PATH .; git status",
    "for PATH in .; do git status; done",
    # Substitutions and expansions.
    "echo $(evil)",
    "echo `evil`",
    'echo "$(evil)"',
    'echo "`evil`"',
    "echo ${x:-$(evil)}",
    "echo $((a[$(evil)]))",
    "echo ${x@P}",
    "echo $HOME",
    "cat <(evil)",
    "echo x >(evil)",
    "cat <<E\n$(evil)\nE",
    "cat <<<$(evil)",
    "cat <<<x",
    "echo $'\\x41'",
    "git $x",
    "$x status",
    "g{it,x} status",
    "ls *",
    "ls ~root",
    "ls {a,b}",
    "test -v 'a[$(evil)]'",
    "[ -v 'a[$(evil)]' ]",
    "[[ a -eq 'a[$(evil)]' ]]",
    # Redirections.
    "echo x > .envrc",
    "echo x >> ~/.bashrc",
    "cat x >|y",
    "echo x &> y",
    "echo x >&y",
    "cat < /etc/shadow",
    "echo x 3<>y",
    "{ echo x; } > y",
    # More commands than the first.
    "git status; evil",
    "git status && evil",
    "git status || evil",
    "git status | evil",
    "git status |& evil",
    "git status & evil",
    "git status\nevil",
    "git status \\\n; evil",
    "git status #\nevil",
    "git status\r\nevil",
    "(evil)",
    "{ evil; }",
    "! evil",
    "if evil; then true; fi",
    "while evil; do true; done",
    "git status() { evil; }; git status",
    "function git { evil; }; git status",
    "case x in x) evil;; esac",
    "coproc evil",
    "time evil",
    "echo x; true && ! { evil; }",
    # Programs that run programs.
    "env evil",
    "nohup evil",
    "timeout 5 evil",
    "nice evil",
    "sudo ls",
    "sh -c evil",
    "bash -c 'git status'",
    "eval evil",
    "exec evil",
    "command evil",
    "builtin eval evil",
    ". ./evil",
    "source evil",
    "python -c 1",
    "python3.12 x.py",
    "perl -e 1",
    "node -e 1",
    "tar --to-command=evil -xf x",
    "tar --checkpoint-action=exec=evil -cf x .",
    "tar -I evil -xf x",
    "make SHELL=evil",
    "vim -c :!evil",
    "less +!evil x",
    "npx evil",
    "uvx evil",
    "docker run evil",
    "parallel evil ::: x",
    "watch evil",
    "strace evil",
    "gdb -ex evil",
    "script -c evil",
    "busybox sh",
    "ssh host evil",
    "tee /tmp/x",
    "dd of=/tmp/x",
    "hash -p ./evil git; git status",
    "trap evil EXIT",
    "alias git=evil",
    "go run -exec evil .",
    # Other programs of the same name, other spellings, other blanks.
    "./git status",
    "/tmp/git status",
    "git\u00a0status",
    "git\u2003status",
    "git\vstatus",
    "git\u200b status",
    "\uff47it status",
    "'git status'",
    "git'' status\x00",
    "\\\nevil",
    "echo \udcff",
    "npm -- run evil",
    "npm --script-shell=evil run x; evil",
    # What is no command at all.
    "git status &&",
    "git status &&\nevil",
    "git status ;; evil",
    "echo 'unclosed",
    "if true; then git status",
    "echo x" + " " * 20_000,
]


@each("command", _BYPASSES)
def test_it_asks(command: str) -> None:
    assert isinstance(bash(command, allow=[rule for rule in ALLOW if rule != "bash: npm *"]), Doubtful)


@each(
    "command",
    [
        "git status",
        "git status --porcelain -uall",
        "git status -- 'a b'",
        "git log --oneline -20 HEAD~3",
        "git log -n 5 --format=%H",
        "git diff --cached -- src/x.py",
        "git diff --stat HEAD^ 2>&1 | head -50",
        "npm run build -- --mode production",
        "npm test 2>/dev/null || true",
        "ls -la src && cat README.md",
        "git status &&\ngit status",
        "echo 'done: $5'; true",
        'grep -rn "def main" src | wc -l',
        "rg -n --hidden 'a|b' src",
        "# look first\nls\n\ncat x \\\n  y\n",
        "(ls; cat x) | grep y",
        "if grep -q x y; then echo found; else echo no; fi",
        "pytest -q tests >/dev/null 2>&1 &",
        'echo "it\'s fine"',
    ],
)
def test_harmless_commands_are_allowed_by_their_rules(command: str) -> None:
    assert bash(command, allow=ALLOW) == Allowed()


_HARMLESS = st.sampled_from(["git status", "ls -la", "echo 'x y'", "npm test", "cat x", "rg y | head -5"])
# Deferred: judging them takes a while, and only one test draws them.
_ASKING = st.deferred(
    lambda: st.sampled_from([part for part in _BYPASSES if isinstance(bash(part, allow=ALLOW), Doubtful)])
)
_JOINTS = st.sampled_from([" && ", " || ", "; ", " | ", "\n", " & "])
_UNFINISHED = "git status &&"


@given(st.lists(_HARMLESS, min_size=1, max_size=3), _ASKING, st.integers(0, 3), _JOINTS)
def test_a_compound_command_is_allowed_only_if_every_part_is(
    harmless: list[str], asking: str, place: int, joint: str
) -> None:
    parts = [*harmless[:place], asking, *harmless[place:]]
    assume(not (asking == _UNFINISHED and joint == "\n" and parts[-1] != asking))  # the next line completes it

    assert bash(joint.join(harmless), allow=ALLOW) == Allowed()
    assert isinstance(bash(joint.join(parts), allow=ALLOW), Doubtful)


def test_a_rule_for_exactly_its_words_allows_a_program_that_runs_others() -> None:
    allow = ["bash: find . -name '*.py' -delete", "bash: sh -c 'make x'", "bash: git -C sub status"]

    assert bash("find . -name '*.py' -delete", allow=allow) == Allowed()
    assert bash('sh -c "make x"', allow=allow) == Allowed()
    assert bash("git -C sub status", allow=allow) == Allowed()
    assert isinstance(bash("sh -c 'make y'", allow=allow), Doubtful)


def test_why_a_part_is_not_allowed_is_said() -> None:
    doubt = bash("sed -n 1p x; FOO=1 git status; git status > y; git status; nope; git $x", allow=ALLOW)

    assert isinstance(doubt, Doubtful)
    assert [part.reason for part in doubt.parts] == [
        "sed runs whatever it is given: only a rule without * allows it",
        "it sets variables",
        "it redirects: > y",
        None,
        "no rule allows it",
        "bash computes some of its words",
    ]
    assert doubt.suggestion is None
