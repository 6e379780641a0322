"""Which scripts of the user run with the user's rights, although they start in the project."""

import os
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from kaa.builtin.agent_hooks import programs
from kaa.builtin.agent_hooks.rights import needs_safe_path, runs_sandboxed
from tests.builtin.agent_hooks.test_rights import ROOT, own

SHELL = [
    # Guards as people have them.
    'f=$(jq -r ".tool_input.file_path // empty")\ncase "$f" in *.env) echo "no $f" >&2; exit 2;; esac\n',
    'INPUT=$(cat)\nCMD=$(echo "$INPUT" | jq -r .tool_input.command)\n'
    'if [[ "$CMD" =~ rm ]] || echo "$CMD" | grep -qE "drop"; then\n  echo "Blocked: $CMD" >&2\n  exit 2\nfi\n',
    "f=$(python3 -c \"import json,sys; print(json.load(sys.stdin).get('tool_input',{}).get('file_path',''))\")\n",
    "python3 - <<'E'\nimport json, sys, re\nprint(json.load(sys.stdin))\nE\n",
    'LOG="$HOME/.claude/logs/$(date +%F).log"\nmkdir -p "$(dirname "$LOG")"\njq -c . >> "$LOG"\n',
    'id=$(jq -r ".session_id")\necho x >> ~/.claude/logs/$id.log\n',
    'I=$(cat)\nid=$(echo "$I" | jq -r .session_id)\necho "$I" >> "$HOME/.claude/$id.jsonl"\n',
    'set -euo pipefail\nexport PATH="/usr/local/bin:$PATH"\nread -r x\nwhile read -r w; do echo "$w"; done <<< "$x"\n',
    'deny() { jq -n --arg r "$1" \'{decision: "block", reason: $r}\'; exit 0; }\n[ -z "$X" ] && deny "no"\n',
    'curl -s -X POST -H "Content-Type: text/plain" -d "kaa: $1" https://example.org/done >/dev/null 2>&1\n',
    "sed -n 's/a/b/p' | awk '{print $1}' | tr a b | sort | uniq -c | head -n 3\n",
    'cd "$CLAUDE_PROJECT_DIR" || exit 0\nnotify-send "kaa" "in $PWD"\n',
    'exec python3 {here}/guard.py "$@"\n',
    ". {here}/lib.sh\n",
    'I=$(cat)\nid=$(jq -r .session_id <<< "$I")\necho x >> "$HOME/.claude/$id"\n',
    'I="$(cat)"\nid=$(printf \'%s\' "$I" | jq -r .session_id 2>/dev/null)\necho x >> ~/.claude/$id\n',
    'log() { id=$(echo "$I" | jq -r .session_id); echo "$1" >> "$HOME/.claude/$id"; }\nI=$(cat)\nlog x\n',
    'echo x >> "$HOME/.claude/$(cat | jq -r .session_id).log"\n',
    'export DBUS_SESSION_BUS_ADDRESS="unix:path=/run/user/$(id -u)/bus"\nnotify-send "$(jq -r .message)" "$1"\n',
    'sleep 1 & p=$!\nwait "$p"\ntput setaf "$1"\nhostname -s\nlogger -t kaa "$1"\n',
    'export LC_ALL=C TERM=xterm\nMSG="$1" jq -n env.MSG\n',
    'echo "  $1 $(date)\n\t${1:-x}"\nx="$1"; y=(a); export x="$1"\n',
    'seen=([0]=a "$1")\ncat <<E\n$(date) $1\nE\n',
    "main() { helper; }\nhelper() { echo x; }\nmain\n",
]
EXECUTING = [
    "npx --no-install prettier --version\n",
    "make -n\n",
    "git status --short\n",
    'cd "$CLAUDE_PROJECT_DIR" && ./scripts/x.sh\n',
    'python3 -c "import yaml"\n',
    "python3 -m json.tool\n",
    "python3 - <<E\nimport os; os.system('x')\nE\n",
    'python3 -c "$CODE"\n',
    "node -e \"require('left-pad')\"\n",
    'P=./check; "$P"\n',
    "eval echo x\n",
    'x=$(jq -r .x); jq "$x"\n',
    'x=$(jq -r .x); jq -r ".rules[\\"$x\\"]" ~/.claude/rules.json\n',
    "x=$(jq -r .x); $x\n",
    "x=$(jq -r .x); if [[ $x -gt 3 ]]; then exit 2; fi\n",
    "x=$(jq -r .x); echo $((x + 1))\n",
    "x=$(jq -r .x); (( x > 1 )) && exit 2\n",
    "x=$(jq -r .x); [ $x = y ] && exit 2\n",
    'x=$(jq -r .x); test -v "$x"\n',
    'x=$(jq -r .x); echo "${a[$x]}"\n',
    'x=$(jq -r .x); echo "${x@P}"\n',
    'x=$(jq -r .x); printf -v "$x" y\n',
    'x=$(jq -r .x); declare -i y="$x"\n',
    'x=$(jq -r .x); cat "$x"\n',
    'x=$(jq -r .x); grep -q secret "$x"\n',
    'x=$(jq -r .x); echo y > "$x"\n',
    'x=$(jq -r .x); echo y > ~/.claude/"$x"\n',
    "cat notes.md\n",
    "echo x > log.txt\n",
    "PATH=./bin:$PATH\njq .\n",
    'export NODE_PATH="$PWD"\nnode {here}/guard.js\n',
    # Programs by their absolute paths, behind functions of their names, and in texts that the grammar takes for words.
    'jq -c . | /usr/bin/tee -a "$CLAUDE_PROJECT_DIR/audit.log"\n',
    "/usr/bin/curl -s -K curl.cfg\n",
    'npx() { command npx --no-install "$@"; }\nnpx prettier\n',
    "cat >> ~/.claude/log <<X\nin `make -s where`\nX\n",
    'x=$(jq -r .x); echo "${x#$(make -s root)/}"\n',
    'echo "${x:-`npx x`}"\n',
    'too_long() { (( $1 > 60 )); }\nx=$(jq -r .x); too_long "$x"\n',
    "python3 -E -c 'import json'\n",
    "~/.pyenv/shims/python3 {here}/guard.py\n",
    "PATH=$PATH:/opt/mise/shims\njq .\n",
    "export PATH=/usr/bin:/bin\npython3 -c 'import json'\n",
    "unset PYTHONSAFEPATH\njq .\n",
    "if ! command -v npx; then npx() { echo none; exit 0; }; fi\nnpx prettier\n",
    "make lint\nmake() { :; }\n",
    "make() { :; }\nunset -f make\nmake lint\n",
    "make() { :; }\nunset make\nmake lint\n",
    'jq \'include "x" {search: "./"}; .\'\n',
    'LOG="$HOME/.claude/log"\ncommand . {here}/lib.sh\njq -c . >> "$LOG"\n',
    "for PATH in a b; do jq .; done\n",
    'LOG="$HOME/.claude/log"\n. {here}/lib.sh\njq -c . >> "$LOG"\n',
    'SECONDS="$(cat)"\n',
    "grep -rq x\n",
    "find . -name x | xargs cat\n",
    "sed 's/a/b/e'\n",
    "sed -i s/a/b/ x\n",
    "awk 'BEGIN { system(\"x\") }'\n",
    "curl -K cfg https://example.org\n",
    'curl -d "$(cat)" https://example.org\n',
    "sort --compress-program=./x\n",
    "trap './x' EXIT\n",
    "while true; do ./x; done\n",
    "x() { ./y; }\n",
    "echo `./x`\n",
    "cat <(./x)\n",
    "cat <<E | sh\n./x\nE\n",
    # Texts whose first blanks the grammar leaves out, and what begins there; elements that bash calculates.
    "x=y\ncat <<E\n  $($x --summary)\nE\n",
    "x=y\ncat <<-E\n\t`$x a`\n\tE\n",
    "x=y\ncat <<E\n$x\n\t$(make a)\nE\n",
    'x=y\necho "$x\n\t$($x)"\n',
    'f="$(jq -r .c)"\nseen+=([$f]=1)\n',
    'f="$(jq -r .c)"\ndeclare -a seen="([$f]=1)"\n',
    'f="$(jq -r .c)"\nseen=(1)\ndeclare seen="$f"\n',
    'f="$(jq -r .c)"\nread -ra seen\nexport seen="$f"\n',
    'echo "costs $ $(make x)"\n',
    'echo "$\r$(make x)"\n',
    "x=y\ncat <<E\n$x `make x`\n",
    ". ./lib.sh\n",
    ". {here}/loop.sh\n",
    "{here}/npx prettier\n",
    "if then\n",
    # Variables by which libraries and programs find code, and options that programs obey.
    *(
        f'{name}="$PWD/x" curl -s https://example.org\n'
        for name in (
            *("OPENSSL_CONF", "OPENSSL_MODULES", "GCONV_PATH", "LOCPATH", "NLSPATH", "TEXTDOMAINDIR", "TERMINFO"),
            *("TERMINFO_DIRS", "KRB5_CONFIG", "GIO_EXTRA_MODULES", "GTK_MODULES", "SSLKEYLOGFILE", "PYENV_VERSION"),
        )
    ),
    'DBUS_SESSION_BUS_ADDRESS="unixexec:path=./x" notify-send x\n',
    'DBUS_SESSION_BUS_ADDRESS="unix:path=/run;unixexec:path=./x" notify-send x\n',
    'x=$(jq -r .x); wait -p "$x"\n',
    'x=$(jq -r .x); wait "$x"\n',
    'x=$(jq -r .x); tput -T "$x" init\n',
    'x=$(jq -r .x); hostname -F "$x"\n',
    'x=$(jq -r .x); logger -f "$x"\n',
    'x=$(jq -r .x); notify-send --action="$x" kaa\n',
    # A name of a session that is not that of kaa.
    'id=$(jq -r .tool_input.x | jq -r .session_id); echo x > "$HOME/.claude/$id"\n',
    'I=$(cat); id=$(echo "$I" | jq -r .x | jq -r .session_id); echo x > "$HOME/.claude/$id"\n',
    'I=$(jq -r .x); id=$(echo "$I" | jq -r .session_id); echo x > "$HOME/.claude/$id"\n',
    'I=$(jq -r .x); id=$(jq -r .session_id <<< "$I"); echo x > "$HOME/.claude/$id"\n',
    'jq -r .x | while true; do echo x > "$HOME/.claude/$(jq -r .session_id)"; done\n',
    'f() { echo x > "$HOME/.claude/$(jq -r .session_id)"; }; jq -r .x | f\n',
    'exec < ~/.claude/x; echo x > "$HOME/.claude/$(jq -r .session_id)"\n',
]
FROM_STDIN = [
    'source /dev/stdin <<< "$(jq -r .tool_input.command)"\n',
    "jq -r .tool_input.command | bash /dev/stdin\n",
    "jq -r .tool_input.command | python3 /dev/stdin\n",
    ". /dev/fd/0\n",
    ". /dev/tty\n",
    "/dev/stdin\n",
    "bash /proc/self/fd/0\n",
]
PYTHON = [
    "import json, sys, os, re\nfrom pathlib import Path\n"
    "given = json.load(sys.stdin)\nif re.search('rm -rf', given['tool_input'].get('command', '')):\n"
    "    print('no', file=sys.stderr); sys.exit(2)\n",
    "import os, datetime\nLOG = os.path.expanduser('~/.claude/log.txt')\nopen(LOG, 'a').write('x')\n",
    "from pathlib import Path\nd = Path.home() / '.claude'\n(d / 'log.txt').write_text('x')\n",
    "import json, sys\nfrom pathlib import Path\nd = json.load(sys.stdin)\n"
    "log = Path.home() / '.claude' / f\"{d.get('session_id', 'x')}.jsonl\"\nlog.open('a').write('x')\n",
    "import pathlib\nopen(pathlib.Path.home() / '.claude' / 'logs.jsonl', 'a').write('x')\n",
    "import os, datetime\nday = datetime.date.today().isoformat()\n"
    "open(os.path.expanduser(f'~/.claude/{day}.log'), 'a')\n",
    "import json\nwith open(0) as f: json.load(f)\n",
    "import json, sys\ntry:\n    d = json.load(sys.stdin)\nexcept ValueError as e:\n    d = {}\n"
    "    print(e.__class__.__name__, sys.platform)\nopen('/root/.claude/' + d['session_id'], 'a')\n",
    "import json, sys\nraw = sys.stdin.read()\n\ndef log(given, text):\n"
    "    open('/root/.claude/' + given.get('session_id', 'none'), 'a').write(text)\n\n"
    "def main():\n    d = json.loads(raw) or {}\n    log(d, 'x')\n\nmain()\n",
    "class A:\n    def __init__(self):\n        self._x = self.__y = 1\n        print(self._x, self.__y)\n",
    "from datetime import datetime, time\nfrom copy import copy\nfrom sys import platform\n",
    "import os\nif os.path.exists(os.environ['CLAUDE_PROJECT_DIR'] + '/x'): pass\n",
]
PYTHON_EXECUTING = [
    "import subprocess\n",
    "import common\n",
    "from . import common\n",
    "import os\nos.system('x')\n",
    "import os as o\no.system('x')\n",
    "from os import system\n",
    "import sys\nsys.path.insert(0, '.')\n",
    "exec(input())\n",
    "import json, sys\nopen(json.load(sys.stdin)['tool_input']['file_path']).read()\n",
    "import json, sys\nfrom pathlib import Path\np = Path(json.load(sys.stdin)['x'])\np.write_text(p.read_text())\n",
    "open('log.txt', 'a')\n",
    "import pathlib\npathlib.os.system('x')\n",
    "import random\nrandom._os.system('x')\n",
    "import collections\ncollections._sys.modules['os'].system('x')\n",
    "from random import _os\n_os.system('x')\n",
    "import dataclasses\ndataclasses.inspect.os.system('x')\n",
    "from dataclasses import inspect\n",
    "import enum\nenum.bltns.eval('x')\n",
    "import typing\ntyping.get_type_hints('x')\n",
    "import uuid\nuuid._get_command_stdout('x')\n",
    "import json\njson.load.__globals__['x']\n",
    "import sys\nsys._getframe().f_builtins['eval']('x')\n",
    "import json, sys\nd = json.load(sys.stdin)\nopen('/root/.claude/' + d['tool_input']['session_id'], 'a')\n",
    "import json, sys\nd = json.load(sys.stdin)['x']\nopen('/root/.claude/' + d['session_id'], 'a')\n",
    "import json, sys\nd = json.load(sys.stdin)\nopen('/root/.claude/' + d.get('session_id', d['x']), 'a')\n",
    "import json, sys\n\ndef log(d):\n    open('/root/.claude/' + d['session_id'], 'a')\n\n"
    "log(json.load(sys.stdin)['x'])\n",
    "o = open\no(d['x'])\n",
    "getattr(__builtins__, 'open')(d['x'])\n",
    "list(map(open, d))\n",
    "from pathlib import Path\nPath(d['x']).rename('y')\n",
    "from pathlib import Path\nPath('/opt/x').replace(d['x'])\n",
    "from pathlib import Path\nPath(d['x']).chmod(0o777)\n",
    "from pathlib import Path\nread = Path.read_text\nread(d['x'])\n",
    "import argparse\nargparse.FileType('w')(d['x'])\n",
    "import urllib.request\nurllib.request.urlopen(d['x'])\n",
    "log = '/opt/log'\nmatch d:\n    case {'x': log}: pass\nopen(log, 'a')\n",
    "log = '/opt/log'\ntry: pass\nexcept Exception as log: pass\nopen(log, 'a')\n",
    "import logging\n",
    "not a program\n",
]


