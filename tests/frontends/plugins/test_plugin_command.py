"""`kaa plugin`, as it is called: marketplaces, what is shown before an installation, and what stays afterwards."""

import base64
import hashlib
import io
import json
import os
import secrets
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from kaa.cli import run
from kaa.shell.components import enabled_plugins
from kaa.shell.home import Home
from kaa.shell.mcp.config.entry import ServerEntry
from kaa.shell.mcp.rights import permissions_of
from kaa.shell.plugins.records import PluginRecords
from tests.support.extension_sources import commit, write

SKILL = "---\nname: tidy\ndescription: Tidy up\n---\nTidy.\n"
HOOKS = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "sh check.sh"}]}]}}
FILES = {
    "check.sh": "exit 0\n",
    "skills/tidy/SKILL.md": SKILL,
    "commands/go.md": "Go.\n",
    "agents/one.md": "---\nname: one\ndescription: One\n---\nWork.\n",
    "hooks/hooks.json": json.dumps(HOOKS),
    ".mcp.json": json.dumps(
        {"mcpServers": {"db": {"command": "npx", "args": ["-y", "db@1"], "env": {"TOKEN": "${DB_TOKEN}"}}}}
    ),
    ".lsp.json": json.dumps({"py": {"command": "pylsp", "extensionToLanguage": {".py": "python"}}}),
}


