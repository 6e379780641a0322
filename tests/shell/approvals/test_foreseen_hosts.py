"""The hosts that commands say they will connect to."""

from kaa.shell.approvals.foresight import foreseen
from kaa.shell.approvals.grammar import read
from kaa.shell.approvals.reach import reach
from tests.support.tables import each

_PYTHON = ["pypi.org", "files.pythonhosted.org"]
_NODE = ["registry.npmjs.org", "registry.yarnpkg.com"]


def _hosts(command: str) -> list[str]:
    return [need.escalation.what for need in foreseen(reach(read(command))) if need.escalation.kind == "network"]


@each(
    ("command", "hosts"),
    [
        ("pip install requests", _PYTHON),
        ("cd a && python3 -m pip install -q -r requirements.txt", _PYTHON),
        ("sudo pip install requests", _PYTHON),
        ("uv pip install x", _PYTHON),
        ("uv add httpx", _PYTHON),
        ("uvx ruff", _PYTHON),
        ("poetry install", _PYTHON),
        ("npm ci", _NODE),
        ("npm i -D vitest", _NODE),
        ("pnpm add x", _NODE),
        ("bun add x", _NODE),
        ("cargo add serde", ["crates.io", "index.crates.io", "static.crates.io"]),
        ("go mod tidy", ["proxy.golang.org", "sum.golang.org"]),
        ("gem install rake", ["rubygems.org", "index.rubygems.org"]),
        ("composer require a/b", ["packagist.org", "repo.packagist.org"]),
        ("dotnet restore", ["api.nuget.org"]),
        ("pip install -i https://mirror.example/simple x", ["mirror.example"]),
        ("npm install --registry=https://npm.example:8443/ x", ["npm.example:8443"]),
        ("curl -fsSL https://example.com/a.sh", ["example.com"]),
        ("wget http://example.com:8080/a https://b.example", ["example.com:8080", "b.example"]),
        ("git clone --depth 1 https://github.com/a/b", ["github.com"]),
        ("git ls-remote https://github.com/a/b", ["github.com"]),
        ("git fetch https://github.com/a/b", ["github.com"]),
        ("curl https://93.184.216.34/", ["93.184.216.34"]),
    ],
)
def test_what_connects_is_foreseen(command: str, hosts: list[str]) -> None:
    assert _hosts(command) == hosts


@each(
    "command",
    [
        "pip list",
        "pip install --no-index x",
        "pip install -e .",
        "pip install ./dist/a.whl",
        "npm run build",
        "npm ci --offline",
        "cargo build",
        "cargo fetch --offline",
        "go test ./...",
        "uv run pytest",
        "npx eslint .",
        "./pip install x",
        "curl http://localhost:3000/",
        "curl http://127.0.0.1:8000/health",
        "curl http://10.0.0.5/ http://169.254.169.254/latest",
        "curl $URL",
        "curl https://[/ http:// https://a..b/ https://a:99999/",
        "git clone ../other",
        "git log https://example.com",
        "echo pip install x",
    ],
)
def test_what_does_not_connect_or_is_never_asked_about_is_not(command: str) -> None:
    assert _hosts(command) == []