@pytest.fixture(autouse=True)
def _python_that_obeys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "is_safe_python", lambda _name: True)


def is_sandboxed(folder: Path, first_line: str, content: str) -> bool:
    (folder / "lib.sh").write_text("x() { echo y; }\n")
    (folder / "loop.sh").write_text(f". {folder}/loop.sh\n")
    (folder / "guard.py").write_text("#!/usr/bin/env python3\nimport json\n")
    (folder / "guard").write_text(first_line + content.replace("{here}", str(folder)))
    return runs_sandboxed(own(f"{folder}/guard"), ROOT)


@pytest.mark.parametrize("content", SHELL)
@pytest.mark.parametrize("first_line", ["#!/bin/sh\n", "#!/usr/bin/env bash\n"])
def test_a_shell_script_of_known_programs_has_the_users_rights(tmp_path: Path, first_line: str, content: str) -> None:
    assert not is_sandboxed(tmp_path, first_line, content)


@pytest.mark.parametrize("content", EXECUTING)
def test_a_shell_script_that_may_execute_files_of_the_project_runs_in_the_sandbox(tmp_path: Path, content: str) -> None:
    assert is_sandboxed(tmp_path, "#!/bin/bash\n", content)


@pytest.mark.parametrize("kind", ["a pipe", "a file", "nothing"])
@pytest.mark.parametrize("content", FROM_STDIN)
def test_a_script_that_executes_what_it_is_given_runs_in_the_sandbox(tmp_path: Path, content: str, kind: str) -> None:
    (tmp_path / "file").write_text("echo\n")
    with ExitStack() as opened:
        if kind == "a pipe":
            descriptor, other = os.pipe()
            opened.callback(os.close, other)
        else:
            descriptor = os.open(tmp_path / "file" if kind == "a file" else os.devnull, os.O_RDONLY)
        before = os.dup(0)
        opened.callback(os.close, before)
        opened.callback(os.dup2, before, 0)
        os.dup2(descriptor, 0)
        os.close(descriptor)

        assert is_sandboxed(tmp_path, "#!/bin/bash\n", content)