class World:
    """A home, a project and a marketplace, and `kaa plugin`."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = Home(folder / "home")
        self.project = folder / "project"
        self.project.mkdir()
        self.market = folder / "market"
        self._capsys = capsys
        self.out = ""
        self.err = ""
        self.offer(tools="./plugins/tools")
        write(self.market / "plugins" / "tools", FILES)

    def offer(self, *more: dict[str, Any], **plugins: Any) -> None:
        """Write the list of the marketplace: sources by name."""
        entries = [{"name": name, "source": source, "version": "1.0"} for name, source in plugins.items()]
        content = {"name": "market", "owner": {"name": "me"}, "plugins": [*entries, *more]}
        write(self.market, {".claude-plugin/marketplace.json": json.dumps(content)})

    def plugin(self, *arguments: str) -> int:
        """Run `kaa plugin`. Returns the exit code."""
        return self.kaa("plugin", *arguments)

    def kaa(self, *arguments: str) -> int:
        """Run `kaa`. Returns the exit code."""
        code = run(arguments)
        printed = self._capsys.readouterr()
        self.out, self.err = printed.out, printed.err
        return code

    def add(self) -> None:
        """Add the marketplace."""
        assert self.plugin("marketplace", "add", str(self.market)) == 0, self.err

    def installed(self, *arguments: str) -> dict[str, Any]:
        """Install a plugin. Returns what `kaa plugin list --json` says about it."""
        assert self.plugin("install", "--yes", *arguments) == 0, self.err
        assert self.plugin("list", "--json") == 0
        found: dict[str, Any] = json.loads(self.out.splitlines()[-1])
        return found

    @property
    def left(self) -> list[str]:
        """The names of all that is in the folder of plugins."""
        return sorted(os.listdir(self.home.plugins)) if self.home.plugins.exists() else []


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> World:
    world = World(tmp_path, capsys)
    monkeypatch.setenv("KAA_DIR", str(world.home.path))
    monkeypatch.chdir(world.project)
    return world


def test_what_a_plugin_would_run_is_shown_and_nothing_is_installed_without_a_yes(world: World) -> None:
    world.add()

    code = world.plugin("install", "tools")

    assert code != 0
    assert "nobody can be asked" in world.err
    for line in (
        "tools 1.0: plugin for Claude Code from tools@market",
        "1 skill (the model reads them; their scripts run in the sandbox): tidy",
        "1 command (you call them; their shell commands run in the sandbox): go",
        "1 agent (the model runs them, with the rights of the conversation at most): one",
        "1 hook, run in the sandbox:",
        "PreToolUse Bash: command sh check.sh",
        "MCP server tools-db: npx -y db@1 (with TOKEN=${DB_TOKEN}), in its own sandbox that",
        "gets your variables DB_TOKEN",
        "language server py: pylsp",
    ):
        assert line in world.out
    assert world.left == ["marketplaces"]
    assert PluginRecords(world.home).read().plugins == {}


def test_hooks_that_call_servers_are_not_shown_as_programs_of_the_sandbox(world: World) -> None:
    calls = [{"type": "mcp_tool", "server": name, "tool": "sh", "input": {"cmd": "ls"}} for name in ("db", "lab")]
    write(world.market / "plugins" / "tools", {"hooks/hooks.json": json.dumps({"hooks": {"Stop": [{"hooks": calls}]}})})
    world.add()

    world.plugin("install", "tools")

    told = 'Stop: mcp_tool calls the tool sh of MCP server {} with {{"cmd":"ls"}}'
    assert (
        "  2 hooks, without a program:\n"
        f"    {told.format('db')}\n"
        f"    {told.format('lab')} (is not run: that is no server of the plugin)\n"
    ) in world.out


def test_that_a_server_uses_a_login_that_there_is_already_is_shown(world: World) -> None:
    servers = {name: {"url": f"https://{name}.example/mcp"} for name in ("far", "other")}
    write(world.market / "plugins" / "tools", {".mcp.json": json.dumps({"mcpServers": servers})})
    login = {"type": "oauth", "access": "token", "refresh": "again", "expires": 99999999999999}
    write(world.home.path, {"mcp-auth.json": json.dumps({"https://far.example/mcp": login})})
    (world.home.path / "mcp-auth.json").chmod(0o600)
    world.add()

    world.plugin("install", "tools")

    told = "you are logged in at https://far.example/mcp: it uses your login, so its tools act as you"
    assert f"  MCP server tools-far: {told}\n" in world.out
    assert world.out.count("you are logged in") == 1


def test_what_the_servers_of_a_plugin_say_of_their_login_is_shown(world: World) -> None:
    oauth = {"authServerMetadataUrl": "https://login.example/meta", "clientId": "one", "scope": "all files"}
    servers = {"far": {"url": "https://far.example/mcp", "oauth": oauth}}
    write(world.market / "plugins" / "tools", {".mcp.json": json.dumps({"mcpServers": servers})})
    world.add()

    world.plugin("install", "tools")

    assert (
        "https://far.example/mcp, called by kaa itself; the login to it goes where https://login.example/meta says;"
        " kaa logs in as the client one; kaa asks for the scopes all files\n"
    ) in world.out


def test_what_the_servers_of_a_plugin_name_outside_is_shown(world: World) -> None:
    arguments = ["--root", "~/.ssh", "${HOME}/papers", "${CLAUDE_PLUGIN_ROOT}/x.js"]
    servers = {"spy": {"command": "serve", "args": arguments}}
    write(world.market / "plugins" / "tools", {".mcp.json": json.dumps({"mcpServers": servers})})
    world.add()

    world.plugin("install", "tools")

    assert "read ~/.ssh, ${HOME}/papers (except secrets), since its command line names it" in world.out


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ("${userHome}", "read your home as commands read it, since its command line names ${userHome}"),
        ("${HOME}/", "read your home as commands read it, since its command line names ${HOME}/"),
        ("${CLAUDE_PLUGIN_ROOT}/../../..", "read ${PLUGIN}/../../.. (except secrets)"),
        ("${CLAUDE_PLUGIN_ROOT}/${UP}", "read ${PLUGIN}/${UP} (except secrets)"),
        ("${workspaceFolder}/../..", "read ${workspaceFolder}/../.. (except secrets)"),
        ("${ELSEWHERE}", "read ${ELSEWHERE} (except secrets)"),
        ("/proc/self/cwd", "read /proc/self/cwd (except secrets)"),
        ("/srv/app", "write the files of the project, if that is /srv/app"),
        ("${workspaceFolder}/docs", "in its own sandbox that may read the files of the project\n"),
        ("${CLAUDE_PROJECT_DIR}", "serve ${workspaceFolder}, in its own sandbox that may read and write the"),
        ("${CLAUDE_PROJECT_DIR}/.", "in its own sandbox that may read and write the files"),
        ("${CLAUDE_PROJECT_DIR}/..", "read ${workspaceFolder}/.. (except secrets)"),
        ("${CLAUDE_PLUGIN_DATA}/x.js", "serve ${PLUGIN_DATA}/x.js, in its own sandbox that may read the files of"),
    ],
)
def test_all_that_an_argument_opens_to_a_server_of_a_plugin_is_shown(world: World, argument: str, shown: str) -> None:
    servers = {"spy": {"command": "serve", "args": [argument]}}
    write(world.market / "plugins" / "tools", {".mcp.json": json.dumps({"mcpServers": servers})})
    world.add()

    world.plugin("install", "tools")

    assert shown in world.out


def test_placeholders_of_the_project_and_of_the_data_are_shown(world: World) -> None:
    servers = {"own": {"command": "${CLAUDE_PROJECT_DIR}/run", "env": {"NODE_PATH": "${CLAUDE_PLUGIN_DATA}/modules"}}}
    hook = {"type": "command", "command": "${CLAUDE_PROJECT_DIR}/check", "args": []}
    hooks = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}
    folder = world.market / "plugins" / "tools"
    write(folder, {".mcp.json": json.dumps({"mcpServers": servers}), "hooks/hooks.json": json.dumps(hooks)})
    world.add()

    world.plugin("install", "tools")

    assert "${workspaceFolder}/run (with NODE_PATH=${PLUGIN_DATA}/modules), in its own sandbox" in world.out
    assert "command '${workspaceFolder}/check'" in world.out
    assert "gets your variables" not in world.out


@pytest.mark.parametrize("argument", ["./.", "/proc/self/cwd", "/proc/self/root", "docs/.."])
def test_only_the_project_itself_as_an_argument_makes_it_writable(
    argument: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    project = os.path.realpath(tmp_path)

    assert permissions_of(ServerEntry(command="serve", args=(argument,)), project).project == "read"
    assert permissions_of(ServerEntry(command="serve", args=(project,)), project).project == "write"


def test_a_plugin_is_installed_listed_switched_and_removed(world: World) -> None:
    world.add()

    facts = world.installed("tools@market")

    assert (facts["name"], facts["version"], facts["enabled"], facts["source"]) == (
        "tools",
        "1.0",
        True,
        "tools@market",
    )
    assert (world.home.plugins / world.left[1] / "skills" / "tidy" / "SKILL.md").read_text() == SKILL
    assert world.plugin("disable", "tools") == 0
    assert not PluginRecords(world.home).read().plugins["tools"].enabled
    assert world.plugin("enable", "tools") == 0
    assert PluginRecords(world.home).read().plugins["tools"].enabled
    write(world.home.plugin_data / "tools", {"kept": "x"})
    assert world.plugin("remove", "tools") == 0
    assert str(world.home.plugin_data / "tools") in world.out
    assert world.left == ["marketplaces"]
    assert world.plugin("remove", "tools") == 2
    assert "there is no plugin 'tools'" in world.err


def test_an_update_shows_what_it_adds_and_keeps_what_was_approved_until_then(world: World) -> None:
    world.add()
    world.installed("tools")
    before = PluginRecords(world.home).read().plugins["tools"]
    assert world.plugin("update") == 0
    assert "tools is up to date" in world.out
    changed = {
        "skills/new/SKILL.md": SKILL.replace("tidy", "new"),
        "skills/tidy/SKILL.md": f"{SKILL}Obey me.\n",
        "check.sh": "exit 2\n",
    }
    write(world.market / "plugins" / "tools", changed)

    assert world.plugin("update") != 0
    assert "adds: skill new" in world.out
    assert "changes the text of: skill tidy\n" in world.out
    assert "    +Obey me.\n" in world.out
    assert "changes other files: check.sh\n" in world.out
    assert PluginRecords(world.home).read().plugins["tools"] == before
    assert world.plugin("update", "--yes", "tools") == 0
    after = PluginRecords(world.home).read().plugins["tools"]
    assert after.tree != before.tree
    assert (world.home.plugins / after.folder / "skills" / "new" / "SKILL.md").exists()
    assert (world.home.plugins / before.folder).exists(), "a running kaa may use it"


def test_a_marketplace_in_git_is_pinned_and_updated_on_request(world: World, tmp_path: Path) -> None:
    first = commit(world.market, {"note": "1"})

    assert world.plugin("marketplace", "add", f"file://{world.market}") == 0, world.err
    assert f"market: 1 plugin, commit {first[:12]}" in world.out
    second = commit(world.market, {"plugins/tools/commands/more.md": "More.\n"})
    facts = world.installed("tools")
    assert [one["name"] for one in facts["commands"]] == ["go"]
    assert world.plugin("marketplace", "update") == 0
    assert second[:12] in world.out
    assert world.plugin("update", "tools", "--yes") == 0
    assert "command more" in world.out


def test_a_plugin_of_a_repository_is_pinned_to_its_commit(world: World, tmp_path: Path) -> None:
    repository = tmp_path / "own-tools"
    pin = commit(repository, FILES)

    facts = world.installed(f"file://{repository}")

    assert (facts["name"], facts["pin"]) == ("own-tools", pin)


def test_the_marketplaces_are_listed_and_removed_and_their_plugins_stay(world: World) -> None:
    world.add()
    world.installed("tools")

    assert world.plugin("marketplace", "list", "--json") == 0
    assert json.loads(world.out)["name"] == "market"
    assert world.plugin("marketplace", "list", "market") == 0
    assert "tools" in world.out
    assert world.plugin("marketplace", "remove", "market") == 0
    assert "tools" in PluginRecords(world.home).read().plugins
    assert world.plugin("update") == 1
    assert "tools is not updated: there is no marketplace 'market'" in world.err


def test_a_renamed_entry_is_found_under_its_old_name(world: World) -> None:
    content = {
        "name": "market",
        "plugins": [{"name": "tools", "source": "./plugins/tools"}],
        "renames": {"utensils": "tools"},
    }
    write(world.market, {".claude-plugin/marketplace.json": json.dumps(content)})
    world.add()

    assert world.installed("utensils")["name"] == "tools"


def test_an_entry_that_is_left_out_says_why(world: World) -> None:
    world.offer({"name": "bad", "source": "../outside"}, tools="./plugins/tools")
    world.add()
    assert "`../outside` is not inside the source" in world.out

    assert world.plugin("install", "--yes", "bad@market") == 2
    assert "market has no plugin 'bad'" in world.err


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("nothing", "there is no plugin 'nothing', in market"),
        ("tools@other", "there is no marketplace 'other': there are market"),
        ("./missing", "missing does not exist"),
        ("ftp://example.com/x", "unknown source 'ftp://example.com/x'"),
        ("./empty", "is no plugin: it has neither a manifest nor a folder"),
    ],
)
def test_what_cannot_be_installed_says_what_to_do(world: World, text: str, error: str) -> None:
    world.add()
    (world.project / "empty").mkdir()

    assert world.plugin("install", "--yes", text) == (1 if text == "./empty" else 2)

    assert error in world.err
    assert world.left == ["marketplaces"]


def test_a_plugin_of_the_same_name_from_elsewhere_is_refused(world: World) -> None:
    world.add()
    world.installed("tools")
    write(world.project / "tools", FILES)

    assert world.plugin("install", "--yes", "./tools") == 1

    assert "a plugin tools is installed from tools@market" in world.err


def test_a_package_of_the_project_offers_its_plugin(world: World) -> None:
    manifest = {"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "shapes"}
    root = "shapes-1.2.agent-plugin"
    listed = [f"{root}/plugin.json", f"{root}/skills/tidy/SKILL.md"]
    site = world.project / ".venv" / "lib" / "python3.12" / "site-packages"
    write(
        site,
        {
            "shapes-1.2.dist-info/agent_plugins.json": json.dumps({"root": root, "files": listed}),
            f"{root}/plugin.json": json.dumps(manifest),
            f"{root}/skills/tidy/SKILL.md": SKILL,
            f"{root}/skills/other/SKILL.md": SKILL,
        },
    )
    assert world.kaa("import") == 0
    assert "shapes 1.2 of this project brings a plugin: kaa plugin install wheel:shapes" in world.err

    facts = world.installed("wheel:shapes")

    assert (facts["name"], facts["pin"], facts["source"]) == ("shapes", "shapes 1.2", f"wheel:{world.project}#shapes")
    assert [one["name"] for one in facts["skills"]] == ["tidy"]
    assert world.plugin("install", "wheel:other") == 1
    assert "no package 'other'" in world.err


@pytest.mark.parametrize("target", ["/etc/passwd", "../../../secret", "skills"])
def test_links_may_not_lead_out(world: World, target: str) -> None:
    link = world.market / "plugins" / "tools" / "link"
    link.symlink_to(target)
    is_inside = target == "skills"

    code = world.plugin("install", "--yes", str(world.market / "plugins" / "tools"))

    assert (code == 0) == is_inside
    if not is_inside:
        assert "leads out of the plugin" in world.err


def test_trees_of_equal_trees_are_refused_before_they_fill_the_memory(world: World, tmp_path: Path) -> None:
    repository = tmp_path / "bomb"
    commit(repository, FILES)

    def git(*arguments: str, given: str = "") -> str:
        words = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com", *arguments]
        done = subprocess.run(words, cwd=repository, input=given, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    tree = git("mktree", given=f"100644 blob {git('hash-object', '-w', '--stdin')}\tfile\n")
    for _ in range(8):
        tree = git("mktree", given="".join(f"040000 tree {tree}\td{one}\n" for one in range(10)))
    git("update-ref", "HEAD", git("commit-tree", tree, "-m", "x"))

    assert world.plugin("install", "--yes", f"file://{repository}") == 1

    assert "has more than 20,000 files" in world.err


def test_folders_within_folders_without_end_are_refused(world: World) -> None:
    folder = world.market / "plugins" / "tools"
    (folder / "/".join(["d" * 100] * 12)).mkdir(parents=True)

    assert world.plugin("install", "--yes", str(folder)) == 1

    assert "has a longer path than 1024 bytes" in world.err


def test_an_address_as_ssh_has_it_is_no_name_of_a_marketplace(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_SSH_COMMAND", "false")

    assert world.plugin("install", "--yes", "git@example.invalid:x/y.git") == 1

    assert "git failed" in world.err


def test_a_repository_that_is_too_large_is_refused(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kaa.shell.extensions.git._MAX_DOWNLOAD_BYTES", 64 * 1024)
    commit(tmp_path / "large", {**FILES, "data": secrets.token_hex(256 * 1024)})

    assert world.plugin("install", "--yes", f"file://{tmp_path / 'large'}") == 1

    assert "the repository is larger than" in world.err
    assert world.left == []


def test_a_damaged_record_is_an_error_that_names_the_file(world: World) -> None:
    write(world.home.path, {"plugins.json": '{"plugins": {"../x": {}}}'})
    os.chmod(world.home.path / "plugins.json", 0o600)

    assert world.plugin("list") == 1

    assert f"{world.home.path / 'plugins.json'}: " in world.err


def test_options_are_checked_kept_and_not_shown(world: World) -> None:
    options = {
        "token": {"type": "string", "title": "Token", "description": "A key", "sensitive": True, "required": True},
        "most": {"type": "number", "title": "Most", "description": "At most", "min": 1, "max": 5},
        "fast": {"type": "boolean", "title": "Fast", "description": "Fast"},
    }
    write(
        world.market / "plugins" / "tools",
        {".claude-plugin/plugin.json": json.dumps({"name": "tools", "userConfig": options})},
    )
    world.add()

    assert world.plugin("install", "--yes", "tools") == 0
    assert "it needs token: kaa plugin configure tools token=VALUE" in world.out
    assert world.plugin("configure", "tools", "most=9") == 1
    assert "it must be from 1.0 to 5.0" in world.err
    assert world.plugin("configure", "tools", "fast=perhaps") == 1
    assert world.plugin("configure", "tools", "other=1") == 1
    assert "'other' is no option of tools: token, most, fast" in world.err
    assert world.plugin("configure", "tools", "token=hush", "most=3", "fast=yes") == 0
    assert PluginRecords(world.home).read().plugins["tools"].values == {"token": "hush", "most": 3, "fast": True}
    assert (world.home.path / "plugins.json").stat().st_mode & 0o077 == 0
    for arguments in (["list"], ["list", "--json"], ["list", "tools"]):
        assert world.plugin(*arguments) == 0
        assert "hush" not in world.out


def test_an_update_does_not_carry_a_secret_over_to_an_option_that_is_shown(world: World) -> None:
    def publish(skill: str, **sensitive: bool) -> None:
        options = {name: {"type": "string", "title": name, "sensitive": secret} for name, secret in sensitive.items()}
        manifest = json.dumps({"name": "tools", "userConfig": options})
        write(
            world.market / "plugins" / "tools",
            {".claude-plugin/plugin.json": manifest, "skills/tidy/SKILL.md": SKILL + skill},
        )

    publish("", token=True, other=True, team=False)
    world.add()
    assert world.plugin("install", "--yes", "tools") == 0
    assert "secret option token" in world.out
    assert world.plugin("configure", "tools", "token=hush", "other=hushed", "team=kaa") == 0
    publish("${user_config.token}", token=False, other=True, team=False)

    assert world.plugin("update", "--yes", "tools") == 0

    assert "would show its option token to the model: its value was a secret and is not kept" in world.out
    assert PluginRecords(world.home).read().plugins["tools"].values == {"other": "hushed", "team": "kaa"}


@contextmanager
def registry(files: dict[str, str], *, damaged: bool = False) -> Iterator[str]:
    """A registry of npm with one package, `some-plugin`. Its address."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    content = packed.getvalue()
    integrity = base64.b64encode(hashlib.sha512(b"other" if damaged else content).digest()).decode()

    class Registry(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = content
            if not self.path.endswith(".tgz"):
                tarball = f"http://127.0.0.1:{server.server_port}/some-plugin.tgz"
                version = {
                    "name": "some-plugin",
                    "version": "2.0.0",
                    "dist": {"tarball": tarball, "integrity": f"sha512-{integrity}"},
                }
                about = {"name": "some-plugin", "dist-tags": {"latest": "2.0.0"}, "versions": {"2.0.0": version}}
                body = json.dumps(about).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Registry) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_a_package_of_npm_is_unpacked_and_none_of_its_scripts_runs(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = {"name": "some-plugin", "version": "2.0.0", "scripts": {"prepare": "touch ran", "install": "touch ran"}}
    world.offer(some={"source": "npm", "package": "some-plugin"})
    world.add()
    with registry({"package.json": json.dumps(package), **FILES}) as address:
        monkeypatch.setenv("npm_config_registry", address)
        monkeypatch.setenv("npm_config_cache", str(world.home.path / "npm"))

        facts = world.installed("some")

        assert world.plugin("install", "npm:some-plugin@^2") != 0

    assert (facts["name"], facts["pin"]) == ("some", "some-plugin 2.0.0")
    assert not list(world.home.plugins.rglob("ran"))
    assert "some-plugin: plugin for Claude Code from npm:some-plugin@^2, some-plugin 2.0.0" in world.out


def test_what_is_no_package_of_npm_is_refused(world: World) -> None:
    assert world.plugin("install", "npm:../x") != 0
    assert "invalid package 'npm:../x': use npm:NAME" in world.err


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("skills/report/SKILL.md", "---\ndescription: Report\n---\nRead `~/.claude/projects/**/*.jsonl`.\n"),
        ("skills/report/mine.mjs", "const at = path.join(os.homedir(), '.claude', 'projects');\n"),
        ("mine.py", 'at = Path.home() / ".claude" / "projects"\n'),
    ],
)
def test_a_plugin_that_reads_sessions_of_its_agent_is_told_before_it_is_installed(
    world: World, file: str, text: str
) -> None:
    write(world.market / "plugins" / "tools", {file: text})
    world.add()

    world.plugin("install", "tools")

    said = f"    it names ~/.claude/projects ({file}), which commands do not see:"
    assert f'{said} "!~/.claude/projects" in sandbox.hidden shows it' in world.out


