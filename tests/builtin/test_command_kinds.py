"""Which commands execute something, which change files, and which only look."""

import pytest

from kaa.builtin.command_kinds import Kind, kind_of
from kaa.ext.command_reading import CommandReading
from kaa.shell.approvals.grammar import read
from kaa.shell.approvals.reach import reach
from tests.support.tables import each


def kind(command: str) -> Kind:
    return kind_of(command, _read)


def _read(command: str) -> CommandReading:
    found = reach(read(command))
    redirections = tuple(text for simple in found.simple for text in simple.redirections)
    return CommandReading(found.commands, redirections, found.complete)


@each(
    "command",
    [
        "ls -la && cat a.py | head -20",
        "sed -n 1,20p a.py",
        "grep -rn 'def test' . 2>/dev/null",
        "find . -name '*.py' -exec head -5 {} +",
        "git diff HEAD~1 && git status --short",
        "git add -A && git commit -m done",
        "cd src; pwd; echo done",
        "git checkout -q main; git checkout -b topic origin/main && git switch - && git pull",
        "bash -c 'cat a.py'",
        "python3 --version",
        "mkdir -p build",
        "echo x > /tmp/x",
        "timeout 5 cat a.py",
    ],
)
def test_what_looks_shows_nothing(command: str) -> None:
    assert kind(command) == "looks"


@each(
    "command",
    [
        "sed -i s/a/b/ a.py",
        "perl -pi -e s/a/b/ a.py",
        "cat > a.py <<'EOF'\nprint(1)\nEOF",
        "cat <<EOF > a.py\nprint(1)\nEOF",
        "echo x >> a.py",
        "cp b.py a.py && cat a.py",
        "git checkout -- a.py",
        "git checkout HEAD~1 src",
        "git checkout a.py",
        "git -C sub apply fix.diff",
        "python3 - <<'EOF'\nopen('a.py', 'w').write('x')\nEOF",
        "tee a.py < b.py",
        "pytest -q; rm a.py",
        "cat > a.py <<'EOF'\n" + "x" * 20_000 + "\nEOF",
    ],
)
def test_what_changes_files(command: str) -> None:
    assert kind(command) == "writes"


@each(
    "command",
    [
        "pytest -q 2>&1 | tail -5",
        "timeout 60 make test > /tmp/log",
        "PYTHONPATH=src python3 -m unittest",
        "python3 -c 'import a; print(a.f())'",
        "python3 - <<'EOF'\nimport a\nprint(a.f())\nEOF",
        "sed -i s/a/b/ a.py && go test ./...",
        "./run.sh",
        "bash test.sh",
        "bash -c 'cargo test'",
        "npm run build > out.txt",
        "uv run pytest",
        "$RUNNER tests",
        "curl -s localhost:8000/health",
        "find tests -name '*.sh' -exec sh {} +",
    ],
)
def test_what_executes_something(command: str) -> None:
    assert kind(command) == "executes"


@pytest.mark.parametrize("command", ["pip install -e . && npm ci", "uv sync", "go mod tidy; go get x"])
def test_what_installs(command: str) -> None:
    assert kind(command) == "installs"