@pytest.mark.parametrize("content", PYTHON)
def test_a_program_that_only_looks_at_its_input_has_the_users_rights(tmp_path: Path, content: str) -> None:
    assert not is_sandboxed(tmp_path, "#!/usr/bin/env python3\n", content)


@pytest.mark.parametrize(
    ("first_line", "content"),
    [("#!/usr/bin/python3\n", one) for one in PYTHON_EXECUTING]
    + [("#!/usr/bin/perl\n", "print 1;\n"), ("#!/usr/bin/env ruby\n", "puts 1\n")]
    + [("#!/usr/bin/env node\n", "console.log(1)\n")],
)
def test_other_programs_run_in_the_sandbox(tmp_path: Path, first_line: str, content: str) -> None:
    assert is_sandboxed(tmp_path, first_line, content)


@pytest.mark.parametrize(
    ("line", "of_project", "is_needed"),
    [
        ('python3 -c "import json"', True, True),
        ("python3 -u -m json.tool", False, True),
        ("python3 -m hooks.guard", True, False),
        ("python3 guard.py", True, False),
        ('"$CLAUDE_PROJECT_DIR"/guard.sh', True, True),
    ],
)
def test_python_in_a_guard_loads_nothing_of_the_project(
    tmp_path: Path, line: str, of_project: bool, is_needed: bool
) -> None:
    (tmp_path / "guard.sh").write_text("x=$(python3 - <<E\nimport json\nE\n)\n")
    guard = msgspec.structs.replace(own(line, sandbox=True), of_project=of_project)

    assert needs_safe_path(guard, str(tmp_path)) is is_needed


def test_the_line_names_the_language_of_a_script(tmp_path: Path) -> None:
    (tmp_path / "guard").write_text("import json\n")

    assert not runs_sandboxed(own(f"python3 {tmp_path}/guard"), ROOT)
    assert runs_sandboxed(own(f"sh {tmp_path}/guard"), ROOT)


def test_an_older_python_is_not_trusted_to_leave_the_project_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "is_safe_python", lambda _name: False)

    assert is_sandboxed(tmp_path, "#!/bin/sh\n", 'python3 -c "import json"\n')
    assert not is_sandboxed(tmp_path, "#!/bin/sh\n", f"python3 {tmp_path}/guard.py\n")


def test_the_program_of_the_first_line_is_one_that_commands_cannot_write(tmp_path: Path) -> None:
    assert not is_sandboxed(tmp_path, "#!/bin/sh\n", "jq .\n")
    assert is_sandboxed(tmp_path, f"#!{ROOT}/.venv/bin/python3\n", "import json\n")
    assert is_sandboxed(tmp_path, "#!.venv/bin/sh\n", "jq .\n")