def test_hooks_that_fetch_packages_are_told_with_what_permits_that(world: World) -> None:
    npx = [{"hooks": [{"type": "command", "command": "npx protect-mcp@0.7.4 evaluate --json"}]}]
    hooks = {
        "hooks": {"PreToolUse": npx, "PostToolUse": npx, "Stop": [{"hooks": [{"type": "command", "command": "date"}]}]}
    }
    write(world.market / "plugins" / "tools", {"hooks/hooks.json": json.dumps(hooks)})
    world.add()

    world.plugin("install", "tools")

    said = "start npx, which fetches packages: without"
    assert f'{said} "sandbox": {{"network": "registries/node"}} in your settings it fails' in world.out
    assert "the hook for PreToolUse" in world.out


@pytest.mark.parametrize(
    ("command", "is_told"),
    [
        ('if [ -f "${FLAG:-./.approved}" ]; then exit 0; fi; npx protect-mcp@0.7.4 evaluate', True),
        ("cd x && A=1 npx protect-mcp", True),
        ("cat | npx protect-mcp", True),
        ("if npx protect-mcp; then exit 2; fi", True),
        ("sh -c 'date'\nnpx protect-mcp", True),
        ("echo run npx protect-mcp yourself", False),
        ("date # npx protect-mcp", False),
        pytest.param("\n" * 40_000 + "npx protect-mcp", False, id="too long to be looked at"),
    ],
)
def test_a_hook_that_fetches_packages_behind_another_command_is_told(
    world: World, command: str, *, is_told: bool
) -> None:
    hooks = {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]}}
    write(world.market / "plugins" / "tools", {"hooks/hooks.json": json.dumps(hooks)})
    world.add()

    world.plugin("install", "tools")

    assert ("the hook for PreToolUse starts npx, which fetches packages" in world.out) == is_told


def test_what_keeps_a_plugin_from_working_is_shown(world: World) -> None:
    def hook(command: str) -> dict[str, object]:
        return {"hooks": [{"type": "command", "command": command}]}

    root = "${CLAUDE_PLUGIN_ROOT}"
    commands = [
        "kaa-none-a check",
        f'"{root}/run.sh" x',
        f"sh {root}/gone.sh",
        "A=1 sh -c 'x'",
        "[ -f x ] && kaa-none-c",
        "A=$(printenv PATH) && cat x",
    ]
    loop = "[ -f ~/.claude/own.md ] && cat .claude/settings.json\nSTATE=.claude/loop.local.md\necho 1 > $STATE\n"
    write(
        world.market / "plugins" / "tools",
        {
            "run.sh": "#!/usr/bin/env kaa-none-b\n",
            "loop.sh": loop,
            "tests/loop.sh": "touch .claude/other.md",
            "hooks/hooks.json": json.dumps({"hooks": {"PreToolUse": [hook(one) for one in commands]}}),
            ".mcp.json": json.dumps({"mcpServers": {"db": {"command": "kaa-none-a"}}}),
            ".lsp.json": "{}",
        },
    )
    world.add()

    world.plugin("install", "tools")

    problems = world.out.partition("problems on this machine:\n")[2].splitlines()
    assert problems == [
        "    the program kaa-none-a is not installed, which the hook for PreToolUse, the MCP server tools-db need",
        "    the program kaa-none-b is not installed, which the hook for PreToolUse needs",
        "    the file gone.sh is not in the plugin, which the hook for PreToolUse needs",
        "    it names .claude/loop.local.md (loop.sh): such files of a project are protected, so that hooks and"
        " commands can read them and not write them",
    ]


def test_names_that_claude_code_gives_tools_of_a_plugins_servers_are_understood(world: World) -> None:
    hook = {
        "matcher": "mcp__plugin_tools_the_db__query|mcp__plugin_tools_the_dbx__query",
        "hooks": [{"type": "command", "command": "true"}],
    }
    write(
        world.market / "plugins" / "tools",
        {
            ".mcp.json": json.dumps({"mcpServers": {"the.db": {"command": "node"}}}),
            ".lsp.json": "{}",
            "hooks/hooks.json": json.dumps({"hooks": {"PreToolUse": [hook]}}),
            "skills/ask/SKILL.md": "---\nname: ask\ndescription: x\n---\nUse mcp__plugin_tools_the_db__query.",
        },
    )
    world.add()
    world.plugin("install", "--yes", "tools")

    plugins = enabled_plugins(world.home, print)

    assert plugins is not None
    hooks, _ = plugins.hooks("/project")
    assert {one.matcher for one in hooks} == {"mcp__tools-the-db__query|mcp__plugin_tools_the_dbx__query"}
    texts = {file.data for _, file in plugins.files("/project", print) if file.path.endswith("ask/SKILL.md")}
    assert any(b"Use mcp__tools-the-db__query." in text for text in texts)


def test_a_plugin_that_has_all_that_it_needs_has_no_problems(world: World) -> None:
    write(world.market / "plugins" / "tools", {".mcp.json": "{}", ".lsp.json": "{}"})
    world.add()

    world.plugin("install", "tools")

    assert "problems" not in world.out


def test_the_variables_of_a_server_are_shown_and_a_changed_one_is_told(world: World) -> None:
    folder = world.market / "plugins" / "tools"

    def serve(value: str) -> None:
        server = {"command": "node", "args": ["ok.js"], "env": {"NODE_OPTIONS": value}}
        write(folder, {".mcp.json": json.dumps({"mcpServers": {"s": server}})})

    serve("--require ./one.js")
    world.add()
    assert world.plugin("install", "tools", "--yes") == 0
    assert "(with NODE_OPTIONS=--require ./one.js)" in world.out
    serve("--require ./two.js")
    assert world.plugin("marketplace", "update") == 0
    assert world.plugin("update", "tools", "--yes") == 0
    assert "(with NODE_OPTIONS=--require ./two.js)" in world.out
